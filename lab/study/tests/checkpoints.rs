//! Small checkpoint studies of each file from inputs to results: determinism, resumption, and what must hold of any.

use loadline_study::{
    Inputs, Library, Order, Override, RunFacts, RunFolder, Session, Study, StudyResult,
};
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// A thousandth of a node and a few periods; the key range stays large enough for some hundred pages.
fn inputs(study: &str, set: &[&str]) -> Inputs {
    let overrides = set.iter().map(|text| text.parse::<Override>().unwrap()).collect();
    Library::built_in().inputs(study, overrides).unwrap()
}

/// The same of a file in which these stand for those, as nothing does that is set beside published figures.
fn inputs_of_changed(study: &str, set: &[&str], changes: &[(&str, &str)]) -> Inputs {
    let mut inputs = inputs(study, set);
    for (from, to) in changes {
        assert!(inputs.study.text.contains(from), "{study} has no {from}");
        inputs.study.text = inputs.study.text.replacen(from, to, 1);
    }
    inputs
}

fn order(study: &str, setups: &str) -> Order {
    let small: &[&str] = match study {
        "checkpoint-extreme" => &["scale=0.001", "filled=20000000", "periods=4", "warm_up=1"],
        _ => &["scale=0.004", "periods=4", "warm_up=1"],
    };
    Order {
        inputs: inputs(study, small),
        setups: setups.to_owned(),
        seed: 7,
        repeats: 1,
        trace: None,
        engine: "test".to_owned(),
    }
}

fn run(folder: &Path, order: Order) -> (usize, StudyResult) {
    let folder = RunFolder::at(folder);
    let mut session = Session::open(folder, order, RunFacts::default()).unwrap();
    let missing = session.missing().len();
    session.run(2, &AtomicBool::new(false), |_| {}).unwrap();
    (missing, session.conclude().unwrap())
}

