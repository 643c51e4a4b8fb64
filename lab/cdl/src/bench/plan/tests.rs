//! Plans for drives that are not there.

use super::*;

const LIMIT: ReadWorkload = ReadWorkload::CdlSingle { percentage: 20, descriptor: 1 };

fn check(path: &Path, workload: &ReadWorkload, missing: &[(&str, &str)], switches: &[&str]) {
    let plan = WorkloadPlan::on(path, workload);
    // Which fio is here decides nothing of the rest.
    let needs = plan.needs.iter().filter(|need| ![FIO, HINTS].contains(&need.what));
    let told: Vec<(&str, &str)> = needs
        .filter_map(|need| match &need.found {
            Presence::No(why) => Some((need.what, why.as_str())),
            _ => None,
        })
        .collect();
    assert_eq!(told.len(), missing.len(), "{}: {told:?}", path.display());
    for ((what, why), (wanted, begins)) in told.iter().zip(missing) {
        assert!(what == wanted && why.starts_with(begins), "{}: {what}: {why}", path.display());
    }
    let actions: Vec<String> = plan.switches.iter().map(Action::to_string).collect();
    assert_eq!(actions, switches, "{}", path.display());
}

/// A dry run of limits was refused where no drive had them.
#[test]
fn a_plan_needs_no_drive() {
    let place = tempfile::tempdir().expect("a folder");
    let file = place.path().join("file");
    std::fs::write(&file, "").expect("a file");
    let on = |name: &str| format!("echo 1 > /sys/block/{name}/device/cdl_enable");
    let (none, no_drive) = ("No such file or directory", "it is a file, no drive");
    check(&file, &LIMIT, &[(LIMITS, no_drive)], &[&on("NAME")]);
    check(&file, &ReadWorkload::Baseline, &[], &[]);
    let gone = Path::new("/dev/sd-that-comes");
    check(gone, &LIMIT, &[(LIMITS, none)], &[&on("sd-that-comes")]);
    check(gone, &ReadWorkload::Baseline, &[(DRIVE, none)], &[]);
    let ncq = ReadWorkload::NcqPrio { percentage: 20 };
    let features = |option| format!("sg_sat_set_features {option} /dev/sd-that-comes");
    let (on, knob) = (features("--feature=0x57"), features("--feature=0x58 --count=200"));
    let switched = "echo 1 > /sys/block/sd-that-comes/device/ncq_prio_enable";
    check(gone, &ncq, &[(NCQ, none)], &[&on, &knob, switched]);
}

#[test]
fn descriptors_are_named_and_not_looked_at() {
    let plan = WorkloadPlan::on(Path::new("/dev/sd-that-comes"), &LIMIT);
    let last = plan.needs.last().expect("it needs some");
    assert_eq!(*last, Need { what: DESCRIPTORS, found: Presence::NotLooked });
    let modelled = |name| HddSpec::built_in(name).expect("a model");
    let needs = |name, workload| WorkloadPlan::on_model(&modelled(name), workload).needs;
    let [with] = &needs("hdd-22tb-cdl", &LIMIT)[..] else { panic!("one need") };
    let [without] = &needs("hdd-7200-4tb", &LIMIT)[..] else { panic!("one need") };
    assert_eq!(with.found, Presence::Yes);
    assert!(without.to_string().contains("(CDL): missing, the model has none"), "{without}");
    assert_eq!(needs("hdd-7200-4tb", &ReadWorkload::Baseline), []);
}
