//! Inputs that cannot be used are refused before anything runs: file, line, field, and what would be right.

use loadline_study::{InputError, Inputs, Library, Override, Source, Study};

fn refusal(mut change: impl FnMut(&mut Inputs)) -> String {
    let mut inputs = Library::built_in().inputs("recovery-nvme", Vec::new()).unwrap();
    inputs.study.file = "s.toml".to_owned();
    change(&mut inputs);
    Study::new(&inputs).expect_err("the inputs are bad").to_string()
}

/// Replaces the first occurrence in the study file.
fn check(from: &str, to: &str, wanted: &str) {
    let line = |text: &str| text[..text.find(from).unwrap()].matches('\n').count() + 1;
    let mut expected = String::new();
    let found = refusal(|inputs| {
        expected = wanted.replace("LINE", &line(&inputs.study.text).to_string());
        inputs.study.text = inputs.study.text.replacen(from, to, 1);
    });
    assert!(found.contains(&expected), "`{found}` should contain `{expected}`");
}

/// A figure that `--set` can change and nobody tells of is found by nobody.
#[test]
fn the_document_of_study_files_tells_every_figure() {
    let document = include_str!("../../../docs/study-file.md");
    let (_, section) = document.split_once("## `--set`").expect("a section about --set");
    let lines: Vec<&str> = section.lines().filter(|line| line.starts_with("| `")).collect();
    let check = |kind: &str, keys: Vec<&str>| {
        let begins = format!("| `{kind}` | ");
        let line =
            lines.iter().find(|line| line.starts_with(&begins)).expect("a line for each kind");
        let mut told: Vec<&str> = line[begins.len()..].split('`').skip(1).step_by(2).collect();
        let mut keys = keys;
        told.sort_unstable();
        keys.sort_unstable();
        assert_eq!(told, keys, "{kind}");
    };
    check("recovery", loadline_study::STUDY_KEYS.iter().map(|key| key.name).collect());
    check("checkpoint", loadline_study::CHECKPOINT_KEYS.iter().map(|key| key.name).collect());
    check("limits", loadline_study::LIMITS_KEYS.iter().map(|key| key.name).collect());
}

#[test]
fn wrong_study_files() {
    check("title =", "titel =", "s.toml:LINE: unknown field `titel`");
    check("title =", "titel =", "did you mean `title`?");
    check("kind = \"recovery\"", "kind = \"recvery\"", "did you mean `recovery`?");
    check(
        "osds = 4",
        "osds = 'four'",
        "s.toml:LINE: osds: it takes a whole number from 0 to 4294967295, and not the text \"four\"",
    );
    check("osds = 4", "osds = 1", "s.toml:LINE: `osds` must be from 2 to 64");
    check(
        "copies = 3",
        "copies = 4",
        "s.toml:LINE: `copies` must be at least 1 and less than `osds`",
    );
    check("returning = 0", "returning = 4", "s.toml:LINE: `returning` must be the number of one");
    check("pgs = 64", "pgs = 0", "s.toml:LINE: `pgs` must be from 1 to 4096");
    check(
        "\"crush\"",
        "\"crash\"",
        "s.toml:LINE: placement: unknown word `crash`, expected `even` or",
    );
    check(
        "\"4 MiB\"",
        "\"4 MB/s\"",
        "s.toml:LINE: object_size: `4 MB/s` is not understood: expected a size",
    );
    check(
        "\"300 s\"",
        "\"300\"",
        "s.toml:LINE: baseline: `300` is not understood: expected a time",
    );
    check(
        "block = \"4 KiB\"",
        "block = \"3 KiB\"",
        "s.toml:LINE: `block` must be sizes that divide",
    );
    check("depth = 64", "depth = 0", "s.toml:LINE: `depth` must be from 1 to 100000");
    check(
        "spread_scale = 0.01",
        "spread_scale = 2.0",
        "s.toml:LINE: `spread_scale` must be more than 0",
    );
    check("preset = \"quincy\"", "preset = \"quinzy\"", "s.toml:LINE: there is no preset `quinzy`");
    check("preset = \"quincy\"", "preset = \"quinzy\"", "did you mean `quincy`?");
    check("scheduler = \"wpq\"", "scheduler = \"wqp\"", "did you mean `wpq`?");
    check("profile = \"balanced\"", "profile = \"balance\"", "did you mean `balanced`?");
    check(
        "osd_max_backfills = 1000",
        "osd_max_backfils = 1000",
        "did you mean `osd_max_backfills`?",
    );
    check(
        "osd_max_backfills = 1000",
        "osd_max_backfills = 'many'",
        "s.toml:LINE: osd_max_backfills cannot be `many`",
    );
    check("recovery = false", "recovery = false\nprofile = 'balanced'", "`profile` is mClock's");
    check("name = \"WPQ(BST)\"", "name = \"WPQ(Def)\"", "the setup `WPQ(Def)` stands here twice");
    check("title = \"", "title = \"a\\nb\\u0007", "s.toml:LINE: `title` must be one line of text");
    check("[sets]", "[sets]\nnobody = []", "the set `nobody` names no setup: nothing would run");
    check("\"baseline\", \"WPQ(Def)\"", "\"base line\", \"WPQ(Def)\"", "did you mean `baseline`?");
}

/// The original accepts this and silently takes it back (qos.md 7.2).
#[test]
fn a_setting_that_would_be_reverted() {
    check(
        "profile = \"balanced\"\nsettings = { osd_max_backfills = 1000",
        "profile = \"balanced\"\nsettings = { osd_max_backfills = 7",
        "set osd_mclock_override_recovery_settings true first",
    );
}

#[test]
fn wrong_settings_of_the_command_line() {
    let check = |typed: &str, wanted: &str| {
        let refused = |error: InputError| error.to_string();
        let outcome = typed
            .parse::<Override>()
            .and_then(|change| Library::built_in().inputs("recovery-nvme", vec![change]))
            .and_then(|inputs| Study::new(&inputs));
        let found = refused(outcome.expect_err("it is wrong"));
        assert!(found.contains(wanted), "`{found}` should contain `{wanted}`");
    };
    check("scale", "--set scale: takes key=value");
    check("scael=1", "did you mean `scale`?");
    check("scale=0", "--set scale=0: `scale` must be a number from 0.000001 to 10");
    check("osds=1", "--set osds=1: `osds` must be from 2 to 64");
    check("baseline=fast", "--set baseline=fast: expected a time");
    check("drive=nvme-p370", "did you mean `nvme-p3700`?");
    check("osd_recovery_max_activ=1", "did you mean `osd_recovery_max_active`?");
    check(
        "osd_mclock_profile=balanced",
        "--set osd_mclock_profile=balanced: profile balanced sets",
    );
    check("osd_recovery_sleep=1", "--set osd_recovery_sleep=1: mClock paces work");
}

#[test]
fn wrong_drives_and_published_figures() {
    let found = refusal(|inputs| {
        inputs.drive.file = "d.toml".to_owned();
        inputs.drive.text = inputs.drive.text.replacen("window =", "windw =", 1);
    });
    assert!(found.starts_with("d.toml:") && found.contains("unknown field `windw`"), "{found}");
    let found = refusal(|inputs| {
        let text = "source = 's'\nstudy = 5\n".to_owned();
        inputs.published = Some(Source { name: "p".into(), file: "p.toml".into(), text });
    });
    assert!(found.starts_with("p.toml:2: "), "{found}");
}
