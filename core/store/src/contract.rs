//! What the paged store owes its owner, as tests that pass in every world; a world's tests call [`check`].
//!
//! Every op ends exactly once, while the devices answer; ops of one lane take effect in the order of their submission; a transaction takes
//! effect whole or, if it ends with an error, not at all; what was answered is there after a crash, as far as the log mode promises;
//! every request carries the class of its op or one of the store's own. The tests look from outside only: ops, completions, requests. A
//! world opens a store, steps it, and lets it crash.

use crate::objects::{CollectionId, ObjectNo, Version};
use crate::paged::{
    Answer, Ask, Bound, Edit, NOTE, ObjectDigest, ObjectId, Op, OpError, OpLane, Payload, Ranges,
    ScanBounds,
};
use crate::{ObjectMeta, paged::api::pattern};
use loadline_device::ClassTag;

/// A store in a world in which devices answer.
pub trait ContractWorld {
    /// Hands an op to the store.
    fn submit(&mut self, op: Op<u64>);

    /// Lets everything happen until nothing more can, and answers the ops that have ended: token and result.
    fn run(&mut self) -> Vec<(u64, Result<Answer, OpError>)>;

    /// Crashes after the last [`ContractWorld::run`] and opens the store again.
    fn crash(&mut self);

    /// The classes of all requests so far.
    fn classes(&self) -> Vec<ClassTag>;
}

/// The class of the contract's ops.
pub const CLASS: ClassTag = ClassTag(7);

/// Runs every test, each on a fresh world.
pub fn check<W: ContractWorld>(mut fresh: impl FnMut() -> W) {
    every_op_ends_once_and_lanes_keep_their_order(&mut fresh());
    keys_are_ordered_and_survive(&mut fresh());
    ranges_of_objects_read_as_they_were_written(&mut fresh());
    clones_go_their_own_ways(&mut fresh());
    what_holds_data_is_told_and_what_does_not_is_not(&mut fresh());
    attributes_and_lists(&mut fresh());
    a_refused_transaction_changes_nothing(&mut fresh());
}

fn op(token: u64, ask: Ask) -> Op<u64> {
    Op { ask, lane: Some(OpLane(0)), class: CLASS, token }
}

fn ask(world: &mut impl ContractWorld, ask: Ask) -> Result<Answer, OpError> {
    world.submit(op(1, ask));
    let mut ended = world.run();
    assert_eq!(ended.len(), 1, "one op, one end: {ended:?}");
    ended.pop().expect("it was counted").1
}

fn change(world: &mut impl ContractWorld, edits: Vec<Edit>) {
    assert_eq!(ask(world, Ask::Transaction(edits)), Ok(Answer::Done));
}

fn object(number: u64) -> ObjectId {
    ObjectId { collection: CollectionId::new(3), object: ObjectNo(number), snapshot: 0 }
}

fn put(key: &[u8], value: &[u8]) -> Edit {
    Edit::Put { key: key.to_vec(), value: value.to_vec() }
}

fn write(number: u64, offset: u64, data: Payload, version: u64) -> Edit {
    Edit::Write { object: object(number), offset, data, version: Version(version) }
}

fn every_op_ends_once_and_lanes_keep_their_order(world: &mut impl ContractWorld) {
    for token in 0..200u64 {
        let lane = Some(OpLane((token % 4) as u32));
        let edit = put(&[b'k', (token % 4) as u8], &token.to_le_bytes());
        world.submit(Op { ask: Ask::Transaction(vec![edit]), lane, class: CLASS, token });
    }
    let ended = world.run();
    let mut tokens: Vec<u64> = ended.iter().map(|(token, _)| *token).collect();
    for lane in 0..4 {
        let of_lane: Vec<u64> = tokens.iter().copied().filter(|token| token % 4 == lane).collect();
        assert!(of_lane.is_sorted(), "lane {lane}: {of_lane:?}");
        let last = Ask::Get(vec![b'k', lane as u8]);
        let value = (196 + lane).to_le_bytes().to_vec();
        assert_eq!(ask(world, last), Ok(Answer::Value(Some(value))));
    }
    tokens.sort_unstable();
    assert_eq!(tokens, (0..200).collect::<Vec<_>>());
    assert!(ended.iter().all(|(_, result)| *result == Ok(Answer::Done)));
}

