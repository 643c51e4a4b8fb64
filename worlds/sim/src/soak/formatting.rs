//! A crash while a store is being made, on blank devices or over another store's. What is there afterwards is what was there
//! before, or nothing, or the new store, which is empty; and making it again always helps.

use super::check::findings;
use super::draw::Draw;
use super::history::LaneHistory;
use super::lane::counter;
use super::ledger::Ledger;
use super::life::{Life, LifeEvent};
use super::outcome::SoakFailure;
use super::scenario::Scenario;
use crate::StoreDisks;
use crate::disk::{CutStyle, SimDisk};
use loadline_base::{Bytes, Rng, Time};
use loadline_device::{ClassTag, Outcome, Priority, Request, RequestKind};
use loadline_store::paged::bounds::cache_least;
use loadline_store::paged::ids::StoreId;
use loadline_store::paged::superblock::SuperblockFault;
use loadline_store::paged::{
    Fault, FormatPiece, Options, Protection, RestartFault, StoreDevice, format,
};

/// The class of what is written.
const CLASS: ClassTag = ClassTag(0);

/// The stages of formatting, and how far they come.
struct Making<'a> {
    disks: &'a mut StoreDisks,
    stages: Vec<Vec<FormatPiece>>,
    /// Requests that are still sent or answered before the crash.
    left: u64,
}

/// What a crash has left of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FormatRemains {
    /// The superblocks of before may be gone in part.
    Begun,
    /// They are gone, and the new ones may be there in part; if none is, marks say which store was being made.
    Between,
    /// The new store exists.
    Whole,
}

/// Makes another store on these disks, or on blank ones, crashes in the middle, and looks. The canary is `careless`: it writes
/// everything at once.
pub(super) fn carry_out(
    scenario: &Scenario,
    options: Options,
    disks: &StoreDisks,
    ledger: &Ledger,
    (draws, careless): (u64, bool),
) -> Result<(), SoakFailure> {
    let mut rng = Rng::new(draws);
    let mut disks = disks.clone();
    let is_blank = rng.one_in(4);
    if is_blank {
        let blank = |disk: &SimDisk| SimDisk::new(*disk.spec(), draws);
        disks = StoreDisks { data: blank(&disks.data), log: disks.log.as_ref().map(blank) };
    }
    let new = other(scenario, &mut rng);
    let stages = format(&new.format, options.protection).expect("it fits").stages().to_vec();
    let stages = if careless { vec![stages.concat()] } else { stages };
    let requests: u64 = stages.iter().map(|stage| 2 * stage.len() as u64 + 4).sum();
    let cut_at = rng.below(requests + 1);
    let left = Making { disks: &mut disks, stages, left: cut_at }.make();
    let style =
        *rng.pick(&[CutStyle::AllLost, CutStyle::AllKept, CutStyle::Random, CutStyle::Torn]);
    let StoreDisks { data, log } = &mut disks;
    for disk in std::iter::once(data).chain(log) {
        disk.power_cut(style, &mut rng);
    }
    let when = format!("a format, cut after {cut_at} of {requests} requests with {style:?}");
    let options = Options { cache: options.cache.max(cache_least(&new.layout())), ..options };
    let wrong = |text: String| SoakFailure::Answer(format!("{when}: {text}"));
    look(scenario, (&new, options), disks.clone(), (ledger, left)).map_err(wrong)?;
    disks.format(&new.format, Protection::Checkpoint).expect("it fits");
    if let Some(text) = findings(&disks) {
        return Err(wrong(format!("made again, the checker finds {text}")));
    }
    look(scenario, (&new, options), disks, (ledger, FormatRemains::Whole)).map_err(wrong)
}

/// Another store for the same devices: with the same places, or with another log.
fn other(scenario: &Scenario, rng: &mut Rng) -> Scenario {
    let mut new = scenario.clone();
    new.format.store_id = (new.format.store_id ^ 0xf0).max(1);
    if rng.one_in(2) {
        new.format.segment_bytes = Bytes::from_kib(64);
        if new.log.is_none() {
            new.format.log_bytes = Bytes::from_kib(4 * 64);
        }
    }
    new
}

