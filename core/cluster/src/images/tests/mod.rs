//! Images as their owner uses them: refusals and their sentences, numbers, views, jobs.

use super::*;
use crate::pool::PoolId;
use loadline_osd::SnapshotNo;
use loadline_store::ObjectNo;

const MIB: u64 = 1 << 20;

fn pool() -> PoolId {
    PoolId::new(7)
}

/// `vol0` of 10 MiB in objects of 4 MiB, with snapshots `a` and `b`, and `child`, a clone of `a`.
fn table() -> Images {
    let mut images = Images::default();
    images.create("vol0", pool(), 10 * MIB, 4 * MIB).expect("it is new");
    images.snapshot_create("vol0", "a").expect("it is new");
    images.snapshot_create("vol0", "b").expect("it is new");
    images.clone_image("vol0@a", "child").expect("it is new");
    assert!(images.is_sound());
    images
}

#[test]
fn what_is_refused_says_why() {
    let check = |ask: &dyn Fn(&mut Images) -> Result<(), ImageError>, sentence: &str| {
        let mut images = table();
        let refused = ask(&mut images).expect_err("it is refused");
        assert_eq!(refused.to_string(), sentence);
        assert_eq!(images, table(), "{sentence}: nothing has changed");
    };
    let create = |name: &'static str, size, object_bytes| {
        move |images: &mut Images| images.create(name, pool(), size, object_bytes).map(drop)
    };
    let rule = "it takes 1 to 64 characters without `@`, `/` and control characters, no space at its ends, and neither `.` nor `..`";
    check(&create("", MIB, 4 * MIB), &format!("`` is not a name: {rule}"));
    check(&create("a@b", MIB, 4 * MIB), &format!("`a@b` is not a name: {rule}"));
    check(&create("a/b", MIB, 4 * MIB), &format!("`a/b` is not a name: {rule}"));
    check(&create("a\n", MIB, 4 * MIB), &format!("`a\\n` is not a name: {rule}"));
    check(&create(".", MIB, 4 * MIB), &format!("`.` is not a name: {rule}"));
    check(&create("..", MIB, 4 * MIB), &format!("`..` is not a name: {rule}"));
    check(&create("vol0", MIB, 4 * MIB), "image vol0 exists already");
    check(
        &create("x", MIB, 3 * MIB),
        "objects cannot have 3145728 bytes: it takes a power of two from 64 KiB to 32 MiB",
    );
    check(
        &create("x", 0, 64 << 10),
        "an image of this object size cannot have 0 bytes: it takes 1 B to 256 TiB",
    );
    check(&|i| i.remove("x").map(drop), "there is no image `x`");
    check(&|i| i.remove("vol0@a").map(drop), "there is no image `vol0@a`");
    check(&|i| i.remove("vol0").map(drop), "snapshot vol0@a has clones: remove child first");
    check(&|i| i.snapshot_remove("vol0", "x").map(drop), "image vol0 has no snapshot `x`");
    check(
        &|i| i.snapshot_remove("vol0", "a").map(drop),
        "snapshot vol0@a has clones: remove child first",
    );
    check(&|i| i.snapshot_create("vol0", "a").map(drop), "snapshot vol0@a exists already");
    check(
        &|i| i.clone_image("vol0", "x").map(drop),
        "`vol0` is not a snapshot: write image@snapshot",
    );
    check(&|i| i.clone_image("vol0@a", "child").map(drop), "image child exists already");
    check(&|i| i.rename("child", "vol0"), "image vol0 exists already");
    let mut images = table();
    images.remove("child").expect("nothing holds it");
    let refused = images.remove("vol0").expect_err("it has snapshots");
    assert_eq!(refused.to_string(), "image vol0 has snapshots: remove a, b first");
}

/// The past of an object that each snapshot showed otherwise was larger than a value may be, and the OSDs that kept it stopped.
#[test]
fn an_image_has_510_snapshots_at_most() {
    let mut images = table();
    for number in images.snapshot_list("vol0").expect("it is there").len()..510 {
        images.snapshot_create("vol0", &format!("s{number}")).expect("there is room");
    }
    let before = images.clone();
    let refused = images.snapshot_create("vol0", "one more").expect_err("they are 510");
    assert_eq!(
        refused.to_string(),
        "image vol0 has 510 snapshots, the most that an image may have: remove some first"
    );
    assert_eq!(images, before);
    images.snapshot_create("child", "a").expect("a clone has its own");
    images.snapshot_remove("vol0", "s300").expect("nobody has it");
    images.snapshot_create("vol0", "one more").expect("there is room again");
}

