//! Recovery tests as they are written: what is read of them, and what is said of the rest.

mod feed;

use loadline_cbt::{CbtTest, NoteKind, RecoveryForm, Stated};

const BACKGROUND: &str = include_str!("../data/background.yaml");
const BLOCKING: &str = include_str!("../data/blocking.yaml");
const ENDPOINTS: &str = include_str!("../data/endpoints.yaml");

fn read(text: &str) -> CbtTest {
    CbtTest::parse(text).expect("it can be read")
}

fn at<T>(value: T, line: usize) -> Stated<T> {
    Stated { value, line: Some(line) }
}

/// The notes of a kind, each with its line.
fn notes(test: &CbtTest, kind: NoteKind) -> Vec<String> {
    let of = test.notes.iter().filter(|note| note.kind == kind);
    of.map(|note| format!("{}: {}", note.line, note.text)).collect()
}

#[test]
fn a_background_test_moves_objects_of_a_second_pool() {
    let test = read(BACKGROUND);
    assert_eq!(test.form, RecoveryForm::Background);
    assert_eq!((test.osds.clone(), test.copies.clone()), (at(6, 10), at(3, 23)));
    assert_eq!((test.groups.clone(), test.returning.clone()), (at(128, 21), at(2, 35)));
    assert_eq!((test.objects.clone(), test.object_size.clone()), (at(4000, 25), at(4 << 20, 26)));
    assert_eq!((test.baseline.clone(), test.clients.clone()), (at(240, 39), Some(at(240, 39))));
    let client = &test.client;
    assert_eq!(client.depth.value, 2 * 2 * 8, "on two hosts, two volumes each");
    assert_eq!((client.block.clone(), client.rate.clone()), (at(8192, 44), None));
    assert_eq!((client.reads_percent.value, client.is_random.value), (70, true));
    assert_eq!(client.image_mib.value, 4 * 2048);
    assert_eq!(test.conf_file, Some(at("/srv/cbt/ceph.conf.balanced".to_owned(), 12)));
}

#[test]
fn what_is_not_read_is_said_with_its_line() {
    let test = read(BACKGROUND);
    assert_eq!(notes(&test, NoteKind::Unknown), ["17: `cluster.shuffle_osds`"]);
    assert_eq!(
        notes(&test, NoteKind::LeftOut),
        [
            "54: `benchmarks.librbdfio.random_distribution`: addresses are drawn evenly",
            "44: `benchmarks.librbdfio.op_size`: a study has the first of 2 values, and `study run --set block=` takes another",
            "41: 4 volumes of 2048 MiB are one image here",
            "31: `cluster.pool_profiles.clients.target_max_bytes`: pools have no cache tier here",
            "32: `cluster.pool_profiles.cold`: no pool that is read has it",
            "28: `cluster.pool_profiles.clients.pg_size`: both pools of a study are alike, and have the recovery pool's 128",
            "24: `cluster.pool_profiles.moved.prefill_recov_time`: CBT stops after 120 s with what it has written by then; the study writes \
             all 4000 objects, so set `objects` to what there were",
            "36: `cluster.recovery_test.pre_time`: clients begin later in a background test",
            "13: `cluster.iterations`: `study run --repeat 3` makes as many runs",
        ]
    );
    let own = notes(&test, NoteKind::Own);
    assert_eq!(own.len(), 11, "{own:?}");
    assert!(own.contains(&"16: `cluster.ceph-osd_cmd`".to_owned()), "{own:?}");
}

/// A key that was mistyped is most likely a known one.
#[test]
fn a_mistyped_key_is_named_with_the_right_one() {
    let text = BACKGROUND.replace("numjobs:", "numjob:").replace("pgp_size: 128", "pgp_sise: 128");
    let unknown = notes(&read(&text), NoteKind::Unknown);
    assert!(
        unknown.contains(&"46: `benchmarks.librbdfio.numjob`; did you mean `numjobs`?".to_owned()),
        "{unknown:?}"
    );
    assert!(unknown.iter().any(|it| it.starts_with("22:") && it.contains("`pgp_size`?")));
}

#[test]
fn a_blocking_test_moves_the_clients_objects() {
    let test = read(BLOCKING);
    assert_eq!(test.form, RecoveryForm::Blocking);
    assert_eq!((test.osds.value, test.copies.value, test.groups.value), (4, 2, 32));
    assert_eq!((test.objects.value, test.object_size.value), (256, 4 << 20), "1 GiB of volumes");
    assert_eq!(
        (test.baseline.value, test.clients.clone()),
        (45, None),
        "fio ends with the recovery"
    );
    assert_eq!(test.client.depth.value, 32);
    let left_out = notes(&test, NoteKind::LeftOut).join("\n");
    for says in
        ["`benchmarks.radosbench`: clients", "post_time`: clients end", "a blocking test moves"]
    {
        assert!(left_out.contains(says), "{says}: {left_out}");
    }
}

