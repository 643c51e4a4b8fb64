//! The node's memory: one budget, shared out before anything is opened. The stores' parts are fixed by their caches; what is left
//! is the connections', and peers wait where it is used up.
//!
//! **Nothing deadlocks.** A request takes its part, for what it brings and for what answers it, before anything of it is
//! received; so whatever has begun ends without asking for more. Admin connections and the stores' own work have parts of their own.
//!
//! **Nobody takes all.** A connection may hold as much as is left after it, no more: with N connections that take what they
//! can, each has a share of 1/(N+1), and as much is still free for the next one. Those that hold memory others wait for and let
//! nothing move for a while are ended. Of those that wait, the one whose peer holds least goes first.
//!
//! **Who asks for little does not wait for those who ask for much.** Of what requests may hold, a part for each connection that there may
//! be is for small ones alone: whatever others hold, a connection whose requests hold nothing begins a small one at once.
//!
//! **Nobody stays outside.** A quarter of the connections' part is for what each takes without requests, so that requests never
//! keep a new connection out.
//!
//! **Nobody starves.** A request that is longer than its connection's share waits for what the connection's other requests hold, and
//! is then carried out within the share there is, in parts: the small one at least.

use super::host_node::HostNode;
use crate::memory::ProgramMemory;
use loadline_base::{Bytes, Span};
use loadline_wire::nbd::OPTION_MAX;
use loadline_wire::request_room::ROOM_MIN;
use std::fs;

/// The program, the map, what is known of objects, the admin connections.
const NODE: Bytes = Bytes::from_mib(96);
/// What an OSD takes beside pages: memory for requests in flight (16 MiB), the window's ops with their log records, pushes of
/// recovery and scans.
const OSD_WORK: Bytes = Bytes::from_mib(48);
/// How often it is looked for memory for those that wait, if none was given back meanwhile.
pub(super) const LOOK: Span = Span::from_secs(1);
/// What a connection may always have for requests, if it holds no more than that.
const SMALL: u64 = ROOM_MIN;
/// With less than this for connections, few would be let in, and long requests would have many parts.
const CONNECTIONS_MIN: Bytes = Bytes::from_mib(96);
/// What a connection takes without a request: its state and a short receive buffer.
pub(super) const CONNECTION: u64 = 24 << 10;
/// While others wait for memory, a connection that holds some may let nothing move for so long.
pub(super) const STALL: Span = Span::from_secs(5);
/// While others wait for what a client that has closed had still asked for, it may go on for so long from its close on: six times what one
/// is given that lets nothing move.
pub(super) const HEARD_OUT: Span = Span::from_secs(30);
/// A block that an allocator takes from where it keeps what it gives back, and not from among the small ones.
const LARGE: usize = 4 << 20;
/// Memory for pages of one OSD, where there is room for as much and nobody says otherwise.
const CACHE: Bytes = Bytes::from_mib(256);
/// Less than any store takes, for saying whether a smaller cache would do.
const CACHE_LEAST: Bytes = Bytes::from_mib(1);
/// What a cache shrinks to, in steps of it, where there is not.
const CACHE_STEP: u64 = 4 << 20;

/// How a node's memory is shared out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryPlan {
    /// All that the node may take.
    pub memory: Bytes,
    /// Memory for pages of each OSD.
    pub cache: Bytes,
}

/// The budget is less than what the node needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLittleMemory {
    /// The budget.
    pub memory: Bytes,
    /// The cache of each OSD.
    pub cache: Bytes,
    /// How many OSDs.
    pub osds: u32,
}

impl std::fmt::Display for TooLittleMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let TooLittleMemory { memory, cache, osds } = *self;
        let least = MemoryPlan::least(osds, cache);
        write!(
            f,
            "{memory} of memory are too little: {osds} OSDs take {} each ({cache} of cache, {} of old versions, {OSD_WORK} of work), the node \
             {NODE} and connections at least {CONNECTIONS_MIN}, together {least}; ",
            of_osd(cache),
            old_versions(cache),
        )?;
        match MemoryPlan::least(osds, CACHE_LEAST) <= memory {
            true => write!(f, "give more or choose a smaller cache"),
            false => write!(f, "no smaller cache would do: give at least {least:#}"),
        }
    }
}

