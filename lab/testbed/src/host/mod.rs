//! A node on this machine's disks: fresh ones for each testbed, real objects with data, clients through the node's queues or by
//! fio over its socket; or one store alone, embedded in this process (`embedded`). Nothing here is simulated, so nothing repeats to the bit.

mod embedded;
pub(crate) mod fio;
mod ground;
mod guest;
mod machine;
mod node;
mod spec;
mod spent;

pub use embedded::{EmbeddedSpec, EmbeddedStore};
pub use node::engine_of;
pub use spec::HostedSpec;

use crate::place::ClientKind;
use crate::{
    ClonedObjects, FIRST_SIGN, Heed, KnownLater, MachineFacts, Outside, Pace, RecoveryProgress,
    Seen, ServicesLeft, Stop, TestImage, Testbed, has_images,
};
use guest::Guest;
use loadline_base::{Bytes, Span, Time};
use loadline_cluster::images::{ImageId, ImageQos};
use loadline_cluster::{PoolId, PoolSpec};
use loadline_device::Medium;
use loadline_host::{DirectAnswer, DirectAsk, DirectCounts, DirectImage, DirectServices};
use loadline_load::{BlockImage, Load, LoadRecord, Loads};
use loadline_osd::{ClientId, OsdId, OsdService, TraceSpan, Waits};
use loadline_stats::LatencyHistogram;
use loadline_store::ObjectNo;
use node::RunningNode;
use spec::TICK;
use spent::ProcessorCount;
use std::collections::BTreeMap;

/// Whether a testbed could be made, before anything is written.
///
/// # Errors
/// What stands in the way and what would help, as a sentence.
pub fn check(spec: &HostedSpec) -> Result<(), String> {
    ground::check(&spec.ground())?;
    fio::check(spec.place.client, &spec.images)
}

/// The jobs that fio would get: one file that fills the images, and one with their loads.
pub fn fio_jobs(spec: &HostedSpec) -> [String; 2] {
    let load = fio::loads(&spec.images).unwrap_or_else(|reason| vec![(String::new(), reason)]);
    let filling = fio::fillings(spec.object_size, &spec.images);
    [fio::file(&filling), fio::file(&load)]
}

/// The pool that a new node has holds the clients' image.
const IMAGE_POOL: PoolId = PoolId::new(0);

/// The image that has clones, and how much of each of its objects is written over after the snapshot.
const WITH_CLONES: &str = "cloned";
const CHANGED: Bytes = Bytes::from_kib(4);

/// Requests of earlier steps, such as the checkpoint after the filling, are over when none came for this long.
const QUIET: Span = Span::from_millis(500);
/// They are not waited for longer than this: under a study's window a checkpoint may take its time.
const QUIET_LIMIT: Span = Span::from_secs(10);

/// A running node with its clients.
pub struct Hosted {
    spec: HostedSpec,
    guest: Guest,
    facts: MachineFacts,
    processors: ProcessorCount,
    fio: Option<fio::FioRun>,
    /// Objects that recovery had brought before everything counts.
    received: u64,
    /// Where the images' objects are.
    places: Vec<BlockImage>,
    /// When an OSD was back.
    returned: Option<Time>,
    /// Of the pools that were made.
    object_sizes: BTreeMap<PoolId, Bytes>,
    /// Last, so that whoever uses it has gone before it ends.
    node: RunningNode,
}

impl Hosted {
    /// Makes the disks and starts a node on them.
    ///
    /// # Errors
    /// [`Stop::Failed`] if there can be no such node.
    pub fn start(spec: HostedSpec) -> Result<Hosted, Stop> {
        let facts = machine::look(&spec);
        let (node, client) = RunningNode::start(&spec)?;
        let (guest, places) = (Guest::new(client, spec.seed), Vec::new());
        let (fio, received, returned, object_sizes) = (None, 0, None, BTreeMap::new());
        let processors = ProcessorCount::start();
        let mut hosted = Hosted {
            spec,
            guest,
            facts,
            processors,
            fio,
            received,
            places,
            returned,
            object_sizes,
            node,
        };
        hosted.describe()?;
        Ok(hosted)
    }

    fn describe(&mut self) -> Result<(), Stop> {
        let modes = self.guest.question(DirectAsk::Modes, |answer| match answer {
            DirectAnswer::Modes(modes) => Some(modes),
            _ => None,
        })?;
        machine::reached(&mut self.facts, &modes);
        let medium = if self.spec.medium == Medium::Ssd { "ssd" } else { "hdd" };
        let option = format!("osd_mclock_max_capacity_iops_{medium}");
        let values = self.guest.question(DirectAsk::Values(option), |answer| match answer {
            DirectAnswer::Values(values) => Some(values),
            _ => None,
        })?;
        self.facts.capacities = values.iter().filter_map(|text| text.parse().ok()).collect();
        Ok(())
    }

