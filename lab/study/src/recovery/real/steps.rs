//! The steps of one real run, in the order in which they happen.

use super::Halt;
use super::counts::{Counter, Course, TICK};
use super::fio;
use super::guest::{Guest, Heed};
use super::machine;
use super::node::Node;
use super::work::RealWork;
use crate::figure::Figures;
use crate::kind::{RunError, Tick};
use crate::place::{ClientKind, HostPlace};
use crate::plan::Job;
use crate::record::{RealFacts, RunRecord};
use crate::recovery::put_recovery;
use crate::recovery::run::{client_figures, with_recovery};
use crate::recovery::setup::Setup;
use crate::recovery::study::RecoveryStudy;
use crate::series::Series;
use crate::waits::{Outside, class_waits};
use loadline_base::{Span, Time};
use loadline_cluster::{PoolId, PoolSpec};
use loadline_device::Medium;
use loadline_host::{DirectAnswer, DirectAsk};
use loadline_load::{Image, Load};
use loadline_osd::{ClientId, OsdId, Waits};

/// The pool that a new node has holds the clients' image.
const IMAGE_POOL: PoolId = PoolId::new(0);

/// Requests of earlier steps, such as the checkpoint after the filling, are over when none came for this long.
const QUIET: Span = Span::from_millis(500);
/// They are not waited for longer than this: under a study's window a checkpoint may take its time.
const QUIET_LIMIT: Span = Span::from_secs(10);

/// What the load saw, whoever sent it.
struct Seen {
    client: Figures,
    series: Series,
    outside: Outside,
}

/// One run under way.
struct Run<'a> {
    study: &'a RecoveryStudy,
    job: &'a Job,
    setup: &'a Setup,
    work: RealWork,
    node: &'a Node,
    guest: Guest,
    facts: RealFacts,
    /// Objects that recovery had brought before everything was measured.
    received: u64,
}

pub(super) fn make(
    study: &RecoveryStudy,
    job: &Job,
    place: &HostPlace,
    mut tick: Tick<'_>,
) -> Result<RunRecord, Halt> {
    let setup = &study.setups[job.setup];
    let work = RealWork::of(study);
    let facts = machine::look(place, &work);
    let (node, client) = Node::start(study, job, place)?;
    let guest = Guest::new(client, job.seed);
    let mut run = Run { study, job, setup, work, node: &node, guest, facts, received: 0 };
    let mut heed = Heed::until(&mut tick, 0.2);
    run.describe()?;
    run.fill_image(place.client, &mut heed)?;
    heed.next(0.4);
    run.prepare(&mut heed)?;
    heed.next(1.0);
    match place.client {
        ClientKind::Own => run.under_own_load(&mut heed),
        ClientKind::Fio => run.under_fio(&mut heed),
    }
}

