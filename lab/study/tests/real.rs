//! Tiny studies on real files and devices: from inputs to results, what is left behind, and what is refused. No speed is asserted.

#[path = "../../../worlds/host/tests/support/loop_devices.rs"]
mod loop_devices;

use loadline_study::{
    ClientKind, HostPlace, Inputs, Library, Order, Override, Place, RealDisks, RunFacts, RunFolder,
    Session, SessionError, SetupResult, StudyResult, twin_of,
};
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Eight objects of 256 KiB written without the OSD, an image of 2 MiB, a second of baseline, four OSD files of 84 MiB; the
/// capacity is given, so that no node measures it.
const TINY: [&str; 7] = [
    "scale=1",
    "objects=8",
    "object_size=256 KiB",
    "image=2 MiB",
    "baseline=1 s",
    "depth=4",
    "osd_mclock_max_capacity_iops_ssd=20000",
];

fn inputs(disks: RealDisks, client: ClientKind, set: &[&str]) -> Inputs {
    let overrides = TINY.iter().chain(set).map(|text| text.parse::<Override>().unwrap()).collect();
    let inputs = Library::built_in().inputs("recovery-nvme", overrides).unwrap();
    let place = HostPlace { disks, client, keep_files: false, overwrite: false };
    Inputs { place: Place::Host(place), ..inputs }
}

fn on_files(folder: &Path) -> RealDisks {
    RealDisks::Files(folder.to_owned())
}

fn order(inputs: Inputs, setups: &str) -> Order {
    Order {
        inputs,
        setups: setups.to_owned(),
        seed: 7,
        repeats: 1,
        trace: None,
        engine: "test".to_owned(),
    }
}

fn open(out: &Path, order: Order) -> Result<Session, SessionError> {
    Session::open(RunFolder::at(out), order, RunFacts::default())
}

fn run(out: &Path, order: Order) -> StudyResult {
    let mut session = open(out, order).unwrap();
    session.run(1, &AtomicBool::new(false), |_| {}).unwrap();
    session.conclude().unwrap()
}

/// How many ops the trace of a run shows; each of them has been in every stage.
fn traced_ops(out: &Path) -> usize {
    let trace = fs::read_to_string(out.join("trace.json")).expect("a trace was asked for");
    let trace: serde_json::Value = serde_json::from_str(&trace).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let of = |stage: &str| events.iter().filter(|event| event["name"] == stage).count();
    let ops = events.iter().filter(|event| event["cat"] == "op").count();
    // A write is on three copies. Where an OSD goes while it is under way, and a busy machine traces that one, two end it.
    for stage in ["queue", "worker", "window", "device"] {
        assert!(of(stage) >= 2 * ops, "{stage}: {} for {ops} ops", of(stage));
    }
    assert_eq!(of("replicas"), ops);
    ops
}

