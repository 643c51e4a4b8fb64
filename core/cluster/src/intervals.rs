//! A placement group's way into its next interval: a conversation of the map's owner with the OSDs that run.
//!
//! 1. All of them are asked. Who hears that ends the group's interval there, and what it answers stays true from then on.
//! 2. When all have answered, [`peer`] decides, and the members get the interval: first all but the primary, and when these have
//!    joined, the primary. So nothing reaches a member that does not know the interval yet.
//! 3. When the primary has joined, ops may be sent to it; where the map is on disks, only when those tell of the interval too
//!    (`durable.rs`).
//!
//! Whatever happens meanwhile to an OSD begins the conversation anew, under another number; what still comes under an earlier one
//! is void. A group is in no interval while it is spoken of, and serves nobody.

use crate::cluster::{Cluster, OwnerEffects};
use crate::peering::{Copies, Peered, Peering, Rules, peer};
use crate::seeking::Seeking;
use crate::served::LastServed;
use loadline_osd::{Activation, CopyReport, CopyState, Directive, OsdId, OsdSet, PgId, PgLog};
use loadline_store::ObjectNo;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

impl Cluster {
    /// Whether a placement group's interval has begun and its members are still asked or joining.
    pub(crate) fn is_peering(&self, pg: PgId) -> bool {
        self.peering.contains_key(&pg)
    }

    /// Begins a new interval of a placement group if the present one cannot go on: placement wants other OSDs, one that
    /// takes part has gone, nobody serves yet, or there is none.
    pub(crate) fn peer_pg(&mut self, pg: PgId, fx: &mut OwnerEffects) {
        let state = self.map.pg(pg);
        let mut members = state.acting.iter().chain(&state.backfill);
        let goes_on = !self.is_peering(pg)
            && !state.acting.is_empty()
            && state.running == self.running(&state.up)
            && members.all(|osd| self.map.osds()[*osd].up);
        if !goes_on {
            self.begin_interval(pg, fx);
        }
    }

    fn running(&self, osds: &[OsdId]) -> Vec<OsdId> {
        osds.iter().copied().filter(|osd| self.map.osds()[*osd].up).collect()
    }

    /// Ends a placement group's interval on every OSD, and asks for the copies.
    pub(crate) fn begin_interval(&mut self, pg: PgId, fx: &mut OwnerEffects) {
        let (interval, asked) = (self.map.epoch(), self.up_osds());
        let state = self.map.pg_mut(pg);
        state.interval = interval;
        (state.ready, state.clean) = (false, false);
        state.activated = OsdSet::EMPTY;
        state.had_unfound |= !std::mem::take(&mut state.unfound).is_empty();
        for osd in asked.iter() {
            fx.direct(osd, Directive::Query(pg, interval));
        }
        let copies = BTreeMap::new();
        self.peering.insert(pg, Peering::Asking { left: asked, copies });
        if asked.is_empty() {
            self.decide(pg, BTreeMap::new(), fx);
        }
    }

    /// An OSD has told its copy.
    pub(crate) fn copy_told(
        &mut self,
        osd: OsdId,
        (pg, number): (PgId, u32),
        report: Option<Box<CopyReport>>,
        fx: &mut OwnerEffects,
    ) {
        if !self.is_interval(pg, number) {
            return;
        }
        let Some(Peering::Asking { left, copies }) = self.peering.get_mut(&pg) else { return };
        left.remove(osd);
        copies.insert(osd, report);
        if left.is_empty() {
            let copies = std::mem::take(copies);
            self.decide(pg, copies, fx);
        }
    }

    pub(crate) fn is_interval(&self, pg: PgId, number: u32) -> bool {
        self.map.has_pg(pg) && self.map.pg(pg).interval == number
    }