impl Run<'_> {
    fn describe(&mut self) -> Result<(), Halt> {
        let modes = self.guest.question(DirectAsk::Modes, |answer| match answer {
            DirectAnswer::Modes(modes) => Some(modes),
            _ => None,
        })?;
        machine::reached(&mut self.facts, &modes);
        let medium = if self.study.drive.medium == Medium::Ssd { "ssd" } else { "hdd" };
        let option = format!("osd_mclock_max_capacity_iops_{medium}");
        let values = self.guest.question(DirectAsk::Values(option), |answer| match answer {
            DirectAnswer::Values(values) => Some(values),
            _ => None,
        })?;
        self.facts.capacities = values.iter().filter_map(|text| text.parse().ok()).collect();
        Ok(())
    }

    fn fill_image(&mut self, client: ClientKind, heed: &mut Heed<'_, '_>) -> Result<(), Halt> {
        let objects = self.work.image.get() / self.work.object_size.get();
        match client {
            ClientKind::Own => self.guest.fill(IMAGE_POOL, (objects, self.work.object_size), heed),
            ClientKind::Fio => {
                let filling = fio::Run::begin(self.node, &fio::filling(&self.work))?;
                filling.until_it_ends(&mut self.guest, heed).map(drop)
            }
        }
    }

    /// Everything before the OSD returns.
    fn prepare(&mut self, heed: &mut Heed<'_, '_>) -> Result<(), Halt> {
        let spec = PoolSpec {
            name: "recovery".to_owned(),
            pgs: self.study.drive.fitted.pgs,
            copies: self.study.cluster.copies,
            object_bytes: self.work.object_size.get(),
            recovery_priority: 0,
        };
        let pool = self.guest.question(DirectAsk::Pool(spec), |answer| match answer {
            DirectAnswer::Pool(pool) => Some(pool),
            _ => None,
        })?;
        if self.setup.recovery {
            self.guest.ask(DirectAsk::TakeOut(self.last_osd()))?;
            self.until_clean(heed)?;
            self.guest.fill(pool, (self.work.objects, self.work.object_size), heed)?;
        }
        self.until_quiet(heed)
    }

    fn last_osd(&self) -> OsdId {
        OsdId::new(self.study.cluster.osds - 1)
    }

    fn until_clean(&mut self, heed: &mut Heed<'_, '_>) -> Result<(), Halt> {
        let limit = self.study.steps.limit;
        let until = self.guest.now() + limit;
        while !self.guest.counts()?.clean {
            if self.guest.now() >= until {
                let setup = self.setup.name().to_owned();
                return Err(Halt::Run(RunError::NeverClean { setup, limit }));
            }
            heed.at(0.0)?;
            self.guest.pause(self.guest.now() + TICK)?;
        }
        Ok(())
    }

    fn until_quiet(&mut self, heed: &mut Heed<'_, '_>) -> Result<(), Halt> {
        let until = self.guest.now() + QUIET_LIMIT;
        let mut before = self.guest.counts()?.device_requests;
        while self.guest.now() < until {
            self.guest.pause(self.guest.now() + QUIET)?;
            let now = self.guest.counts()?.device_requests;
            if now == before {
                break;
            }
            before = now;
            heed.at(1.0)?;
        }
        Ok(())
    }

    /// The moment from which everything is measured: the OSD is back, if the setup recovers one.
    fn turn_point(&mut self) -> Result<(), Halt> {
        self.received = self.guest.counts()?.received;
        self.guest.ask(DirectAsk::ResetWaits)?;
        if self.setup.recovery {
            let osd = self.last_osd();
            self.guest.question(DirectAsk::BringBack(osd), |answer| match answer {
                DirectAnswer::Back(back) => (back == osd).then_some(()),
                _ => None,
            })?;
        }
        Ok(())
    }

    /// Counts until recovery has ended, or for as long as the baseline lasts.
    fn course(&mut self, begun: Time, heed: &mut Heed<'_, '_>) -> Result<Course, Halt> {
        let (setup, limit) = (self.setup.name(), self.study.steps.limit);
        let counter =
            Counter { setup, scale: self.job.scale, limit, begun, received: self.received };
        match self.setup.recovery {
            true => counter.until_recovered(&mut self.guest, heed),
            false => counter.for_a_time(self.work.baseline, &mut self.guest, heed),
        }
    }

    fn under_own_load(mut self, heed: &mut Heed<'_, '_>) -> Result<RunRecord, Halt> {
        let object_bytes = self.work.object_size.get() as u32;
        let objects = self.work.image.get() / u64::from(object_bytes);
        let image = Image { pool: IMAGE_POOL, objects, object_bytes };
        let load = Load::new(&self.study.load, image, ClientId::new(1), self.job.seed);
        self.turn_point()?;
        let begun = self.guest.begin(load)?;
        let course = self.course(begun, heed)?;
        let seen = self.guest.load().expect("it has begun").record(self.guest.now());
        let client = client_figures(&seen);
        let series = Series::of_clients("client_iops", &seen.seconds, 1.0);
        let failed = self.guest.failed_ops();
        if failed > 0 {
            return Err(Halt::Failed(format!("{failed} client ops failed")));
        }
        let outside = Outside::Way(seen.outside);
        self.record(Seen { client, series, outside }, &course)
    }

    fn under_fio(mut self, heed: &mut Heed<'_, '_>) -> Result<RunRecord, Halt> {
        let job = fio::load(&self.study.load)?;
        self.turn_point()?;
        let before = self.guest.counts()?.device_requests;
        let returned = self.guest.now();
        let running = fio::Run::begin(self.node, &job)?;
        let begun = match self.setup.recovery {
            true => returned,
            false => self.first_request(before, heed)?,
        };
        let course = self.course(begun, heed)?;
        let seen = running.end(&mut self.guest, heed)?;
        if !seen.has_begun() {
            let text = "recovery ended before fio had begun; take a larger --set scale";
            return Err(Halt::Failed(text.to_owned()));
        }
        let (client, series) = (seen.figures(), seen.series());
        self.facts.know("fio", seen.version.clone());
        self.record(Seen { client, series, outside: Outside::Unknown }, &course)
    }

    /// The moment at which the disks get their first request after `before`: fio takes its time to begin.
    fn first_request(&mut self, before: u64, heed: &mut Heed<'_, '_>) -> Result<Time, Halt> {
        let until = self.guest.now() + QUIET_LIMIT;
        while self.guest.counts()?.device_requests == before && self.guest.now() < until {
            self.guest.pause(self.guest.now() + TICK)?;
            heed.at(0.0)?;
        }
        Ok(self.guest.now())
    }

    fn record(mut self, seen: Seen, course: &Course) -> Result<RunRecord, Halt> {
        let waits: Box<Waits> = self.guest.question(DirectAsk::Waits, |answer| match answer {
            DirectAnswer::Waits(waits) => Some(waits),
            _ => None,
        })?;
        let counts = self.guest.counts()?;
        let (job, setup) = (self.job, self.setup);
        let mut counted = seen.client;
        if setup.recovery {
            put_recovery(&mut counted, course.objects, self.work.object_size, course.window);
        }
        let mut series = with_recovery(seen.series, course.objects, &course.left);
        series.service = course.service.series();
        Ok(RunRecord {
            counted,
            device_requests: counts.device_requests,
            waits: class_waits(setup.plan(), &waits, &seen.outside),
            series,
            real: Some(self.facts),
            ..RunRecord::of(job, setup.name())
        })
    }
}
