//! Studies: a question, the setups that answer it, and what their runs concluded.
//!
//! A study goes require → run → record → study; every step can be repeated later from the files of
//! the one before it. This crate may know the worlds it runs in and the statistics it concludes
//! with. It may not know how a conclusion is shown: tables, charts and pages live in `report`,
//! which reads [`StudyResult`] and [`RunFacts`] and nothing else.

// What a study is: texts in, a checked question out.
mod given_load;
mod input;
mod inputs;
mod library;
mod load_keys;
mod overrides;
mod place;
mod placed;
mod sets;
mod setup;
mod shelf;
mod study;

// What a kind of study has of its own: figures and a script. Each kind stands in a folder.
mod chance;
mod checkpoint;
mod client_figures;
mod declared;
mod figure;
mod kind;
mod kinds;
mod limits;
mod on_ceph;
mod recovery;
mod script;
mod services;

// How it is run, and what is kept.
mod execute;
mod folder;
mod halt;
mod job;
mod memory;
mod plan;
mod record;
mod seal;
mod service;
mod session;
mod stopwatch;
mod waits;

// What is made of the records.
mod beside;
mod beside_figure;
mod claim;
mod compare;
mod conclude;
mod facts;
mod host;
mod pairs;
mod promise;
mod promise_terms;
mod published;
mod real_runs;
mod reservation;
mod result;
mod series;
mod summary;
mod trace;
mod twin;

pub use beside::{BesideResult, OPS_MIN, ServiceResult};
pub use chance::MARGIN;
pub use checkpoint::{CHECKPOINT_KEYS, SHIPPED_DEFAULT};
pub use claim::Claim;
pub use compare::{ComparedFigure, UNTESTED, compare_results};
pub use conclude::conclude;
pub use execute::Advance;
pub use facts::{Host, RunFacts};
pub use figure::{
    Better, Figure, Figures, Print, PublishedCurve, PublishedFigure, PublishedFigures, ShownIn,
};
pub use folder::{FolderError, Manifest, RunFolder};
pub use host::build_id;
pub use input::{InputError, Source, hint, unknown};
pub use inputs::Inputs;
pub use job::{Job, RunPurpose};
pub use kind::StudyKind;
pub use library::Library;
pub use limits::LIMITS_KEYS;
/// For who has studies alone, such as the report.
pub use loadline_cbt::NoteKind;
pub use loadline_testbed::{
    CephFound, CephTestPlace, ClientKind, HostPlace, MachineFacts, NamedValue, OsdHook,
    PERCENTILES, RealDisks, RealPlace,
};
pub use overrides::{Override, StudyKey};
pub use pairs::{SetupPair, SetupPairs, UnpairedSetup};
pub use place::Place;
pub use plan::{StudyRequest, plan};
pub use promise::{ImageResult, KEPT_FROM, PromiseResult};
pub use published::PublishedSet;
pub use record::{ImageRecord, RunRecord};
pub use recovery::{
    Calibrated, CbtImport, IMPORTED_DRIVE, ImportNote, ImportedStudy, RecoveryStudy, STUDY_KEYS,
    calibrate,
};
pub use reservation::{ReservationResult, SHORT_ABOVE, WorstSecond};
pub use result::{
    ComparedRatio, Configuration, DriveSummary, FigureDoubt, FittedFigure, PlacementSpread, Repeat,
    SettingRow, SetupResult, Spread, Statement, StudyResult, VERSION, Variant, quoted,
};
pub use script::{OnProgress, RunError};
pub use series::{CheckpointPoint, ClassWaits, Series, StageTime};
pub use service::{ClassService, Reserved};
pub use services::SERVICES_KEYS;
pub use session::{Order, Session, SessionError, SessionEvent};
pub use shelf::Shelf;
pub use stopwatch::Stopwatch;
pub use study::Study;
pub use summary::summary_json;
pub use trace::{chrome_trace, chrome_trace_of};
pub use twin::twin_of;