impl Making<'_> {
    fn make(mut self) -> FormatRemains {
        let mut left = FormatRemains::Begun;
        for (at, stage) in std::mem::take(&mut self.stages).into_iter().enumerate() {
            if at > 0 {
                left = FormatRemains::Between;
            }
            if !self.stage(stage) {
                return left;
            }
        }
        FormatRemains::Whole
    }

    /// Writes a stage and makes it durable. False if the power goes before that.
    fn stage(&mut self, stage: Vec<FormatPiece>) -> bool {
        for (target, offset, bytes) in stage {
            let request = request(RequestKind::Write, offset, bytes.len());
            if !self.submit(target, &request, bytes) {
                return false;
            }
        }
        let targets = [Some(StoreDevice::Data), self.disks.log.as_ref().map(|_| StoreDevice::Log)];
        let targets = || targets.into_iter().flatten();
        targets().all(|target| self.answer(target))
            && targets().all(|target| {
                self.submit(target, &request(RequestKind::Flush, 0, 0), Vec::new())
                    && self.answer(target)
            })
    }

    fn submit(&mut self, target: StoreDevice, request: &Request, bytes: Vec<u8>) -> bool {
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        self.disks.of(target).submit(Time::ZERO, 0, request, bytes);
        true
    }

    /// Waits until a device has answered everything.
    fn answer(&mut self, target: StoreDevice) -> bool {
        while let Some(time) = self.disks.of(target).next_done() {
            if self.left == 0 {
                return false;
            }
            self.left -= 1;
            let done = self.disks.of(target).finish(time).expect("it is due");
            assert_eq!(done.outcome, Outcome::Done, "nothing else fails here");
        }
        true
    }
}

fn request(kind: RequestKind, offset: u64, length: usize) -> Request {
    let length = Bytes::new(length as u64);
    Request {
        kind,
        offset,
        length,
        class: CLASS,
        priority: Priority::default(),
        duration_limit: None,
    }
}

/// Opens what is there and says what is wrong with it.
fn look(
    scenario: &Scenario,
    (new, options): (&Scenario, Options),
    disks: StoreDisks,
    (ledger, left): (&Ledger, FormatRemains),
) -> Result<(), String> {
    let mut reading = Ledger::new(0);
    // A superblock of the former store that is not its newest leads to pages that are newer: that is found, not silent.
    reading.excuses.damage = left == FormatRemains::Begun;
    let mut life = Life::open(new, options, disks, &mut reading, Rng::new(scenario.seed));
    let unfinished = |fault| {
        let mark = StoreId::new(new.format.store_id).map(SuperblockFault::Unfinished);
        matches!(fault, RestartFault::Superblock(found) if Some(found) == mark)
    };
    while !life.host.store().is_open() {
        match life.fault() {
            Some(Fault::Restart(_)) if left == FormatRemains::Begun => return Ok(()),
            Some(Fault::Restart(fault)) if left == FormatRemains::Between && unfinished(fault) => {
                return Ok(());
            }
            Some(fault) => return Err(fault.to_string()),
            None => {}
        }
        match life.advance() {
            Ok(LifeEvent::Nothing) => return Err("it never opens".to_owned()),
            Ok(_) => {}
            Err(failure) => return Err(failure.to_string()),
        }
    }
    let is_new = life.host.store().superblock().store_id == new.format.store_id;
    if !is_new && left != FormatRemains::Begun {
        return Err("the former store is there again".to_owned());
    }
    for (lane, history) in (0..).zip(&ledger.lanes) {
        let found = life.read_back(lane).map_err(|failure| failure.to_string())?;
        let empty = LaneHistory::new(counter(lane));
        let history = if is_new { &empty } else { history };
        history.judge(&found, 0).map_err(|wrong| format!("lane {lane}: {wrong:?}"))?;
    }
    Ok(())
}