    /// All that run have told their copies: who takes part in the interval, and what they lack, follows from that alone.
    fn decide(
        &mut self,
        pg: PgId,
        mut copies: BTreeMap<OsdId, Option<Box<CopyReport>>>,
        fx: &mut OwnerEffects,
    ) {
        self.peering.remove(&pg);
        self.complete_members(pg, &mut copies);
        let of = |osd: OsdId| copies[&osd].as_ref().map(|report| report.state());
        let mut peered = self.peer_with(pg, copies.keys().map(|osd| (*osd, of(*osd))).collect());
        let log = peered.authority.and_then(|osd| copies[&osd].as_ref());
        let log = log.map(|report| report.log().clone());
        let gathered = peered.gathered.take().map(Arc::new);
        let is_rest = gathered.is_some();
        let log = gathered.or(log);
        let copies_wanted = self.map.pool_of(pg).1.spec.copies as usize;
        let running = self.running(&self.map.pg(pg).up);
        let state = self.map.pg_mut(pg);
        state.had_unfound &= peered.acting.is_empty() || !peered.missing.is_empty();
        state.running = running;
        state.acting = peered.acting.clone();
        state.backfill = peered.backfill.clone();
        state.lacking = peered.lacking();
        state.clean = state.is_in_place(copies_wanted) && state.lacking.is_empty();
        self.change_members(pg);
        self.note_filled();
        let has_copy = copies.iter().filter(|(_, copy)| copy.is_some()).map(|(osd, _)| *osd);
        let has_copy: OsdSet = has_copy.collect();
        self.settle_debt(pg, has_copy, is_rest);
        let strays = has_copy.iter().filter(|osd| !self.takes_part(*osd, pg)).collect();
        self.seeking.entry(pg).or_default().asked(strays);
        self.tell_members(pg, peered, log, fx);
    }

    /// A primary that says that all is recovered has made every member's copy equal to its own, as of the interval that has ended: it
    /// was asked at the end of it, and so were they. What they have missed of the last writes they still lack.
    fn complete_members(&self, pg: PgId, copies: &mut BTreeMap<OsdId, Option<Box<CopyReport>>>) {
        let state = self.map.pg(pg);
        let primary = state.acting.first().and_then(|osd| copies.get(osd)?.as_ref());
        let Some(led) = primary.filter(|report| report.has_recovered()) else { return };
        let log = led.log().clone();
        for member in state.acting.iter().chain(&state.backfill) {
            if let Some(Some(report)) = copies.get_mut(member) {
                report.complete(&log);
            }
        }
    }

