//! Studies: a question, the setups that answer it, and what their runs concluded.
//!
//! A study goes require → run → record → study; every step can be repeated later from the files of
//! the one before it. This crate may know the worlds it runs in and the statistics it concludes
//! with. It may not know how a conclusion is shown: tables, charts and pages live in `report`,
//! which reads [`StudyResult`] and [`RunFacts`] and nothing else.

// Studies of checkpoints: their own question, run and conclusion on the machinery below.
mod checkpoint;

// Studies of duration limits, likewise.
mod limits;

// What a study is: texts in, a checked question out.
mod file;
mod given_load;
mod input;
mod kind;
mod library;
mod overrides;
mod place;
mod sets;
mod setup;
mod study;

// How it is run, and what is kept.
mod execute;
mod folder;
mod plan;
mod real;
mod record;
mod recovery;
mod service;
mod session;
mod stopwatch;
mod waits;

// What is made of the records.
mod calibrate;
mod compare;
mod conclude;
mod host;
mod trace;

// What a conclusion consists of.
mod claim;
mod facts;
mod published;
mod reservation;
mod result;
mod series;
mod summary;

pub use calibrate::{Calibrated, calibrate};
pub use checkpoint::{
    CHECKPOINT_KEYS, CheckpointFigure, CheckpointPoint, CheckpointRecord, CheckpointResult,
    CheckpointSeries, CheckpointSetup, CheckpointSetupResult, CheckpointStudy, CheckpointWork,
    ComparedRatio, Comparison, Durations, PublishedCheckpointSet, PutResult, StoreDrive,
    StoreFigures, StoreShape, checkpoint_json,
};
pub use claim::{Claim, ClaimFigure};
pub use compare::{ComparedFigure, compare_results};
pub use conclude::conclude;
pub use execute::Advance;
pub use facts::{Host, RunFacts};
pub use file::{Companions, Kind};
pub use folder::{FolderError, Manifest, RunFolder};
pub use host::build_id;
pub use input::{InputError, Source, nearest, unknown};
pub use kind::{Recorded, StudyKind};
pub use library::{Library, Shelf};
pub use limits::{
    LIMITS_KEYS, LimitsRecord, LimitsResult, LimitsSeries, LimitsSetup, LimitsSetupResult,
    LimitsSteps, LimitsStudy, StreamRepeat, StreamResult, limits_json,
};
pub use overrides::{Override, STUDY_KEYS, StudyKey};
pub use place::{ClientKind, HostPlace, Place, RealDisks};
pub use plan::{Job, Purpose, Request, plan};
pub use published::{
    Figure, Published, PublishedClient, PublishedError, PublishedLatency, PublishedRecovery,
    PublishedSet, PublishedSetup,
};
pub use real::{RealWork, describe as describe_real};
pub use record::{RealFacts, RunRecord, TracedStage};
pub use recovery::{RunError, Tick};
pub use reservation::{ReservationResult, SHORT_ABOVE, WorstSecond};
pub use result::{
    ClientResult, DriveSummary, FittedFigure, Latency, NamedValue, PlacementSpread, RecoveryResult,
    RepeatResult, SettingRow, SetupResult, Spread, Statement, StudyResult, Variant,
};
pub use series::{ClassWaits, SetupSeries, Stage};
pub use service::{ClassService, Reserved};
pub use session::{Order, Session, SessionError, Sight};
pub use setup::Setup;
pub use stopwatch::Stopwatch;
pub use study::{ClusterShape, Inputs, RecoverySteps, Study};
pub use summary::summary_json;
pub use trace::chrome_trace;
