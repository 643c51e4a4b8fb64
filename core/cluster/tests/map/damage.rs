//! Damage, strangers and newer formats.

use crate::{feed, sample};
use loadline_cluster::LastServed;
use loadline_cluster::codec::{MapError, MapRecord, OwnStores};
use loadline_cluster::images::{ImageQos, JobWork};
use loadline_cluster::quorum::Term;
use loadline_osd::{IntervalId, OsdId, OsdSet};

/// The first map of some size.
fn record() -> (MapRecord, Vec<u8>) {
    let mut maps = (0..).map(sample::map).map(|map| (map.encode(), map));
    let (bytes, record) = maps.find(|(bytes, _)| bytes.len() >= 600).expect("some are");
    (record, bytes)
}

#[test]
fn every_change_of_one_byte_is_found() {
    let (record, mut bytes) = record();
    assert_eq!(MapRecord::decode(&bytes), Ok(record));
    for at in 0..bytes.len() {
        for change in 1..=u8::MAX {
            bytes[at] ^= change;
            assert!(MapRecord::decode(&bytes).is_err(), "byte {at} ^ {change}");
            bytes[at] ^= change;
        }
    }
}

#[test]
fn a_record_that_ends_early_or_late_is_refused() {
    let (_, mut bytes) = record();
    for length in 0..bytes.len() {
        assert!(MapRecord::decode(&bytes[..length]).is_err(), "{length} bytes");
    }
    bytes.push(0);
    let found = bytes.len();
    let said = found as u32 - 1;
    assert_eq!(MapRecord::decode(&bytes), Err(MapError::Length { said, found }));
}

#[test]
fn the_head_stands_where_the_table_says() {
    let (record, bytes) = record();
    assert_eq!(&bytes[..12], b"LOADLMAP\x07\0\0\0");
    assert_eq!(bytes[12..16], (bytes.len() as u32).to_le_bytes());
    assert_eq!(bytes[16..32], record.cluster_id.to_le_bytes());
    assert_eq!(bytes[32..40], record.term.0.to_le_bytes());
    assert_eq!(bytes[40..44], record.epoch.to_le_bytes());
    let everyone = (1u64 << record.osds.len()) - 1;
    assert_eq!(bytes[44..60], [everyone.to_le_bytes(), everyone.to_le_bytes()].concat());
    assert_eq!(bytes[60..68], record.placement_seed.to_le_bytes());
    assert_eq!(bytes[68..72], record.next_pool.get().to_le_bytes());
    assert_eq!(bytes[72..76], record.next_pg.get().to_le_bytes());
}

#[test]
fn what_is_wrong_is_said_in_one_sentence() {
    let (_, bytes) = record();
    let body = &bytes[16..bytes.len() - 4];
    let check = |bytes: &[u8], sentence: &str| {
        let error = MapRecord::decode(bytes).expect_err("it is refused");
        assert_eq!(error.to_string(), sentence);
    };
    check(b"LOADLINE........", "this is not a cluster map");
    check(
        &feed::framed(8, b"whatever it is"),
        "the cluster map has format 8 and this program knows 7: use a newer program",
    );
    check(&feed::framed(0, body), "the cluster map is not valid: byte 8 means nothing there");
    check(
        &feed::framed(7, &body[..20]),
        "the cluster map is not valid: byte 32 means nothing there",
    );
    let longer = [body, &[0]].concat();
    let at = 16 + body.len();
    check(
        &feed::framed(7, &longer),
        &format!("the cluster map is not valid: byte {at} means nothing there"),
    );
    let mut damaged = bytes.clone();
    damaged[100] ^= 1;
    check(&damaged, "the cluster map is damaged: its checksum does not fit");
    let mut no_pools_given = body.to_vec();
    no_pools_given[52..56].fill(0);
    check(
        &feed::framed(7, &no_pools_given),
        "the cluster map is not valid: its parts contradict each other",
    );
}

/// A map as the first format had it, byte by byte: one OSD, one pool of one placement group, nothing else.
#[test]
fn the_first_format_is_read_and_written_as_the_present_one() {
    let le = |number: u32| number.to_le_bytes();
    let long = |number: u64| number.to_le_bytes();
    let pg = [&[1, 0][..], &[0], &le(7), &le(5)].concat();
    let pool = [&le(0)[..], &[1], b"p", &le(1), &le(3), &long(4096), &[0], &le(0), &pg].concat();
    let osd = [&le(0)[..], &[3], &long(1 << 30)].concat();
    let images = [&[1, 0][..], &long(1), &le(0), &le(0), &le(0)].concat();
    let head = [&[9; 16][..], &long(2), &le(7), &long(1), &long(1), &long(4), &le(1), &le(1)];
    let lists = [&le(1)[..], &osd, &le(1), &pool, &le(0), &images];
    let body = [head.concat(), lists.concat()].concat();
    let record = MapRecord::decode(&feed::framed(1, &body)).expect("the first format is read");
    let pg = &record.pools.values().next().expect("a pool").pgs[0];
    let by = OsdSet::one(OsdId::new(0));
    let served = LastServed { interval: IntervalId { term: 0, epoch: 5 }, by };
    assert_eq!((pg.interval, pg.served), (7, served));
    let again = record.encode();
    assert_eq!(again[8], 7);
    assert_eq!(MapRecord::decode(&again), Ok(record));
}