fn text(folder: &Path, file: &str) -> String {
    fs::read_to_string(folder.join(file)).unwrap()
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_a_killed_study_continues() {
    let setups = "log,snappy";
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let order = || order("checkpoint-fixed-rate", setups);
    assert_eq!(run(one.path(), order()).0, 2);
    run(two.path(), order());
    let result = text(one.path(), "results.json");
    assert_eq!(text(two.path(), "results.json"), result);

    let whole = text(two.path(), "runs.jsonl");
    let first_line = whole.find('\n').unwrap() + 1;
    fs::write(two.path().join("runs.jsonl"), &whole[..first_line + 100]).unwrap();
    assert_eq!(run(two.path(), order()).0, 1, "what is whole is not computed again");
    assert_eq!(text(two.path(), "results.json"), result);

    let other = tempfile::tempdir().unwrap();
    run(other.path(), Order { seed: 8, ..order() });
    assert_ne!(text(other.path(), "results.json"), result);
}

/// Little's law: `depth` puts are under way, and the window's edges cut off at most as many of thousands.
#[test]
fn a_closed_loop_keeps_its_depth_and_both_protections_their_kinds_of_bytes() {
    let check = |study: &str, depth: f64, log: &str, checkpoint: &str| {
        let folder = tempfile::tempdir().unwrap();
        let (_, result) = run(folder.path(), order(study, &format!("{log},{checkpoint}")));
        let of = |setup: &str, figure: &str| {
            result.setup(setup).and_then(|setup| setup.figure(figure)).expect("it has the figure")
        };
        for setup in &result.setups {
            let name = setup.name();
            let under_way = of(name, "client/puts_per_s") * of(name, "client/clat_ms/mean") / 1e3;
            let slack = 2.0 * depth / of(name, "checkpoint/puts") + 0.02;
            assert!((under_way / depth - 1.0).abs() < slack, "{name}: {under_way}");
            assert_eq!(of(name, "client/failed"), 0.0);
            assert!(of(name, "checkpoint/checkpoints") >= 1.0, "{name}");
        }
        let (images, records) = ("checkpoint/recovery_data_bytes", "checkpoint/log_physical_bytes");
        assert!(of(log, images) == 0.0 && of(log, records) > 0.0);
        assert!(of(checkpoint, images) > 0.0 && of(checkpoint, records) == 0.0);
        let without = result.setup(log).unwrap();
        assert_eq!(without.figure("checkpoint/recovery_bytes_per_page"), None, "there is no page");
        let figure = "checkpoint/log_bytes_per_put";
        let weighs = of(log, figure) > 1.5 * of(checkpoint, figure);
        assert!(weighs, "images and edits weigh in the log");
    };
    check("checkpoint-full-speed", 94.0, "log", "checkpoint");
    check("checkpoint-extreme", 46.0, "log paced", "snappy paced");
}

/// An open loop that asks for more than the processor has, and a window of three seconds: what is claimed of them was called true or false.
#[test]
fn what_a_run_cannot_decide_is_said_to_be_undecided() {
    let check = |inputs: Inputs, setups: &str, claim: &str, why: &str| {
        let folder = tempfile::tempdir().unwrap();
        let order = Order { inputs, ..order("checkpoint-extreme", setups) };
        let (_, result) = run(folder.path(), order);
        let statement = result.statements.iter().find(|of| of.text.contains(claim)).unwrap();
        assert_eq!(statement.holds, None, "{statement:?}");
        let undecided = statement.undecided.join("; ");
        assert!(undecided.contains(why), "{undecided}");
        (undecided, result.warnings.join(" "))
    };
    let behind = "of 1000000 puts/s were carried out, and ";
    let too_fast = inputs_of_changed(
        "checkpoint-fixed-rate",
        &["scale=0.002", "periods=1", "warm_up=0"],
        &[("rate = 20000.0", "rate = 1000000.0")],
    );
    let (undecided, warnings) =
        check(too_fast, "log,skip-garbage", "about 2 times smaller", behind);
    assert!(undecided.contains("were under way at the end, the oldest for"), "{undecided}");
    assert!(undecided.contains("fewer than 3 checkpoints ended"), "{undecided}");
    assert!(!warnings.contains(behind), "the claim says it: {warnings}");
    let too_short = inputs_of_changed(
        "checkpoint-extreme",
        &["scale=0.001", "periods=1", "warm_up=0"],
        &[("filled = 100_000_000", "filled = 20_000_000"), ("\"30 s\"", "\"3 s\"")],
    );
    check(too_short, "log paced", "own aim, log", "3.0 s were measured");
}

/// What is claimed of the published 20,000 puts a second was tested on any other load, and called true or false of it.
#[test]
fn published_claims_are_tested_on_the_published_load() {
    let study = |set: &[&str]| Study::new(&inputs("checkpoint-fixed-rate", set)).unwrap();
    let other = study(&["periods=4", "rate=1000"]);
    assert!(other.published.is_none());
    assert_eq!(other.departs, ["--set rate=1000"]);
    let part = study(&["scale=0.01", "warm_up=1", "periods=4"]);
    assert!(part.published.is_some_and(|set| !set.claims.is_empty()) && part.departs.is_empty());
}

/// Keys that found no room were taken for put, and the run went on with fewer.
#[test]
fn a_store_that_is_full_before_the_load_begins_is_an_error() {
    let study = "checkpoint-fixed-rate";
    let set = ["scale=0.004", "keys=20000000", "filled=20000000", "cache=256 MiB", "log=1 GiB"];
    let changes = [("size = \"64 GiB", "size = \"2560 MiB"), ("\"2 GiB", "\"256 MiB")];
    let inputs = inputs_of_changed(study, &set, &changes);
    let folder = tempfile::tempdir().unwrap();
    let order = Order { inputs, ..order(study, "skip-garbage") };
    let mut session =
        Session::open(RunFolder::at(folder.path()), order, RunFacts::default()).unwrap();
    let failed = session.run(1, &AtomicBool::new(false), |_| {}).unwrap_err().to_string();
    assert!(failed.contains("of 80000 keys were refused while the store was filled"), "{failed}");
}

#[test]
fn wrong_checkpoint_studies_are_refused_with_their_line() {
    let check = |from: &str, to: &str, wanted: &str| {
        let mut inputs = inputs("checkpoint-extreme", &[]);
        inputs.study.file = "s.toml".to_owned();
        let at = inputs.study.text.find(from).unwrap();
        let line = inputs.study.text[..at].matches('\n').count() + 1;
        inputs.study.text = inputs.study.text.replacen(from, to, 1);
        let found = Study::new(&inputs).expect_err("the inputs are bad").to_string();
        let wanted = wanted.replace("LINE", &line.to_string());
        assert!(found.contains(&wanted), "`{found}` should contain `{wanted}`");
    };
    check("title =", "titel =", "s.toml:LINE: unknown field `titel`");
    check("depth = 46", "depth = 0", "s.toml:LINE: `depth` must be from 1 to 100000");
    check("cache = \"40 GiB\"", "cache = \"1 MiB\"", "s.toml:LINE: `cache` must be at least 1 MiB");
    check("\"log\"\ncompression", "\"lug\"\ncompression", "s.toml:LINE: `lug`: expected `log` or");
    let log = "log = \"48 GiB\"";
    check(log, "log = \"1 TiB\"", "s.toml:LINE: `log` must be less than the store's `size`");
    check(log, "log = \"380 GiB\"", "s.toml:LINE: `log` and `recovery` must leave room for pages");
    check("\"none\"", "\"gzip\"", "s.toml:LINE: `gzip`: expected `none`");
    check("[sets]\ndefault", "[sets]\nusual", "`[sets]` must have a `default`");
    let traced = Order { trace: Some(0), ..order("checkpoint-extreme", "default") };
    let refused = traced.resolve().expect_err("puts are not traced").to_string();
    assert!(
        refused.contains("no ops on objects") && refused.contains("leave --trace out"),
        "{refused}"
    );
}