#[test]
fn names_of_64_characters_are_taken() {
    let mut images = Images::default();
    let longest = "ä".repeat(64);
    assert!(images.create(&longest, pool(), MIB, 4 * MIB).is_ok());
    let longer = "x".repeat(65);
    assert_eq!(images.rename(&longest, &longer), Err(ImageError::BadName(longer)));
    let endless = "x".repeat(90_000);
    for refused in [ImageError::BadName(endless.clone()), ImageError::NoImage(endless)] {
        let says = refused.to_string();
        assert!(says.len() < 300 && says.contains("x…`"), "{says}");
    }
}

#[test]
fn a_clone_is_of_its_parents_family_and_its_objects_differ_in_the_member_only() {
    let images = table();
    let (parent, child) = (images.find("vol0"), images.find("child"));
    let (parent, child) = (parent.expect("it exists").image, child.expect("it exists").image);
    assert_eq!(parent, ImageId { family: 1, member: 0 });
    assert_eq!(child, ImageId { family: 1, member: 1 });
    assert_eq!(child.object(5), ObjectNo(0x0001_0001_0000_0005));
    assert_eq!(child.object(5).0 & !MEMBER_BITS, parent.object(5).0 & !MEMBER_BITS);
    assert_eq!(ImageId::of(child.object(u32::MAX)), (child, u32::MAX));
}

#[test]
fn a_range_is_split_at_objects() {
    let view = table().find("vol0").expect("it exists");
    let pieces = |offset, length| -> Vec<_> {
        let pieces = split(&view, offset, length);
        pieces.map(|p| (ImageId::of(p.object).1, p.offset, p.length, p.at)).collect()
    };
    let mib = MIB as u32;
    assert_eq!(pieces(0, 4096), [(0, 0, 4096, 0)]);
    assert_eq!(pieces(4 * MIB - 1, 2), [(0, 4 * mib - 1, 1, 0), (1, 0, 1, 1)]);
    let all = [(0, 0, 4 * mib, 0), (1, 0, 4 * mib, 4 * MIB), (2, 0, 2 * mib, 8 * MIB)];
    assert_eq!(pieces(0, 10 * MIB), all);
    assert_eq!(pieces(10 * MIB, 0), []);
}

/// The end of an image of the greatest permitted size is no block: the number of the one that would begin there has 33 bits. A client
/// that read the last sector ended the node.
#[test]
fn a_range_at_the_end_of_the_greatest_image_is_split_like_any_other() {
    let object_bytes = 64 << 10;
    let head = table().find("vol0").expect("it exists");
    let view = View { size: Image::size_max(object_bytes), object_bytes, ..head };
    let last = (u32::MAX, 65_535, 1, 0);
    let pieces = split(&view, view.size - 1, 1);
    assert_eq!(
        pieces.map(|p| (ImageId::of(p.object).1, p.offset, p.length, p.at)).collect::<Vec<_>>(),
        [last]
    );
    assert_eq!(split(&view, view.size, 0).count(), 0);
}

#[test]
#[should_panic(expected = "end past 10485760")]
fn a_range_past_the_end_is_a_bug() {
    let view = table().find("vol0").expect("it exists");
    let _ = split(&view, 10 * MIB, 1);
}