fn keys_are_ordered_and_survive(world: &mut impl ContractWorld) {
    change(world, (0..50u8).rev().map(|key| put(&[key + 1, 9], &[key; 30])).collect());
    change(world, vec![Edit::Delete { key: vec![10, 9] }, put(b"long", &[5; 5000])]);
    world.crash();
    let pairs = vec![(vec![9, 9], vec![8; 30]), (vec![11, 9], vec![10; 30])];
    assert_eq!(
        ask(world, Ask::Scan { from: vec![9], most: ScanBounds::keys(2) }),
        Ok(Answer::Pairs(pairs.clone()))
    );
    let pairs = pairs.into_iter().rev().collect();
    let back = Ask::ScanBack { until: vec![12], most: ScanBounds::keys(2) };
    assert_eq!(ask(world, back), Ok(Answer::Pairs(pairs)));
    let first = vec![(vec![1, 9], vec![0; 30])];
    let back = Ask::ScanBack { until: vec![2], most: ScanBounds::keys(9) };
    assert_eq!(ask(world, back), Ok(Answer::Pairs(first)));
    // The key that has as many bytes as are asked for is the last one, and there is one at least.
    for (bytes, count) in [(0, 1), (32, 1), (33, 2), (64, 2), (65, 3)] {
        let most = ScanBounds { keys: 9, bytes };
        let asks = [Ask::Scan { from: vec![20], most }, Ask::ScanBack { until: vec![20], most }];
        for (ask_for, first) in asks.into_iter().zip([20, 19]) {
            let Ok(Answer::Pairs(found)) = ask(world, ask_for) else { panic!("pairs") };
            assert_eq!((found.len(), &found[0].0), (count, &vec![first, 9]), "{bytes} bytes");
            assert!(most.are_reached(&found));
        }
    }
    assert_eq!(ask(world, Ask::Get(b"long".to_vec())), Ok(Answer::Value(Some(vec![5; 5000]))));
    assert_eq!(ask(world, Ask::Get(vec![10, 9])), Ok(Answer::Value(None)));
}

fn ranges_of_objects_read_as_they_were_written(world: &mut impl ContractWorld) {
    let seeded = |offset, length| Payload::Pattern { seed: 9, offset, length };
    let mut model = vec![0u8; 300_000];
    let mut put =
        |offset: usize, bytes: &[u8]| model[offset..offset + bytes.len()].copy_from_slice(bytes);
    change(world, vec![write(1, 5000, seeded(0, 200_000), 1)]);
    put(5000, &pattern(9, 0, 200_000));
    change(world, vec![write(1, 70_001, Payload::Bytes(vec![3; 4097]), 2)]);
    put(70_001, &[3; 4097]);
    change(world, vec![write(1, 299_999, Payload::Bytes(vec![4]), 3)]);
    put(299_999, &[4]);
    change(
        world,
        vec![Edit::Punch { object: object(1), range: 10_000..50_001, version: Version(4) }],
    );
    put(10_000, &[0; 40_001]);
    for again in [false, true] {
        if again {
            world.crash();
        }
        for (offset, length) in [(0, 300_000), (4999, 3), (69_000, 10_000), (290_000, 99_999)] {
            let end = (offset + length).min(model.len());
            let expected = Ok(Answer::Bytes(Some(model[offset..end].to_vec())));
            let read =
                Ask::Read { object: object(1), offset: offset as u64, length: length as u64 };
            assert!(ask(world, read) == expected, "{length} bytes from {offset}, crashed: {again}");
        }
        let meta = ObjectMeta { version: Version(4), length: 300_000 };
        assert_eq!(ask(world, Ask::Stat(object(1))), Ok(Answer::Meta(Some(meta))));
    }
    change(world, vec![Edit::Truncate { object: object(1), length: 6000, version: Version(5) }]);
    change(world, vec![Edit::Truncate { object: object(1), length: 7000, version: Version(6) }]);
    let mut rest = model[5500..6000].to_vec();
    rest.resize(1500, 0);
    let read = Ask::Read { object: object(1), offset: 5500, length: 9999 };
    assert_eq!(ask(world, read), Ok(Answer::Bytes(Some(rest))));
    assert_eq!(ask(world, Ask::Stat(object(2))), Ok(Answer::Meta(None)));
    let classes = world.classes();
    assert!(classes.contains(&CLASS), "an object's data goes to the device in its op's class");
}

