//! The testbed at the node's desk: it sends the clients' ops, asks for counters, and lets time pass.

use crate::{Heed, Stop};
use loadline_base::{Bytes, Rng, Span, Time};
use loadline_cluster::PoolId;
use loadline_cluster::images::ImageId;
use loadline_host::{
    Clock, DirectAnswer, DirectAsk, DirectClient, DirectCounts, DirectEnd, DirectImage, DirectOp,
    NodeGone,
};
use loadline_load::Loads;
use loadline_osd::{ClientId, Data, OpKind, OsdService};
use loadline_sim::{Issue, Workload};
use loadline_store::ObjectNo;
use std::time::Duration;

/// Objects written at a time while a pool is filled.
const FILL_DEPTH: u64 = 8;
/// A step that takes longer has failed: nothing that is asked of a node lasts longer without a sign of life.
const PATIENCE: Span = Span::from_secs(60);
/// How often somebody may end a run.
const HEED: Span = Span::from_millis(50);

fn gone(_: NodeGone) -> Stop {
    Stop::Failed("the node ended before the run did".to_owned())
}

/// A client with its counters.
pub(super) struct Guest {
    direct: DirectClient,
    clock: Clock,
    loads: Option<Loads>,
    issue: Vec<Issue>,
    contents: FillContents,
    failed_ops: u64,
}

impl Guest {
    pub(super) fn new(direct: DirectClient, seed: u64) -> Guest {
        Guest {
            direct,
            clock: Clock::start(),
            loads: None,
            issue: Vec::new(),
            contents: FillContents::new(seed),
            failed_ops: 0,
        }
    }

    pub(super) fn now(&self) -> Time {
        self.clock.now()
    }

    pub(super) fn ask(&self, ask: DirectAsk) -> Result<(), Stop> {
        self.direct.ask(ask).map_err(gone)
    }

    /// Lets clients begin; what they see counts from now on.
    pub(super) fn begin(&mut self, mut loads: Loads) -> Result<Time, Stop> {
        let now = self.now();
        loads.measure_from(now);
        loads.start(now, &mut self.issue);
        self.loads = Some(loads);
        self.send()?;
        Ok(now)
    }

    /// Lets the clients send nothing more; what is under way still ends.
    pub(super) fn end(&mut self) {
        self.loads.iter_mut().for_each(Loads::stop);
    }

    /// The loads, to read their results.
    pub(super) fn loads(&self) -> Option<&Loads> {
        self.loads.as_ref()
    }

    /// Ops that no copy could carry out.
    pub(super) fn failed_ops(&self) -> u64 {
        self.failed_ops
    }

    /// The next answer that is not about the load's ops, waiting for it until then at most. The load goes on meanwhile.
    pub(super) fn answer(&mut self, until: Time) -> Result<Option<DirectAnswer>, Stop> {
        loop {
            let now = self.now();
            if now >= until {
                return Ok(None);
            }
            let wake = self.loads.as_ref().and_then(Loads::next_wake);
            if wake.is_some_and(|at| at <= now) {
                self.with_loads(|loads, issue| loads.woke(now, issue))?;
                continue;
            }
            let until_wake = wake.map_or(until, |at| at.min(until));
            let patience = Duration::from_nanos(until_wake.since(now).nanos());
            match self.direct.answer(patience).map_err(gone)? {
                Some(DirectAnswer::Ended(ended)) if self.loads.is_some() => self.ended(&ended)?,
                Some(answer) => return Ok(Some(answer)),
                None => {}
            }
        }
    }

    fn ended(&mut self, ended: &[DirectEnd]) -> Result<(), Stop> {
        let now = self.now();
        self.failed_ops += ended.iter().filter(|end| end.data.is_none()).count() as u64;
        self.with_loads(|loads, issue| {
            for end in ended {
                loads.completed(now, end.token, end.inside, issue);
            }
        })
    }

    fn with_loads(&mut self, act: impl FnOnce(&mut Loads, &mut Vec<Issue>)) -> Result<(), Stop> {
        let loads = self.loads.as_mut().expect("the loads have begun");
        act(loads, &mut self.issue);
        self.send()
    }

    fn send(&mut self) -> Result<(), Stop> {
        if self.issue.is_empty() {
            return Ok(());
        }
        let contents = &mut self.contents;
        let op = |Issue { target, token }: Issue| DirectOp {
            token,
            client: target.client,
            kind: target.kind,
            pool: target.pool,
            object: target.object,
            offset: target.offset,
            length: target.length,
            data: if target.kind == OpKind::Write {
                contents.next(target.length)
            } else {
                Data::NONE
            },
        };
        let ops = self.issue.drain(..).map(op).collect();
        self.direct.ask(DirectAsk::Ops(ops)).map_err(gone)
    }

