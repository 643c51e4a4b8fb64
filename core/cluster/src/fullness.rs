//! Full disks: first backfills and then writes to placement groups on an OSD that is nearly full wait until there is room,
//! instead of stopping the OSD when the last page is gone. What stays free is for what must always be written down, the map above all: so its
//! room counts as taken beside the share, and it does not become larger while an OSD is full.

use crate::cluster::{Cluster, OwnerEffects};
use crate::images::{ImageId, PendingJob};
use crate::router::room_for;
use loadline_base::Bytes;
use loadline_osd::{AsideFor, ClientOp, Directive, DiskRoom, OpId, OpKind, OsdId, OsdSet, PgId};
use std::collections::BTreeMap;

/// An OSD is full with less than this share of its pages free, in percent (`mon_osd_full_ratio` 0.95).
const FULL_BELOW: u32 = 5;
/// With less than this share free zeros wait too. Until then they go on where writes wait, because they give room; but where a snapshot shares
/// what they zero they take some.
const ZEROS_FULL_BELOW: u32 = 1;
/// It takes no backfills with less than this share free (`mon_osd_backfillfull_ratio` 0.90).
const BACKFILL_FULL_BELOW: u32 = 10;
/// It is full no longer with this much more free: it must not change with every page.
const ROOM_MORE: u32 = 1;

/// Which OSDs are full, and the writes that wait for them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fullness {
    full: OsdSet,
    backfill_full: OsdSet,
    held: HeldWrites,
    /// What the newest map takes.
    map: Bytes,
}

/// The writes that wait for room, of each placement group, each with what it waits for.
#[derive(Clone, Debug, Default)]
struct HeldWrites(BTreeMap<PgId, BTreeMap<OpId, AsideFor>>);

impl HeldWrites {
    fn insert(&mut self, op: &ClientOp, reason: AsideFor) {
        self.0.entry(op.pg).or_default().insert(op.id, reason);
    }

    fn remove(&mut self, op: &ClientOp) {
        if let Some(of_pg) = self.0.get_mut(&op.pg)
            && of_pg.remove(&op.id).is_some()
            && of_pg.is_empty()
        {
            self.0.remove(&op.pg);
        }
    }

    fn get(&self, op: &ClientOp) -> Option<AsideFor> {
        self.0.get(&op.pg)?.get(&op.id).copied()
    }

    fn has_of(&self, pg: PgId) -> bool {
        self.0.contains_key(&pg)
    }

    fn len(&self) -> usize {
        self.0.values().map(BTreeMap::len).sum()
    }

    fn ids(&self) -> Vec<OpId> {
        self.0.values().flat_map(BTreeMap::keys).copied().collect()
    }
}

impl Fullness {
    /// An op has ended, whether it waited or not.
    pub(crate) fn forget(&mut self, op: &ClientOp) {
        self.held.remove(op);
    }

    /// A map of so many bytes is written.
    pub(crate) fn note_map(&mut self, bytes: Bytes) {
        self.map = bytes;
    }

    /// What the next map takes of a disk, in whole percent: it is there before the one before goes, and what is put into a tree may leave half
    /// of a page empty. Where that is less than a percent, the share that stays free anyway has room for it.
    fn share_for_map(&self, room: &DiskRoom) -> u32 {
        let whole = (2 * self.map.get()).saturating_mul(100) / room.bytes.get().max(1);
        whole.min(100) as u32
    }
}

impl Cluster {
    /// Looks how full the OSDs are; writes that waited for room go on where there is some. To be called every second or so.
    pub fn check_fullness(&mut self, fx: &mut OwnerEffects) {
        let before = self.fullness.full;
        self.fullness.full = self.with_less_than(FULL_BELOW, before);
        self.fullness.backfill_full =
            self.with_less_than(BACKFILL_FULL_BELOW, self.fullness.backfill_full);
        let too_full = self.fullness.backfill_full;
        for osd in self.osds.ids() {
            fx.direct(osd, Directive::SetBackfillFull(too_full.contains(osd)));
        }
        let held = self.router.in_order(self.fullness.held.ids());
        self.route_anew(held, fx);
    }

    /// The OSDs with less than this share of their pages free, in percent; those in `before` need a little more to leave.
    fn with_less_than(&self, share: u32, before: OsdSet) -> OsdSet {
        let is_short = |osd: &OsdId| {
            let least = if before.contains(*osd) { share + ROOM_MORE } else { share };
            let room = self.room(*osd);
            room.is_below(least + self.fullness.share_for_map(room))
        };
        self.osds.ids().filter(is_short).collect()
    }

