//! Between two lives, copies of the disks as somebody may mix them up: on a device of another size, with another store's
//! device, as they were earlier. The run itself goes on with its own.

use super::draw::Draw;
use super::faults::FaultKind;
use super::history::LaneHistory;
use super::ledger::Ledger;
use super::life::{Life, LifeEvent};
use super::outcome::SoakFailure;
use super::scenario::Scenario;
use super::{formatting, upgrade};
use crate::StoreDisks;
use loadline_base::{Bytes, Rng};
use loadline_store::paged::{Fault, Options, Protection};

/// What is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Probe {
    /// So many sectors more, or fewer.
    Resized(i64),
    /// Another store's log device, or one where there should be none.
    Swapped,
    /// Each device as it is or as it was earlier: data and log.
    Stale(bool, bool),
    /// Another store is made on the devices, or on blank ones, and the power goes meanwhile; drawn from this.
    Format(u64),
    /// A store of disk format 1 is opened instead, with crashes; drawn from this.
    Upgrade(u64),
}

/// The disks after an earlier crash, and the lanes as they were then: what had been promised, and what a later crash took back.
pub(super) struct Earlier {
    pub(super) disks: StoreDisks,
    pub(super) lanes: Vec<LaneHistory>,
}

impl Probe {
    /// Any of them.
    pub(super) fn draw(rng: &mut Rng) -> Probe {
        match rng.below(4) {
            0 => {
                let sectors = rng.between(1, 40) as i64;
                Probe::Resized(if rng.one_in(2) { sectors } else { -sectors })
            }
            1 => Probe::Swapped,
            _ => *rng.pick(&[
                Probe::Stale(true, true),
                Probe::Stale(true, false),
                Probe::Stale(false, true),
            ]),
        }
    }

    /// One of those that were thought of later.
    pub(super) fn draw_later(rng: &mut Rng) -> Probe {
        match rng.below(3) {
            0 => Probe::Upgrade(rng.next_u64()),
            _ => Probe::Format(rng.next_u64()),
        }
    }

    /// What it is counted by.
    pub(super) fn kind(self) -> FaultKind {
        match self {
            Probe::Resized(_) => FaultKind::Resized,
            Probe::Swapped => FaultKind::Swapped,
            Probe::Stale(..) => FaultKind::Stale,
            Probe::Format(_) => FaultKind::Format,
            Probe::Upgrade(_) => FaultKind::Upgrade,
        }
    }

    /// Tries it, `careless` where that is the canary. None if there is nothing to try it with. What is not this store's must be refused; a store that is partly
    /// older must be refused, or be in a state that it had, with all that had been promised by then.
    pub(super) fn carry_out(
        self,
        scenario: &Scenario,
        options: Options,
        disks: &StoreDisks,
        earlier: Option<&Earlier>,
        (ledger, careless): (&Ledger, bool),
    ) -> Option<Result<(), SoakFailure>> {
        match self {
            // What could not be read before the crash cannot be read behind it either.
            Probe::Format(_) if ledger.excuses.passing => return None,
            Probe::Format(draws) => {
                let how = (draws, careless);
                return Some(formatting::carry_out(scenario, options, disks, ledger, how));
            }
            Probe::Upgrade(draws) => return Some(upgrade::carry_out((draws, careless))),
            _ => {}
        }
        let mut disks = disks.clone();
        match self {
            Probe::Resized(sectors) => {
                let spec = *disks.data.spec();
                let bytes = spec.size.get() as i64 + sectors * i64::from(spec.sector);
                disks.data.resize(Bytes::new(bytes as u64));
            }
            Probe::Swapped => {
                let mut other = scenario.clone();
                other.format.store_id ^= 0x5eed;
                let other = other.disks(Protection::Checkpoint);
                disks.log = Some(other.log.unwrap_or(other.data));
            }
            Probe::Stale(data, log) => {
                let earlier = earlier?;
                if data {
                    disks.data = earlier.disks.data.clone();
                }
                if log {
                    disks.log = earlier.disks.log.clone();
                }
                return Some(look(scenario, options, disks, ledger, Some(&earlier.lanes)));
            }
            Probe::Format(_) | Probe::Upgrade(_) => unreachable!("tried above"),
        }
        Some(look(scenario, options, disks, ledger, None))
    }
}

/// Opens the disks. With the lanes of an earlier time, everything is read and judged by those and by what they have become; without, they must
/// be refused.
fn look(
    scenario: &Scenario,
    options: Options,
    disks: StoreDisks,
    ledger: &Ledger,
    earlier: Option<&[LaneHistory]>,
) -> Result<(), SoakFailure> {
    let mut reading = Ledger::new(0);
    // Pages that a log of another time speaks of are not what it says: that is found, not silent.
    reading.excuses.damage = earlier.is_some();
    let mut life = Life::open(scenario, options, disks, &mut reading, Rng::new(scenario.seed));
    while !life.host.store().is_open() {
        match life.fault() {
            Some(Fault::Restart(_)) => return Ok(()),
            Some(fault) => return Err(SoakFailure::Stopped(fault)),
            None => {}
        }
        if life.advance()? == LifeEvent::Nothing {
            return Err(life.stuck());
        }
    }
    let Some(earlier) = earlier else {
        return Err(SoakFailure::Answer("it opened on devices that are not its own".to_owned()));
    };
    for ((lane, history), then) in (0..).zip(&ledger.lanes).zip(earlier) {
        let found = life.read_back(lane)?;
        let promised = then.promise.cut;
        let judged = history.judge(&found, promised).or_else(|_| then.judge(&found, promised));
        judged.map_err(|wrong| SoakFailure::Restart { lane, wrong })?;
    }
    Ok(())
}