    /// The moment at which the disks get their first request after `before`: fio takes its time to begin.
    fn first_request(&mut self, before: u64, heed: &mut Heed<'_>) -> Result<Time, Stop> {
        let until = self.guest.now() + QUIET_LIMIT;
        while self.guest.counts()?.device_requests == before && self.guest.now() < until {
            self.guest.pause(self.guest.now() + TICK)?;
            heed.at(0.0)?;
        }
        Ok(self.guest.now())
    }

    /// Where an image's objects begin. Where images are told apart the map tells of them, with what they are promised and allowed; those
    /// that fio reaches by name are there already.
    fn first_object(&mut self, image: &TestImage) -> Result<ObjectNo, Stop> {
        if !has_images(&self.spec.images) && self.spec.place.client == ClientKind::Own {
            return Ok(ObjectNo(0));
        }
        let asked = DirectImage {
            name: image.name.clone(),
            pool: IMAGE_POOL,
            size: image.load.image,
            object_size: self.spec.object_size,
            qos: image.qos,
        };
        Ok(self.guest.image(asked)?.object(0))
    }

    fn place(&mut self, image: &TestImage) -> Result<BlockImage, Stop> {
        let first = self.first_object(image)?;
        let object_bytes = self.spec.object_size.get() as u32;
        let objects = image.load.image.get() / u64::from(object_bytes);
        Ok(BlockImage { pool: IMAGE_POOL, first, objects, object_bytes })
    }
}

fn left(counts: &DirectCounts) -> u64 {
    counts.progress.misplaced + counts.progress.degraded
}

impl Testbed for Hosted {
    fn now(&self) -> Time {
        self.guest.now()
    }

    fn pace(&self) -> Pace {
        Pace { clean: TICK, recovery: TICK, first_sign: FIRST_SIGN }
    }

    fn pass(&mut self, until: Time) -> Result<(), Stop> {
        self.guest.pause(until)
    }

    fn make_images(&mut self, heed: &mut Heed<'_>) -> Result<(), Stop> {
        self.processors.begin();
        for image in self.spec.images.clone() {
            let place = self.place(&image)?;
            if self.spec.place.client == ClientKind::Own {
                let (size, objects) = (self.spec.object_size, place.objects);
                self.guest.fill(IMAGE_POOL, (place.first, objects, size), heed)?;
            }
            self.places.push(place);
        }
        if self.spec.place.client == ClientKind::Fio {
            let jobs = fio::fillings(self.spec.object_size, &self.spec.images);
            let filling = fio::FioRun::begin(&self.node, &jobs)?;
            filling.until_it_ends(&mut self.guest, heed)?;
        }
        let images: u64 = self.spec.images.iter().map(|image| image.load.image.get()).sum();
        self.processors.filled(Bytes::new(images * u64::from(self.spec.copies)));
        Ok(())
    }

    fn make_pool(&mut self, name: &str, object_size: Bytes) -> Result<PoolId, Stop> {
        let spec = PoolSpec {
            name: name.to_owned(),
            pgs: self.spec.pgs,
            copies: self.spec.copies,
            object_bytes: object_size.get(),
            recovery_priority: 0,
        };
        let pool = self.guest.question(DirectAsk::Pool(spec), |answer| match answer {
            DirectAnswer::Pool(pool) => Some(pool),
            _ => None,
        })?;
        self.object_sizes.insert(pool, object_size);
        Ok(pool)
    }

    fn fill(&mut self, pool: PoolId, objects: u64, heed: &mut Heed<'_>) -> Result<(), Stop> {
        self.guest.fill(pool, (ObjectNo(0), objects, self.object_sizes[&pool]), heed)
    }

    fn fill_with_clones(
        &mut self,
        pool: PoolId,
        ClonedObjects { objects, changed }: ClonedObjects,
        heed: &mut Heed<'_>,
    ) -> Result<(), Stop> {
        let object_size = self.object_sizes[&pool];
        let size = Bytes::new(objects * object_size.get());
        let (name, qos) = (WITH_CLONES.to_owned(), ImageQos::default());
        let first = self.guest.image(DirectImage { name, pool, size, object_size, qos })?;
        self.guest.fill(pool, (first.object(0), objects, object_size), heed)?;
        self.guest.change(DirectAsk::TakeSnapshot(WITH_CLONES.to_owned()))?;
        self.guest.fill(pool, (first.object(0), changed, CHANGED), heed)
    }

    fn remove_snapshot(&mut self, _pool: PoolId) -> Result<(), Stop> {
        self.guest.change(DirectAsk::RemoveSnapshot(WITH_CLONES.to_owned()))
    }

    fn remove_pool(&mut self, pool: PoolId) -> Result<(), Stop> {
        self.guest.change(DirectAsk::RemovePool(pool))
    }

    fn deep_scrub(&mut self, pool: PoolId) -> Result<(), Stop> {
        self.guest.change(DirectAsk::DeepScrub(pool))
    }