#[test]
fn views_name_what_is_read_what_is_kept_and_who_stands_behind() {
    let mut images = table();
    let head = images.find("vol0").expect("it exists");
    assert_eq!((head.read_at, head.newest), (SnapshotId::HEAD, SnapshotId(2)));
    assert!(!head.is_read_only() && head.ancestors.is_empty());
    let a = images.find("vol0@a").expect("it exists");
    assert!(a.is_read_only() && a.read_at == SnapshotId(1));
    // Smaller by a half block, and a grandchild of what it was before.
    images.snapshot_create("child", "before").expect("it is new");
    images.resize("child", 6 * MIB).expect("smaller");
    images.clone_image("child@before", "old").expect("it is new");
    images.snapshot_create("child", "after").expect("it is new");
    images.clone_image("child@after", "new").expect("it is new");
    assert!(images.is_sound());
    let behind = |name: &str, block| -> Vec<(u16, u32, u32)> {
        let view = images.find(name).expect("it exists");
        let behind = view.behind(view.image.object(block));
        behind.map(|b| (ImageId::of(b.object).0.member, b.snapshot.0, b.length)).collect()
    };
    let mib = MIB as u32;
    assert_eq!(behind("child", 0), [(0, 1, 4 * mib)]);
    assert_eq!(behind("child", 1), [(0, 1, 2 * mib)]);
    assert_eq!(behind("child", 2), []);
    assert_eq!(behind("child@before", 2), [(0, 1, 2 * mib)]);
    assert_eq!(behind("old", 1), [(1, 3, 4 * mib), (0, 1, 4 * mib)]);
    assert_eq!(behind("new", 1), [(1, 4, 2 * mib), (0, 1, 2 * mib)]);
    assert_eq!(behind("new", 2), []);
}

#[test]
fn jobs_of_one_image_come_one_after_the_other_and_removal_takes_their_place() {
    let mut images = table();
    images.snapshot_create("vol0", "c").expect("it is new");
    assert_eq!(images.snapshot_remove("vol0", "b"), Ok(SnapshotId(2)));
    let vol0 = images.image("vol0").expect("it exists").id.get();
    let before = |snapshot| images.views().live_before(vol0, SnapshotNo(snapshot)).0;
    assert_eq!([3, 9].map(before), [1, 3], "the table without it tells the OSDs what lives");
    images.snapshot_remove("vol0", "c").expect("no clones");
    let first = images.resize("vol0", 4 * MIB).expect("smaller").expect("something is cut off");
    assert_eq!((first.next, first.last), (1, 2));
    let second = images.resize("vol0", MIB).expect("smaller").expect("something is cut off");
    let child = images.remove("child").expect("no snapshots");
    let due = |images: &Images| images.due(pool()).map(|job| job.id).collect::<Vec<_>>();
    assert_eq!(due(&images), [first.id, child.id]);
    assert!(images.advance(first.id, 2) && !images.advance(first.id, 1));
    assert!(images.advance(first.id, 3), "past its last block");
    assert_eq!(due(&images), [second.id, child.id]);
    images.snapshot_remove("vol0", "a").expect("the clone is gone");
    let removal = images.remove("vol0").expect("no snapshots");
    assert_eq!(due(&images), [child.id, removal.id]);
    assert!(!images.finish(second.id), "the removal took its place");
    assert!(images.finish(child.id) && images.finish(removal.id) && images.is_sound());
    assert_eq!(images.pools().count(), 0, "nothing is left of the family");
}

/// The numbers of the removed image were given to the next one while its objects were still being removed.
#[test]
fn a_number_is_used_again_only_when_no_job_has_it() {
    let mut images = table();
    let removed = images.remove("child").expect("no snapshots");
    images.families.get_mut(&1).expect("it exists").next_member = 1;
    let next = images.clone_image("vol0@a", "next").expect("it is new");
    assert_eq!(next.member, 2);
    images.finish(removed.id);
    images.families.get_mut(&1).expect("it exists").next_member = 1;
    assert_eq!(images.clone_image("vol0@a", "again").expect("it is new").member, 1);
}

#[test]
fn numbers_can_be_used_up() {
    let mut images = table();
    images.families.get_mut(&1).expect("it exists").next_snapshot = SnapshotId(u32::MAX);
    let refused = images.snapshot_create("vol0", "c");
    assert_eq!(refused, Err(ImageError::NumbersUsedUp(Numbers::Snapshots)));
    let mut images = Images::default();
    for family in 1..=u16::MAX {
        images.create(&family.to_string(), pool(), MIB, 4 * MIB).expect("a family is free");
    }
    let refused = images.create("one more", pool(), MIB, 4 * MIB);
    assert_eq!(refused, Err(ImageError::NumbersUsedUp(Numbers::Families)));
    let job = images.remove("77").expect("no snapshots");
    images.finish(job.id);
    let created = images.create("one more", pool(), MIB, 4 * MIB);
    assert_eq!(created, Ok(ImageId { family: 77, member: 0 }));
}
