//! Small studies of services from inputs to results: what must hold of any, and refusals.

use loadline_study::{
    ClientKind, HostPlace, Inputs, Library, Order, Override, Place, RealDisks, RunFacts, RunFolder,
    Session, SetupResult, Study, StudyResult,
};
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

fn inputs(study: &str, set: &[&str]) -> Inputs {
    let overrides = set.iter().map(|text| text.parse::<Override>().unwrap()).collect();
    Library::built_in().inputs(study, overrides).unwrap()
}

fn run(folder: &Path, inputs: Inputs, setups: &str) -> StudyResult {
    let order = Order {
        inputs,
        setups: setups.to_owned(),
        seed: 7,
        repeats: 1,
        trace: None,
        engine: "test".to_owned(),
    };
    let mut session = Session::open(RunFolder::at(folder), order, RunFacts::default()).unwrap();
    session.run(2, &AtomicBool::new(false), |_| {}).unwrap();
    session.conclude().unwrap()
}

/// The same on files of this machine.
fn on_files(disks: &Path, inputs: Inputs) -> Inputs {
    let disks = RealDisks::Files(disks.to_owned());
    let place = HostPlace { disks, client: ClientKind::Own, keep_files: false, overwrite: false };
    Inputs { place: Place::Host(place), ..inputs }
}

fn figure(setup: &SetupResult, key: &str) -> f64 {
    setup.figure(key).unwrap_or_else(|| panic!("{} has no {key}", setup.name()))
}

/// 64 groups of 125 objects. In Loadline's preset scrubs wait in line, so that slots are in use at any scale.
#[test]
fn a_scrub_ends_and_equal_seeds_give_equal_bytes() {
    let set = ["scale=1", "scrub_objects=8000", "clients=3 s", "image=256 MiB"];
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let setups = "baseline,high_client_ops (loadline)";
    let result = run(one.path(), inputs("scrub-nvme", &set), setups);
    run(two.path(), inputs("scrub-nvme", &set), setups);
    let text = |folder: &Path| fs::read_to_string(folder.join("results.json")).unwrap();
    assert_eq!(text(one.path()), text(two.path()));
    let [baseline, scrubbed] = &result.setups[..] else { panic!("two were run") };
    assert!(baseline.figure("scrub/objects").is_none());
    let seconds = figure(scrubbed, "scrub/seconds");
    assert!((figure(scrubbed, "scrub/objects_per_s") * seconds - 8000.0).abs() < 1.0);
    let used = figure(scrubbed, "scrub/slots_used");
    assert!((0.8..=1.0).contains(&used), "{used}");
    let idle = ["waiting", "unfit", "ending"];
    let idle = idle.map(|why| figure(scrubbed, &format!("scrub/slots_{why}")));
    // What could begin is begun at once; the rest is so for a reason, but for the first look.
    assert!(idle[0] < 0.02 && (used + idle.iter().sum::<f64>() - 1.0).abs() < 0.05, "{idle:?}");
    // 64 groups of one length would take eleven rounds of six; these are not of one.
    let reachable = figure(scrubbed, "scrub/slots_reachable");
    assert!((62.0 / 66.0..=64.0 / 66.0).contains(&reachable), "{reachable}");
    assert!(figure(scrubbed, "share_of_baseline") < 1.0);
    assert!(scrubbed.promise.is_some() && result.fitted.len() == 2);
}

/// Trim, removal, scrub and recovery at once: each is begun, counted and ended by itself.
#[test]
fn services_run_beside_each_other() {
    let set = [
        "scale=1",
        "scrub_objects=400",
        "clones=100",
        "removal_objects=300",
        "recovery_objects=100",
        "clients=6 s",
        "begin=1 s",
        "limit=10 min",
        "image=256 MiB",
        "rate=500",
    ];
    let folder = tempfile::tempdir().unwrap();
    let setups = "baseline,WPQ,balanced (loadline)";
    let result = run(folder.path(), inputs("everything", &set), setups);
    // What it offers, which half of the disks is more than: it was owed half of it.
    let promise = result.setups[2].promise.expect("half is reserved");
    assert_eq!((promise.owed_iops, result.setups[1].promise.unwrap().owed_iops), (500.0, 0.0));
    for setup in &result.setups[1..] {
        for (service, all) in [("scrub", 400.0), ("trim", 100.0), ("removal", 900.0)] {
            assert_eq!(figure(setup, &format!("{service}/objects")), all, "{}", setup.name());
            assert_eq!(figure(setup, &format!("{service}/objects_left")), 0.0);
            assert!(figure(setup, &format!("{service}/seconds")) > 0.0);
        }
        // Three quarters of the objects have a copy on the OSD that was away, as far as 64 groups by chance go.
        let missed = figure(setup, "recovery/objects");
        assert!((50.0..=100.0).contains(&missed), "{missed}");
        assert_eq!(figure(setup, "recovery/objects_left"), 0.0);
    }
}