impl std::error::Error for TooLittleMemory {}

impl MemoryPlan {
    /// What was asked for, or what suits the machine: a quarter of its memory, and 256 MiB of cache for each OSD or what there is
    /// room for.
    ///
    /// # Errors
    /// [`TooLittleMemory`] if the caches leave too little for the rest.
    pub fn new(
        memory: Option<Bytes>,
        cache: Option<Bytes>,
        osds: u32,
    ) -> Result<MemoryPlan, TooLittleMemory> {
        let memory = memory.unwrap_or_else(|| Bytes::new(machine().get() / 4));
        let fits = |cache: Bytes| MemoryPlan::least(osds, cache) <= memory;
        let smaller =
            (1..=CACHE.get() / CACHE_STEP).rev().map(|steps| Bytes::new(steps * CACHE_STEP));
        let suiting =
            || smaller.clone().find(|cache| fits(*cache)).unwrap_or(Bytes::new(CACHE_STEP));
        let cache = cache.unwrap_or_else(suiting);
        match fits(cache) {
            true => Ok(MemoryPlan { memory, cache }),
            false => Err(TooLittleMemory { memory, cache, osds }),
        }
    }

    /// Enough for these OSDs and some gigabyte of requests, whatever the machine has: for whoever counts memory otherwise.
    pub fn enough(osds: u32, cache: Bytes) -> MemoryPlan {
        let memory = MemoryPlan::least(osds, cache) + Bytes::from_mib(1024);
        MemoryPlan { memory, cache }
    }

    /// The least that such a node needs.
    pub fn least(osds: u32, cache: Bytes) -> Bytes {
        NODE + CONNECTIONS_MIN + Bytes::new(of_osd(cache).get() * u64::from(osds))
    }

    /// What is left for connections.
    fn connections(&self, osds: u32) -> u64 {
        let others = NODE.get() + of_osd(self.cache).get() * u64::from(osds);
        self.memory.get().saturating_sub(others)
    }
}

/// What one OSD takes.
fn of_osd(cache: Bytes) -> Bytes {
    cache + old_versions(cache) + OSD_WORK
}

/// Old versions of pages, while a checkpoint writes them: the store's own rule.
fn old_versions(cache: Bytes) -> Bytes {
    loadline_store::paged::Options { cache, ..Default::default() }.old_versions_bytes()
}

/// All memory that there is for programs; a gigabyte where nobody tells.
fn machine() -> Bytes {
    ProgramMemory::here().total.unwrap_or(Bytes::from_mib(1024))
}

/// What requests may hold together.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestsPart {
    /// All of them.
    pub all: u64,
    /// Of that, what is for small ones alone.
    pub for_small: u64,
}

/// What connections hold of their part.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HeldMemory {
    /// Without requests.
    states: u64,
    /// For requests.
    data: u64,
    /// The most of both together so far.
    peak: u64,
}

/// What one connection is charged for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ConnectionCharge {
    /// What it takes without a request.
    pub states: u64,
    /// Receive buffers beyond a short one.
    pub buffers: u64,
    /// What requests bring, and what answers them.
    pub requests: u64,
}

impl ConnectionCharge {
    /// What it takes for requests.
    pub(super) fn data(&self) -> u64 {
        self.buffers + self.requests
    }
}

impl HeldMemory {
    /// What all connections hold.
    pub(super) fn connections(&self) -> u64 {
        self.states + self.data
    }

    /// A connection holds another amount than before.
    pub(super) fn change(&mut self, before: ConnectionCharge, after: ConnectionCharge) {
        self.states = self.states + after.states - before.states;
        self.data = self.data + after.data() - before.data();
        self.peak = self.peak.max(self.connections());
    }

    /// How much more the requests may take of a connection that is charged for this already: it may hold what is left after it, and
    /// something small in any case.
    pub(super) fn room(&self, part: RequestsPart, own: ConnectionCharge) -> u64 {
        let free = part.all.saturating_sub(self.data);
        let share = free.saturating_sub(part.for_small).saturating_sub(own.data()) / 2;
        share.max(SMALL.saturating_sub(own.requests).min(free))
    }