#[test]
fn endpoints_are_volumes_of_the_benchmark_fio() {
    let test = read(ENDPOINTS);
    let client = &test.client;
    assert_eq!(client.depth.value, 4 * 2 * 4);
    assert_eq!(
        client.rate.as_ref().map(|rate| rate.value),
        Some(100 * 4 * 2),
        "each job has its own"
    );
    assert_eq!((client.block.value, client.image_mib.value), (16 << 10, 4 * 256));
    assert_eq!((test.objects.value, test.clients.clone(), test.baseline.line), (500, None, None));
    let left_out = notes(&test, NoteKind::LeftOut).join("\n");
    for says in ["clients use images without rbd-nbd", "`client_endpoints.other`: no benchmark"] {
        assert!(left_out.contains(says), "{says}: {left_out}");
    }
}

#[test]
fn every_way_to_mix_reads_is_read() {
    let check = |mode: &str, mix: &str, reads: u64, random: bool| {
        let text = BACKGROUND.replace("mode: ['randrw']", &format!("mode: {mode}"));
        let client = read(&text.replace("rwmixread: 70", mix)).client;
        assert_eq!((client.reads_percent.value, client.is_random.value), (reads, random), "{mode}");
    };
    check("read", "rwmixread: 70", 100, false);
    check("randwrite", "rwmixread: 70", 0, true);
    check("readwrite", "rwmixread: 30", 30, false);
    check("[randrw, read]", "log_bw: 1", 50, true);
}

#[test]
fn what_is_no_recovery_test_is_refused_with_its_line() {
    let check = |text: &str, says: &str| {
        let error = CbtTest::parse(text).expect_err("it is refused");
        assert!(error.to_string().contains(says), "{says}: {error}");
    };
    let with = |from: &str, to: &str| {
        assert!(BACKGROUND.contains(from), "{from}");
        BACKGROUND.replace(from, to)
    };
    check("", "line 1: `cluster` is missing");
    check("cluster: 3\n", "line 1: `cluster` must be a map");
    check(
        &with("  recovery_test:", "  recover_test:"),
        "line 2: `cluster.recovery_test` is missing",
    );
    check(
        &with("librbdfio", "radosbench"),
        "line 37: `benchmarks` has none of librbdfio, fio, rbdfio",
    );
    check(
        &with("type: background", "type: back"),
        "line 53: `benchmarks.librbdfio.recov_test_type` must be",
    );
    check(
        &with("osds: [2]", "osds: []"),
        "line 35: `cluster.recovery_test.osds` must say which OSD",
    );
    check(
        &with("replication: 3", "replication: erasure"),
        "line 23: `cluster.pool_profiles.moved.replication` is erasure",
    );
    check(
        &with("recov_pool: True", "recov_pool: False"),
        "line 20: `cluster.pool_profiles.moved.recov_pool` is not set",
    );
    check(&with("recov_pool: True", "recov_pool: maybe"), "must be true or false");
    check(&with("objects: 4000", "objects: 0"), "line 25:");
    check(
        &with("objects: 4000", "objects: many"),
        "line 25: `cluster.pool_profiles.moved.prefill_recov_objects` must be a whole number",
    );
    check(
        &with("iodepth: [8]", "iodepth: [0]"),
        "line 45: `benchmarks.librbdfio.iodepth` must be at least 1",
    );
    check(&with("'randrw'", "trim"), "line 42: `benchmarks.librbdfio.mode` must be one of read,");
    check(
        &with("rwmixread: 70", "rwmixread: 170"),
        "line 43: `benchmarks.librbdfio.rwmixread` must be at most 100",
    );
    check(
        &with("pool_profile: moved", "pool_profile: none"),
        "line 52: there is no pool profile `none`",
    );
    check(
        &with("osds_per_node: 3", "osds_per_node: 0"),
        "line 10: `cluster.osds_per_node` must say",
    );
    check(
        &ENDPOINTS.replace("rbd-nbd", "cephfs-fuse"),
        "is cephfs-fuse: clients of a study use images",
    );
    check(
        &ENDPOINTS.replace("client_endpoints: images", "client_endpoints: none"),
        "no `client_endpoints` called `none`",
    );
    check(&ENDPOINTS.replace("bs: 16k", "bs: 16x"), "`benchmarks.fio.bs` must be a size");
}

/// Every byte of a test turned into another is read or refused, and nothing falls.
#[test]
fn no_text_makes_the_reader_fall() {
    let mut accepted = 0;
    for text in [BACKGROUND, BLOCKING, ENDPOINTS] {
        let others = [b'9', b'-', b'"', b'[', b'&', b':', b'\t', b'*', b'\n', b'{'];
        for (at, other) in (0..text.len()).zip(others.into_iter().cycle()) {
            let mut bytes = text.as_bytes().to_vec();
            bytes[at] = other;
            accepted += usize::from(feed::anything(&bytes));
            feed::anything(&text.as_bytes()[..at]);
        }
    }
    assert!(accepted > 500, "{accepted} were read");
}
