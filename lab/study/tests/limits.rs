//! Small limits studies from inputs to results: what must hold of any, loads that are brought along, and refusals.

use loadline_study::{
    Inputs, Library, Order, Override, RunFacts, RunFolder, Session, SetupResult, Source, Study,
    StudyResult,
};
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

fn inputs(set: &[&str]) -> Inputs {
    let overrides = set.iter().map(|text| text.parse::<Override>().unwrap()).collect();
    let mut inputs = Library::built_in().inputs("cdl-classes", overrides).unwrap();
    inputs.study.file = "s.toml".to_owned();
    inputs
}

fn run(folder: &Path, inputs: Inputs) -> StudyResult {
    let order = Order {
        inputs,
        setups: "default".to_owned(),
        seed: 7,
        repeats: 1,
        trace: Some(3),
        engine: "test".to_owned(),
    };
    let folder = RunFolder::at(folder);
    let mut session = Session::open(folder, order, RunFacts::default()).unwrap();
    session.run(2, &AtomicBool::new(false), |_| {}).unwrap();
    session.conclude().unwrap()
}

fn figure(setup: &SetupResult, key: &str) -> f64 {
    setup.figure(key).expect("it has the figure")
}

/// In a closed loop the operations in flight are rate times mean latency (Little's law). What began before the measured
/// time or ends after it is at most the depth at each end.
#[track_caller]
fn check_little(setup: &SetupResult, depth: f64, seconds: f64) {
    let iops = figure(setup, "client/iops");
    let in_flight = iops * figure(setup, "client/clat_ms/mean") / 1e3;
    let tolerance = 2.0 * depth / (iops * seconds);
    assert!((in_flight / depth - 1.0).abs() < tolerance, "{}: {in_flight}", setup.name());
}

#[test]
fn limits_and_scheduler_each_shorten_the_tail_and_equal_seeds_give_equal_bytes() {
    let set = ["measured=60 s", "ramp=10 s"];
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let result = run(one.path(), inputs(&set));
    run(two.path(), inputs(&set));
    let text = |folder: &Path| fs::read_to_string(folder.join("results.json")).unwrap();
    assert_eq!(text(one.path()), text(two.path()));
    let trace = fs::read_to_string(one.path().join("trace.json")).unwrap();
    assert!(trace.contains("neither: osd.0") && trace.contains("\"device\""), "ops are traced");
    for setup in &result.setups {
        check_little(setup, 6.0, 60.0);
        assert_eq!(figure(setup, "over_limit_per_s"), 0.0, "guidelines end nothing");
    }
    let tail = |name: &str| figure(result.setup(name).unwrap(), "client/clat_ms/p99");
    for name in ["mClock", "CDL", "both"] {
        assert!(tail(name) < tail("neither"), "{name}: {} of {}", tail(name), tail("neither"));
    }
    let limit = |name: &str| {
        let setup = &result.setup(name).unwrap().setup;
        setup.traits.iter().find(|of| of.name == "client's limit").unwrap().value.clone()
    };
    assert_eq!((limit("CDL"), limit("mClock")), ("100 ms".to_owned(), "none".to_owned()));
}

/// A drive that ends requests for time ends no client operation: each is asked for again, without a limit.
#[test]
fn what_the_drive_ends_for_time_is_asked_for_again() {
    let mut inputs = inputs(&["measured=30 s", "ramp=1 s"]);
    inputs.study.text = inputs
        .study
        .text
        .replace("guideline = \"100 ms\"", "guideline = \"100 ms\"\npolicy = \"abort\"");
    let folder = tempfile::tempdir().unwrap();
    let result = run(folder.path(), inputs);
    let limited = result.setup("CDL").unwrap();
    let ended = figure(limited, "over_limit_per_s");
    assert!(ended > 0.1, "{ended}");
    check_little(limited, 6.0, 30.0);
    assert_eq!(figure(result.setup("neither").unwrap(), "over_limit_per_s"), 0.0);
}