    /// How many more connections may come, with so much for all without requests: each could choose an export after the others.
    pub(super) fn more_connections(&self, states_most: u64) -> u32 {
        let free = states_most.saturating_sub(self.states + OPTION_MAX as u64);
        u32::try_from(free / CONNECTION).unwrap_or(u32::MAX)
    }
}

impl HostNode {
    /// How the node's memory is shared out.
    fn plan(&self) -> MemoryPlan {
        MemoryPlan { memory: self.config.memory, cache: self.config.cache }
    }

    /// The OSDs that take memory: a number whose OSD was removed takes none.
    fn osd_count(&self) -> u32 {
        let map = self.node.cluster().map();
        self.disks.of.ids().filter(|osd| !map.is_removed(*osd)).count() as u32
    }

    /// What connections may hold together.
    fn connections_most(&self) -> u64 {
        self.plan().connections(self.osd_count())
    }

    /// What connections may hold without requests.
    pub(super) fn states_most(&self) -> u64 {
        self.connections_most() / 4
    }

    /// What they may hold for requests.
    pub(super) fn requests_part(&self) -> RequestsPart {
        let all = self.connections_most() - self.states_most();
        let places =
            (self.states_most() / CONNECTION).min(u64::from(self.config.doors.connections));
        RequestsPart { all, for_small: places * SMALL }
    }

    /// Whether one more OSD fits the budget.
    pub(super) fn has_memory_for_osd(&self) -> Result<(), TooLittleMemory> {
        let (osds, MemoryPlan { memory, cache }) = (self.osd_count() + 1, self.plan());
        match MemoryPlan::least(osds, cache) <= memory {
            true => Ok(()),
            false => Err(TooLittleMemory { memory, cache, osds }),
        }
    }

    /// Who holds what of the memory, if connections hold this and so many wait for some.
    pub(super) fn memory_use(
        &self,
        held: HeldMemory,
        waiting: u32,
    ) -> crate::admin::api::MemoryUse {
        let (plan, osds) = (self.plan(), u64::from(self.osd_count()));
        crate::admin::api::MemoryUse {
            budget_bytes: plan.memory.get(),
            resident_bytes: resident(),
            caches_bytes: plan.cache.get() * osds,
            old_versions_bytes: old_versions(plan.cache).get() * osds,
            osd_work_bytes: OSD_WORK.get() * osds,
            node_bytes: NODE.get(),
            connections_bytes: self.connections_most(),
            connections_held_bytes: held.connections(),
            connections_peak_bytes: held.peak,
            connections_waiting: waiting,
        }
    }
}

/// Lets the allocator look for memory that is free for long enough to be given back. One that waits before it gives back does so only
/// when something large is freed: after the last of a crowd has left nothing is, and the crowd's memory stayed for good.
pub(super) fn give_back_memory() {
    drop(std::hint::black_box(Vec::<u8>::with_capacity(LARGE)));
}

