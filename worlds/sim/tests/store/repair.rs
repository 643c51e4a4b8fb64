//! A bad page met at run time is fetched from another replica and repaired, under both protections.

use crate::contract::{Simulated, fresh};
use loadline_base::{Bytes, Rng};
use loadline_device::ClassTag;
use loadline_sim::disk::Trouble;
use loadline_store::contract::ContractWorld;
use loadline_store::paged::{
    Answer, Ask, Damage, Edit, LossNote, LostEnds, ObjectId, Op, OpError, OpLane, Options,
    PastDamage, Payload, Protection,
};
use loadline_store::{CollectionId, ObjectNo, Version};

const LENGTH: u64 = 100_001;

fn object() -> ObjectId {
    ObjectId { collection: CollectionId::new(1), object: ObjectNo(5), snapshot: 0 }
}

fn ask(world: &mut Simulated, ask: Ask) -> Result<Answer, OpError> {
    world.submit(Op { ask, lane: None, class: ClassTag(7), token: 0 });
    world.run().pop().expect("the op ends").1
}

fn read_all() -> Ask {
    Ask::Read { object: object(), offset: 0, length: LENGTH }
}

fn write(offset: u64, data: Payload) -> Ask {
    let version = Version(1);
    Ask::Transaction(vec![Edit::Write { object: object(), offset, data, version }])
}

/// The page where the object's byte `at` stands on the data disk, found by its content.
fn place_of(world: &mut Simulated, at: u64) -> u64 {
    let bytes = loadline_store::paged::api::pattern(4, at / 4096 * 4096, 512);
    let image = world.host().disks().data.image();
    let found = image.chunks(512).position(|sector| sector == bytes);
    found.expect("the data is on the disk") as u64 * 512
}

fn check(protection: Protection) {
    let options = Options {
        protection,
        cache: Bytes::from_mib(1),
        old_versions: Bytes::from_kib(256),
        ..Options::default()
    };
    let mut replicas = [fresh(options, false, 4096), fresh(options, false, 4096)];
    let data = Payload::Pattern { seed: 4, offset: 0, length: LENGTH };
    for replica in &mut replicas {
        assert_eq!(ask(replica, write(0, data.clone())), Ok(Answer::Done));
        assert!(ask(replica, Ask::Checkpoint).is_ok());
        replica.crash();
    }
    let [bad, good] = &mut replicas;
    let mut rng = Rng::new(1);
    for at in [0, 50_000, LENGTH - 1, rng.below(LENGTH)] {
        let page = place_of(bad, at);
        bad.host().disks_mut().data.rot(page + 10..page + 20);
        bad.crash();
        let Err(OpError::Damaged(Damage::Object(id, range))) = ask(bad, read_all()) else {
            panic!("byte {at} is damaged");
        };
        assert!(id == object() && range.contains(&at) && range.end <= LENGTH, "{range:?}");
        let length = range.end - range.start;
        let fetch = Ask::Read { object: id, offset: range.start, length };
        let Ok(Answer::Bytes(Some(bytes))) = ask(good, fetch) else { panic!("the replica has it") };
        assert_eq!(ask(bad, write(range.start, Payload::Bytes(bytes))), Ok(Answer::Done));
        bad.crash();
        assert_eq!(ask(bad, read_all()), ask(good, read_all()), "byte {at}");
        assert!(ask(bad, Ask::Checkpoint).is_ok());
    }
}

#[test]
fn a_rotten_page_is_repaired_from_a_replica() {
    check(Protection::Checkpoint);
    check(Protection::Log);
}

/// Where a lost page is noted, in the tests.
const NOTE: &[u8] = b"note";

fn begin_past(world: &mut Simulated, ask: Ask) {
    let op = Op { ask, lane: Some(OpLane(1)), class: ClassTag(7), token: 0 };
    world.host().submit_past_damage(op, PastDamage::Lose(LossNote::new(NOTE, &[1])));
    while world.host().step() {}
}

fn end_past(world: &mut Simulated) -> (Result<Answer, OpError>, LostEnds) {
    while world.host().step() {}
    let done = world.host().ended_mut().pop().expect("the op ends");
    (done.result, done.stages.lost)
}

/// Carries an update out that goes past damage, and waits for nobody's word.
fn past(world: &mut Simulated, ask: Ask) -> (Result<Answer, OpError>, LostEnds) {
    begin_past(world, ask);
    assert_eq!(world.host().take_doubts(), [], "what is damaged is damaged");
    end_past(world)
}

fn is_noted(world: &mut Simulated) -> bool {
    ask(world, Ask::Get(NOTE.to_vec())) == Ok(Answer::Value(Some(vec![1])))
}

