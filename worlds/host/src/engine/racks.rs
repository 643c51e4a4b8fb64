//! The racks that other loops turn, as the owner's loop knows them: which OSD stands where, how something comes to it, and how it is looked into.
//!
//! A rack's loop holds its rack while it turns and lets go of it while it waits; whoever looks into an OSD holds it meanwhile, at the latest when
//! the turn is over. Nothing else is shared: what is for a rack, and what leaves it, are batches by mail.

use super::loop_ways::{LoopWays, OsdPlaces};
use super::mail::{Mail, RackMail};
use super::rack_disks::RackDisks;
use super::rack_loop::RackLoop;
use super::shared_rack::{RackOnLoop, SharedRack};
use crate::{Loop, LoopError, LoopOptions, Mailbox, Mode};
use loadline_node::{Node, OtherRacks, Rack};
use loadline_osd::OsdId;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::cell::Cell;
use std::num::NonZeroUsize;
use std::ops::{Deref, DerefMut};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, MutexGuard};
use std::thread::JoinHandle;

/// Keeps this thread on a processor, by its number among the loops, where there is one for each.
fn stay_on_a_processor(number: usize, loops: usize) {
    let Ok(may) = sched_getaffinity(None) else { return };
    let processors: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|at| may.is_set(*at)).collect();
    if processors.len() >= loops {
        let mut one = CpuSet::new();
        one.set(processors[number]);
        // A system that refuses places the thread by itself.
        let _ = sched_setaffinity(None, &one);
    }
}

/// The racks of other loops, to look into.
struct RacksElsewhere {
    racks: Vec<Arc<SharedRack>>,
    places: OsdPlaces,
    /// Which are held: a second look at the same one would wait for ever.
    held: Vec<Cell<bool>>,
}

impl RacksElsewhere {
    fn look(&self, rack: usize) -> HeldRack<'_> {
        assert!(!self.held[rack].replace(true), "one look at a time");
        HeldRack { rack: self.racks[rack].hold(), held: &self.held[rack] }
    }
}

impl OtherRacks for RacksElsewhere {
    fn hold(&self, osd: OsdId) -> Option<Box<dyn DerefMut<Target = Rack> + '_>> {
        let at = self.places.of(osd).checked_sub(1)?;
        Some(Box::new(self.look(at)))
    }

    fn hold_all(&self) -> Vec<Box<dyn DerefMut<Target = Rack> + '_>> {
        let all = (0..self.racks.len()).map(|rack| Box::new(self.look(rack)) as _);
        all.collect()
    }
}

struct HeldRack<'a> {
    rack: MutexGuard<'a, RackOnLoop>,
    held: &'a Cell<bool>,
}

impl Deref for HeldRack<'_> {
    type Target = Rack;

    fn deref(&self) -> &Rack {
        &self.rack.rack
    }
}

impl DerefMut for HeldRack<'_> {
    fn deref_mut(&mut self) -> &mut Rack {
        &mut self.rack.rack
    }
}

impl Drop for HeldRack<'_> {
    fn drop(&mut self) {
        self.held.set(false);
    }
}

/// The other loops of a node. They end with it.
pub(super) struct Racks {
    ways: LoopWays,
    racks: Vec<Arc<SharedRack>>,
    threads: Vec<JoinHandle<()>>,
}

impl Racks {
    /// Gives each loop but the first its rack, and lets it turn.
    ///
    /// # Errors
    /// A loop cannot be made.
    #[expect(clippy::disallowed_methods, reason = "a loop is a thread")]
    pub(super) fn start(
        node: &mut Node,
        own: Mailbox<Mail>,
        loops: NonZeroUsize,
        options: LoopOptions,
    ) -> Result<Racks, LoopError> {
        let places = OsdPlaces::new(loops);
        let mut ways = LoopWays { places: places.clone(), mailboxes: vec![own] };
        let (mut racks, mut threads, mut begun) = (Vec::new(), Vec::new(), Vec::new());
        for number in 1..loops.get() {
            let rack = Arc::new(SharedRack::new(node.rack().part(|osd| places.of(osd) == number)));
            racks.push(Arc::clone(&rack));
            // A loop is made on the thread that runs it; it turns when it knows the others.
            let (made, hear) = sync_channel(1);
            let (begin, begins) = sync_channel::<LoopWays>(1);
            threads.push(std::thread::spawn(move || {
                let world = match Loop::new(options) {
                    Ok(world) => world,
                    Err(error) => return drop(made.send(Err(error))),
                };
                // Threads that carry requests out would all be on the loop's processor.
                if matches!(world.mode(), Mode::Uring { .. }) {
                    stay_on_a_processor(number, loops.get());
                }
                let _ = made.send(Ok(world.mailbox()));
                // Another loop could not be made.
                let Ok(ways) = begins.recv() else { return };
                RackLoop::new(world, rack, ways).run();
            }));
            ways.mailboxes.push(hear.recv().expect("it says so or why not")?);
            begun.push(begin);
        }
        for begin in begun {
            let _ = begin.send(ways.clone());
        }
        if loops.get() > 1 {
            let racks = racks.clone();
            let held = racks.iter().map(|_| Cell::new(false)).collect();
            node.look_elsewhere(Box::new(RacksElsewhere { racks, places, held }));
        }
        Ok(Racks { ways, racks, threads })
    }

    /// How many loops there are, the owner's among them.
    pub(super) fn loops(&self) -> usize {
        self.ways.places.loops
    }

    /// Where other loops take mail.
    pub(super) fn ways(&self) -> &LoopWays {
        &self.ways
    }

    /// Whether another loop turns an OSD.
    pub(super) fn is_elsewhere(&self, osd: OsdId) -> bool {
        self.ways.places.of(osd) > 0
    }

    /// The rack of an OSD, unless it is the owner's own.
    pub(super) fn elsewhere(&self, osd: OsdId) -> Option<MutexGuard<'_, RackOnLoop>> {
        let at = self.ways.places.of(osd).checked_sub(1)?;
        Some(self.racks[at].hold())
    }

    /// All of them.
    pub(super) fn all(&self) -> impl Iterator<Item = MutexGuard<'_, RackOnLoop>> {
        self.racks.iter().map(|rack| rack.hold())
    }

    /// Has something done on the loop of an OSD that is not the owner's own, and waits until it is. What it does is short.
    pub(super) fn ask<T: Send + 'static>(
        &self,
        osd: OsdId,
        what: impl FnOnce(&mut Loop<Mail>, &mut RackDisks) -> T + Send + 'static,
    ) -> T {
        let (tell, hear) = sync_channel(1);
        let asked = move |world: &mut Loop<Mail>, disks: &mut RackDisks| {
            let _ = tell.send(what(world, disks));
        };
        self.ways.send(self.ways.places.of(osd), RackMail::Do(Box::new(asked)));
        hear.recv().expect("no loop has died")
    }
}

impl Drop for Racks {
    fn drop(&mut self) {
        (1..self.loops()).for_each(|to| self.ways.send(to, RackMail::End));
        for thread in self.threads.drain(..) {
            // What it has died of it has told.
            let _ = thread.join();
        }
    }
}
