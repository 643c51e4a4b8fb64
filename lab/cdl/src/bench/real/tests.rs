//! What a real drive must have, what is switched on it, and the descriptors that a run remembers.

use super::*;
use crate::bench::{BenchOptions, Ground, manifest};
use crate::folder::BenchFolder;
use crate::workload::ReadPart;
use loadline_device::cdl::ModePage;

const NCQ: ReadWorkload = ReadWorkload::NcqPrio { percentage: 20 };
const LIMIT: ReadWorkload = ReadWorkload::CdlSingle { percentage: 20, descriptor: 1 };

/// A drive whose folder of sysfs has these attributes, each with a 0 or a 1.
fn drive(sysfs: &Path, fio: &str, attributes: &[(&str, u8)]) -> RealDrive {
    for (name, value) in attributes {
        fs::write(sysfs.join(name), format!("{value}\n")).expect("a folder of our own");
    }
    let fio = FioVersion::parse(fio).expect("a version");
    RealDrive {
        path: "/dev/sdX".into(),
        sysfs: Some(sysfs.to_owned()),
        fio,
        cdladm: true,
        held: None,
        expected: None,
    }
}

#[test]
fn a_workload_needs_its_drive_and_its_fio() {
    let place = tempfile::tempdir().expect("a folder");
    let refused = |drive: &RealDrive, workload: &ReadWorkload, says: &str| {
        let error = drive.check(workload).expect_err(says).to_string();
        assert!(error.contains(says), "{error}");
    };
    let old = drive(place.path(), "fio-3.35", &[("cdl_supported", 1), ("ncq_prio_supported", 0)]);
    assert!(old.check(&ReadWorkload::Baseline).is_ok());
    refused(&old, &NCQ, "/dev/sdX does not support NCQ priority: ");
    refused(&old, &LIMIT, "does not seem to have CDL support: it is 3.35");
    let new = drive(place.path(), "fio-3.36", &[("ncq_prio_supported", 1)]);
    assert!(new.check(&NCQ).is_ok() && new.check(&LIMIT).is_ok());
    let plain = drive(place.path(), "fio-3.36", &[("cdl_supported", 0)]);
    let split = vec![ReadPart { descriptor: 2, percentage: 10 }];
    refused(&plain, &ReadWorkload::CdlMulti { split }, "/dev/sdX does not support CDL: ");
}

/// A plan said "No such file or directory (os error 2)" of cdladm, and not of what, nor where it is to be had.
#[test]
fn what_is_told_of_a_drive_has_no_number_of_the_system() {
    let place = tempfile::tempdir().expect("a folder");
    let told = drive(place.path(), "fio-3.36", &[]).info();
    assert!(!told.contains("os error"), "{told}");
}

/// The switches of cdl.md 3.2, in its order; a drive without an attribute is not asked for it.
#[test]
fn switches_are_those_of_the_script() {
    let place = tempfile::tempdir().expect("a folder");
    let sysfs = place.path().display().to_string();
    let check = |drive: &RealDrive, workload: &ReadWorkload, wanted: &[&str]| {
        let actions = drive.actions(workload);
        let told: Vec<String> =
            actions.iter().map(|action| action.to_string().replace(&sysfs, "S")).collect();
        assert_eq!(told, wanted);
    };
    let plain = drive(place.path(), "fio-3.36", &[]);
    check(&plain, &ReadWorkload::Baseline, &[]);
    let drive = drive(place.path(), "fio-3.36", &[("cdl_enable", 0), ("ncq_prio_enable", 0)]);
    let limits_off = "echo 0 > S/cdl_enable";
    let ncq_off = ["echo 0 > S/ncq_prio_enable", "sg_sat_set_features --feature=0x56 /dev/sdX"];
    check(&drive, &ReadWorkload::Baseline, &[limits_off, ncq_off[0], ncq_off[1]]);
    let [on, knob] = ["--feature=0x57", "--feature=0x58 --count=200"]
        .map(|option| format!("sg_sat_set_features {option} /dev/sdX"));
    check(&drive, &NCQ, &[limits_off, &on, &knob, "echo 1 > S/ncq_prio_enable"]);
    check(&drive, &LIMIT, &[ncq_off[0], ncq_off[1], "echo 1 > S/cdl_enable"]);
}

fn limited_order() -> BenchOrder {
    let asked = BenchOptions {
        dev: Some("/dev/sdX".to_owned()),
        bs: "131072".to_owned(),
        ramptime: 1,
        runtime: 1,
        qds: "1".to_owned(),
        baseline: false,
        ncq_prio: false,
        cdl_single: true,
        cdl_multi: false,
        percentage: Some(20),
        dld: Some(1),
        dldsplit: None,
    };
    BenchOrder::new(&asked).expect("the order is right")
}

/// A folder once took a second part of a run on whatever descriptors the drive held by then: its manifest said nothing of
/// those of a real drive.
#[test]
fn a_run_goes_on_with_the_descriptors_that_it_began_with() {
    let place = tempfile::tempdir().expect("a folder");
    let root = place.path().join("run");
    let order = limited_order();
    let mut other = *DescriptorPage::BENCHMARK_T2A.limits();
    other.descriptors[0].guideline.time = 6;
    let other = DescriptorPage::new(ModePage::T2A, other).expect("the page is sound");
    let mut drive = drive(place.path(), "fio-3.36", &[("cdl_supported", 1)]);
    let files = [Path::new("T2A.cdl"), Path::new("T2B.cdl")];
    let mut begin = |reads: DescriptorPage| {
        let pages = [reads, DescriptorPage::BENCHMARK_T2B];
        let shown = pages.map(|page| page.with_head()).concat();
        let pages = [(files[0], pages[0]), (files[1], pages[1])];
        drive.take_descriptors(shown, pages).expect("the drive holds them");
        let text = manifest(&order, &Ground::Real(drive.clone()));
        BenchFolder::begin(&root, &text).map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(begin(DescriptorPage::BENCHMARK_T2A), Ok(()));
    assert_eq!(begin(DescriptorPage::BENCHMARK_T2A), Ok(()));
    let refused = begin(other).expect_err("another page");
    assert!(refused.contains("it holds a run with other options (t2a)"), "{refused}");
    let shown = other.with_head() + &DescriptorPage::BENCHMARK_T2B.with_head();
    let pages =
        [(files[0], DescriptorPage::BENCHMARK_T2A), (files[1], DescriptorPage::BENCHMARK_T2B)];
    let mut refused = |cdladm| {
        drive.cdladm = cdladm;
        let refused = drive.take_descriptors(shown.clone(), pages);
        refused.expect_err("the drive holds others").to_string()
    };
    let with = refused(true);
    let upload =
        "\n  cdladm upload --file T2A.cdl /dev/sdX\n  cdladm upload --file T2B.cdl /dev/sdX";
    assert!(with.ends_with(upload), "{with}");
    let without = refused(false);
    let upload = "\n  loadline cdl encode T2B.cdl --as t2 -o T2B.page; (head -c 8 /dev/zero; cat T2B.page) | \
                  sg_raw -s 240 /dev/sdX 55 10 0 0 0 0 0 0 f0 0";
    assert!(without.ends_with(upload), "{without}");
}
