//! A bad page that two objects own: whoever asks is told of its own object, and a transaction that changes both goes past it in both.
//!
//! Of a page that several waited for, all were told whose it was to the first. Who repairs what it is told of mended the same object again and again;
//! and a transaction that changed a part of the page in both objects, and might go past damage, was told twice of one and ended the process.

use super::sample::{Disks, Sample};
use loadline_device::ClassTag;
use loadline_store::paged::{
    Answer, Ask, Damage, Edit, LossNote, ObjectId, Op, OpError, PastDamage, Payload, Protection,
    api,
};
use loadline_store::{CollectionId, ObjectNo, Version};

const PAGE: u64 = 4096;
const ONE: ObjectId =
    ObjectId { collection: CollectionId::new(3), object: ObjectNo(5), snapshot: 0 };
const OTHER: ObjectId = ObjectId { object: ObjectNo(6), ..ONE };

/// An object of four pages and a copy of it, which share a page that is bad: the second.
fn with_a_bad_page() -> Sample {
    let mut sample =
        Sample::open(Disks::formatted(Protection::Checkpoint, false), Protection::Checkpoint);
    let data = Payload::Pattern { seed: 4, offset: 0, length: 4 * PAGE };
    let write = Edit::Write { object: ONE, offset: 0, data, version: Version(1) };
    sample.ask(Ask::Transaction(vec![write, Edit::Clone { from: ONE, to: OTHER }]));
    sample.ask(Ask::Checkpoint);
    let mut disks = sample.disks;
    let bytes = api::pattern(4, PAGE, 512);
    let place = disks.data.chunks(512).position(|sector| sector == bytes).expect("it is there");
    disks.data[place * 512] ^= 1;
    Sample::open(disks, Protection::Checkpoint)
}

fn damaged(object: ObjectId) -> Result<Answer, OpError> {
    Err(OpError::Damaged(Damage::Object(object, PAGE..2 * PAGE)))
}

fn op(token: u64, ask: Ask) -> Op<u64> {
    Op { ask, lane: None, class: ClassTag(1), token }
}

#[test]
fn each_is_told_of_its_own_object() {
    let read = |object| Ask::Read { object, offset: PAGE + 10, length: 100 };
    let write = |object| {
        let data = Payload::Bytes(vec![1; 10]);
        Ask::Transaction(vec![Edit::Write { object, offset: PAGE, data, version: Version(2) }])
    };
    for [first, second] in [[ONE, OTHER], [OTHER, ONE]] {
        let mut sample = with_a_bad_page();
        let asks = [read(first), read(second), write(first), write(second)];
        for (ask, token) in asks.into_iter().zip(0..) {
            sample.submit_op(op(token, ask));
        }
        let ended = sample.run_dry();
        for (token, object) in [first, second, first, second].into_iter().enumerate() {
            assert_eq!(ended[&(token as u64)], damaged(object), "op {token}");
        }
    }
}

#[test]
fn a_transaction_goes_past_a_page_in_both_its_objects() {
    let mut sample = with_a_bad_page();
    let write = |object| {
        let data = Payload::Bytes(vec![7; 10]);
        Edit::Write { object, offset: 2 * PAGE - 5, data, version: Version(2) }
    };
    let past = PastDamage::Lose(LossNote::new(b"note", &[1]));
    sample.submit_past(op(0, Ask::Transaction(vec![write(ONE), write(OTHER)])), past);
    assert_eq!(sample.run_dry()[&0], Ok(Answer::Done));
    for _ in 0..2 {
        for object in [ONE, OTHER] {
            let read = |offset, length| Ask::Read { object, offset, length };
            assert_eq!(sample.answer(read(PAGE, PAGE)), damaged(object));
            let behind = sample.answer(read(2 * PAGE, 5));
            assert_eq!(behind, Ok(Answer::Bytes(Some(vec![7; 5]))));
        }
        let note = sample.answer(Ask::Get(b"note".to_vec()));
        assert_eq!(note, Ok(Answer::Value(Some(vec![1]))));
        sample = Sample::open(sample.disks, Protection::Checkpoint);
    }
}
