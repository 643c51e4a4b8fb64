//! Measuring a small file: what is refused, what stays untouched, and that the drive file is one that the simulator takes.
//! No test looks at a speed.

use loadline_base::{Bytes, Span};
use loadline_host::BackendChoice;
use loadline_measure::{
    Does, MeasureError, MeasureOrder, MeasureProgress, MeasureTarget, Measured, NoDriveFile,
    Provenance, drive_file, measure, points,
};
use loadline_sim::Drive;
use std::fs;
use std::path::Path;

const SIZE: Bytes = Bytes::from_mib(64);

fn order(path: &Path) -> MeasureOrder {
    MeasureOrder {
        path: path.to_owned(),
        size: Some(SIZE),
        time: Span::from_millis(50),
        repeats: 2,
        write: false,
        consent: false,
        keep: false,
        backend: BackendChoice::Auto,
        seed: 1,
    }
}

fn carry_out(order: &MeasureOrder) -> Result<Measured, MeasureError> {
    measure(MeasureTarget::open(order)?, order, &mut |_| true)
}

fn from() -> Provenance {
    Provenance {
        name: "mine".to_owned(),
        when: "2026-01-01T00:00:00Z".to_owned(),
        command: "loadline drive measure\nFILE".to_owned(),
        host: "a \"machine\"".to_owned(),
        medium: None,
    }
}

/// Bytes that tell whether somebody wrote.
fn filled(path: &Path) -> Vec<u8> {
    let bytes: Vec<u8> = (0..SIZE.get()).map(|index| (index % 251) as u8).collect();
    fs::write(path, &bytes).unwrap();
    bytes
}

#[test]
fn a_new_file_is_measured_both_ways_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new");
    let measured = carry_out(&order(&path)).unwrap();
    assert!(!path.exists(), "the file goes with the measurement");
    assert_eq!(measured.points.len(), points(true).len());
    for point in &measured.points {
        assert_eq!(point.repeats.len(), 2);
        assert!(point.iops.mean > 0.0, "{}", point.point());
        let latency = &point.latency_ns;
        assert!(latency.p50 <= latency.p99 && latency.p99 <= latency.max, "{latency:?}");
    }
    let text = drive_file(&measured, &from()).unwrap();
    let drive = Drive::parse("mine", "mine.toml", &text).unwrap();
    let small = |point: &&loadline_measure::PointResult| {
        point.does == Does::Write && point.block_bytes == 4096 && point.depth <= 64
    };
    let best =
        measured.points.iter().filter(small).map(|point| point.iops.mean).fold(0.0, f64::max);
    // The file holds whole operations per second.
    assert!((drive.capacity_iops - best).abs() <= 0.5, "{} for {best}", drive.capacity_iops);
    assert!(
        text.starts_with("# Measured at 2026-01-01T00:00:00Z by `loadline drive measure FILE`\n")
    );
}

#[test]
fn without_a_word_nothing_that_is_there_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine");
    let bytes = filled(&path);
    let asked = MeasureOrder { write: true, ..order(&path) };
    let refused = carry_out(&asked).unwrap_err().to_string();
    assert!(refused.contains("--yes"), "{refused}");
    let measured = carry_out(&order(&path)).unwrap();
    assert!(measured.points.iter().all(|point| point.does == Does::Read));
    assert_eq!(drive_file(&measured, &from()), Err(NoDriveFile::NoWrites));
    assert!(fs::read(&path).unwrap() == bytes, "the file is as it was");
    let allowed = MeasureOrder { consent: true, ..asked };
    carry_out(&allowed).unwrap();
    assert!(fs::read(&path).unwrap() != bytes, "with consent it was written");
}

#[test]
fn what_cannot_be_measured_is_refused_before_anything_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new");
    let check = |order: MeasureOrder, says: &str| {
        let refused = carry_out(&order).unwrap_err().to_string();
        assert!(refused.contains(says), "{refused}");
        assert!(!path.exists(), "nothing was made");
    };
    check(MeasureOrder { repeats: 1, ..order(&path) }, "--repeat 1: takes a number from 2 to 100");
    check(MeasureOrder { time: Span::from_millis(1), ..order(&path) }, "--seconds: takes a number");
    check(MeasureOrder { size: Some(Bytes::from_mib(8)), ..order(&path) }, "take at least 16 MiB");
    check(MeasureOrder { size: Some(Bytes::from_mib(18)), ..order(&path) }, "in whole 4 MiB");
    check(order(&folder.path().join("none/new")), "no such file");
    check(order(folder.path()), "folder");
    let small = folder.path().join("small");
    fs::write(&small, vec![1; 32 << 20]).unwrap();
    check(order(&small), "it has 32 MiB, and 64 MiB are to be measured");
}

#[test]
fn an_interrupted_measurement_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new");
    let order = order(&path);
    let target = MeasureTarget::open(&order).unwrap();
    let mut measured = 0;
    let ended = measure(target, &order, &mut |progress| {
        measured += u32::from(matches!(progress, MeasureProgress::Measuring { .. }));
        measured < 3
    });
    assert!(matches!(ended, Err(MeasureError::Interrupted)), "{ended:?}");
    assert!(!path.exists());
}

#[test]
fn holes_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sparse");
    fs::File::create(&path).unwrap().set_len(SIZE.get()).unwrap();
    let measured = carry_out(&order(&path)).unwrap();
    let told = measured.warnings.iter().any(|warning| warning.to_string().contains("holes"));
    assert!(told, "{:?}", measured.warnings);
}

#[test]
fn a_file_that_is_to_be_kept_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new");
    carry_out(&MeasureOrder { keep: true, ..order(&path) }).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().len(), SIZE.get());
}

/// Reads behind the end of a file that has become shorter bring nothing, which must not count as a rate.
#[test]
fn a_transfer_that_fails_ends_the_measurement() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine");
    filled(&path);
    let order = order(&path);
    let target = MeasureTarget::open(&order).unwrap();
    fs::File::options().write(true).open(&path).unwrap().set_len(4 << 20).unwrap();
    let ended = measure(target, &order, &mut |_| true);
    assert!(matches!(ended, Err(MeasureError::Transfer(_))), "{ended:?}");
}