fn digest(answer: &Result<Answer, OpError>) -> ObjectDigest {
    match answer {
        Ok(Answer::Digest(Some(digest))) => digest.clone(),
        other => panic!("no digest: {other:?}"),
    }
}

fn clones_go_their_own_ways(world: &mut impl ContractWorld) {
    let clone = ObjectId { snapshot: 5, ..object(1) };
    let bytes = Payload::Pattern { seed: 1, offset: 0, length: 150_000 };
    let name = Edit::SetAttribute { object: object(1), name: b"n".to_vec(), value: b"v".to_vec() };
    change(world, vec![write(1, 0, bytes, 1), name]);
    change(world, vec![Edit::Clone { from: object(1), to: clone }]);
    let same = ask(world, Ask::Digest(object(1)));
    assert_eq!(ask(world, Ask::Digest(clone)), same);
    let before = digest(&same);
    let note = (vec![NOTE, b'x'], b"seen".to_vec());
    let (name, value) = note.clone();
    change(world, vec![Edit::SetAttribute { object: object(1), name, value }]);
    let noted = digest(&ask(world, Ask::Digest(object(1))));
    assert_eq!(noted, ObjectDigest { notes: vec![note], ..before }, "a note is no part of it");
    change(world, vec![Edit::Clone { from: object(1), to: clone }]);
    let same = ask(world, Ask::Digest(clone));
    assert_eq!(digest(&same), noted);
    change(
        world,
        vec![
            write(1, 3, Payload::Bytes(vec![1; 5]), 2),
            write(1, 65_536, Payload::Bytes(vec![2; 70_000]), 3),
        ],
    );
    world.crash();
    assert_eq!(ask(world, Ask::Digest(clone)), same, "the clone is what the object was");
    assert_ne!(ask(world, Ask::Digest(object(1))), same);
    change(world, vec![Edit::Remove { object: object(1) }]);
    assert_eq!(ask(world, Ask::Digest(clone)), same);
    assert_eq!(ask(world, Ask::Digest(object(1))), Ok(Answer::Digest(None)));
    change(world, vec![Edit::Remove { object: clone }]);
    assert_eq!(ask(world, Ask::Attributes(clone)), Ok(Answer::Pairs(Vec::new())));
}

/// What the ranges say, applied to the base or to zeros, must be the object; and they must not say much more.
fn differs(world: &mut impl ContractWorld, id: ObjectId, base: Option<ObjectId>, most: u64) {
    let length = 1 << 20;
    let mut whole = |object| match ask(world, Ask::Read { object, offset: 0, length }) {
        Ok(Answer::Bytes(bytes)) => bytes.unwrap_or_default(),
        other => panic!("a read answers bytes: {other:?}"),
    };
    let expected = whole(id);
    let mut made = base.map_or_else(Vec::new, &mut whole);
    made.resize(expected.len(), 0);
    let ask_for = |with_bytes| Ask::Sparse { object: id, base, offset: 0, length, with_bytes };
    let Ok(Answer::Sparse(Some((ranges, bytes)))) = ask(world, ask_for(true)) else {
        panic!("the object exists");
    };
    let mut rest = &bytes[..];
    for range in &ranges.data {
        let (now, later) = rest.split_at((range.end - range.start) as usize);
        made[range.start as usize..range.end as usize].copy_from_slice(now);
        rest = later;
    }
    ranges.zeros.iter().for_each(|zeros| made[zeros.start as usize..zeros.end as usize].fill(0));
    assert!(rest.is_empty() && made == expected, "{ranges:?}");
    assert!(ranges.data_bytes() <= most, "{ranges:?}");
    for list in [&ranges.data, &ranges.zeros] {
        assert!(list.is_sorted_by(|a, b| a.end < b.start), "apart and in order: {ranges:?}");
    }
    let only = Ok(Answer::Sparse(Some((ranges, Vec::new()))));
    assert_eq!(ask(world, ask_for(false)), only);
}