    fn services(&mut self, scrubbed: Option<PoolId>) -> Result<ServicesLeft, Stop> {
        let ask = DirectAsk::Services(scrubbed);
        let DirectServices { scrub, to_trim, to_delete } =
            self.guest.question(ask, |answer| match answer {
                DirectAnswer::Services(services) => Some(services),
                _ => None,
            })?;
        let closely = KnownLater::default();
        Ok(ServicesLeft { scrub, trim: to_trim, removal: to_delete, closely })
    }

    fn take_out(&mut self, osd: OsdId) -> Result<(), Stop> {
        self.guest.ask(DirectAsk::TakeOut(osd))
    }

    fn bring_back(&mut self, osd: OsdId) -> Result<(), Stop> {
        self.guest.question(DirectAsk::BringBack(osd), |answer| match answer {
            DirectAnswer::Back(back) => (back == osd).then_some(()),
            _ => None,
        })?;
        self.returned = Some(self.guest.now());
        Ok(())
    }

    fn settle(&mut self, heed: &mut Heed<'_>) -> Result<(), Stop> {
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

    fn count_from_now(&mut self) -> Result<(), Stop> {
        self.received = self.guest.counts()?.received;
        self.guest.ask(DirectAsk::ResetWaits)
    }

    fn start_load(&mut self, heed: &mut Heed<'_>) -> Result<Time, Stop> {
        if let Some((ops, place)) = self.spec.traced.clone().zip(self.places.first()) {
            self.guest.ask(DirectAsk::Trace(ImageId::of(place.first).0, ops))?;
        }
        match self.spec.place.client {
            ClientKind::Own => {
                let images = self.spec.images.iter().zip(&self.places).zip(1..);
                let load = |((image, place), client): ((&TestImage, &BlockImage), u32)| {
                    let seed = self.spec.seed.wrapping_add(u64::from(client - 1) << 32);
                    Load::new(&image.load, *place, ClientId::new(client), seed)
                };
                let loads = Loads::new(images.map(load).collect::<Vec<_>>());
                self.processors.begin();
                self.guest.begin(loads)
            }
            ClientKind::Fio => {
                let jobs = fio::loads(&self.spec.images)?;
                let before = self.guest.counts()?.device_requests;
                self.fio = Some(fio::FioRun::begin(&self.node, &jobs)?);
                match self.returned {
                    Some(returned) => Ok(returned),
                    None => self.first_request(before, heed),
                }
            }
        }
    }

    fn latency(&mut self) -> Option<LatencyHistogram> {
        self.guest.loads()?.latency().cloned()
    }

    fn end_load(&mut self, heed: &mut Heed<'_>) -> Result<Vec<Seen>, Stop> {
        if let Some(running) = self.fio.take() {
            let (version, seen) = running.end(&mut self.guest, heed)?;
            if seen.iter().any(|seen| seen.iops == 0.0) {
                let text = "recovery ended before fio had begun; take a larger --set scale";
                return Err(Stop::Failed(text.to_owned()));
            }
            self.facts.know("fio", version);
            return Ok(seen);
        }
        let loads = self.guest.loads().expect("they have begun");
        let seen = |seen: LoadRecord| Seen {
            iops: seen.iops(),
            latency: (&seen.latency).into(),
            lasted: seen.window,
            seconds: seen.seconds,
            outside: Outside::Way(seen.outside),
        };
        let records = loads.records(self.guest.now());
        self.guest.end();
        self.processors.loaded(records.iter().map(|seen| seen.latency.count()).sum());
        self.facts.processors = Some(self.processors.found());
        match self.guest.failed_ops() {
            0 => Ok(records.into_iter().map(seen).collect()),
            failed => Err(Stop::Failed(format!("{failed} client ops failed"))),
        }
    }

    fn progress(&mut self) -> Result<RecoveryProgress, Stop> {
        let counts = self.guest.counts()?;
        let (left, moved) = (left(&counts), counts.received.saturating_sub(self.received));
        let recovered = left == 0 && counts.clean && moved > 0;
        Ok(RecoveryProgress { moved, left, clean: counts.clean, recovered, copied: None })
    }

    fn service(&mut self) -> Result<(Time, Vec<OsdService>), Stop> {
        self.guest.service()
    }

    fn waits(&mut self) -> Result<Box<Waits>, Stop> {
        self.guest.question(DirectAsk::Waits, |answer| match answer {
            DirectAnswer::Waits(waits) => Some(waits),
            _ => None,
        })
    }

    fn device_requests(&mut self) -> Result<u64, Stop> {
        Ok(self.guest.counts()?.device_requests)
    }

    fn drive_busy(&mut self, osd: OsdId) -> Result<Option<Span>, Stop> {
        Ok(machine::drive_busy(&self.spec.place.disks, osd))
    }

    fn take_trace(&mut self) -> Result<Vec<TraceSpan>, Stop> {
        self.guest.question(DirectAsk::Traced, |answer| match answer {
            DirectAnswer::Traced(spans) => Some(spans),
            _ => None,
        })
    }

    fn facts(&mut self) -> Option<MachineFacts> {
        Some(self.facts.clone())
    }
}