    /// How many writes the device of an OSD has no room for.
    pub fn waits_for_room(&self, osd: OsdId) -> usize {
        self.osds[osd].room().waiting
    }

    /// The OSDs that are full.
    pub fn full_osds(&self) -> OsdSet {
        self.fullness.full
    }

    /// The OSDs without room for a larger map.
    pub fn without_room_for_map(&self) -> OsdSet {
        self.fullness.full.with(self.with_less_than(FULL_BELOW, OsdSet::EMPTY))
    }

    /// The OSDs without room for backfills, the full ones among them.
    pub fn backfill_full_osds(&self) -> OsdSet {
        self.fullness.backfill_full
    }

    /// How many writes wait for room.
    pub fn held_writes(&self) -> usize {
        self.fullness.held.len()
    }

    /// What an op that was not sent waits for; `None` if it was sent.
    pub fn held_for(&self, op: &ClientOp) -> Option<AsideFor> {
        let is_served = self.map.pg(op.pg).serving().is_some();
        self.fullness.held.get(op).or((!is_served).then_some(AsideFor::Serving))
    }

    /// Sends ops, which are in the order of issue, as if none of them had been sent or had waited before: what an op finds must not hang on those
    /// behind it.
    pub(crate) fn route_anew(&mut self, ops: Vec<OpId>, fx: &mut OwnerEffects) {
        for id in &ops {
            self.fullness.held.remove(&self.router.issued(*id).op);
            self.router.call_back(*id);
        }
        for id in ops {
            fx.messages.extend(self.route(id));
        }
    }

    /// The message that carries an op to its primary, if somebody serves it now and everybody has room for it. Otherwise it
    /// waits here: for the next interval, or for room.
    pub(crate) fn route(&mut self, id: OpId) -> Option<Box<loadline_osd::Envelope>> {
        let op = self.router.issued(id).op;
        let lack = match op.kind {
            OpKind::Write => self.lack_of_room(&op),
            OpKind::Zero => self.lack_of_room_for_zeros(&op),
            _ => None,
        };
        if let Some(reason) = lack {
            self.router.put_aside(id, reason);
            self.fullness.held.insert(&op, reason);
            self.look_for_its_place(&op);
            return None;
        }
        self.router.route(&self.map, id)
    }

    /// Has it looked at once more whether an op that was on its way, and waits now, has a place still: it was passed over when its image was removed or cut.
    /// An op that was never sent was not, and may be that job's own.
    fn look_for_its_place(&mut self, op: &ClientOp) {
        let Some(durable) = self.durable.as_mut().filter(|_| op.resent) else { return };
        let kept = &mut durable.kept_images;
        let takes = |job: &PendingJob| job.takes_of(op.object, op.offset + op.length);
        if kept.now.jobs().any(takes) {
            kept.lessened.insert(ImageId::of(op.object).0);
        }
    }

    /// Why there is no room for a write, if there is none. A burst may fill a disk within the second between two looks, so this looks
    /// too; and what was sent and has no answer yet counts as if it had been written.
    fn lack_of_room(&mut self, op: &ClientOp) -> Option<AsideFor> {
        if self.fullness.held.has_of(op.pg) {
            return Some(AsideFor::RoomOfEarlier);
        }
        let members = self.members(op);
        let alone = Bytes::new(room_for(op));
        let is_full = |osd: &OsdId| {
            let room = self.room(*osd);
            let share = FULL_BELOW + self.fullness.share_for_map(room);
            self.fullness.full.contains(*osd) || room.is_below_with(share, alone)
        };
        if let Some(osd) = members.iter().find(is_full) {
            self.fullness.full.insert(osd);
            return Some(AsideFor::Room);
        }
        let is_short = members.iter().any(|osd| self.is_short_with_sent(osd, op, FULL_BELOW));
        is_short.then_some(AsideFor::RoomOfSent)
    }

    /// The same for zeros.
    fn lack_of_room_for_zeros(&self, op: &ClientOp) -> Option<AsideFor> {
        let alone = Bytes::new(room_for(op));
        let is_full = |osd: OsdId| {
            let room = self.room(osd);
            room.is_below_with(ZEROS_FULL_BELOW + self.fullness.share_for_map(room), alone)
        };
        let is_short = |osd: OsdId| self.is_short_with_sent(osd, op, ZEROS_FULL_BELOW);
        let members = self.members(op);
        match members.iter().any(is_full) {
            true => Some(AsideFor::Room),
            false => members.iter().any(is_short).then_some(AsideFor::RoomOfSent),
        }
    }