/// A write into a rotten page is refused, or goes past it: then that page is lost and nothing else, through crashes and checkpoints, also where
/// a copy of the object owns it too, and until all of it is written.
fn check_past(protection: Protection, is_shared: bool) {
    let options = Options {
        protection,
        cache: Bytes::from_mib(1),
        old_versions: Bytes::from_kib(256),
        ..Options::default()
    };
    let mut world = fresh(options, false, 4096);
    let data = Payload::Pattern { seed: 4, offset: 0, length: LENGTH };
    assert_eq!(ask(&mut world, write(0, data)), Ok(Answer::Done));
    if is_shared {
        let to = ObjectId { snapshot: 9, ..object() };
        let clone = Ask::Transaction(vec![Edit::Clone { from: object(), to }]);
        assert_eq!(ask(&mut world, clone), Ok(Answer::Done));
    }
    assert!(ask(&mut world, Ask::Checkpoint).is_ok());
    world.crash();
    let mut model = loadline_store::paged::api::pattern(4, 0, LENGTH);
    let (first, second) = (3 * 4096, 7 * 4096);
    for page in [first, second] {
        let place = place_of(&mut world, page);
        world.host().disks_mut().data.rot(place + 10..place + 20);
    }
    world.crash();
    let bytes = vec![7; 4 * 4096];
    let into_both = || write(first + 100, Payload::Bytes(bytes.clone()));
    assert!(matches!(ask(&mut world, into_both()), Err(OpError::Damaged(_))), "it is alone");
    assert_eq!(past(&mut world, into_both()), (Ok(Answer::Done), LostEnds::BOTH));
    model[first as usize + 100..][..bytes.len()].fill(7);
    let check = |world: &mut Simulated, lost: &[u64]| {
        for page in (0..LENGTH).step_by(4096) {
            let length = 4096.min(LENGTH - page);
            let read = ask(world, Ask::Read { object: object(), offset: page, length });
            match lost.contains(&page) {
                true => assert!(matches!(read, Err(OpError::Damaged(_))), "{page}: {read:?}"),
                false => {
                    let wanted = model[page as usize..][..length as usize].to_vec();
                    assert_eq!(read, Ok(Answer::Bytes(Some(wanted))), "{page}");
                }
            }
        }
    };
    check(&mut world, &[first, second]);
    assert!(is_noted(&mut world), "what is lost is noted with it");
    world.crash();
    check(&mut world, &[first, second]);
    assert!(is_noted(&mut world));
    assert!(ask(&mut world, Ask::Checkpoint).is_ok());
    world.crash();
    check(&mut world, &[first, second]);
    let good = model[first as usize..][..4096].to_vec();
    assert_eq!(ask(&mut world, write(first, Payload::Bytes(good))), Ok(Answer::Done));
    check(&mut world, &[second]);
    world.crash();
    check(&mut world, &[second]);
}

#[test]
fn what_goes_past_a_rotten_page_leaves_everything_else_good() {
    for protection in [Protection::Checkpoint, Protection::Log] {
        check_past(protection, false);
        check_past(protection, true);
    }
}

/// Who has no other copy is refused a write into a bad page, and has the rest of it: what comes behind is made with that in mind. Nothing of it was
/// there, though what had come with it was taken for done.
#[test]
fn what_nobody_else_has_is_left_and_everything_else_is_carried_out() {
    let mut world = fresh(Options { cache: Bytes::from_mib(1), ..Options::default() }, false, 4096);
    let data = Payload::Pattern { seed: 4, offset: 0, length: LENGTH };
    assert_eq!(ask(&mut world, write(0, data)), Ok(Answer::Done));
    assert!(ask(&mut world, Ask::Checkpoint).is_ok());
    world.crash();
    let mut model = loadline_store::paged::api::pattern(4, 0, LENGTH);
    let first = 7 * 4096;
    let place = place_of(&mut world, first);
    world.host().disks_mut().data.fail_reads(place..place + 4096, Trouble::Always);
    // From the middle of that page beyond the object's end.
    let (from, to) = (first + 100, LENGTH + 300);
    let to_there = Edit::Write {
        object: object(),
        offset: from,
        data: Payload::Bytes(vec![7; (to - from) as usize]),
        version: Version(2),
    };
    let beside = Edit::Put { key: NOTE.to_vec(), value: vec![1] };
    let ask_it = Ask::Transaction(vec![to_there, beside]);
    let op = Op { ask: ask_it, lane: Some(OpLane(1)), class: ClassTag(7), token: 0 };
    world.host().submit_past_damage(op, PastDamage::Leave);
    while world.host().step() {}
    assert_eq!(world.host().take_doubts(), [], "there is nobody to be asked");
    let done = world.host().ended_mut().pop().expect("the op ends");
    assert!(done.result.is_ok() && done.stages.untouched.any() && !done.stages.lost.any());
    world.host().disks_mut().data.end_failing_reads();
    model.resize(to as usize, 0);
    model[first as usize + 4096..].fill(7);
    for _ in 0..2 {
        assert!(is_noted(&mut world));
        let whole = Ask::Read { object: object(), offset: 0, length: to };
        assert_eq!(ask(&mut world, whole), Ok(Answer::Bytes(Some(model.clone()))));
        world.crash();
    }
}