    /// Asks, and waits for the answer that `pick` takes.
    pub(super) fn question<T>(
        &mut self,
        ask: DirectAsk,
        pick: impl Fn(DirectAnswer) -> Option<T>,
    ) -> Result<T, Stop> {
        let words = format!("{ask:?}");
        self.ask(ask)?;
        let until = self.now() + PATIENCE;
        while let Some(answer) = self.answer(until)? {
            if let Some(picked) = pick(answer) {
                return Ok(picked);
            }
        }
        Err(Stop::Failed(format!("the node did not answer `{words}` within {PATIENCE}")))
    }

    /// Has something changed in the map.
    pub(super) fn change(&mut self, ask: DirectAsk) -> Result<(), Stop> {
        let changed = self.question(ask, |answer| match answer {
            DirectAnswer::Changed(changed) => Some(changed),
            _ => None,
        })?;
        changed.map_err(Stop::Failed)
    }

    /// Makes an image, or gives the one of its name these terms.
    pub(super) fn image(&mut self, of: DirectImage) -> Result<ImageId, Stop> {
        let made = self.question(DirectAsk::Image(of), |answer| match answer {
            DirectAnswer::Image(made) => Some(made),
            _ => None,
        })?;
        made.map_err(Stop::Failed)
    }

    /// The counters, as they are now. A disk that has failed ends the run.
    pub(super) fn counts(&mut self) -> Result<DirectCounts, Stop> {
        let counts = self.question(DirectAsk::Count, |answer| match answer {
            DirectAnswer::Counts(counts) => Some(counts),
            _ => None,
        })?;
        match counts.faults.first() {
            Some((osd, fault)) => Err(Stop::Failed(format!("{osd} went down: {fault}"))),
            None => Ok(counts),
        }
    }

    /// What the schedulers have given until now, by the node's clock.
    pub(super) fn service(&mut self) -> Result<(Time, Vec<OsdService>), Stop> {
        self.question(DirectAsk::Service, |answer| match answer {
            DirectAnswer::Service(at, service) => Some((at, service)),
            _ => None,
        })
    }

    /// Lets time pass.
    pub(super) fn pause(&mut self, until: Time) -> Result<(), Stop> {
        while self.answer(until)?.is_some() {}
        Ok(())
    }

    /// Writes so many full objects into a pool, from this one on. `share` becomes how far it is.
    pub(super) fn fill(
        &mut self,
        pool: PoolId,
        (first, objects, size): (ObjectNo, u64, Bytes),
        heed: &mut Heed<'_>,
    ) -> Result<(), Stop> {
        let (mut sent, mut done) = (0, 0);
        let mut quiet_until = self.now() + PATIENCE;
        while done < objects {
            let room = (objects - sent).min(FILL_DEPTH - (sent - done));
            let ops: Vec<DirectOp> =
                (sent..sent + room).map(|at| self.whole_object(pool, (first, at), size)).collect();
            sent += room;
            if !ops.is_empty() {
                self.ask(DirectAsk::Ops(ops))?;
            }
            match self.answer(self.now() + HEED)? {
                Some(DirectAnswer::Ended(ended)) => {
                    if ended.iter().any(|end| end.data.is_none()) {
                        return Err(Stop::Failed("an object could not be written".to_owned()));
                    }
                    done += ended.len() as u64;
                    quiet_until = self.now() + PATIENCE;
                }
                _ if self.now() > quiet_until => {
                    let text = format!("no object was written within {PATIENCE}");
                    return Err(Stop::Failed(text));
                }
                _ => {}
            }
            heed.at(done as f64 / objects as f64)?;
        }
        Ok(())
    }

    fn whole_object(
        &mut self,
        pool: PoolId,
        (first, at): (ObjectNo, u64),
        size: Bytes,
    ) -> DirectOp {
        let length = size.get() as u32;
        DirectOp {
            token: at,
            client: ClientId::new(0),
            kind: OpKind::Write,
            pool,
            object: ObjectNo(first.0 + at),
            offset: 0,
            length,
            data: self.contents.next(length),
        }
    }
}

/// What is written: random bytes that no drive can make smaller, with a number in each 4 KiB so that no two are alike.
struct FillContents {
    base: Vec<u8>,
    written: u64,
}

impl FillContents {
    const PAGE: usize = 4096;
    const BASE: usize = 1 << 20;

    fn new(seed: u64) -> FillContents {
        let mut rng = Rng::for_purpose(seed, 3);
        let words = (0..Self::BASE / 8).flat_map(|_| rng.next_u64().to_le_bytes());
        FillContents { base: words.collect(), written: 0 }
    }

    fn next(&mut self, length: u32) -> Data {
        let mut bytes = Vec::with_capacity(length as usize);
        while bytes.len() < length as usize {
            let from = self.written as usize * Self::PAGE % Self::BASE;
            let piece = (length as usize - bytes.len()).min(Self::PAGE);
            let at = bytes.len();
            bytes.extend_from_slice(&self.base[from..from + piece]);
            self.written += 1;
            let stamp = self.written.to_le_bytes();
            let stamped = stamp.len().min(piece);
            bytes[at..at + stamped].copy_from_slice(&stamp[..stamped]);
        }
        Data::new(bytes)
    }
}
