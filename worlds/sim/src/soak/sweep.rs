//! A power cut at every event of a run: after each request that goes to a disk and after each answer, on a copy of the
//! disks. The run itself goes on as if nothing had been.

use super::SoakRow;
use super::check::findings;
use super::draw::Draw;
use super::faults::{FaultKind, Planned, PlannedFault};
use super::ledger::Ledger;
use super::life::{Life, LifeEvent};
use super::ops::OpSource;
use super::outcome::{SoakCounts, SoakFailure};
use super::place::StoreRegion;
use super::rows::{refusal_row, superblock_on};
use super::scenario::Scenario;
use crate::StoreDisks;
use crate::disk::CutStyle;
use loadline_base::{Bytes, Rng, Span};
use loadline_store::paged::bounds::cache_least;
use loadline_store::paged::image_set::HEADER_BLOCK;
use loadline_store::paged::{Ask, Edit, Fault as StoreFault, LogMode, Options, Protection};

/// After so many cuts one is followed by cuts at every event of its restart, and each of those restarts is judged.
const RESTARTS_TOO: u64 = 71;
/// The same for the restarts of these restarts.
const THEIRS_TOO: u64 = 17;
/// After so many cuts, the store takes a checkpoint after its restart and the checker looks at what that leaves.
const CHECKPOINTS_TOO: u64 = 13;

/// The cache of the run.
const CACHE: Bytes = Bytes::from_kib(256);

/// A run that is cut everywhere.
#[derive(Clone, Copy, Debug)]
pub struct Sweep {
    /// Where everything comes from.
    pub seed: u64,
    /// Where images go.
    pub protection: Protection,
    /// What is promised.
    pub log_mode: LogMode,
    /// Whether the log has its own device.
    pub has_log_device: bool,
    /// Ops of the run.
    pub ops: u64,
    /// Every so many flushes of the run, one is answered and not carried out. A sweep that finds nothing wrong with such
    /// disks would find nothing at all.
    pub lies: Option<u64>,
}

/// Where a sweep failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SweepFailure {
    /// The event of the run after which the power went.
    pub event: u64,
    /// How many restarts had been cut before the one that failed.
    pub restarts_cut: u32,
    /// What is wrong.
    pub failure: SoakFailure,
}

/// A sweep at work.
struct Sweeping {
    sweep: Sweep,
    scenario: Scenario,
    rng: Rng,
    counts: SoakCounts,
}

impl Sweep {
    /// Runs and cuts. Answers how often each row was hit.
    pub fn run(&self) -> Result<SoakCounts, SweepFailure> {
        let scenario = Scenario::small(self.seed, self.has_log_device);
        let rng = Rng::for_purpose(self.seed, 4);
        let mut sweeping = Sweeping {
            sweep: *self,
            scenario,
            rng,
            counts: SoakCounts { seeds: 1, ..SoakCounts::default() },
        };
        sweeping.cut_everywhere()?;
        for place in [StoreRegion::Images, StoreRegion::Pages] {
            sweeping.fail_once(place).map_err(|failure| at(0, failure))?;
        }
        Ok(sweeping.counts)
    }

    fn options(&self) -> Options {
        options(self.log_mode, self.protection)
    }
}

/// The settings of small stores: everything that is done by the clock is done within milliseconds.
pub(super) fn options(log_mode: LogMode, protection: Protection) -> Options {
    Options {
        log_mode,
        protection,
        cache: CACHE,
        old_versions: Bytes::from_kib(24),
        checkpoint_interval: Span::from_millis(20),
        log_flush_interval: Span::from_micros(700),
        log_sync_interval: Span::from_micros(700),
        direct_write: Bytes::from_kib(2),
        placed_write: Bytes::from_kib(1),
        ..Options::default()
    }
}

fn at(event: u64, failure: SoakFailure) -> SweepFailure {
    SweepFailure { event, restarts_cut: 0, failure }
}

impl Sweeping {
    fn cut_everywhere(&mut self) -> Result<(), SweepFailure> {
        let mut ledger = Ledger::new(self.scenario.load.lanes);
        let mut ops = OpSource::new(&self.scenario);
        let mut draws = Rng::for_purpose(self.sweep.seed, 5);
        let disks = self.scenario.disks(Protection::Checkpoint);
        let rng = Rng::new(self.sweep.seed);
        let mut life = Life::open(&self.scenario, self.sweep.options(), disks, &mut ledger, rng)
            .with_lies(self.sweep.lies);
        let mut left = self.sweep.ops;
        while left > 0 || life.ledger.open() > 0 {
            let is_open = life.host.store().is_open();
            while is_open && left > 0 && life.ledger.open() < self.scenario.load.depth {
                let (lane, ask) = ops.draw(&life.ledger.lanes, &mut draws);
                life.submit(lane, ask).map_err(|failure| at(life.events, failure))?;
                left -= 1;
            }
            match life.advance() {
                Ok(LifeEvent::Nothing) => return Err(at(life.events, life.stuck())),
                Ok(_) => {}
                Err(failure) => return Err(at(life.events, failure)),
            }
            self.cut(&life)?;
            life.ledger.settle();
        }
        self.counts.events += life.events;
        self.counts.ops.add(&life.ledger.counts);
        Ok(())
    }

