//! Proof by trying: random stores under random loads, crashed at random moments and judged by a naive model.
//!
//! Reading order: [`Scenario`] is a store, its disks and its load; `plan` what happens to it; `ops` what is asked; `history`
//! and `model` what should come of it; `life` one life; `swarm` all lives of a seed; `sweep` a cut at every event.
//!
//! What is demanded after a crash: each lane is in the state after some prefix of its transactions, whole ones only; the
//! prefix has every transaction whose answer promised durability under that crash (checkpoint.md 4.5); the checker finds
//! nothing, leaked pages included. What is demanded in life: each answer is that of the model; an error has a reason; as long
//! as ops are open something happens. Where a fault has damaged something, errors are excused, wrong values never.
//!
//! # The rows of checkpoint.md 9
//!
//! | row there | here | how it is recognised |
//! |---|---|---|
//! | no checkpoint running | [`SoakRow::Idle`] | no step |
//! | steps 1-5 | cannot be hit: with one owner the instant lies between two events | |
//! | 6-7 | [`SoakRow::InstantWritten`] | step `Log`, no flush in flight |
//! | 8-9 | [`SoakRow::InstantFlushed`] | step `Log`, a flush in flight |
//! | 10 | [`SoakRow::OldImagesGo`]: nothing is deleted, images overwrite older ones | step `Images`, an older header stands |
//! | 11 | [`SoakRow::SomeImages`] | steps `Images` and `ImagesSync` |
//! | 12, before the rename | [`SoakRow::MarkerHalf`]: no file is renamed, two superblocks are written | step `BeginSync`, a write of one in flight |
//! | 12, rename lost | [`SoakRow::MarkerVolatile`]: no page goes home before the marker's flush | step `BeginSync`, all written |
//! | 13 | [`SoakRow::PagesWithImages`], [`SoakRow::PagesWithLog`] | step `Pages`, by the marker's protection |
//! | 14 | [`SoakRow::PagesFlushed`] | step `PagesSync` |
//! | 15 | [`SoakRow::Discards`]: there are no partition files; what is given back is discarded after the end | discards in flight |
//! | 16, before END is durable | [`SoakRow::EndVolatile`] | steps `End` and `EndSync` |
//! | 16, after END | [`SoakRow::AfterEnd`] | a step before the last event, none after it |
//! | during restore | [`SoakRow::Restore`], [`SoakRow::Replay`], [`SoakRow::ReplayCheckpoint`] | the restart's phase; a step during it |
//! | disk full or I/O error in 11 | [`SoakRow::ImagesFail`]; the area has a fixed size and cannot be full | stopped at a step up to `ImagesSync` |
//! | I/O error in 13 or 14 | [`SoakRow::PagesFail`] | stopped at a step from `Pages` on |
//! | bad CRC in a recovery record | [`SoakRow::BadImage`] | the restart refuses with a fault of the images |
//! | recovery files deleted | [`SoakRow::NoImages`]: the area is wiped | the same, after wiping |
//! | mode switched | [`SoakRow::ProtectionSwitched`], which needs no switching back | a begun marker of the other protection |

mod check;
mod draw;
mod faults;
mod formatting;
mod history;
mod lane;
mod ledger;
mod life;
mod model;
mod ops;
mod outcome;
mod place;
mod plan;
mod probes;
mod recovered;
mod resting;
mod rows;
mod scenario;
mod shrink;
mod swarm;
mod sweep;
mod upgrade;
mod words;

pub use faults::{FaultKind, FaultsByKind};
pub use history::Wrong;
pub use ledger::OpCounts;
pub use outcome::{SeedOutcome, SoakCounts, SoakFailure};
pub use plan::{Crash, ParseReplayError, SeedReplay};
pub use resting::Resting;
pub use rows::{RowCounts, SoakRow};
pub use scenario::{Scenario, SoakLoad};
pub use sweep::{Sweep, SweepFailure};

/// Runs what a seed leads to.
pub fn run(replay: &SeedReplay) -> SeedOutcome {
    swarm::run(replay, false)
}

/// Runs what a seed leads to, and tells every op.
pub fn tell(replay: &SeedReplay) -> SeedOutcome {
    swarm::run(replay, true)
}

/// Runs what a seed leads to with faults of a kind that excuse nothing: a search in which they could as well not happen would find
/// nothing wrong then. Of the copies that are tried beside a run, those of a kind are careless: a format writes everything at once,
/// and an upgrade is on a device that carries out no flush.
pub fn run_muted(replay: &SeedReplay, kind: FaultKind) -> SeedOutcome {
    swarm::run_muted(replay, kind)
}

/// The smallest part of a failing run that was found to fail as well. `fails` runs one.
pub fn shrink(
    failing: &SeedReplay,
    lives: u64,
    faults: u64,
    fails: impl Fn(&SeedReplay) -> bool,
) -> SeedReplay {
    shrink::Search::new(failing, fails).shrink(lives, faults)
}
