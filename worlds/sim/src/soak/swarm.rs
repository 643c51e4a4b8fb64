//! One seed's run: a store lives, crashes and lives again, and is judged each time.

use super::SoakRow;
use super::check::findings;
use super::faults::FaultKind;
use super::ledger::{Excuses, Ledger};
use super::life::{Life, LifeEvent};
use super::ops::OpSource;
use super::outcome::{SeedOutcome, SoakCounts, SoakFailure};
use super::place::StoreRegion;
use super::plan::{Crash, LifePlan, SeedReplay, StorePlan};
use super::probes::{Earlier, Probe};
use super::rows::{refusal_row, superblock_on};
use super::scenario::Scenario;
use super::words;
use crate::StoreDisks;
use loadline_base::Rng;
use loadline_store::paged::{Fault, Protection, RestartFault};

/// How a life ended.
enum End {
    /// As planned, or because all was done.
    Crashed,
    /// The store stopped because a device failed it.
    Stopped(Fault),
    /// It could not be opened, or not be read, because of damage: this disk's data must come from replicas.
    Refused(Option<RestartFault>),
}

/// A store on its way through its lives.
pub(super) struct SwarmRun {
    scenario: Scenario,
    ledger: Ledger,
    ops: OpSource,
    rng: Rng,
    counts: SoakCounts,
    story: Vec<String>,
    /// The power went since the store was open last.
    was_cut: bool,
    images_wiped: bool,
    /// Every op goes into the story.
    told: bool,
    /// Faults of this kind excuse nothing.
    muted: Option<FaultKind>,
    /// The disks after the crash before the last one, as long as nothing was damaged.
    earlier: Option<Earlier>,
}

/// Runs a seed, or the part of it that `replay` names. With `told`, every op goes into the story.
pub(super) fn run(replay: &SeedReplay, told: bool) -> SeedOutcome {
    live(replay, told, None)
}

/// The same with faults of a kind that excuse nothing.
pub(super) fn run_muted(replay: &SeedReplay, kind: FaultKind) -> SeedOutcome {
    live(replay, false, Some(kind))
}

fn live(replay: &SeedReplay, told: bool, muted: Option<FaultKind>) -> SeedOutcome {
    let scenario = Scenario::new(replay.seed);
    let plan = StorePlan::new(&scenario, replay);
    let mut run = SwarmRun {
        ledger: Ledger::new(scenario.load.lanes),
        ops: OpSource::new(&scenario).with_sparse_reads(replay.seed),
        rng: Rng::for_purpose(replay.seed, 3),
        counts: SoakCounts {
            seeds: 1,
            smallest_logs: u64::from(Scenario::has_smallest_log(replay.seed)),
            ..SoakCounts::default()
        },
        story: vec![format!("{:?}", scenario)],
        was_cut: false,
        images_wiped: false,
        told,
        muted,
        earlier: None,
        scenario,
    };
    let mut disks = Some(run.scenario.disks(Protection::Checkpoint));
    let failure = run.live_all(&plan, &mut disks).err();
    run.counts.ops.add(&run.ledger.counts);
    SeedOutcome {
        counts: run.counts,
        failure,
        story: run.story,
        disks,
        lives: plan.lives.len(),
        faults: plan.faults(),
    }
}

impl SwarmRun {
    fn live_all(
        &mut self,
        plan: &StorePlan,
        disks: &mut Option<StoreDisks>,
    ) -> Result<(), SoakFailure> {
        for life in &plan.lives {
            if !self.live(life, disks)? {
                return Ok(());
            }
        }
        // The last life only looks what is there.
        let mut last = plan.lives.last().expect("there is one").clone();
        (last.ops, last.crash_at, last.faults) = (0, u64::MAX, Vec::new());
        last.least_cache = false;
        self.live(&last, disks)?;
        Ok(())
    }