/// Four disks of 3,000 writes a second carry three copies of 4,000, whatever their drive could do; half of that is reserved.
#[test]
fn an_open_loop_is_promised_a_share_of_the_capacity_in_force() {
    let set = ["scale=1", "removal_objects=30", "clients=2 s", "begin=1 s", "image=64 MiB"];
    let stored = ["rate=3000", "osd_mclock_max_capacity_iops_ssd=3000"];
    let folder = tempfile::tempdir().unwrap();
    let inputs = inputs("delete-nvme", &[&set[..], &stored].concat());
    let result = run(folder.path(), inputs, "baseline,balanced (loadline)");
    assert_eq!(result.setups[1].promise.map(|promise| promise.owed_iops), Some(2000.0));
}

/// A service that does not end within the limit has a rate and no time, and that is said.
#[test]
fn what_does_not_end_is_said() {
    let set = ["scale=1", "scrub_objects=100000", "clients=2 s", "limit=2 s", "image=256 MiB"];
    let folder = tempfile::tempdir().unwrap();
    let result = run(folder.path(), inputs("scrub-nvme", &set), "high_client_ops (loadline)");
    let [setup] = &result.setups[..] else { panic!("one was run") };
    assert!(setup.figure("scrub/seconds").is_none() && figure(setup, "scrub/objects_left") > 0.0);
    assert!(figure(setup, "scrub/objects_per_s") > 0.0);
    let says = |text: &String| text.starts_with("The scrub did not end within the limit under");
    assert!(result.warnings.iter().any(says), "{:?}", result.warnings);
}

/// Clients who are alone first are judged beside a deadline; under WPQ they stand beside those who are.
#[test]
fn clients_are_judged_beside_services_with_a_deadline() {
    let judge = |set: &[&str]| {
        let short = ["clients=4 s", "limit=4 s", "begin=1 s", "deadline=3 s", "image=64 MiB"];
        let folder = tempfile::tempdir().unwrap();
        let all = [&short[..], set].concat();
        run(folder.path(), inputs("services-nvme", &all), "WPQ,balanced (loadline)")
    };
    let result = judge(&["rate=4000"]);
    let [wpq, own] = [0, 1].map(|at| result.setups[at].beside.clone().expect("both are told of"));
    assert!(own.judged && !wpq.judged);
    assert_eq!((own.goal_ms, wpq.goal_ms, own.deadline_s), (1.0, 1.0, 3.0));
    assert!((3500..4500).contains(&own.alone_ops), "a second of 4,000: {own:?}");
    assert_eq!(own.bar_ms, (2.0 * own.alone_p99_ms).max(own.alone_p99_ms + 2.0));
    let services: Vec<&str> = own.services.iter().map(|it| it.service.as_str()).collect();
    assert_eq!(services, ["scrub", "trim", "removal"]);
    let longest = own.services.iter().map(|it| it.p99_ms).fold(0.0, f64::max);
    assert_eq!(own.p99_ms, longest);
    assert!(own.asked.is_some_and(|asked| asked.seconds > 0 && asked.seconds_short == 0));
    // A pause of a second after each batch of thirty: the pool is not gone in three.
    assert!(wpq.services[2].seconds.is_none() && wpq.is_kept() == Some(false));
    let [says] = &result.expected[..] else { panic!("one thing is expected") };
    assert_eq!(says.holds, own.is_kept(), "{own:?}");
    // The figures stand in the setup's own sentence.
    let not = if own.is_kept() == Some(true) { "" } else { "not " };
    let (names, _) = says.detail.split_once("; stated").expect("it is stated by what");
    assert_eq!(names, format!("{not}under “balanced (loadline)”"));
    // Too little work to be met by a thousand operations is no pass, however good the tail, and no failure.
    let result = judge(&["rate=500", "clones=10", "scrub_objects=10", "removal_objects=10"]);
    let own = result.setups[1].beside.as_ref().expect("it is told of");
    assert!(own.is_within_bar() && own.services.iter().any(|it| !it.is_seen()), "{own:?}");
    assert!(
        !own.is_alone_seen() && own.is_kept().is_none(),
        "of a second with some 500 operations: {own:?}"
    );
    let [says] = &result.expected[..] else { panic!("one thing is expected") };
    assert_eq!((says.holds, says.undecided.len()), (None, 1), "{says:?}");
}

