//! A disk without a page for what its OSD owes: what waits goes on with what others give back, and if nobody does the disk is opened again.

use crate::bench::{interval, write_of};
use crate::benchmark::Rig;
use loadline_base::{Bytes, Span};
use loadline_osd::{
    ClientId, ClientOp, Data, Directive, DiskFault, Envelope, Event, KeyPut, Message, Notice,
    OpKind, OsdId, PgId,
};
use loadline_qos::Urgency;
use loadline_store::paged::PagedStore;
use loadline_store::paged::bounds::kept_pages;

const OSD: OsdId = OsdId::new(0);
const FIRST: PgId = PgId::new(3);
const SECOND: PgId = PgId::new(4);

impl Rig {
    /// The OSD leads both groups alone.
    fn lead(&mut self, number: u32) {
        self.step(Event::Directive(Directive::Join));
        for pg in [FIRST, SECOND] {
            self.osd.place(pg, 0);
            let activation = Box::new(interval(number, &[0]));
            self.step(Event::Directive(Directive::Activate(pg, activation)));
            self.step(Event::Directive(Directive::Serve(pg, number)));
        }
    }

    fn issue(&mut self, (pg, interval): (PgId, u32), number: u32, kind: OpKind, object: u64) {
        let op = ClientOp { kind, pg, ..write_of(number, object) };
        let data = match kind {
            OpKind::Write => Data::new(vec![object as u8; 4096]),
            _ => Data::NONE,
        };
        let (message, urgency) = (Message::Op(op), Urgency::default());
        let envelope = Envelope { from: None, to: OSD, pg, interval, urgency, message, data };
        self.step(Event::Message(Box::new(envelope)));
    }

    pub(crate) fn is_answered(&self, number: u32) -> bool {
        self.replies.iter().any(|reply| reply.op.number == number)
    }

    /// What is owed waits for room.
    fn waits(&self) -> bool {
        self.osd.paged_store().and_then(PagedStore::without_room_since).is_some()
    }

    /// Writes objects of a page in one group until one waits for room. The answer is how many have found some.
    fn fill(&mut self) -> u32 {
        for number in 1.. {
            self.issue((FIRST, 1), number, OpKind::Write, u64::from(number));
            self.run_until(|rig| rig.is_answered(number) || rig.waits());
            if !self.is_answered(number) {
                return number - 1;
            }
        }
        unreachable!("the disk is full before");
    }

    fn stopped(&self) -> Option<DiskFault> {
        let fault = |notice: &Notice| match notice {
            Notice::Stopped(fault, _) => Some(*fault),
            _ => None,
        };
        self.told.iter().find_map(fault)
    }

    fn reads(&mut self, (pg, interval): (PgId, u32), number: u32, object: u64) -> bool {
        self.issue((pg, interval), number, OpKind::Read, object);
        self.run_until(|rig| rig.is_answered(number));
        let at = self.replies.iter().position(|reply| reply.op.number == number);
        let reply = self.replies.swap_remove(at.expect("it is answered"));
        reply.result.expect("it can be read").into_vec() == vec![object as u8; 4096]
    }
}

/// With 4 MiB for pages; in the second group are objects to be removed.
fn full() -> (Rig, u32) {
    let mut rig = Rig::of_size(Bytes::from_mib(12));
    rig.lead(1);
    for object in 0..20 {
        let number = 10_000 + object;
        rig.issue((SECOND, 1), number, OpKind::Write, u64::from(object));
        rig.run_until(|rig| rig.is_answered(number));
    }
    let written = rig.fill();
    assert!((300..1000).contains(&written), "{written} objects fill the disk");
    let space = rig.osd.space().expect("it is open");
    assert_eq!((space.free, rig.stopped()), (0, None), "what is kept is taken too");
    (rig, written)
}

/// Puts of keys of its own could be told that there is no room, and took what an update that others have as well had needed.
#[test]
fn who_can_be_refused_leaves_what_is_kept_for_what_is_owed() {
    let mut rig = Rig::of_size(Bytes::from_mib(12));
    rig.lead(1);
    for token in 0.. {
        let (key, value) = (format!("{token}").into_bytes(), vec![7; 2000]);
        rig.step(Event::Put(KeyPut { token, client: ClientId::new(1), key, value }));
        rig.run_until(|rig| !rig.puts.is_empty());
        if !rig.puts.remove(0).is_kept {
            break;
        }
    }
    let store = rig.osd.paged_store().expect("the disk is open");
    let allocator = &store.space().pages.allocator;
    let free = allocator.free() + allocator.returning();
    let kept = kept_pages(&store.superblock().layout);
    assert!((kept..kept + 4).contains(&free), "{free} are free, and {kept} are kept");
    for object in 0..20 {
        rig.issue((FIRST, 1), object, OpKind::Write, object.into());
        rig.run_until(|rig| rig.is_answered(object));
    }
    assert!(!rig.waits() && rig.stopped().is_none());
}

/// The write that found no page stopped the OSD.
#[test]
fn a_write_that_finds_no_room_goes_on_with_what_another_group_gives_back() {
    let (mut rig, written) = full();
    for object in 0..20 {
        let number = 20_000 + object;
        rig.issue((SECOND, 1), number, OpKind::Remove, u64::from(object));
        rig.run_until(|rig| rig.is_answered(number));
    }
    rig.run_until(|rig| rig.is_answered(written + 1));
    assert_eq!(rig.stopped(), None);
    for object in 1..=written + 1 {
        assert!(rig.reads((FIRST, 1), 30_000 + object, object.into()), "object {object}");
    }
}

/// What would give room stands behind what waits for it.
#[test]
fn a_disk_on_which_nobody_gives_room_is_opened_again() {
    let (mut rig, written) = full();
    let since = rig.now();
    rig.issue((FIRST, 1), 20_000, OpKind::Remove, 1);
    rig.run_until(|rig| rig.stopped().is_some());
    assert_eq!(rig.stopped(), Some(DiskFault::Full));
    let span = rig.now().since(since);
    assert!(span >= Span::from_secs(10) && span < Span::from_secs(11), "after {span}");
    assert!(!rig.is_answered(written + 1) && !rig.is_answered(20_000));

    rig.open();
    rig.lead(2);
    for object in 1..=30 {
        let number = 20_000 + object;
        rig.issue((FIRST, 2), number, OpKind::Remove, object.into());
        rig.run_until(|rig| rig.is_answered(number));
    }
    rig.issue((FIRST, 2), 40_000, OpKind::Write, u64::from(written) + 1);
    rig.run_until(|rig| rig.is_answered(40_000));
    for object in 31..=written + 1 {
        assert!(rig.reads((FIRST, 2), 50_000 + object, object.into()), "object {object}");
    }
    assert_eq!(rig.told.iter().filter(|notice| matches!(notice, Notice::Stopped(..))).count(), 1);
}