fn what_holds_data_is_told_and_what_does_not_is_not(world: &mut impl ContractWorld) {
    let clone = ObjectId { snapshot: 5, ..object(1) };
    let nothing = Ask::Sparse { object: clone, base: None, offset: 0, length: 9, with_bytes: true };
    assert_eq!(ask(world, nothing), Ok(Answer::Sparse(None)));
    let seeded = |length| Payload::Pattern { seed: 3, offset: 0, length };
    change(world, vec![write(1, 500_000, seeded(10), 1)]);
    change(world, vec![write(1, 65_536, seeded(150_000), 2), write(1, 0, seeded(5000), 2)]);
    differs(world, object(1), None, 155_010 + 4 * 16_384);
    change(world, vec![Edit::Clone { from: object(1), to: clone }]);
    differs(world, clone, Some(object(1)), 0);
    change(world, vec![write(1, 100_001, Payload::Bytes(vec![9; 5000]), 3)]);
    let punch = Edit::Punch { object: object(1), range: 131_072..163_840, version: Version(4) };
    change(world, vec![punch]);
    for again in [false, true] {
        if again {
            world.crash();
        }
        // A store may keep a write as one piece or as pages, but not the object as a whole.
        differs(world, object(1), Some(clone), 150_000);
        differs(world, clone, Some(object(1)), 150_000);
        differs(world, object(1), None, 155_010 + 4 * 16_384 - 32_768);
    }
    let part =
        Ask::Sparse { object: object(1), base: None, offset: 65_537, length: 3, with_bytes: true };
    let bytes = pattern(3, 1, 3);
    let ranges = Ranges { data: vec![65_537..65_540], zeros: Vec::new() };
    assert_eq!(ask(world, part), Ok(Answer::Sparse(Some((ranges, bytes)))));
    change(world, vec![Edit::Truncate { object: object(1), length: 70_000, version: Version(5) }]);
    differs(world, object(1), Some(clone), 70_000);
    differs(world, clone, Some(object(1)), 155_010 + 4 * 16_384);
}

fn attributes_and_lists(world: &mut impl ContractWorld) {
    for number in [3, 1, 2] {
        let edits = vec![
            Edit::SetAttribute {
                object: object(number),
                name: b"a".to_vec(),
                value: vec![number as u8],
            },
            Edit::SetAttribute { object: object(number), name: b"b".to_vec(), value: vec![0; 100] },
            Edit::RemoveAttribute { object: object(number), name: b"b".to_vec() },
        ];
        change(world, edits);
    }
    world.crash();
    let listed =
        ask(world, Ask::List { collection: CollectionId::new(3), from: ObjectNo(2), most: 9 });
    let expected = [2, 3].map(|number| (object(number), ObjectMeta::default()));
    assert_eq!(listed, Ok(Answer::Objects(expected.to_vec())));
    let attribute = |name: &[u8]| Ask::Attribute(object(2), name.to_vec());
    assert_eq!(ask(world, attribute(b"a")), Ok(Answer::Value(Some(vec![2]))));
    assert_eq!(ask(world, attribute(b"b")), Ok(Answer::Value(None)));
    let pairs = vec![(b"a".to_vec(), vec![3])];
    assert_eq!(ask(world, Ask::Attributes(object(3))), Ok(Answer::Pairs(pairs)));
}

fn a_refused_transaction_changes_nothing(world: &mut impl ContractWorld) {
    change(world, vec![put(b"k", b"before")]);
    let edits = vec![put(b"k", b"after"), put(&[7; 9000], b"too long a key")];
    let refused = ask(world, Ask::Transaction(edits));
    let Err(OpError::Exceeds(exceeded)) = refused else { panic!("{refused:?}") };
    assert_eq!((exceeded.bound, exceeded.asked), (Bound::KeyBytes, 9000));
    assert_eq!(ask(world, Ask::Get(b"k".to_vec())), Ok(Answer::Value(Some(b"before".to_vec()))));
}