fn job(text: &str) -> Source {
    Source { name: "job".to_owned(), file: "job.fio".to_owned(), text: text.to_owned() }
}

#[test]
fn a_job_file_takes_the_place_of_the_client() {
    let text = "[global]\nioengine=libaio\n[reader]\nrw=randread\nbs=4k\niodepth=2\nnumjobs=3\n\
                runtime=5\nramp_time=1\nsize=50%\n";
    let study = Study::new(&Inputs { load: Some(job(text)), ..inputs(&[]) }).unwrap();
    let study = study.in_json();
    assert_eq!(study["client"], "4 KiB random reads, closed loop at depth 6");
    assert_eq!((&study["measured_s"], &study["ramp_s"]), (&5.0.into(), &1.0.into()));
    assert_eq!(study["image_bytes"], 10_000_u64 << 30);
    let other = Inputs { load: Some(job("[a]\nrw=randread")), ..inputs(&[]) };
    assert_ne!(other.hash(), inputs(&[]).hash(), "another load is another study");
}

#[test]
fn what_cannot_be_used_is_refused_with_its_place() {
    let check = |change: &dyn Fn(&mut Inputs), says: &str| {
        let mut inputs = inputs(&[]);
        change(&mut inputs);
        let error = Study::new(&inputs).expect_err(says).to_string();
        assert!(error.contains(says), "{error}");
    };
    let replaced = |from: &'static str, to: &'static str| {
        move |inputs: &mut Inputs| {
            assert!(inputs.study.text.contains(from), "{from}");
            inputs.study.text = inputs.study.text.replacen(from, to, 1);
        }
    };
    check(
        &replaced("limit = \"100 ms\"", "limit = \"20 ms\""),
        "the drive of osd.0 holds no duration limit within 20 ms: set osd_device_client_limit to at least 50 ms",
    );
    check(
        &replaced("guideline = \"50 ms\"", "guideline = \"5 ms\""),
        "the drive takes guidelines from 20 ms to",
    );
    check(&replaced("window = 32", "window = 0"), "`window` must be from 1 to 100000");
    check(&replaced("depth = 6", "depth = 0"), "`depth` must be from 1 to 100000");
    check(
        &|inputs| inputs.load = Some(job("[a]\nrw=randread\n[b]\nrw=randread\n")),
        "job.fio:3: a study has one client: keep one of the 2 jobs",
    );
    // Each of these was once said of the study's file, or of nothing.
    let of_job = |text: &'static str| move |inputs: &mut Inputs| inputs.load = Some(job(text));
    check(
        &of_job("[global]\nbs=4k\n[a]\nrw=randread\nbs=5k\n"),
        "job.fio:5: `bs` must be sizes that divide the image's objects of 4 MiB",
    );
    check(&of_job("[a]\nbssplit=4k/50:12k/50\n"), "job.fio:2: `bssplit` must be sizes that divide");
    check(
        &of_job("[a]\nrw=randread\nrate_iops=4000000000\n"),
        "job.fio:3: `rate_iops` must be more than 0 and at most 1e9",
    );
    check(&of_job("[a]\nruntime=900ms\n"), "job.fio:2: `runtime` must be at least 1 s");
    check(&of_job("[a]\n[b]\n"), "job.fio:2: a study has one client");
    check(&of_job("\n[a]\nsize=999t\n"), "job.fio:3: `size` is more than the study's image");
    check(
        &|inputs| {
            inputs.load = Some(job("[a]\n"));
            inputs.overrides = vec!["block=8 KiB".parse().unwrap()];
        },
        "--set block=8 KiB: the load is that of job.fio: set it there",
    );
    check(
        &|inputs| inputs.load = Some(job("[a]\nrw=randread\nlockmem=1g\n")),
        "job.fio:3: there is no option `lockmem` that a load could follow",
    );
    check(
        &|inputs| {
            inputs.drive = Library::built_in()
                .find(loadline_study::Shelf::Drives, "hdd-constellation")
                .unwrap()
        },
        "the drive is calibrated and has no queue",
    );
}