/// On files of this machine: four OSDs, real objects, a real snapshot and a real removal.
#[test]
fn services_run_on_real_files() {
    let set = [
        "scale=1",
        "removal_objects=24",
        "image=16 MiB",
        "clients=1 s",
        "begin=0.2 s",
        "depth=4",
        "pgs=8",
        "osd_mclock_max_capacity_iops_ssd=20000",
    ];
    let (disks, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let real = |study: &str, set: &[&str]| on_files(disks.path(), inputs(study, set));
    let removed = real("delete-nvme", &set);
    let result = run(&out.path().join("removal"), removed, "high_client_ops (loadline)");
    let all = ["removal/objects", "removal/objects_left"].map(|it| figure(&result.setups[0], it));
    assert_eq!(all, [72.0, 0.0]);
    let mut own = real("scrub-nvme", &[]);
    own.study.text = own.study.text.replace("[scrub]\nobjects = 10_000_000", TRIMMED);
    let set = set.iter().filter(|it| !it.starts_with("removal"));
    own.overrides = set.map(|it| it.parse().unwrap()).collect();
    let result = run(&out.path().join("trim"), own, "high_client_ops (loadline)");
    let done = ["scrub/objects", "scrub/objects_left", "trim/objects", "trim/objects_left"];
    let done = done.map(|it| figure(&result.setups[0], it));
    assert_eq!(done, [60.0, 0.0, 20.0, 0.0]);
}

/// Clients on files of this machine went on beside a removal after their end, for as long as it took: it was measured beside a full loop, where a
/// simulated one had the disks for itself. Under WPQ each of an OSD's three groups pauses for a second behind the first thirty of its forty objects.
#[test]
fn clients_on_real_files_end_at_their_end() {
    let set = [
        "scale=1",
        "removal_objects=160",
        "image=16 MiB",
        "clients=1 s",
        "begin=0.2 s",
        "depth=4",
        "pgs=4",
    ];
    let (disks, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut removed = on_files(disks.path(), inputs("delete-nvme", &set));
    removed.study.text = removed.study.text.replace(
        "objects = 100_000\nobject_size = \"4 MiB\"",
        "objects = 100_000\nobject_size = \"64 KiB\"",
    );
    let result = run(out.path(), removed, "WPQ");
    let setup = &result.setups[0];
    let seconds = figure(setup, "removal/seconds");
    assert!(seconds > 2.0, "pauses of three seconds are in it: {seconds}");
    let clients = figure(setup, "client/seconds");
    assert!(clients < 0.75 * seconds, "{clients} of {seconds} s");
    let clients = setup.series.service.iter().filter(|row| row.class == "client");
    let clients: Vec<&Vec<f64>> = clients.map(|row| &row.iops).collect();
    assert!(!clients.is_empty() && clients.iter().all(|iops| iops.len() >= 3), "{clients:?}");
    for iops in clients {
        assert!(iops[0] > 0.0 && iops[2..].iter().all(|iops| *iops == 0.0), "{iops:?}");
    }
}

/// A removed snapshot beside a small scrub.
const TRIMMED: &str =
    "[trim]\nobjects = 24\nobject_size = \"256 KiB\"\nclones = 20\n\n[scrub]\nobjects = 60";

#[test]
fn what_cannot_be_is_refused() {
    let check = |study: &str, set: &[&str], says: &str| {
        let error = Study::new(&inputs(study, set)).expect_err("it cannot be");
        assert!(error.to_string().contains(says), "{error}");
    };
    check("scrub-nvme", &["begin=1 h"], "`begin` must be less than `clients`");
    check("everything", &["copies=4"], "`copies` must be at least 1 and at most `osds`, and less");
    let late = "`deadline` must be at most `clients` less `begin`";
    check("services-nvme", &["deadline=1 min"], late);
    check("services-nvme", &["deadline=31 s", "limit=1 h"], late);
    check("everything", &["deadline=1 s"], "`deadline` must be left out, unless clients are alone");
    check("everything", &["clones=1000000"], "`clones` must be at least 1 and at most `objects`");
    let other = vec!["clones=5".parse::<Override>().unwrap()];
    let error = Library::built_in().inputs("scrub-nvme", other).expect_err("it has no trim");
    assert!(error.to_string().contains("the study has no section `[trim]` for it"), "{error}");
    let real = on_files("/nowhere".as_ref(), inputs("everything", &[]));
    let error = Study::new(&real).expect_err("it cannot be");
    assert!(error.to_string().contains("take this study in the simulated world"), "{error}");
}

/// A removal that starved for 110 s beside clients, and was over minutes after they had gone, met its deadline of half an hour. No deadline is
/// behind the clients' end, on real disks either, where both shrink with the work.
#[test]
fn a_deadline_is_not_behind_the_clients_end() {
    let real = |set: &[&str]| {
        let study = Study::new(&on_files("/nowhere".as_ref(), inputs("services-nvme", set)));
        study.map(|study| study.in_lines()).map_err(|error| error.to_string())
    };
    let late = "`deadline` must be at most `clients` less `begin`";
    let error = real(&["scale=0.1", "deadline=30 s"]).expect_err("clients are there for 10 s");
    assert!(error.contains(late), "{error}");
    for scale in ["scale=0.1", "scale=0.333333333", "scale=0.777777777"] {
        real(&[scale]).unwrap_or_else(|error| panic!("{scale}: {error}"));
    }
    let lines = real(&["scale=0.1"]).expect("it shrinks with the work");
    let (_, steps) = lines.iter().find(|(name, _)| *name == "steps").expect("it has steps");
    assert!(steps.ends_with("each is to be over in 3 s"), "{steps}");
    // What a study of one's own is begun with, once its clients are judged.
    let mut own = inputs("services-nvme", &[]);
    let judged = [("# deadline", "deadline"), ("# rate", "rate"), ("depth = 64", "")];
    own.study.text = judged
        .into_iter()
        .fold(include_str!("../new/services.toml").to_owned(), |text, (from, to)| {
            text.replace(from, to)
        });
    Study::new(&own).expect("its own deadline is not behind its clients' end");
    own.study.text = own.study.text.replace("\"110 s\"", "\"30 min\"");
    let error = Study::new(&own).expect_err("clients are there for 120 s").to_string();
    assert!(error.contains(late), "{error}");
}

/// Several sections have fields of one name: what was typed is named, or the line of the section that is meant.
#[test]
fn what_cannot_be_used_is_refused_at_its_place() {
    let refused = |inputs: &Inputs| Study::new(inputs).expect_err("it cannot be used").to_string();
    let typed = refused(&inputs("everything", &["recovery_objects=0"]));
    assert_eq!(
        typed,
        "--set recovery_objects=0: `objects` of `[recovery]` must be from 1 to 100000000"
    );
    let mut file = inputs("everything", &[]);
    let (before, section) = file.study.text.split_once("[removal]\n").expect("it has one");
    let (line, rest) = section.split_once('\n').expect("it has fields");
    assert!(line.starts_with("objects"), "{line}");
    let at = before.lines().count() + 2;
    file.study.text = format!("{before}[removal]\nobjects = 0\n{rest}");
    let says = format!("{}:{at}: `objects` of `[removal]` must be", file.study.file);
    assert!(refused(&file).starts_with(&says), "{}", refused(&file));
}