    /// Cuts the power at this moment of the run, on a copy.
    fn cut(&mut self, life: &Life<'_>) -> Result<(), SweepFailure> {
        let row = life.row();
        self.counts.rows.hit(row);
        let mut disks = life.host.disks().clone();
        let depth = u32::from(self.counts.cuts.is_multiple_of(RESTARTS_TOO));
        // What a killed process leaves unflushed the cut of its next life's restart may take.
        if depth > 0 && self.counts.kills * RESTARTS_TOO * 2 < self.counts.cuts {
            let StoreDisks { data, log } = &mut disks;
            std::iter::once(data).chain(log).for_each(|disk| disk.kill(&mut self.rng));
            self.counts.kills += 1;
        } else {
            self.power_cut(&mut disks, life.events);
        }
        if row == SoakRow::PagesWithImages && life.events.is_multiple_of(5) {
            self.spoil_images(&disks).map_err(|failure| at(life.events, failure))?;
        }
        self.restart(disks, life.ledger, depth).map_err(|(restarts_cut, failure)| SweepFailure {
            event: life.events,
            restarts_cut,
            failure,
        })
    }

    fn power_cut(&mut self, disks: &mut StoreDisks, number: u64) {
        let styles = [
            CutStyle::Random,
            CutStyle::Torn,
            CutStyle::AllLost,
            CutStyle::Random,
            CutStyle::AllKept,
        ];
        let style = styles[number as usize % styles.len()];
        let StoreDisks { data, log } = disks;
        for disk in std::iter::once(data).chain(log) {
            disk.power_cut(style, &mut self.rng);
        }
        self.counts.cuts += 1;
    }

    /// Opens what a cut has left and judges it. With `depth`, its restart is cut at every event as well.
    fn restart(
        &mut self,
        disks: StoreDisks,
        before: &Ledger,
        depth: u32,
    ) -> Result<(), (u32, SoakFailure)> {
        if let Some(text) = findings(&disks) {
            return Err((0, SoakFailure::Check(text)));
        }
        let layout = self.scenario.layout();
        let floor = cache_least(&layout);
        let cache = *self.rng.pick(&[CACHE, floor]);
        // A replay makes checkpoints as well, if it is given little memory and a low trigger.
        let dirty_trigger_percent = if cache < CACHE { 10 } else { 50 };
        let options = Options {
            protection: *self.rng.pick(&[Protection::Log, Protection::Checkpoint]),
            log_mode: *self.rng.pick(&LogMode::ALL),
            cache,
            dirty_trigger_percent,
            ..self.sweep.options()
        };
        let begun = superblock_on(&disks.data).and_then(|superblock| superblock.begun);
        if begun.is_some_and(|begun| begun.protection != options.protection) {
            self.counts.rows.hit(SoakRow::ProtectionSwitched);
        }
        self.open_and_judge(disks, options, before, depth)
    }

    /// An error comes with the number of restarts that were cut before.
    fn open_and_judge(
        &mut self,
        disks: StoreDisks,
        options: Options,
        before: &Ledger,
        depth: u32,
    ) -> Result<(), (u32, SoakFailure)> {
        let mut reading = Ledger::new(0);
        let rng = Rng::new(self.rng.next_u64());
        let mut life = Life::open(&self.scenario, options, disks, &mut reading, rng);
        self.open_cut(&mut life, before, depth)?;
        self.judge(&mut life, before).map_err(|failure| (0, failure))
    }

    /// Lets a restart come to its end. With `depth`, it is cut at its events on the way.
    fn open_cut(
        &mut self,
        life: &mut Life<'_>,
        before: &Ledger,
        depth: u32,
    ) -> Result<(), (u32, SoakFailure)> {
        while !life.host.store().is_open() {
            match life.advance().map_err(|failure| (0, failure))? {
                LifeEvent::Nothing => return Err((0, life.stuck())),
                _ if life.fault().is_some() => return Err((0, stopped(life))),
                _ => {}
            }
            let again = depth == 1 || (depth == 2 && life.events.is_multiple_of(THEIRS_TOO));
            if again && !life.host.store().is_open() {
                self.counts.rows.hit(life.row());
                let mut disks = life.host.disks().clone();
                self.power_cut(&mut disks, life.events);
                let deeper = depth == 1 && life.events.is_multiple_of(THEIRS_TOO);
                let depth = if deeper { 2 } else { 0 };
                self.restart(disks, before, depth)
                    .map_err(|(cuts, failure)| (cuts + 1, failure))?;
            }
        }
        Ok(())
    }