    /// One life and the crash at its end. False if there can be no further one.
    fn live(
        &mut self,
        plan: &LifePlan,
        disks: &mut Option<StoreDisks>,
    ) -> Result<bool, SoakFailure> {
        self.story.push(format!("life with {:?}", plan));
        let mine = disks.take().expect("the disks are there");
        self.note_switch(plan, &mine);
        let mut ledger = std::mem::replace(&mut self.ledger, Ledger::new(0));
        let rng = Rng::new(self.rng.next_u64());
        self.counts.least_caches += u64::from(plan.least_cache);
        let mut life = Life::open(&self.scenario, plan.options, mine, &mut ledger, rng)
            .with_faults(plan.faults.clone())
            .muted(self.muted);
        let end = match self.pass(&mut life, plan) {
            // What waits for a request that hangs waits until the process dies.
            Err(SoakFailure::Stuck(_)) if life.ledger.excuses.hang => Ok(End::Crashed),
            end => end,
        };
        if !matches!(end, Ok(End::Refused(_))) {
            self.counts.rows.hit(life.row());
        }
        self.counts.faults.add(&life.struck.faults);
        self.counts.events += life.events;
        let totals = &life.host.store().metrics().totals;
        self.counts.small_writes.0 += totals.own_small;
        self.counts.small_writes.1 += totals.own_ahead;
        let left = life.host.into_disks();
        self.ledger = ledger;
        *disks = Some(left);
        let goes_on = match end? {
            End::Crashed => true,
            End::Stopped(fault) => {
                self.story.push(format!("it stopped: {fault:?}"));
                true
            }
            End::Refused(fault) => {
                self.counts.refusals += 1;
                let row = fault.and_then(|fault| refusal_row(fault, self.images_wiped));
                row.into_iter().for_each(|row| self.counts.rows.hit(row));
                false
            }
        };
        self.crash(plan, disks.as_mut().expect("they were just put there"));
        let is_checked = goes_on && !self.ledger.excuses.damage;
        if let Some(text) = disks.as_ref().filter(|_| is_checked).and_then(findings) {
            return Err(SoakFailure::Check(text));
        }
        if let Some(disks) = disks.as_ref().filter(|_| is_checked) {
            self.probe(plan, disks)?;
        }
        Ok(goes_on)
    }

    /// Tries with copies what people mix up.
    fn probe(&mut self, plan: &LifePlan, disks: &StoreDisks) -> Result<(), SoakFailure> {
        let (scenario, options) = (&self.scenario, plan.options);
        let try_one = |probe: &Probe| {
            let how = (&self.ledger, self.muted == Some(probe.kind()));
            let result = probe.carry_out(scenario, options, disks, self.earlier.as_ref(), how)?;
            Some((*probe, result))
        };
        let tried: Vec<_> = plan.probes.iter().filter_map(try_one).collect();
        self.earlier = Some(Earlier { disks: disks.clone(), lanes: self.ledger.lanes.clone() });
        for (probe, result) in tried {
            self.story.push(format!("tried on copies: {probe:?}"));
            self.counts.faults.hit(probe.kind());
            result?;
        }
        Ok(())
    }

    fn note_switch(&mut self, plan: &LifePlan, disks: &StoreDisks) {
        let begun = superblock_on(&disks.data).and_then(|superblock| superblock.begun);
        if begun.is_some_and(|begun| begun.protection != plan.options.protection) {
            self.counts.rows.hit(SoakRow::ProtectionSwitched);
        }
    }

    fn crash(&mut self, plan: &LifePlan, disks: &mut StoreDisks) {
        self.ledger.crashed();
        let StoreDisks { data, log } = disks;
        for disk in std::iter::once(data).chain(log) {
            match plan.crash {
                Crash::Cut(style) => disk.power_cut(style, &mut self.rng),
                Crash::Kill => disk.kill(&mut self.rng),
            }
        }
        match plan.crash {
            Crash::Cut(_) => {
                self.was_cut = true;
                self.counts.cuts += 1;
            }
            Crash::Kill => self.counts.kills += 1,
        }
        // A store that is opened again has nothing to do with the failures of devices before.
        let Excuses { damage, log, astray, passing, .. } = self.ledger.excuses;
        self.ledger.excuses = Excuses { damage, log, astray, passing, ..Excuses::default() };
        if plan.wipes_images {
            let (target, range) = StoreRegion::Images.range(&self.scenario.layout());
            let zeros = vec![0; (range.end - range.start) as usize];
            disks.of(target).poke(range.start, &zeros);
            self.ledger.excuses.damage |= self.muted != Some(FaultKind::Wiped);
            self.images_wiped = true;
            self.counts.faults.hit(FaultKind::Wiped);
        }
    }