    /// What peering makes of these copies.
    pub(crate) fn peer_with(
        &self,
        pg: PgId,
        states: Vec<(OsdId, Option<CopyState<'_>>)>,
    ) -> Peered {
        let state = self.map.pg(pg);
        let nothing = BTreeSet::new();
        let rules = Rules {
            copies: self.map.pool_of(pg).1.spec.copies as usize,
            interval: state.interval,
            active_in: state.served.interval,
            served_by: self.may_bring_back(pg),
            stand_in: self.map.placement().stand_in(),
            sought: self.seeking.get(&pg).map_or(&nothing, Seeking::objects),
        };
        peer(&state.up, &state.acting, &Copies { states }, &rules)
    }

    /// Tells the members of their interval, the primary when the others have joined.
    fn tell_members(
        &mut self,
        pg: PgId,
        peered: Peered,
        log: Option<Arc<PgLog>>,
        fx: &mut OwnerEffects,
    ) {
        let spec = &self.map.pool_of(pg).1.spec;
        let interval = self.map.pg(pg).interval;
        let activation = Box::new(Activation {
            interval,
            term: self.interval_id(interval).term,
            acting: peered.acting,
            copies: spec.copies,
            missing: peered.missing,
            damaged: peered.damaged,
            asynchronous: peered.asynchronous,
            backfill: peered.backfill,
            object_bytes: spec.object_bytes,
            recovery_priority: spec.recovery_priority,
            index_in_pool: self.map.index_in_pool(pg),
            log,
            before: self.map.pg(pg).served.interval,
        });
        if activation.acting.is_empty() {
            return;
        }
        let replicas = activation.acting[1..].iter().rev();
        let others: Vec<OsdId> = activation.backfill.iter().chain(replicas).copied().collect();
        for osd in &others {
            fx.direct(*osd, Directive::Activate(pg, activation.clone()));
        }
        let left = others.into_iter().collect();
        self.peering.insert(pg, Peering::Joining { left, activation });
        self.tell_primary_if_joined(pg, fx);
    }

    fn tell_primary_if_joined(&mut self, pg: PgId, fx: &mut OwnerEffects) {
        let Some(Peering::Joining { left, activation }) = self.peering.remove(&pg) else { return };
        if left == OsdSet::EMPTY {
            return fx.direct(activation.acting[0], Directive::Activate(pg, activation));
        }
        self.peering.insert(pg, Peering::Joining { left, activation });
    }

    /// An OSD takes part in an interval.
    pub(crate) fn joined(
        &mut self,
        osd: OsdId,
        (pg, interval): (PgId, u32),
        fx: &mut OwnerEffects,
    ) {
        if !self.is_interval(pg, interval) {
            return;
        }
        if let Some(Peering::Joining { left, .. }) = self.peering.get_mut(&pg) {
            left.remove(osd);
            return self.tell_primary_if_joined(pg, fx);
        }
        if self.durable.is_none() {
            self.serve(pg, fx);
        }
    }

    /// The present interval of a placement group, as the last one in which somebody served.
    pub(crate) fn as_served_now(&self, pg: PgId) -> LastServed {
        let state = self.map.pg(pg);
        LastServed { interval: self.interval_id(state.interval), by: state.servers() }
    }

    /// Who may come back with what a placement group had in its last interval.
    pub(crate) fn may_bring_back(&self, pg: PgId) -> OsdSet {
        let by = self.map.pg(pg).served.by;
        let is_one = |osd: &OsdId| !self.map.is_removed(*osd) && !self.is_given_up(*osd);
        match by.is_empty() {
            // Nobody knows who it was.
            true => self.osds.ids().filter(is_one).collect(),
            false => by.iter().filter(is_one).collect(),
        }
    }

    /// A placement group serves in its present interval from now on.
    pub(crate) fn serve(&mut self, pg: PgId, fx: &mut OwnerEffects) {
        let served = self.as_served_now(pg);
        let state = self.map.pg_mut(pg);
        (state.ready, state.served) = (true, served);
        if let Some(primary) = state.acting.first() {
            fx.direct(*primary, Directive::Serve(pg, state.interval));
        }
        let is_missing = self.seeking.get(&pg).is_some_and(Seeking::is_missing_any);
        if self.map.pg(pg).clean && (!is_missing || self.away().is_empty()) {
            self.seeking.remove(&pg);
        }
        self.route_open_ops(pg, fx);
        for osd in self.up_osds().iter() {
            self.retire_stray(pg, osd, fx);
        }
    }

    /// A copy that nobody needs any more is deleted, once every copy is where it should be. Who has none has nothing to do.
    pub(crate) fn retire_stray(&mut self, pg: PgId, osd: OsdId, fx: &mut OwnerEffects) {
        let state = self.map.pg(pg);
        // Where the map is on disks, the members' own state may not be there yet.
        if state.clean && state.ready && !state.acting.contains(&osd) {
            fx.direct(osd, Directive::Retire(pg));
        }
    }

    /// Every copy is complete and nothing is in flight: the placement group goes where it should be.
    pub(crate) fn recovered(&mut self, pg: PgId, interval: u32, fx: &mut OwnerEffects) {
        if self.is_interval(pg, interval) && !self.is_peering(pg) {
            self.seeking.remove(&pg);
            self.map.next_epoch();
            self.begin_interval(pg, fx);
        }
    }

    /// These copies of a placement group lack something, its primary says. When none does any more, what was kept for that goes.
    pub(crate) fn lacking(&mut self, pg: PgId, interval: u32, osds: OsdSet, fx: &mut OwnerEffects) {
        if !self.is_interval(pg, interval) || self.is_peering(pg) {
            return;
        }
        let copies = self.map.pool_of(pg).1.spec.copies as usize;
        let state = self.map.pg_mut(pg);
        state.lacking = osds;
        state.clean = state.is_in_place(copies) && osds.is_empty();
        for osd in self.up_osds().iter() {
            self.retire_stray(pg, osd, fx);
        }
    }

    /// These objects of a placement group can be read nowhere, its primary says.
    pub(crate) fn unfound(
        &mut self,
        pg: PgId,
        interval: u32,
        objects: Vec<ObjectNo>,
        fx: &mut OwnerEffects,
    ) {
        if !self.is_interval(pg, interval) {
            return;
        }
        let up = self.up_osds();
        let before = std::mem::take(&mut self.map.pg_mut(pg).unfound);
        let seeking = self.seeking.entry(pg).or_default();
        let is_here = |object: &ObjectNo| objects.binary_search(object).is_ok();
        seeking.found(before.into_iter().filter(|object| !is_here(object)));
        let asks = seeking.found_nowhere(&objects, up);
        self.map.pg_mut(pg).unfound = objects;
        if asks && !self.is_peering(pg) {
            self.map.next_epoch();
            self.begin_interval(pg, fx);
        }
    }

    /// An OSD has come that may have what could be read nowhere, or will be found nowhere by those who take part.
    pub(crate) fn seek_with(&mut self, pg: PgId, osd: OsdId, fx: &mut OwnerEffects) {
        if self.takes_part(osd, pg) || self.is_peering(pg) {
            return;
        }
        let seeking = self.seeking.entry(pg).or_default();
        seeking.has_come(osd);
        if seeking.is_missing_any() || !self.map.pg(pg).unfound.is_empty() {
            self.begin_interval(pg, fx);
        }
    }

    fn takes_part(&self, osd: OsdId, pg: PgId) -> bool {
        let state = self.map.pg(pg);
        state.acting.contains(&osd) || state.backfill.contains(&osd)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::OsdState;
    use crate::pool::PoolSpec;
    use crate::router::tests::{READ, spec};
    use crate::settings::{Enforcement, Settings};
    use crate::{Config, NotLost, Outage, Placement};
    use loadline_base::Time;
    use loadline_device::Medium;
    use loadline_osd::{CopyState, Data, Notice, OpId, PgLog, Policy};
    use loadline_qos::LOADLINE_PRESET;

    const PG: PgId = PgId::new(0);

    /// A cluster of three OSDs or four with one placement group of three copies, spoken with by hand.
    struct Talk {
        cluster: Cluster,
        fx: OwnerEffects,
        lives: [u32; 4],
    }

    impl Talk {
        fn new() -> Talk {
            Talk::of(3)
        }

        fn of(osds: u32) -> Talk {
            let osd = OsdId::new(0);
            let settings = Settings::new(LOADLINE_PRESET, &[Medium::Ssd], Enforcement::Refuse);
            let mut cluster = Cluster::new(&Config {
                osds,
                placement: Placement::Even,
                placement_seed: 1,
                policy: Policy { plan: settings.plan(osd), seed: 1 },
                options: settings.osd_options(osd),
            });
            let mut fx = OwnerEffects::default();
            cluster.create_pool(PoolSpec { copies: 3, ..spec() }, &mut fx);
            Talk { cluster, fx, lives: [0; 4] }
        }

        /// What OSDs were told about the group since the last call: whom, what, under which number.
        fn told(&mut self) -> Vec<(u32, &'static str, u32)> {
            let told = std::mem::take(&mut self.fx.directives);
            let told = told.into_iter().filter_map(|(osd, directive)| match directive {
                Directive::Query(PG, number) => Some((osd.get(), "query", number)),
                Directive::Activate(PG, it) => Some((osd.get(), "activate", it.interval)),
                _ => None,
            });
            told.collect()
        }

        fn hear(&mut self, osd: u32, notice: Notice) {
            let life = self.lives[osd as usize];
            self.cluster.heard(OsdId::new(osd), life, notice, &mut self.fx);
        }

        fn acting(&self) -> Vec<u32> {
            self.cluster.map.pg(PG).acting.iter().map(|osd| osd.get()).collect()
        }

        /// All join an interval, the primary, who is the first, last.
        fn join(&mut self, acting: &[u32], number: u32) {
            acting.iter().rev().for_each(|osd| self.hear(*osd, Notice::Joined(PG, number)));
        }

        /// One whose group is served, and who does.
        fn serving(osds: u32) -> (Talk, Vec<u32>) {
            let mut talk = Talk::of(osds);
            (0..osds).for_each(|osd| talk.answer(osd, 2));
            let acting = talk.acting();
            talk.join(&acting, 2);
            (talk, acting)
        }

        /// The third of those that were to serve has gone before anybody did; the two others serve.
        fn without_the_third() -> (Talk, Vec<u32>) {
            let mut talk = Talk::new();
            (0..3).for_each(|osd| talk.answer(osd, 2));
            let acting = talk.acting();
            talk.set_up(acting[2], false);
            acting[..2].iter().for_each(|osd| talk.answer(*osd, 3));
            talk.join(&acting[..2], 3);
            (talk, acting)
        }

        /// An OSD without a copy answers.
        fn answer(&mut self, osd: u32, number: u32) {
            self.hear(osd, Notice::Copy(PG, number, None));
        }

        fn set_up(&mut self, osd: u32, up: bool) {
            self.lives[osd as usize] += u32::from(!up);
            let state = OsdState { up, is_in: true };
            self.cluster.set_osd(OsdId::new(osd), state, &mut self.fx);
        }

        fn issue(&mut self) -> (OpId, bool) {
            let (id, sent) = self.cluster.issue(Time::ZERO, &READ, Data::NONE);
            (id, sent.is_some())
        }
    }

    #[test]
    fn the_primary_hears_of_an_interval_when_the_others_have_joined_and_ops_when_it_has() {
        let mut talk = Talk::new();
        let (op, sent) = talk.issue();
        assert!(!sent, "nobody serves yet");
        assert_eq!(talk.told(), [(0, "query", 2), (1, "query", 2), (2, "query", 2)]);
        talk.answer(2, 2);
        talk.answer(0, 2);
        assert_eq!(talk.told(), []);
        talk.answer(1, 2);
        let acting = talk.acting();
        let [primary, first, second] = acting[..] else { panic!("three serve: {acting:?}") };
        assert_eq!(talk.told(), [(second, "activate", 2), (first, "activate", 2)]);
        talk.hear(first, Notice::Joined(PG, 2));
        assert_eq!(talk.told(), []);
        talk.hear(second, Notice::Joined(PG, 2));
        assert_eq!(talk.told(), [(primary, "activate", 2)]);
        assert!(!talk.issue().1, "the primary may not have heard yet");
        assert!(talk.fx.messages.is_empty());
        talk.hear(primary, Notice::Joined(PG, 2));
        assert_eq!(talk.fx.messages[0].to, OsdId::new(primary));
        assert_eq!(talk.cluster.router.issued(op).op.id, op);
        assert!(talk.issue().1 && talk.cluster.is_clean());
    }

    /// Two OSDs had answered when the third went. What they had said was true still, but who asks once more hears it once more.
    #[test]
    fn an_osd_that_goes_begins_the_conversation_anew_and_what_was_on_its_way_is_void() {
        let mut talk = Talk::new();
        talk.told();
        talk.answer(0, 2);
        talk.answer(1, 2);
        talk.set_up(2, false);
        assert_eq!(talk.told(), [(0, "query", 3), (1, "query", 3)]);
        talk.answer(0, 2);
        talk.answer(1, 2);
        assert_eq!(talk.told(), []);
        talk.answer(0, 3);
        talk.answer(1, 3);
        assert_eq!(talk.told().len(), 1, "the replica");
        // The last one comes back before anybody has joined.
        talk.set_up(2, true);
        assert_eq!(talk.told(), [(0, "query", 4), (1, "query", 4), (2, "query", 4)]);
        for osd in 0..3 {
            talk.hear(osd, Notice::Joined(PG, 3));
        }
        assert_eq!(talk.told(), []);
        assert!(!talk.cluster.map.pg(PG).ready);
    }

    /// Whoever was to say what is left had not said it yet, and another stop was judged by nothing.
    #[test]
    fn what_others_are_still_to_say_settles_before_a_stop_is_judged() {
        let osds = |osds: &[u32]| osds.iter().copied().map(OsdId::new).collect::<OsdSet>();
        let mut talk = Talk::new();
        talk.answer(0, 2);
        assert!(talk.cluster.is_settling_without(osds(&[1])), "osd.2 is to answer too");
        talk.answer(1, 2);
        assert!(talk.cluster.is_settling_without(osds(&[1])));
        // Whoever is to go may hang.
        assert!(!talk.cluster.is_settling_without(osds(&[2])));
        let outage = |talk: &Talk, gone: &[u32]| talk.cluster.outage(osds(gone), |_, _| None);
        let last = outage(&talk, &[0, 1, 2]);
        assert_eq!((last.become_inactive, last.already_inactive), (vec![PG], vec![]));
        talk.answer(2, 2);
        let primary = talk.cluster.map.pg(PG).acting[0].get();
        assert!(talk.cluster.is_settling_without(osds(&[primary])), "the others are to join");
        for osd in [0, 1, 2].into_iter().filter(|osd| *osd != primary) {
            talk.hear(osd, Notice::Joined(PG, 2));
        }
        talk.hear(primary, Notice::Joined(PG, 2));
        assert!(!talk.cluster.is_settling_without(osds(&[])));
    }

    /// Copies had lost pages of an object, and the one OSD that had it whole could be stopped without a word.
    #[test]
    fn a_stop_is_judged_by_lost_pages() {
        let (talk, _) = Talk::serving(3);
        let (log, none, lost) = (PgLog::default(), BTreeSet::new(), BTreeSet::from([ObjectNo(1)]));
        let active_in = talk.cluster.map.pg(PG).served.interval;
        let outage = |lost_on: &[u32], gone: u32| {
            let copy = |osd: OsdId, _| {
                Some(CopyState {
                    log: &log,
                    lacks: &none,
                    damaged: if lost_on.contains(&osd.get()) { &lost } else { &none },
                    gaps: false,
                    filling: false,
                    active_in,
                    asynchronous_above: 1,
                })
            };
            talk.cluster.outage(OsdSet::one(OsdId::new(gone)), copy)
        };
        let clean = Outage { become_degraded: vec![PG], ..Outage::default() };
        assert_eq!(outage(&[], 0), clean);
        let unclean = Outage { become_more_degraded: vec![PG], ..Outage::default() };
        assert_eq!(outage(&[1], 0), unclean, "osd.2 has it");
        assert_eq!(outage(&[1, 2], 1), unclean, "osd.0 has it");
        assert_eq!(outage(&[0, 1, 2], 0), unclean, "nobody has it anyway");
        let needed = Outage { become_inactive: vec![PG], ..Outage::default() };
        assert_eq!(outage(&[1, 2], 0), needed);
    }

    /// A copy was found to have lost a page in the middle of an interval, and the map called its group clean all the same: an OSD could be
    /// removed, and a copy go that was kept beside the others.
    #[test]
    fn a_group_is_clean_only_while_no_copy_lacks_anything() {
        let (mut talk, acting) = Talk::serving(4);
        let fourth = (0..4).find(|osd| !acting.contains(osd)).expect("one has no copy");
        let retired = |talk: &mut Talk| {
            let told = std::mem::take(&mut talk.fx.directives);
            let retired = told.into_iter().filter(|(_, it)| matches!(it, Directive::Retire(PG)));
            retired.map(|(osd, _)| osd.get()).collect::<Vec<u32>>()
        };
        assert_eq!((talk.cluster.is_clean(), retired(&mut talk)), (true, vec![fourth]));
        let one = OsdSet::one(OsdId::new(acting[1]));
        talk.hear(acting[0], Notice::Lacking(PG, 1, one));
        assert!(talk.cluster.is_clean(), "it was said of an earlier interval");
        talk.hear(acting[0], Notice::Lacking(PG, 2, one));
        assert!(!talk.cluster.is_clean());
        talk.set_up(fourth, false);
        talk.set_up(fourth, true);
        assert_eq!((talk.cluster.is_clean(), retired(&mut talk)), (false, vec![]));
        talk.hear(acting[0], Notice::Lacking(PG, 2, OsdSet::EMPTY));
        assert_eq!((talk.cluster.is_clean(), retired(&mut talk)), (true, vec![fourth]));
    }

    /// Whoever took an OSD's disk away while its group was between two intervals was not told that it may have what nobody found.
    #[test]
    fn what_was_unfound_counts_until_somebody_serves_and_misses_nothing() {
        let (mut talk, acting) = Talk::serving(3);
        talk.hear(acting[0], Notice::Unfound(PG, 2, vec![ObjectNo(1)]));
        talk.set_up(acting[2], false);
        let gone = OsdId::new(acting[2]);
        assert_eq!(talk.cluster.may_hold_last_copy(gone), [PG]);
        assert_eq!(talk.cluster.unfound_objects(PG), []);
        let may_come_back = Err(NotLost::MayComeBack(OsdSet::one(gone)));
        assert_eq!(talk.cluster.may_give_up_unfound(PG), may_come_back);
        // Nobody serves without a copy, and so nobody has looked.
        talk.answer(acting[0], 3);
        talk.answer(acting[1], 3);
        assert!(talk.cluster.map.pg(PG).had_unfound);
        talk.set_up(acting[2], true);
        assert_eq!(talk.cluster.may_give_up_unfound(PG), Err(NotLost::LookedFor));
    }

    /// All who serve had lost pages, and nobody had looked yet whether they have all of it together. An OSD that was down could get another disk
    /// without a word.
    #[test]
    fn what_all_who_serve_lack_may_be_on_who_is_down() {
        let (mut talk, acting) = Talk::without_the_third();
        let gone = OsdId::new(acting[2]);
        assert_eq!(talk.cluster.may_hold_last_copy(gone), []);
        let both: OsdSet = acting[..2].iter().copied().map(OsdId::new).collect();
        talk.hear(acting[0], Notice::Lacking(PG, 3, both));
        assert_eq!(talk.cluster.may_hold_last_copy(gone), [PG]);
        talk.hear(acting[0], Notice::Lacking(PG, 3, OsdSet::one(OsdId::new(acting[1]))));
        assert_eq!(talk.cluster.may_hold_last_copy(gone), [], "the other one has it");
    }

    /// All who serve but one had lost pages, and that one went down. While the others were asked, the one that had gone counted as who has all, and it could
    /// get another disk without a word.
    #[test]
    fn who_has_gone_is_not_who_has_all_while_the_others_are_asked() {
        let (mut talk, acting) = Talk::serving(3);
        let others: OsdSet = acting[..2].iter().copied().map(OsdId::new).collect();
        talk.hear(acting[0], Notice::Lacking(PG, 2, others));
        talk.set_up(acting[2], false);
        assert_eq!(talk.cluster.may_hold_last_copy(OsdId::new(acting[2])), [PG]);
    }

    /// Bytes were found by reads that nobody could read, which no disk tells. With the next interval that was forgotten, and an OSD that was down all the time, and
    /// may have them, could get another disk without a word.
    #[test]
    fn what_reads_have_found_nowhere_may_be_on_who_is_down() {
        let (mut talk, acting) = Talk::without_the_third();
        let gone = OsdId::new(acting[2]);
        talk.hear(acting[0], Notice::Unfound(PG, 3, vec![ObjectNo(1)]));
        talk.set_up(acting[1], false);
        // As if the copies told that they have all.
        talk.cluster.map.pg_mut(PG).served = LastServed::default();
        talk.answer(acting[0], 4);
        talk.hear(acting[0], Notice::Joined(PG, 4));
        assert!(talk.cluster.map.pg(PG).ready);
        assert_eq!(talk.cluster.may_hold_last_copy(gone), [PG]);
        // Every copy is where it should be, and one that left may be on who is down.
        let (mut talk, acting) = Talk::serving(4);
        let fourth = (0..4).find(|osd| !acting.contains(osd)).expect("one has no copy");
        talk.set_up(fourth, false);
        talk.hear(acting[0], Notice::Unfound(PG, 2, vec![ObjectNo(1), ObjectNo(2)]));
        let serve_anew = |talk: &mut Talk| {
            talk.set_up(acting[1], false);
            talk.set_up(acting[1], true);
            talk.cluster.map.pg_mut(PG).served = LastServed::default();
            let number = talk.cluster.map.pg(PG).interval;
            acting.iter().for_each(|osd| talk.answer(*osd, number));
            talk.join(&acting, number);
            assert!(talk.cluster.map.pg(PG).ready && talk.cluster.is_clean());
            number
        };
        let number = serve_anew(&mut talk);
        assert_eq!(talk.cluster.may_hold_last_copy(OsdId::new(fourth)), [PG]);
        // One of them is found in an interval, and the other in the next.
        talk.hear(acting[0], Notice::Unfound(PG, number, vec![ObjectNo(1), ObjectNo(2)]));
        talk.hear(acting[0], Notice::Unfound(PG, number, vec![ObjectNo(2)]));
        let number = serve_anew(&mut talk);
        talk.hear(acting[0], Notice::Unfound(PG, number, vec![ObjectNo(2)]));
        assert_eq!(talk.cluster.may_hold_last_copy(OsdId::new(fourth)), [PG]);
        talk.hear(acting[0], Notice::Unfound(PG, number, vec![]));
        assert_eq!(talk.cluster.may_hold_last_copy(OsdId::new(fourth)), []);
    }

    /// A copy that placement did not want had a page that two others lost in the middle of an interval. Nobody asked it, neither where it ran
    /// all the time nor when it came.
    #[test]
    fn what_is_found_nowhere_is_sought_with_who_takes_no_part() {
        let serving = || {
            let mut talk = Talk::of(4);
            (0..4).for_each(|osd| talk.answer(osd, 2));
            let acting = talk.cluster.map.pg(PG).acting.clone();
            acting.iter().rev().for_each(|osd| talk.hear(osd.get(), Notice::Joined(PG, 2)));
            let fourth = (0..4).find(|osd| !acting.contains(&OsdId::new(*osd)));
            talk.told();
            (talk, acting[0].get(), fourth.expect("one does not act"))
        };
        let unfound = || Notice::Unfound(PG, 2, vec![ObjectNo(1)]);
        let asked = |number| [0, 1, 2, 3].map(|osd| (osd, "query", number));
        let (mut talk, primary, fourth) = serving();
        talk.hear(primary, unfound());
        assert_eq!(talk.told(), [], "all who have a copy take part");
        let (mut talk, primary, _) = serving();
        talk.cluster.seeking.entry(PG).or_default().asked(OsdSet::one(OsdId::new(fourth)));
        talk.hear(primary, unfound());
        assert_eq!(talk.told(), asked(3));
        assert!(talk.cluster.map.pg(PG).had_unfound);
        let (mut talk, primary, _) = serving();
        talk.set_up(fourth, false);
        talk.hear(primary, unfound());
        assert_eq!(talk.told(), []);
        talk.set_up(fourth, true);
        let number = talk.cluster.map.pg(PG).interval;
        assert_eq!(talk.told(), asked(number));
        // It was down when the interval began, and came into the middle of it.
        let (mut talk, primary, fourth) = serving();
        talk.set_up(fourth, false);
        talk.set_up(fourth, true);
        assert_eq!(talk.told(), []);
        talk.hear(primary, unfound());
        let number = talk.cluster.map.pg(PG).interval;
        assert!(number > 2);
        assert_eq!(talk.told(), asked(number));
        // It was asked already, for that object.
        let (mut talk, primary, _) = serving();
        talk.cluster.seeking.entry(PG).or_default().asked(OsdSet::one(OsdId::new(fourth)));
        let seeking = talk.cluster.seeking.entry(PG).or_default();
        seeking.found_nowhere(&[ObjectNo(1)], OsdSet::EMPTY);
        talk.hear(primary, unfound());
        assert_eq!(talk.told(), []);
    }

    /// An OSD had answered, and crashed. In its next life it has not been asked yet.
    #[test]
    fn what_an_osd_has_said_in_an_earlier_life_is_void() {
        let mut talk = Talk::new();
        talk.set_up(2, false);
        talk.set_up(2, true);
        talk.told();
        talk.answer(0, 4);
        talk.answer(1, 4);
        talk.lives[2] = 0;
        talk.answer(2, 4);
        assert_eq!(talk.told(), []);
        talk.lives[2] = 1;
        talk.answer(2, 4);
        assert_eq!(talk.told().len(), 2, "the replicas");
    }
}
