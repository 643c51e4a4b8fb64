//! Drive files: what is refused, and with which words.

use loadline_sim::hdd::HddSpec;
use loadline_sim::{AnyDrive, Drive};

const FILE: &str = include_str!("../../../../drives/hdd-22tb-cdl.toml");

#[test]
fn every_built_in_drive_is_sound() {
    for name in HddSpec::BUILT_IN {
        let spec = HddSpec::built_in(name).expect("it is built in");
        assert_eq!(spec.name, name);
    }
}

#[test]
fn a_bad_file_is_refused_with_its_place() {
    let check = |from: &str, to: &str, says: &str| {
        assert!(FILE.contains(from), "{from}");
        let text = FILE.replacen(from, to, 1);
        let error = HddSpec::parse("d", "drives/d.toml", &text).expect_err("the file is bad");
        assert!(error.to_string().contains(says), "{error}");
        assert!(error.line.is_some(), "{error}");
    };
    check("rpm = 7200", "rpm = 0", "`rpm` must be 1 to 100000");
    check("heads = 20", "heads = 0", "`heads` must be at least 1");
    check("rpm = 7200", "rpn = 7200", "unknown field `rpn`");
    check("sectors = 42970644480", "sectors = 280000000000000", "fewer than 2^31 cylinders");
    check(
        "sectors = 42970644480",
        "sectors = 9223372036854775807",
        "`sectors` must be at most 2^48",
    );
    check("tags = 32", "tags = 0", "`tags` must be at least 1");
    check("kind = \"mechanical\"", "kind = \"optical\"", "kind: unknown word `optical`");
    check("patience = ", "patience = 0 #", "`patience` must be more than 0");
}

#[test]
fn a_study_that_needs_a_calibrated_drive_says_so() {
    let error = Drive::parse("d", "drives/d.toml", FILE).expect_err("it is mechanical");
    assert!(error.to_string().contains("a calibrated one"), "{error}");
    assert!(matches!(AnyDrive::parse("d", "drives/d.toml", FILE), Ok(AnyDrive::Mechanical(_))));
}

/// It was called a mechanical drive, for its `kind`.
#[test]
fn a_study_s_file_is_no_drive_s() {
    let study = include_str!("../../../../studies/recovery-nvme.toml");
    let told = "mine.toml: this is a study file";
    let error = Drive::parse("mine", "mine.toml", study).expect_err("it is a study's");
    assert!(error.to_string().starts_with(told), "{error}");
    let error = AnyDrive::parse("mine", "mine.toml", study).expect_err("it is a study's");
    assert!(error.to_string().starts_with(told), "{error}");
}