/// What the process has of the machine's memory; 0 where the system does not tell.
fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|text| text.trim().strip_suffix(" kB")?.parse::<u64>().ok()).unwrap_or(0) << 10
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn a_budget_that_is_too_small_is_refused_with_the_figure() {
        let (memory, cache) = (Some(Bytes::from_mib(1024)), Some(Bytes::from_mib(256)));
        let refused = MemoryPlan::new(memory, cache, 4).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "1 GiB of memory are too little: 4 OSDs take 560 MiB each (256 MiB of cache, 256 MiB of old versions, 48 MiB of work), the node \
             96 MiB and connections at least 96 MiB, together 2.38 GiB; give more or choose a smaller cache"
        );
        assert!(MemoryPlan::new(memory, cache, 1).is_ok());
    }

    /// A smaller cache was advised where none helps.
    #[test]
    fn where_no_cache_would_do_the_memory_is_told_that_does() {
        let refused = MemoryPlan::new(Some(Bytes::from_mib(256)), None, 3).unwrap_err();
        let least = MemoryPlan::least(3, refused.cache);
        let says = format!("; no smaller cache would do: give at least {least:#}");
        assert!(refused.to_string().ends_with(&says), "{refused}");
        assert!(MemoryPlan::new(Some(least), Some(refused.cache), 3).is_ok());
    }

    #[test]
    fn a_cache_that_nobody_asked_for_shrinks_to_what_there_is() {
        let plan = |mib| MemoryPlan::new(Some(Bytes::from_mib(mib)), None, 4).unwrap();
        assert_eq!(plan(8192).cache, Bytes::from_mib(256));
        let small = plan(1024);
        assert!(small.cache < Bytes::from_mib(256) && small.cache >= Bytes::from_mib(64));
        assert!(small.connections(4) >= CONNECTIONS_MIN.get());
        assert!(MemoryPlan::new(Some(Bytes::from_mib(200)), None, 4).is_err());
    }

    /// As many as like to may take what they can: some is left for the next one.
    #[test]
    fn nobody_takes_all() {
        let plan = MemoryPlan::enough(1, Bytes::from_mib(64));
        let most = plan.connections(1);
        let mut held = vec![0u64; 100];
        for turn in 0..100_000 {
            let one = turn % held.len();
            let free = most - held.iter().sum::<u64>();
            let room = free.saturating_sub(held[one]) / 2;
            held[one] += room.min(MIB);
        }
        let free = most - held.iter().sum::<u64>();
        assert!(free > most / 200, "{free} of {most} are free");
        assert!(held.iter().all(|held| *held <= free + MIB));
    }

    #[test]
    fn a_connection_may_hold_half_of_what_it_leaves() {
        let mut held = HeldMemory::default();
        let charge = |requests| ConnectionCharge { states: CONNECTION, buffers: 0, requests };
        let part = RequestsPart { all: MIB, for_small: 0 };
        let room = |held: &HeldMemory, own| held.room(part, charge(own));
        held.change(ConnectionCharge::default(), charge(600 << 10));
        let kib = |own: u64| room(&held, own << 10) >> 10;
        assert_eq!([0, 100, 400, 424, 600].map(kib), [212, 162, 12, 0, 0]);
        held.change(charge(600 << 10), charge(0));
        assert_eq!((room(&held, 0), held.peak), (MIB / 2, CONNECTION + (600 << 10)));
    }

    /// A crowd whose connections came one after the other, and each took half of what it found, left nothing for the next one.
    #[test]
    fn a_small_request_finds_room_whatever_others_hold() {
        const PLACES: usize = 300;
        let charge = |requests| ConnectionCharge { states: CONNECTION, buffers: 0, requests };
        let part = RequestsPart { all: 43 * MIB, for_small: PLACES as u64 * SMALL };
        let mut held = HeldMemory::default();
        let mut own = vec![0; PLACES];
        for turn in 0..3 * PLACES {
            let one = turn % PLACES;
            // Some take what they can, some all that is small, some little by little.
            let room = held.room(part, charge(own[one]));
            let taken = [room, room.min(SMALL), room.min(4096)][one % 3];
            assert!(own[one] > 0 || taken >= 4096, "place {one} finds {taken}");
            held.change(charge(own[one]), charge(own[one] + taken));
            own[one] += taken;
            assert!(held.data <= part.all);
        }
        assert!(own.iter().all(|own| *own >= 3 * 4096));
        let shared = held.room(RequestsPart { all: 2 * part.all, ..part }, charge(0));
        assert!(shared > SMALL, "who asks for more has a share as before: {shared}");
    }

    #[test]
    fn a_connection_comes_in_if_it_could_choose_an_export() {
        let mut held = HeldMemory::default();
        let first = CONNECTION + OPTION_MAX as u64;
        assert_eq!([first - 1, first].map(|most| held.more_connections(most)), [0, 1]);
        held.change(
            ConnectionCharge::default(),
            ConnectionCharge { states: CONNECTION, buffers: 0, requests: 1 << 30 },
        );
        let second = CONNECTION + first;
        assert_eq!([second - 1, second].map(|most| held.more_connections(most)), [0, 1]);
        assert_eq!(held.more_connections(second + 6 * CONNECTION), 7);
    }
}