/// The device does not read two pages for some time, and then does. A write into parts of both asks before it loses either. (Each such page was lost at
/// once, and with it what a moment later could have been read.)
#[test]
fn what_is_not_read_now_is_lost_only_where_others_have_it() {
    let options = Options { cache: Bytes::from_mib(1), ..Options::default() };
    let first = LostEnds { first: true, last: false };
    for (word, lost) in [
        (LostEnds::default(), &[][..]),
        (first, &[3 * 4096]),
        (LostEnds::BOTH, &[3 * 4096, 7 * 4096]),
    ] {
        let mut world = fresh(options, false, 4096);
        let data = Payload::Pattern { seed: 4, offset: 0, length: LENGTH };
        assert_eq!(ask(&mut world, write(0, data)), Ok(Answer::Done));
        assert!(ask(&mut world, Ask::Checkpoint).is_ok());
        world.crash();
        let mut model = loadline_store::paged::api::pattern(4, 0, LENGTH);
        let (from, to) = (3 * 4096 + 100, 7 * 4096 + 100);
        let into_both = || write(from, Payload::Bytes(vec![7; (to - from) as usize]));
        // It looks no more than three times.
        let spoil = |world: &mut Simulated| {
            for page in [3 * 4096, 7 * 4096] {
                let place = place_of(world, page);
                let disk = &mut world.host().disks_mut().data;
                disk.fail_reads(place..place + 4096, Trouble::Times(3));
            }
        };
        spoil(&mut world);
        begin_past(&mut world, into_both());
        let doubts = world.host().take_doubts();
        let [doubt] = doubts[..] else { panic!("it asks: {doubts:?}") };
        assert_eq!(doubt.ends, LostEnds::BOTH);
        // A loss of power now makes it a write that never came.
        world.crash();
        let whole = Ask::Read { object: object(), offset: 0, length: LENGTH };
        assert_eq!(ask(&mut world, whole), Ok(Answer::Bytes(Some(model.clone()))));
        world.crash();
        spoil(&mut world);
        begin_past(&mut world, into_both());
        let doubts = world.host().take_doubts();
        world.host().go_past(doubts[0].slot, word);
        assert_eq!(end_past(&mut world), (Ok(Answer::Done), LostEnds::BOTH));
        assert_eq!(is_noted(&mut world), word.any());
        model[4 * 4096..7 * 4096].fill(7);
        for _ in 0..2 {
            for page in (0..LENGTH).step_by(4096) {
                let length = 4096.min(LENGTH - page);
                let read = ask(&mut world, Ask::Read { object: object(), offset: page, length });
                if lost.contains(&page) {
                    assert!(matches!(read, Err(OpError::Damaged(_))), "{page}: {read:?}");
                } else {
                    let wanted = model[page as usize..][..length as usize].to_vec();
                    assert_eq!(read, Ok(Answer::Bytes(Some(wanted))), "{page} after {word:?}");
                }
            }
            world.crash();
        }
    }
}

/// A full disk, and more rotten pages in it than the pages that are kept free for what gives room back. (Each write past one took a page of those,
/// and when none was left, nothing could be removed any more.)
#[test]
fn what_goes_past_a_rotten_page_leaves_the_reserve_alone() {
    let options = Options { cache: Bytes::from_mib(1), ..Options::default() };
    let mut world = fresh(options, false, 4096);
    let pages = 48;
    let data = Payload::Pattern { seed: 4, offset: 0, length: pages * 4096 };
    assert_eq!(ask(&mut world, write(0, data)), Ok(Answer::Done));
    assert!(ask(&mut world, Ask::Checkpoint).is_ok());
    let mut key = 0u32;
    for bytes in [64 << 10, 2000, 100] {
        loop {
            let put = Edit::Put { key: key.to_be_bytes().to_vec(), value: vec![5; bytes] };
            key += 1;
            match ask(&mut world, Ask::Transaction(vec![put])) {
                Ok(_) => {}
                Err(OpError::NoSpace) => break,
                Err(error) => panic!("{error:?}"),
            }
        }
    }
    assert!(ask(&mut world, Ask::Checkpoint).is_ok());
    world.crash();
    for page in 0..pages {
        let place = place_of(&mut world, page * 4096);
        world.host().disks_mut().data.rot(place + 10..place + 20);
    }
    world.crash();
    let free = |world: &mut Simulated| world.host().store().space().pages.allocator.free();
    let before = free(&mut world);
    for page in 0..pages {
        let into = write(page * 4096 + 100, Payload::Bytes(vec![7; 8]));
        let (result, _) = past(&mut world, into);
        assert!(matches!(result, Ok(Answer::Done) | Err(OpError::NoSpace)), "{result:?}");
        let now = free(&mut world);
        assert!(now >= before.min(16), "{now} pages are free, and {before} were");
    }
    let remove = Ask::Transaction(vec![Edit::Remove { object: object() }]);
    assert_eq!(ask(&mut world, remove), Ok(Answer::Done));
}
