//! A store after a load, at rest: what is damaged next.

use super::draw::Draw;
use super::ledger::Ledger;
use super::life::{Life, LifeEvent};
use super::ops::OpSource;
use super::outcome::SoakFailure;
use super::scenario::{Scenario, SoakLoad};
use super::sweep;
use crate::StoreDisks;
use loadline_base::Rng;
use loadline_store::paged::{Ask, LogMode, Options, Protection};

/// Events of a checkpoint before its store dies, at most.
const EVENTS_OF_CHECKPOINT: u64 = 60;

/// A store that takes a load, is told to make all of it durable, and dies.
#[derive(Clone, Copy, Debug)]
pub struct Resting {
    /// Where the load comes from.
    pub seed: u64,
    /// When ops are answered.
    pub log_mode: LogMode,
    /// Where images go.
    pub protection: Protection,
    /// Whether the log has its own device.
    pub has_log_device: bool,
    /// Whether it dies in the middle of a checkpoint.
    pub dies_in_checkpoint: bool,
    /// Ops of the load.
    pub ops: u64,
}

impl Resting {
    /// Its disks, which have noted what was written, and the options that it ran with. All that was asked is answered, and
    /// by its answer durable.
    pub fn make(&self) -> Result<(StoreDisks, Options), SoakFailure> {
        let small = Scenario::small(self.seed, self.has_log_device);
        let load = SoakLoad { keys: 150, objects: 5, object_span: 40 << 10, ..small.load.clone() };
        let scenario = Scenario { load, ..small };
        let options = sweep::options(self.log_mode, self.protection);
        let mut disks = scenario.disks(self.protection);
        disks.data.note_writes();
        let mut ledger = Ledger::new(scenario.load.lanes);
        let mut ops = OpSource::new(&scenario);
        let mut draws = Rng::for_purpose(self.seed, 6);
        let rng = Rng::new(self.seed);
        let mut life = Life::open(&scenario, options, disks, &mut ledger, rng);
        let mut left = self.ops;
        while left > 0 || life.ledger.open() > 0 {
            let is_open = life.host.store().is_open();
            while is_open && left > 0 && life.ledger.open() < scenario.load.depth {
                let (lane, ask) = ops.draw(&life.ledger.lanes, &mut draws);
                life.submit(lane, ask)?;
                left -= 1;
            }
            advance(&mut life)?;
            life.ledger.settle();
        }
        life.submit(0, Ask::Sync)?;
        while life.ledger.open() > 0 {
            advance(&mut life)?;
        }
        if self.dies_in_checkpoint {
            life.submit(0, Ask::Checkpoint)?;
            for _ in 0..draws.between(1, EVENTS_OF_CHECKPOINT) {
                if life.ledger.open() > 0 {
                    advance(&mut life)?;
                }
            }
        }
        Ok((life.host.into_disks(), options))
    }
}

fn advance(life: &mut Life<'_>) -> Result<(), SoakFailure> {
    match life.advance()? {
        LifeEvent::Nothing => Err(life.stuck()),
        _ => Ok(()),
    }
}