    /// Lets a life run to its end.
    fn pass(&mut self, life: &mut Life<'_>, plan: &LifePlan) -> Result<End, SoakFailure> {
        let mut left = plan.ops;
        let mut is_open = false;
        loop {
            if let Some(fault) = life.fault() {
                return self.stopped(life, fault);
            }
            if !is_open && life.host.store().is_open() {
                if !self.judge(life)? {
                    return Ok(End::Refused(None));
                }
                is_open = true;
                continue;
            }
            if life.events >= plan.crash_at {
                return Ok(End::Crashed);
            }
            while is_open && left > 0 && life.ledger.open() < self.scenario.load.depth {
                self.submit(life)?;
                left -= 1;
            }
            if is_open && left == 0 && life.ledger.open() == 0 {
                return Ok(End::Crashed);
            }
            if life.advance()? == LifeEvent::Nothing {
                return Err(life.stuck());
            }
        }
    }

    fn stopped(&mut self, life: &Life<'_>, fault: Fault) -> Result<End, SoakFailure> {
        let excuses = life.ledger.excuses;
        let unreadable = matches!(
            fault,
            Fault::Restart(RestartFault::Unreadable(..) | RestartFault::UnreadablePage(_))
        );
        let excused = match fault {
            Fault::Restart(RestartFault::Unwritable) => excuses.stop,
            Fault::Restart(_) if unreadable && excuses.passing && !excuses.damage => true,
            Fault::Restart(fault) if excuses.damage => return Ok(End::Refused(Some(fault))),
            Fault::Restart(_) => false,
            // A page that was needed to go on is damaged: the restart meets it again.
            Fault::Unfinished => excuses.damage || excuses.passing,
            _ => excuses.stop,
        };
        if excused { Ok(End::Stopped(fault)) } else { Err(SoakFailure::Stopped(fault)) }
    }

    /// Reads everything back and compares it with what was promised. False if damage keeps it from being read.
    fn judge(&mut self, life: &mut Life<'_>) -> Result<bool, SoakFailure> {
        self.counts.restarts += 1;
        let mut whole = true;
        for lane in 0..self.scenario.load.lanes {
            let found = life.read_back(lane)?;
            let excuses = life.ledger.excuses;
            let history = &life.ledger.lanes[lane as usize];
            let promise = history.promise;
            let promised = match self.was_cut {
                _ if excuses.astray => 0,
                // Rot is told from a torn end by the proof that stands behind it, which a power cut may take.
                true if excuses.log => 0,
                false if excuses.log => promise.cut,
                true => promise.cut,
                false => promise.kill,
            };
            let number = match history.judge(&found, promised) {
                Ok(number) => number,
                Err(_) if excuses.astray => return Ok(false),
                Err(wrong) => return Err(SoakFailure::Restart { lane, wrong }),
            };
            whole &= found.is_whole();
            if found.is_whole() {
                life.ledger.lanes[lane as usize].restarted(number);
            }
        }
        self.was_cut = false;
        // What damaged the log before this life is behind it.
        life.ledger.excuses.log = life.struck.log;
        Ok(whole)
    }

    fn submit(&mut self, life: &mut Life<'_>) -> Result<(), SoakFailure> {
        let repair =
            life.ledger.damaged.pop().and_then(|damage| self.ops.repair(life.ledger, damage));
        let (lane, ask) = match repair {
            Some(repair) => repair,
            None => self.ops.draw(&life.ledger.lanes, &mut self.rng),
        };
        if self.told {
            let line = format!(
                "  event {}, lane {lane}, {}: {}",
                life.events,
                life.ledger.lanes[lane as usize].next(),
                words::of_ask(&ask)
            );
            self.story.push(line);
        }
        life.submit(lane, ask)
    }
}