    /// The OSDs that an update reaches.
    fn members(&self, op: &ClientOp) -> OsdSet {
        self.map.pg(op.pg).members()
    }

    /// Others take part in a placement group from now on: what was sent to it counts on their disks.
    pub(crate) fn change_members(&mut self, pg: PgId) {
        self.router.change_members(pg, self.map.pg(pg).members());
    }

    /// Whether a disk would be full with this update and all that is on its way to it.
    fn is_short_with_sent(&self, osd: OsdId, op: &ClientOp, share: u32) -> bool {
        let room = self.room(osd);
        let share = share + self.fullness.share_for_map(room);
        let sent = self.router.sent_bytes(osd).get() + room_for(op);
        room.is_below_with(share, Bytes::new(sent))
    }

    fn room(&self, osd: OsdId) -> &DiskRoom {
        self.osds[osd].room()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Placement;
    use crate::Target;
    use crate::cluster::Config;
    use crate::durable::Durable;
    use crate::images::{Displaced, ImageError, Images};
    use crate::router::IssuedOp;
    use crate::router::tests::{READ, spec};
    use crate::settings::{Enforcement, Settings};
    use loadline_base::Time;
    use loadline_device::Medium;
    use loadline_osd::{Aside, Data, Envelope, Message, Notice, Policy};
    use loadline_qos::LOADLINE_PRESET;

    const OSD: OsdId = OsdId::new(0);

    fn cluster() -> Cluster {
        let settings = Settings::new(LOADLINE_PRESET, &[Medium::Ssd], Enforcement::Refuse);
        let mut cluster = Cluster::new(&Config {
            osds: 1,
            placement: Placement::Even,
            placement_seed: 1,
            policy: Policy { plan: settings.plan(OSD), seed: 1 },
            options: settings.osd_options(OSD),
        });
        let mut fx = OwnerEffects::default();
        cluster.create_pool(spec(), &mut fx);
        while let Some((osd, directive)) = fx.directives.pop() {
            let answer = match directive {
                Directive::Query(pg, number) => Notice::Copy(pg, number, None),
                Directive::Activate(pg, activation) => Notice::Joined(pg, activation.interval),
                Directive::Serve(..) => continue,
                other => unreachable!("not of a new pool: {other:?}"),
            };
            cluster.heard(osd, 0, answer, &mut fx);
        }
        cluster
    }

    fn issue(cluster: &mut Cluster, kind: OpKind) -> (OpId, Option<Box<Envelope>>) {
        cluster.issue(Time::ZERO, &Target { kind, ..READ }, Data::NONE)
    }

    #[test]
    fn writes_wait_for_room_and_reads_do_not() {
        let mut cluster = cluster();
        cluster.fullness.full.insert(OSD);
        let (first, sent) = issue(&mut cluster, OpKind::Write);
        assert_eq!(sent, None);
        assert!(issue(&mut cluster, OpKind::Read).1.is_some());
        let (second, _) = issue(&mut cluster, OpKind::Write);
        let (given_up, _) = issue(&mut cluster, OpKind::Write);
        cluster.finish(given_up);
        assert_eq!(cluster.held_writes(), 2);
        let held_for = |id: OpId| cluster.held_for(&cluster.router.issued(id).op);
        let reasons = [held_for(first), held_for(second)];
        assert_eq!(reasons, [Some(AsideFor::Room), Some(AsideFor::RoomOfEarlier)]);

        // There is room: its store has no bound.
        let mut fx = OwnerEffects::default();
        cluster.check_fullness(&mut fx);
        let sent = |envelope: &Envelope| match &envelope.message {
            Message::Op(op) => op.id,
            other => unreachable!("the router sends ops alone: {other:?}"),
        };
        assert_eq!(fx.messages.iter().map(|it| sent(it)).collect::<Vec<_>>(), [first, second]);
        assert_eq!(cluster.held_writes(), 0);
        let first = cluster.router.issued(first).op;
        assert_eq!((cluster.held_for(&first), first.aside), (None, Aside::of(AsideFor::Room)));
    }

    /// Each of them would have room alone. What came after one that waits waits too, and goes when it has gone.
    #[test]
    fn what_is_on_its_way_counts_as_written() {
        let (mut cluster, mut fx) = (cluster(), OwnerEffects::default());
        let room = DiskRoom { free_percent: Some(45), bytes: Bytes::new(10 << 20), waiting: 0 };
        cluster.heard(OSD, 0, Notice::Room(room), &mut fx);
        let mut write = |bytes: u32| {
            let target = Target { kind: OpKind::Write, length: bytes, ..READ };
            cluster.issue(Time::ZERO, &target, Data::NONE)
        };
        let (first, sent) = write(3 << 20);
        assert!(sent.is_some());
        let (behind, sent) = write(3 << 20);
        assert!(sent.is_none(), "less than a tenth would be free");
        assert!(write(4096).1.is_none(), "it comes after one that waits");
        let check = |cluster: &mut Cluster| {
            let mut fx = OwnerEffects::default();
            cluster.check_fullness(&mut fx);
            fx.messages.len()
        };
        assert_eq!(check(&mut cluster), 0);
        let behind = cluster.router.issued(behind).op;
        assert_eq!(cluster.held_for(&behind), Some(AsideFor::RoomOfSent));
        cluster.finish(first);
        assert_eq!(check(&mut cluster), 2);
        assert!(cluster.full_osds().is_empty(), "the disk was never full");
    }

    /// The first op waited for the second of its group, which waited for room that there was by then.
    #[test]
    fn a_new_interval_takes_no_account_of_what_waited_behind() {
        let (mut cluster, mut fx) = (cluster(), OwnerEffects::default());
        let (first, sent) = issue(&mut cluster, OpKind::Write);
        assert!(sent.is_some());
        cluster.fullness.full.insert(OSD);
        let (second, sent) = issue(&mut cluster, OpKind::Write);
        assert!(sent.is_none());
        cluster.fullness.full = OsdSet::EMPTY;
        cluster.route_open_ops(PgId::new(0), &mut fx);
        assert_eq!(fx.messages.len(), 2);
        let of = |id: OpId| cluster.router.issued(id).op.aside.to_string();
        assert_eq!([of(first), of(second)].map(|it| it.contains("earlier")), [false, false]);
        assert_eq!(cluster.held_writes(), 0);
    }

    /// A write was on its way when its image's removal looked for what waits, and came back with the next interval to wait for room: the removal waited for it,
    /// and it for the room that the removal was to make. One in front of an image's new end went on waiting, as it should.
    #[test]
    fn what_comes_back_to_wait_for_room_ends_with_its_place() {
        let check = |change: fn(&mut Images) -> Result<(), ImageError>, ends: &[u32]| {
            let (mut cluster, mut fx) = (cluster(), OwnerEffects::default());
            cluster.durable = Some(Durable::default());
            let keep = |cluster: &mut Cluster| {
                let Durable { images, kept_images, .. } = cluster.durable();
                kept_images.begin(images.clone());
                kept_images.take_next();
            };
            let (pool, object_bytes) = (READ.pool, spec().object_bytes);
            let image =
                cluster.durable().images.create("vol", pool, 3 * object_bytes, object_bytes);
            let image = image.expect("the name is free");
            keep(&mut cluster);
            for block in 0..3 {
                let target = Target { kind: OpKind::Write, object: image.object(block), ..READ };
                assert!(cluster.issue(Time::ZERO, &target, Data::NONE).1.is_some());
            }
            change(&mut cluster.durable().images).expect("it is there");
            keep(&mut cluster);
            assert_eq!(cluster.take_displaced().len(), 0, "an OSD may carry them out");
            assert_eq!(cluster.due_image_job(pool, |_| true), None);
            cluster.fullness.full.insert(OSD);
            cluster.route_open_ops(PgId::new(0), &mut fx);
            assert_eq!((fx.messages.len(), cluster.held_writes()), (0, 3));
            let ended = cluster.take_displaced();
            let blocks: Vec<u32> =
                ended.iter().map(|(op, _)| ImageId::of(op.op.object).1).collect();
            assert_eq!(blocks, ends);
            assert_eq!(cluster.held_writes(), 3 - ends.len());
            assert!(cluster.due_image_job(pool, |_| true).is_some(), "nothing is in its way");
        };
        check(|images| images.remove("vol").map(drop), &[0, 1, 2]);
        check(|images| images.resize("vol", 1 << 20).map(drop), &[1, 2]);
    }

    /// A write of a client that had gone waited for room, and others' trims, which could have made it, waited for that.
    #[test]
    fn what_nobody_wants_any_more_ends_unless_an_osd_has_it() {
        let mut cluster = cluster();
        let (on_its_way, _) = issue(&mut cluster, OpKind::Write);
        cluster.fullness.full.insert(OSD);
        let [first, second] = [(); 2].map(|()| issue(&mut cluster, OpKind::Write).0);
        let ended = |ops: Vec<(IssuedOp, Displaced)>| -> Vec<OpId> {
            ops.iter().map(|(issued, _)| issued.op.id).collect()
        };
        assert_eq!(ended(cluster.end_unwanted(|id| id != second)), [first]);
        assert_eq!(cluster.held_writes(), 1);
        assert_eq!(ended(cluster.end_unwanted(|_| true)), [second]);
        assert_eq!(cluster.held_writes(), 0);
        assert_eq!(cluster.router.issued(on_its_way).op.id, on_its_way);
    }

    /// Zeros go on where writes wait, down to a share of their own, and wait for those on their way beyond it.
    #[test]
    fn zeros_wait_only_where_next_to_nothing_is_free() {
        let (mut cluster, mut fx) = (cluster(), OwnerEffects::default());
        let mut tell = |cluster: &mut Cluster, free: u32| {
            let room =
                DiskRoom { free_percent: Some(free), bytes: Bytes::new(4 << 20), waiting: 0 };
            cluster.heard(OSD, 0, Notice::Room(room), &mut fx);
        };
        tell(&mut cluster, 3);
        assert!(issue(&mut cluster, OpKind::Write).1.is_none(), "a write waits");
        let sent: Vec<bool> =
            (0..6).map(|_| issue(&mut cluster, OpKind::Zero).1.is_some()).collect();
        assert_eq!(sent, [true, true, true, true, true, false], "16 KiB each of 84 beyond 1 %");
        tell(&mut cluster, 0);
        let (last, sent) = issue(&mut cluster, OpKind::Zero);
        assert!(sent.is_none());
        let last = cluster.router.issued(last).op;
        assert_eq!(cluster.held_for(&last), Some(AsideFor::Room));
    }

    /// Clients filled a small disk up to its share, and the map, which was larger than that, found no room when its next change was written.
    #[test]
    fn the_next_map_has_room_beside_the_share_that_stays_free() {
        let (mut cluster, mut fx) = (cluster(), OwnerEffects::default());
        let room = DiskRoom { free_percent: Some(12), bytes: Bytes::new(16 << 20), waiting: 0 };
        cluster.heard(OSD, 0, Notice::Room(room), &mut fx);
        cluster.fullness.note_map(Bytes::new(64 << 10));
        assert!(issue(&mut cluster, OpKind::Write).1.is_some());
        assert!(cluster.without_room_for_map().is_empty());
        cluster.fullness.note_map(Bytes::new(1 << 20));
        assert_eq!(cluster.without_room_for_map(), OsdSet::one(OSD), "5 % and 2 MiB stay free");
        assert!(issue(&mut cluster, OpKind::Write).1.is_none());
        assert!(issue(&mut cluster, OpKind::Read).1.is_some());
        cluster.check_fullness(&mut fx);
        assert_eq!(cluster.full_osds(), OsdSet::one(OSD));
    }

    /// A burst may fill a disk between two looks; and the last percent must not make an OSD full and not full in turns.
    #[test]
    fn what_an_osd_tells_of_its_room_counts_at_once() {
        let (mut cluster, mut fx) = (cluster(), OwnerEffects::default());
        let mut tell = |cluster: &mut Cluster, free: u32, waiting: usize| {
            let bytes = Bytes::new(1 << 30);
            let room = DiskRoom { free_percent: Some(free), bytes, waiting };
            cluster.heard(OSD, 0, Notice::Room(room), &mut fx);
            issue(cluster, OpKind::Write).1.is_some()
        };
        assert!(tell(&mut cluster, 6, 0));
        assert!(!tell(&mut cluster, 4, 0));
        assert!(!tell(&mut cluster, 5, 0), "it is full until somebody looks");
        cluster.check_fullness(&mut OwnerEffects::default());
        assert!(!tell(&mut cluster, 5, 0), "it must have a percent more");
        assert!(!tell(&mut cluster, 6, 1), "it has not even room for what it has");
        assert!(!tell(&mut cluster, 6, 0));
        cluster.check_fullness(&mut OwnerEffects::default());
        assert!(tell(&mut cluster, 6, 0));
        assert_eq!(cluster.backfill_full_osds(), OsdSet::one(OSD));
    }
}