    fn judge(&mut self, life: &mut Life<'_>, before: &Ledger) -> Result<(), SoakFailure> {
        self.counts.restarts += 1;
        for (lane, history) in (0..).zip(&before.lanes) {
            let found = life.read_back(lane)?;
            let judged = history.judge(&found, history.promise.cut);
            judged.map_err(|wrong| SoakFailure::Restart { lane, wrong })?;
        }
        if self.counts.restarts.is_multiple_of(CHECKPOINTS_TOO) {
            life.checkpoint()?;
            let text = findings(&life.host.disks().clone());
            return text.map_or(Ok(()), |text| Err(SoakFailure::Check(text)));
        }
        Ok(())
    }

    /// A rotten image and no image at all: the restart must refuse.
    fn spoil_images(&mut self, disks: &StoreDisks) -> Result<(), SoakFailure> {
        let Some(superblock) = superblock_on(&disks.data) else { return Ok(()) };
        let Some(begun) = superblock.begun else { return Ok(()) };
        if begun.protection != Protection::Checkpoint {
            return Ok(());
        }
        let first = superblock.layout.recovery_offset + HEADER_BLOCK as u64;
        for wiped in [false, true] {
            let mut spoiled = disks.clone();
            if wiped {
                spoiled.data.poke(first - HEADER_BLOCK as u64, &[0; HEADER_BLOCK]);
            } else {
                let byte = first + self.rng.below(begun.images.bytes);
                spoiled.data.rot(byte..byte + 1);
            }
            let fault = self.refusal(spoiled)?;
            match fault {
                StoreFault::Restart(fault) if refusal_row(fault, wiped).is_some() => {
                    self.counts.refusals += 1;
                    refusal_row(fault, wiped).into_iter().for_each(|row| self.counts.rows.hit(row));
                }
                other => return Err(SoakFailure::Stopped(other)),
            }
        }
        Ok(())
    }

    /// Why a store does not open.
    fn refusal(&mut self, disks: StoreDisks) -> Result<StoreFault, SoakFailure> {
        let mut reading = Ledger::new(0);
        let rng = Rng::new(self.rng.next_u64());
        let mut life = Life::open(&self.scenario, self.sweep.options(), disks, &mut reading, rng);
        loop {
            if let Some(fault) = life.fault() {
                return Ok(fault);
            }
            if life.host.store().is_open() {
                return Err(SoakFailure::Answer("it opened with damaged images".to_owned()));
            }
            if life.advance()? == LifeEvent::Nothing {
                return Err(life.stuck());
            }
        }
    }

    /// A write of a checkpoint fails: the store stops, and its next life has everything that was promised.
    fn fail_once(&mut self, place: StoreRegion) -> Result<(), SoakFailure> {
        let mut ledger = Ledger::new(self.scenario.load.lanes);
        let mut ops = OpSource::new(&self.scenario);
        let mut draws = Rng::for_purpose(self.sweep.seed, 5);
        let disks = self.scenario.disks(Protection::Checkpoint);
        // Nothing is written beside the log, so that the first write of a page is the checkpoint's. Long writes are left out.
        let options = Options { direct_write: Bytes::from_mib(1024), ..self.sweep.options() };
        let rng = Rng::new(self.rng.next_u64());
        let planned = vec![Planned { from: 0, fault: PlannedFault::WriteFails(place) }];
        let mut life =
            Life::open(&self.scenario, options, disks, &mut ledger, rng).with_faults(planned);
        let mut left = self.sweep.ops;
        while life.fault().is_none() && (left > 0 || life.ledger.open() > 0) {
            let is_open = life.host.store().is_open();
            while is_open && left > 0 && life.ledger.open() < self.scenario.load.depth {
                let (lane, ask) = ops.draw(&life.ledger.lanes, &mut draws);
                left -= 1;
                if !writes_beside_the_log(&ask, self.scenario.limits().transaction_bytes as u64) {
                    life.submit(lane, ask)?;
                }
            }
            if life.advance()? == LifeEvent::Nothing {
                return Err(life.stuck());
            }
        }
        if life.fault().is_none() {
            // Under the other protection there are no images to be written.
            return Ok(());
        }
        self.counts.faults.hit(FaultKind::WriteFails);
        self.counts.rows.hit(life.row());
        let mut disks = life.host.disks().clone();
        self.power_cut(&mut disks, life.events);
        self.restart(disks, &ledger, 0).map_err(|(_, failure)| failure)
    }
}

/// Whether a write is too long for a record, and its pages go to the device at once.
fn writes_beside_the_log(ask: &Ask, record: u64) -> bool {
    let Ask::Transaction(edits) = ask else { return false };
    edits.iter().any(|edit| matches!(edit, Edit::Write { data, .. } if data.length() > record / 2))
}

fn stopped(life: &Life<'_>) -> SoakFailure {
    SoakFailure::Stopped(life.fault().expect("it has stopped"))
}