/// Two of the three copies of each object are on OSDs that were there, the third is put where the returned OSD has its
/// share: of 64 placement groups three quarters want it.
#[test]
fn a_tiny_study_runs_on_real_files_and_leaves_none() {
    let (disks, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let on = || inputs(on_files(disks.path()), ClientKind::Own, &[]);
    let order = || Order { trace: Some(2), ..order(on(), "baseline,WPQ(BST)") };
    let result = run(out.path(), order());
    assert_eq!(traced_ops(out.path()), 6, "three of each setup");
    assert_eq!((result.world.as_str(), result.setups.len()), ("host", 2));
    let (baseline, wpq) = (&result.setups[0], &result.setups[1]);
    let of = |setup: &SetupResult, key: &str| setup.figure(key).unwrap();
    assert!(of(baseline, "client/iops") > 0.0 && of(wpq, "client/clat_ms/mean") > 0.0);
    assert_eq!(baseline.series.t_s.len(), 1, "a second of baseline has one row");
    let objects = wpq.figure("recovery/objects").expect("an OSD was filled");
    assert!((1.0..=8.0).contains(&objects), "{objects}");
    assert!(of(wpq, "recovery/seconds") > 0.0);
    let facts: Vec<&str> = result.drive.facts.iter().map(|fact| fact.name.as_str()).collect();
    for name in ["Disks of the OSDs", "File system", "Event loop", "Writes are answered"] {
        assert!(facts.contains(&name), "{name} is missing in {facts:?}");
    }
    assert!(result.warnings[0].contains("real disks"), "{:?}", result.warnings);
    let is_of_another_load = |warning: &String| warning.contains("so none stands beside ours");
    assert!(result.warnings.iter().any(is_of_another_load), "so much is set that nothing compares");
    assert!(wpq.waits.iter().any(|waits| waits.class == "client" && waits.items > 0));
    assert_eq!(fs::read_dir(disks.path()).unwrap().count(), 0, "the files are gone");

    let again = open(out.path(), order()).unwrap();
    assert!(again.missing().is_empty(), "what is recorded is not run again");
}

/// The twin stands as the runs stood: four files on one device, one thread that does all, and what they measured of it.
#[test]
fn runs_on_real_files_have_a_simulated_twin() {
    let (disks, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let on = inputs(on_files(disks.path()), ClientKind::Own, &[]);
    run(out.path(), order(on, "baseline,WPQ(BST)"));
    let twin = twin_of(out.path(), "test".to_owned()).expect("they have one");
    assert_eq!((twin.setups.as_str(), twin.seed), ("baseline,WPQ(BST)", 7));
    let found = &twin.inputs.twin.as_ref().expect("it was looked for").text;
    for line in
        ["capacity_iops = 20000.0", "device_of = [0, 0, 0, 0]", "one_thread = true", "cpu_per_op"]
    {
        assert!(found.contains(line), "{line} is not in {found}");
    }
    let folder = tempfile::tempdir().unwrap();
    let simulated = run(folder.path(), twin);
    let names: Vec<&str> = simulated.setups.iter().map(SetupResult::name).collect();
    assert_eq!((simulated.world.as_str(), names), ("sim", vec!["baseline", "WPQ(BST)"]));
    let Err(refused) = twin_of(folder.path(), "test".to_owned()) else { panic!("it is no twin's") };
    assert!(refused.to_string().contains("a study of recovery on real disks alone"), "{refused}");
}

/// Every second setup on devices failed: its node found what the first one had written and refused to start.
#[test]
fn setups_follow_each_other_on_devices_and_leave_them_empty() {
    let (disks, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let Some(devices) = loop_devices::LoopDevices::new(disks.path(), 4, 96) else { return };
    let on = || RealDisks::Devices(devices.paths.iter().map(Into::into).collect());
    let setups = "WPQ(BST),WPQ(Def)";
    let result = run(out.path(), order(inputs(on(), ClientKind::Own, &[]), setups));
    assert_eq!(result.setups.len(), 2);
    for setup in &result.setups {
        assert!(setup.figure("recovery/objects").is_some_and(|objects| objects > 0.0));
    }
    // They are empty again, or this would be refused.
    let out = tempfile::tempdir().unwrap();
    let result = run(out.path(), order(inputs(on(), ClientKind::Own, &[]), "baseline"));
    assert!(result.setups[0].figure("client/iops").is_some_and(|iops| iops > 0.0));
    std::fs::File::options()
        .write(true)
        .open(&devices.paths[2])
        .and_then(|file| std::os::unix::fs::FileExt::write_all_at(&file, &[1], (96 << 20) - 1))
        .unwrap();
    let out = tempfile::tempdir().unwrap();
    let refused = open(out.path(), order(inputs(on(), ClientKind::Own, &[]), "baseline"));
    let refused = refused.err().expect("a device holds something").to_string();
    assert!(refused.contains("holds something that is no store; --overwrite"), "{refused}");
}

/// `--overwrite` gives a study what a device holds, not a device that somebody uses: none is written, the free ones neither.
#[test]
fn a_device_that_is_in_use_is_not_written_whatever_may_be_overwritten() {
    let (disks, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let Some(devices) = loop_devices::LoopDevices::new(disks.path(), 4, 96) else { return };
    let theirs = vec![7; 4 << 20];
    for device in &devices.paths {
        let mut file = fs::File::options().write(true).open(device).unwrap();
        file.write_all(&theirs).and_then(|()| file.sync_all()).unwrap();
    }
    let held = loadline_host::DiskClaim::new(Path::new(&devices.paths[3])).unwrap();
    for (study, first, set) in
        [("recovery-nvme", 0, &TINY[..]), ("checkpoint-full-speed", 3, &["scale=0.001"][..])]
    {
        let overrides = set.iter().map(|text| text.parse::<Override>().unwrap()).collect();
        let inputs = Library::built_in().inputs(study, overrides).unwrap();
        let disks = RealDisks::Devices(devices.paths[first..].iter().map(Into::into).collect());
        let client = ClientKind::Own;
        let place = HostPlace { disks, client, keep_files: false, overwrite: true };
        let inputs = Inputs { place: Place::Host(place), ..inputs };
        let setup = if first == 0 { "baseline" } else { "log" };
        let mut session = open(&out.path().join(study), order(inputs, setup)).unwrap();
        let refused = session.run(1, &AtomicBool::new(false), |_| {}).expect_err("it is in use");
        let refused = refused.to_string();
        assert!(refused.contains("another process uses it"), "{study}: {refused}");
        for device in &devices.paths {
            let mut found = vec![0; theirs.len()];
            fs::File::open(device).unwrap().read_exact(&mut found).unwrap();
            assert!(found == theirs, "{study} has written to {device}");
        }
    }
    drop(held);
}

/// Where fio has no nbd engine, asking for it is refused before anything is written. On a folder that is named from where the program is fio,
/// which stands in another, found no socket.
#[test]
fn fio_can_be_the_client() {
    let (disks, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let here = std::env::current_dir().unwrap();
    let above: PathBuf = here.components().skip(1).map(|_| "..").collect();
    let from_here = above.join(disks.path().strip_prefix("/").unwrap());
    let order = order(inputs(on_files(&from_here), ClientKind::Fio, &[]), "baseline");
    let order = Order { trace: Some(5), ..order };
    let mut session = match open(out.path(), order) {
        Ok(session) => session,
        Err(refused) => {
            assert!(refused.to_string().contains("fio with its nbd engine"), "{refused}");
            return;
        }
    };
    session.run(1, &AtomicBool::new(false), |_| {}).unwrap();
    let result = session.conclude().unwrap();
    let of = |key: &str| result.setups[0].figure(key).unwrap();
    assert!(of("client/iops") > 0.0);
    assert!(of("client/clat_ms/p99") >= of("client/clat_ms/p50"));
    assert!(result.drive.facts.iter().any(|fact| fact.name == "fio"));
    assert_eq!(traced_ops(out.path()), 3);
    assert_eq!(fs::read_dir(disks.path()).unwrap().count(), 0, "the files are gone");
}

#[test]
fn an_interrupted_run_leaves_a_usable_folder_and_no_files() {
    let (disks, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let order = || order(inputs(on_files(disks.path()), ClientKind::Own, &[]), "baseline");
    let mut session = open(out.path(), order()).unwrap();
    let stop = AtomicBool::new(false);
    let outcome = session.run(1, &stop, |_| stop.store(true, Ordering::Relaxed));
    assert!(matches!(outcome, Err(SessionError::Interrupted)), "{outcome:?}");
    assert_eq!(fs::read_dir(disks.path()).unwrap().count(), 0, "the files are gone");
    drop(session);
    let session = open(out.path(), order()).unwrap();
    assert_eq!(session.missing().len(), 1);
}

#[test]
fn what_cannot_be_used_is_refused_before_anything_is_written() {
    let disks = tempfile::tempdir().unwrap();
    let file = disks.path().join("file");
    fs::write(&file, "mine").unwrap();
    let check = |disks: RealDisks, set: &[&str], says: &str| {
        let out = tempfile::tempdir().unwrap();
        let folder = out.path().join("runs");
        let refused = open(&folder, order(inputs(disks, ClientKind::Own, set), "baseline"));
        let error = refused.err().expect("it cannot be used").to_string();
        assert!(error.contains(says), "`{error}` should contain `{says}`");
        assert!(!folder.exists(), "nothing was begun");
    };
    check(on_files(&disks.path().join("none")), &[], "is not there; make the folder first");
    check(on_files(&file), &[], "is no folder");
    check(on_files(disks.path()), &["image=900 GiB"], "GiB free and the study needs");
    let two = RealDisks::Devices(vec![file.clone(), disks.path().to_owned()]);
    check(two, &[], "the study has 4 OSDs and 2 devices are named");
    let four = (0..4).map(|_| file.clone()).collect();
    check(RealDisks::Devices(four), &[], "is no block device");
    let own = disks.path().join("loadline-study");
    fs::create_dir(&own).unwrap();
    fs::write(own.join("osd.0"), "somebody's").unwrap();
    check(on_files(disks.path()), &[], "holds files that no study made");
    assert_eq!(fs::read_to_string(own.join("osd.0")).unwrap(), "somebody's");
}
