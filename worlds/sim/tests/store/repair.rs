//! A bad page met at run time is fetched from another replica and repaired, under both protections.

use crate::contract::{Simulated, fresh};
use loadline_base::{Bytes, Rng};
use loadline_device::ClassTag;
use loadline_store::contract::ContractWorld;
use loadline_store::paged::{
    Answer, Ask, Damage, Edit, ObjectId, Op, OpError, Options, Payload, Protection,
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