/// The second format told nothing of what was promised to disks: none of them is an old copy by it.
#[test]
fn the_second_format_is_read_and_written_as_the_present_one() {
    let le = |number: u32| number.to_le_bytes();
    let long = |number: u64| number.to_le_bytes();
    let osd = [&le(0)[..], &[3], &long(1 << 30)].concat();
    let images = [&[1, 0][..], &long(1), &le(0), &le(0), &le(0)].concat();
    let head = [&[9; 16][..], &long(2), &le(7), &long(1), &long(1), &long(4), &le(1), &le(1)];
    let lists = [&le(1)[..], &osd, &le(0), &le(0), &images];
    let body = [head.concat(), lists.concat()].concat();
    let record = MapRecord::decode(&feed::framed(2, &body)).expect("the second format is read");
    assert_eq!(record.osds.values().next().expect("an OSD").promised, Term(0));
    let again = record.encode();
    assert_eq!(again[8], 7);
    assert_eq!(MapRecord::decode(&again), Ok(record));
}

/// The third format told nothing of stores: none is known by it.
#[test]
fn the_third_format_is_read_and_written_as_the_present_one() {
    let le = |number: u32| number.to_le_bytes();
    let long = |number: u64| number.to_le_bytes();
    let osd = [&le(0)[..], &[3], &long(1 << 30), &long(6), &long(8)].concat();
    let images = [&[1, 0][..], &long(1), &le(0), &le(0), &le(0)].concat();
    let head = [&[9; 16][..], &long(2), &le(7), &long(1), &long(1), &long(4), &le(1), &le(1)];
    let lists = [&le(1)[..], &osd, &le(0), &le(0), &images];
    let body = [head.concat(), lists.concat()].concat();
    let record = MapRecord::decode(&feed::framed(3, &body)).expect("the third format is read");
    let osd = record.osds.values().next().expect("an OSD");
    assert_eq!((osd.promised, osd.measured_on, osd.stores), (Term(6), 8, OwnStores::default()));
    let again = record.encode();
    assert_eq!(again[8], 7);
    assert_eq!(MapRecord::decode(&again), Ok(record));
}

/// Until the sixth format nobody told of others who had served last than those who serve.
fn serve_as_they_did(record: &mut MapRecord) {
    for pg in record.pools.values_mut().flat_map(|pool| &mut pool.pgs) {
        pg.served.by = pg.acting.iter().copied().collect();
    }
}

/// The fourth format told nothing of what images are promised: nothing, by it.
#[test]
fn the_fourth_format_is_read_and_written_as_the_present_one() {
    let (mut record, _) = record();
    let names: Vec<String> = record.images.list().map(|image| image.name.clone()).collect();
    for name in &names {
        record.images.set_qos(name, ImageQos::default()).expect("the image exists");
    }
    record.osds.values_mut().for_each(|osd| osd.taken_out = false);
    serve_as_they_did(&mut record);
    // So the formats differ in the number alone.
    let bytes = record.encode();
    let body = bytes[16..bytes.len() - 4].to_vec();
    assert_eq!(MapRecord::decode(&feed::framed(4, &body)), Ok(record));
}

/// The fifth format did not tell who was out until it is up: nobody, by it.
#[test]
fn the_fifth_format_is_read_and_written_as_the_present_one() {
    let (mut record, _) = record();
    serve_as_they_did(&mut record);
    let mut of_fifth = |taken_out| {
        record.osds.values_mut().for_each(|osd| osd.taken_out = taken_out);
        let bytes = record.encode();
        let read = MapRecord::decode(&feed::framed(5, &bytes[16..bytes.len() - 4]));
        (read, record.clone())
    };
    let (read, record) = of_fifth(false);
    assert_eq!(read, Ok(record));
    let (read, _) = of_fifth(true);
    assert!(matches!(read, Err(MapError::Malformed { .. })), "it had no such flag: {read:?}");
}

/// Earlier programs wrote down which objects were to be trimmed. OSDs find them by themselves, whatever was written.
#[test]
fn a_trim_that_was_written_down_is_read_and_left_out() {
    let (record, bytes) = record();
    let body = &bytes[16..bytes.len() - 4];
    let jobs = record.images.jobs().count() as u32;
    let fixed = |work: &JobWork| if matches!(work, JobWork::Remove) { 0 } else { 12 };
    let after = record.images.jobs().map(|job| 8 + 4 * 4 + 1 + fixed(&job.work)).sum::<usize>();
    let at = body.len() - after;
    let image = record.images.list().next().expect("an image").id.get();
    let numbers = [image, 0, 3, 9].map(u32::to_le_bytes).concat();
    let trim = [&u64::MAX.to_le_bytes()[..], &numbers, &[2], &[7; 8]].concat();
    let more = (jobs + 1).to_le_bytes();
    let body = [&body[..at - 4], &more, &body[at..], &trim].concat();
    assert_eq!(MapRecord::decode(&feed::framed(7, &body)), Ok(record));
}

/// Lengths and counts that promise more than there is cost nothing.
#[test]
fn a_count_is_not_believed() {
    let (_, bytes) = record();
    let body = &bytes[16..bytes.len() - 4];
    let mut counts = body[..60].to_vec();
    counts.extend_from_slice(&u32::MAX.to_le_bytes());
    assert!(!feed::map(&counts));
}

#[test]
#[should_panic(expected = "could not be read again")]
fn what_could_not_be_read_again_is_not_written() {
    let (mut record, _) = record();
    record.pools.values_mut().next().expect("there is a pool").spec.pgs += 1;
    record.encode();
}
