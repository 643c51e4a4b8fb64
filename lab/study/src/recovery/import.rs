//! A study of a recovery test of the Ceph Benchmarking Tool: its file, each line with where it comes from, and whatever did not
//! become part of it.

use super::file::RecoverySetupSection;
use super::of_options::CephOptions;
use crate::input::{InputError, Source, unknown};
use crate::inputs::Inputs;
use crate::library::Library;
use crate::place::Place;
use crate::setup::{SchedulerName, SettingValue};
use crate::shelf::Shelf;
use crate::study::Study;
use loadline_cbt::{CbtError, CbtNote, CbtTest, CephConf, NoteKind, Stated};
use loadline_cluster::settings::OptionTable;
use loadline_device::Medium;
use loadline_qos::{PRESETS, preset};
use std::collections::BTreeMap;
use std::fmt::Display;

/// What a study is made of.
#[derive(Clone, Debug)]
pub struct CbtImport<'a> {
    /// The test.
    pub test: &'a Source,
    /// Configurations of its OSDs: a setup each. Without one the queues and profiles of the release are compared.
    pub confs: &'a [Source],
    /// The preset that behaves as the release that was tested; `None` for what the configuration's parameters show.
    pub preset: Option<&'a str>,
    /// What the OSDs stand on.
    pub drive: &'a str,
}

/// A study file that was made.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedStudy {
    /// The file.
    pub text: String,
    /// What did not become part of it.
    pub notes: Vec<ImportNote>,
}

/// Something of which no part of a study was made.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportNote {
    /// Why not.
    pub kind: NoteKind,
    /// The file that says it.
    pub file: String,
    /// The line, from 1; `None` if it is about the whole file.
    pub line: Option<usize>,
    /// It in one sentence.
    pub text: String,
}

impl Display for ImportNote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.file, self.text),
            None => write!(f, "{}: {}", self.file, self.text),
        }
    }
}

/// The drive of the published study, where nobody names another.
pub const IMPORTED_DRIVE: &str = "nvme-p3700";

/// The release that is meant where nothing shows another.
const RECENT: &str = "reef";

/// Parameters of mClock were numbers of ops before Reef, and are shares since.
const BEFORE_SHARES: &str = "quincy";

/// A recovery that takes longer is given up, unless clients are alone for longer.
const LIMIT_S: u64 = 3 * 3600;

/// A clients' image has one object at least.
const MIB: u64 = 1 << 20;

impl CbtImport<'_> {
    /// The study.
    ///
    /// # Errors
    /// [`InputError`] that names file and line of what cannot be used.
    pub fn study(&self, library: &Library) -> Result<ImportedStudy, InputError> {
        let refuse = |source: &Source, error: CbtError| InputError {
            place: source.file.clone(),
            line: Some(error.line),
            reason: error.reason,
        };
        let test = CbtTest::parse(&self.test.text).map_err(|error| refuse(self.test, error))?;
        let drive = library.find(Shelf::Drives, self.drive)?;
        let medium = medium_of(&drive)?;
        self.check_preset()?;
        let mut notes = noted(self.test, &test.notes);
        let mut setups = Vec::new();
        for conf in self.confs {
            let read = CephConf::parse(&conf.text).map_err(|error| refuse(conf, error))?;
            notes.extend(noted(conf, &read.notes));
            setups.push(self.setup_of(conf, &read, medium, &mut notes)?);
        }
        if let Some(named) = test.conf_file.as_ref().filter(|_| self.confs.is_empty()) {
            notes.push(ImportNote {
                kind: NoteKind::LeftOut,
                file: self.test.file.clone(),
                line: named.line,
                text: format!(
                    "`cluster.conf_file` is {}: `--conf` with a copy of it makes a setup of it; without one the queues and profiles \
                     of {} are compared",
                    named.value,
                    self.preset.unwrap_or(RECENT)
                ),
            });
        }
        if setups.is_empty() {
            setups = of_release(self.preset.unwrap_or(RECENT));
        }
        let mut file = StudyText::default();
        self.write(&test, &setups, &notes, &mut file);
        self.check(&file, drive)?;
        Ok(ImportedStudy { text: file.text(), notes })
    }

    fn check_preset(&self) -> Result<(), InputError> {
        let known = PRESETS.iter().map(|preset| preset.name).filter(|name| *name != "loadline");
        match self.preset {
            Some(name) if !known.clone().any(|known| known == name) => Err(InputError::new(
                "--preset",
                unknown("preset of Ceph's", name, known.collect::<Vec<_>>()),
            )),
            _ => Ok(()),
        }
    }

    /// A setup of a configuration, and a note for each option of it that the engine does not have.
    fn setup_of(
        &self,
        conf: &Source,
        read: &CephConf,
        medium: Medium,
        notes: &mut Vec<ImportNote>,
    ) -> Result<RecoverySetupSection, InputError> {
        let all = read.options.iter().map(|option| (option.name.clone(), option.value.clone()));
        let mut options: BTreeMap<String, String> = all.collect();
        let counts_ops = options.iter().any(|(name, value)| {
            is_parameter(name)
                && value.parse::<f64>().is_ok_and(|value| value > 1.0)
                && !name.ends_with("_wgt")
        });
        let name = self.preset.unwrap_or(if counts_ops { BEFORE_SHARES } else { RECENT });
        let preset = PRESETS.iter().find(|preset| preset.name == name).expect("it was checked");
        let table = OptionTable::new(preset);
        for option in read.options.iter().filter(|option| table.find(&option.name).is_none()) {
            let why = table.absent(&option.name).map(|absent| absent.why);
            notes.push(ImportNote {
                kind: if why.is_some() { NoteKind::LeftOut } else { NoteKind::Unknown },
                file: conf.file.clone(),
                line: Some(option.line),
                text: format!(
                    "`{}`{}",
                    option.name,
                    why.map_or(String::new(), |why| format!(": {why}"))
                ),
            });
        }
        options.entry("osd_op_queue".to_owned()).or_insert_with(|| "mclock_scheduler".to_owned());
        let sets_parameters = options.keys().any(|name| is_parameter(name));
        if sets_parameters && !options.contains_key("osd_mclock_profile") {
            options.insert("osd_mclock_profile".to_owned(), "custom".to_owned());
        }
        let setup = file_name(&conf.file);
        let of = CephOptions { name: setup, preset: preset.name, medium, options: &options };
        let mut left_out = Vec::new();
        let about = format!("OSDs as {setup} sets them");
        let (section, _) = of
            .setup(&about, &mut left_out)
            .map_err(|reason| InputError::new(conf.file.clone(), reason))?;
        notes.extend(left_out.into_iter().map(|text| {
            let at = read.options.iter().find(|it| text.contains(&format!(" {} = ", it.name)));
            let text = text.trim_end_matches('.').to_owned();
            ImportNote {
                kind: NoteKind::LeftOut,
                file: conf.file.clone(),
                line: at.map(|it| it.line),
                text,
            }
        }));
        Ok(section)
    }

    fn write(
        &self,
        test: &CbtTest,
        setups: &[RecoverySetupSection],
        notes: &[ImportNote],
        file: &mut StudyText,
    ) {
        let called = file_name(&self.test.file);
        file.comment(&format!(
            "Made by `loadline study import` of {called}, a recovery test of CBT."
        ));
        file.comment("The comment behind a figure tells the line of that file that it comes from.");
        write_notes(notes, file);
        file.blank();
        file.plain("title", quoted(&format!("Recovery beside clients as in {called}")));
        let question =
            format!("What does recovery do to the clients of {called}, and how long does it take?");
        file.plain("question", quoted(&question));
        file.plain("kind", quoted("recovery"));
        file.plain("drive", quoted(self.drive));
        write_steps(test, file);
        write_load(test, file);
        write_setups(setups, file);
    }

    /// Whether the file that was made can be used. What cannot is told of the line that it comes from.
    fn check(&self, file: &StudyText, drive: Source) -> Result<(), InputError> {
        let study =
            Source { name: "imported".to_owned(), file: "imported".to_owned(), text: file.text() };
        let (published, load, described) = (None, None, None);
        let (overrides, place) = (Vec::new(), Place::Sim);
        let inputs =
            Inputs { study, drive, published, load, described, twin: None, overrides, place };
        match Study::new(&inputs) {
            Ok(_) => Ok(()),
            Err(error) if error.place != "imported" => Err(error),
            Err(error) => Err(InputError {
                place: self.test.file.clone(),
                line: error.line.and_then(|line| file.origin(line)),
                reason: format!("no study can be made of it: {}", error.reason),
            }),
        }
    }
}

/// A parameter of a class of mClock.
fn is_parameter(name: &str) -> bool {
    name.starts_with("osd_mclock_scheduler_")
        && ["_res", "_wgt", "_lim"].iter().any(|end| name.ends_with(end))
}

fn medium_of(drive: &Source) -> Result<Medium, InputError> {
    let Source { name, file, text, .. } = drive;
    let read = loadline_sim::Drive::parse(name, file, text);
    read.map(|drive| drive.medium).map_err(|error| InputError {
        place: error.file,
        line: error.line,
        reason: error.reason,
    })
}

fn noted(source: &Source, notes: &[CbtNote]) -> Vec<ImportNote> {
    let file = || source.file.clone();
    let of = |note: &CbtNote| ImportNote {
        kind: note.kind,
        file: file(),
        line: Some(note.line),
        text: note.text.clone(),
    };
    notes.iter().map(of).collect()
}

/// The part of a path behind its folders.
fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The queues and the profiles that a release has, with what it sets by itself.
fn of_release(name: &str) -> Vec<RecoverySetupSection> {
    let preset = preset(name).expect("it was checked");
    let section =
        |name: &str, about: String, scheduler, profile: Option<&str>| RecoverySetupSection {
            name: spanned(name),
            about,
            preset: spanned(preset.name),
            scheduler,
            profile: profile.map(spanned),
            recovery: true,
            clients: None,
            neighbours: Vec::new(),
            images: BTreeMap::new(),
            settings: BTreeMap::new(),
        };
    let wpq = section(
        "WPQ",
        "the weighted priority queue as it comes".to_owned(),
        SchedulerName::Wpq,
        None,
    );
    let profiles = preset.profiles.names().map(|profile| {
        let about = format!("mClock as {name} has it, with its profile {profile}");
        section(profile, about, SchedulerName::Mclock, Some(profile))
    });
    [wpq].into_iter().chain(profiles).collect()
}

fn spanned(text: &str) -> toml::Spanned<String> {
    toml::Spanned::new(0..0, text.to_owned())
}

fn write_notes(notes: &[ImportNote], file: &mut StudyText) {
    let of = |kind: NoteKind| notes.iter().filter(move |note| note.kind == kind);
    for (kind, head) in [
        (NoteKind::LeftOut, "What has no counterpart here, or another one:"),
        (NoteKind::Unknown, "What is not known, and was not read:"),
    ] {
        if of(kind).next().is_some() {
            file.comment("");
            file.comment(head);
            of(kind).for_each(|note| file.comment(&format!("  {note}")));
        }
    }
    let own: Vec<String> = of(NoteKind::Own).map(|note| note.text.replace('`', "")).collect();
    if !own.is_empty() {
        file.comment("");
        file.comment(&format!("What is of CBT's own hosts, paths and logs: {}", own.join(", ")));
    }
}

fn write_steps(test: &CbtTest, file: &mut StudyText) {
    file.blank();
    file.line("[cluster]", None);
    file.figure("osds", &test.osds, u64::to_string);
    file.figure("copies", &test.copies, u64::to_string);
    file.figure("pgs", &test.groups, u64::to_string);
    file.plain("placement", quoted("crush"));
    file.figure("returning", &test.returning, u64::to_string);
    file.blank();
    file.line("[recovery]", None);
    file.figure("objects", &test.objects, u64::to_string);
    file.figure("object_size", &test.object_size, |bytes| quoted(&size(*bytes)));
    let seconds = |seconds: &u64| quoted(&format!("{seconds} s"));
    file.figure("baseline", &test.baseline, seconds);
    if let Some(clients) = &test.clients {
        file.figure("clients", clients, seconds);
    }
    file.plain("limit", seconds(&LIMIT_S.max(test.baseline.value)));
    file.blank();
    file.line("[companions]", None);
    file.plain("spread_placements", "0".to_owned());
    file.plain("variant_scale", "0.02".to_owned());
}

fn write_load(test: &CbtTest, file: &mut StudyText) {
    let client = &test.client;
    file.blank();
    file.line("[load]", None);
    file.figure("depth", &client.depth, u64::to_string);
    if let Some(rate) = &client.rate {
        file.figure("rate", rate, |rate| format!("{rate}.0"));
        file.plain("arrivals", quoted("fixed"));
    }
    file.figure("block", &client.block, |bytes| quoted(&size(*bytes)));
    file.figure("reads", &client.reads_percent, |percent| format!("{:?}", *percent as f64 / 100.0));
    let pattern = |random: &bool| quoted(if *random { "random" } else { "sequential" });
    file.figure("pattern", &client.is_random, pattern);
    let object = test.object_size.value.max(1);
    let whole = |mib: &u64| mib.saturating_mul(MIB).div_ceil(object).max(1).saturating_mul(object);
    file.figure("image", &client.image_mib, |mib| quoted(&size(whole(mib))));
}

/// Clients alone, under the queue of the first setup, and every setup.
fn write_setups(setups: &[RecoverySetupSection], file: &mut StudyText) {
    let names =
        ["baseline"].into_iter().chain(setups.iter().map(|setup| setup.name.get_ref().as_str()));
    let names: Vec<String> = names.map(quoted).collect();
    file.blank();
    file.line("[sets]", None);
    file.plain("default", format!("[{}]", names.join(", ")));
    let first = &setups[0];
    file.blank();
    file.line("[[setup]]", None);
    file.plain("name", quoted("baseline"));
    file.plain("about", quoted("clients alone, nothing recovers"));
    file.plain("preset", quoted(first.preset.get_ref()));
    file.plain("scheduler", quoted(first.scheduler.word()));
    file.plain("recovery", "false".to_owned());
    for setup in setups {
        file.blank();
        file.line("[[setup]]", None);
        file.plain("name", quoted(setup.name.get_ref()));
        file.plain("about", quoted(&setup.about));
        file.plain("preset", quoted(setup.preset.get_ref()));
        file.plain("scheduler", quoted(setup.scheduler.word()));
        if let Some(profile) = &setup.profile {
            file.plain("profile", quoted(profile.get_ref()));
        }
        if !setup.settings.is_empty() {
            let setting = |(key, value): (&toml::Spanned<String>, &SettingValue)| {
                let value = match value {
                    SettingValue::Flag(flag) => flag.to_string(),
                    other => quoted(&other.text()),
                };
                format!("{} = {value}", key.get_ref())
            };
            let settings: Vec<String> = setup.settings.iter().map(setting).collect();
            file.plain("settings", format!("{{ {} }}", settings.join(", ")));
        }
    }
}

/// A size that is read as the same again.
fn size(bytes: u64) -> String {
    let units = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match units.into_iter().find(|(unit, _)| bytes > 0 && bytes.is_multiple_of(*unit)) {
        Some((unit, name)) => format!("{} {name}", bytes / unit),
        None => format!("{bytes} B"),
    }
}

/// As TOML has it.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// The lines of a study file, each with the line of the test that it comes from.
#[derive(Debug, Default)]
struct StudyText {
    lines: Vec<(String, Option<usize>)>,
}

impl StudyText {
    fn line(&mut self, text: &str, origin: Option<usize>) {
        self.lines.push((text.to_owned(), origin));
    }

    fn blank(&mut self) {
        self.line("", None);
    }

    /// A comment is one line, whatever a test calls its keys.
    fn comment(&mut self, text: &str) {
        let plain: String = text.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
        self.line(format!("# {plain}").trim_end(), None);
    }

    /// A field that no line of the test says.
    fn plain(&mut self, key: &str, value: String) {
        self.line(&format!("{key} = {value}"), None);
    }

    /// A field with where it comes from.
    fn figure<T>(&mut self, key: &str, of: &Stated<T>, value: impl Fn(&T) -> String) {
        let field = format!("{key} = {}", value(&of.value));
        let from = of.line.map_or("CBT's default".to_owned(), |line| format!("line {line}"));
        self.line(&format!("{field:<32}# {from}"), of.line);
    }

    fn text(&self) -> String {
        self.lines.iter().map(|(line, _)| format!("{line}\n")).collect()
    }

    /// Where a line comes from, counted from 1.
    fn origin(&self, line: usize) -> Option<usize> {
        self.lines.get(line.checked_sub(1)?)?.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recovery::RecoveryStudy;
    use loadline_testbed::{CephFound, CephTestPlace};

    const BACKGROUND: &str = include_str!("../../../cbt/tests/data/background.yaml");
    const BLOCKING: &str = include_str!("../../../cbt/tests/data/blocking.yaml");
    const ENDPOINTS: &str = include_str!("../../../cbt/tests/data/endpoints.yaml");

    fn source(file: &str, text: &str) -> Source {
        Source { name: "it".to_owned(), file: file.to_owned(), text: text.to_owned() }
    }

    fn import(test: &str, confs: &[(&str, &str)]) -> Result<ImportedStudy, InputError> {
        let test = source("tests/it.yaml", test);
        let confs: Vec<Source> = confs.iter().map(|(file, text)| source(file, text)).collect();
        let import = CbtImport { test: &test, confs: &confs, preset: None, drive: IMPORTED_DRIVE };
        import.study(&Library::built_in())
    }

    fn imported(test: &str, confs: &[(&str, &str)]) -> ImportedStudy {
        import(test, confs).unwrap_or_else(|error| panic!("{error}"))
    }

    /// The study as any other of its file.
    fn study(made: &ImportedStudy, place: Place) -> (RecoveryStudy, Study) {
        let drive = Library::built_in().find(Shelf::Drives, IMPORTED_DRIVE).expect("it is there");
        let study = source("it.toml", &made.text);
        let (published, load, described) = (None, None, None);
        let inputs = Inputs {
            study,
            drive,
            published,
            load,
            described,
            twin: None,
            overrides: Vec::new(),
            place,
        };
        let script = RecoveryStudy::new(&inputs).expect("it can be used");
        (script, Study::new(&inputs).expect("it can be used"))
    }

    fn notes(made: &ImportedStudy, kind: NoteKind) -> Vec<String> {
        let of = made.notes.iter().filter(|note| note.kind == kind);
        of.map(ToString::to_string).collect()
    }

    #[test]
    fn a_test_becomes_a_study_with_its_figures() {
        let made = imported(BACKGROUND, &[]);
        let (script, study) = study(&made, Place::Sim);
        let shape = &script.cluster;
        assert_eq!((shape.osds, shape.copies, shape.pgs), (6, 3, 128));
        assert_eq!((shape.returning.get(), script.steps.objects), (2, 4000));
        assert_eq!(script.steps.baseline.as_secs_f64(), 240.0);
        assert_eq!(study.load, "8 KiB random ops (70 % reads), closed loop at depth 32",);
        let names: Vec<&str> = study.setups.iter().map(|setup| setup.name.as_str()).collect();
        assert_eq!(names, ["baseline", "WPQ", "balanced", "high_client_ops", "high_recovery_ops"]);
        assert!(study.setups.iter().all(|setup| setup.preset == "reef"));
        assert!(made.text.contains("osds = 6                        # line 10\n"), "{}", made.text);
    }

    #[test]
    fn every_test_of_the_examples_becomes_a_study() {
        let (script, _) = study(&imported(BLOCKING, &[]), Place::Sim);
        assert_eq!((script.steps.objects, script.cluster.copies), (256, 2));
        let (script, _) = study(&imported(ENDPOINTS, &[]), Place::Sim);
        assert_eq!((script.load.rate, script.load.depth), (Some(800.0), Some(32)));
    }

    const WPQ: &str = "[global]\nosd op queue = wpq\n[osd]\nosd_max_backfills = 4\nbluestore_frob = 1\nosd_max_push_cost = 3\n";

    #[test]
    fn a_configuration_becomes_a_setup() {
        let balanced = "[osd]\nosd_mclock_profile = high_recovery_ops\nosd_recovery_max_active = 5\n[osd.1]\ndebug_osd = 1\n";
        let made =
            imported(BACKGROUND, &[("c/ceph.conf.wpq", WPQ), ("ceph.conf.mclock", balanced)]);
        let (_, study) = study(&made, Place::Sim);
        let names: Vec<&str> = study.setups.iter().map(|setup| setup.name.as_str()).collect();
        assert_eq!(names, ["baseline", "ceph.conf.wpq", "ceph.conf.mclock"]);
        let value = |setup: usize, key: &str| {
            let row = study.setups[setup].settings.iter().find(|row| row.key == key);
            row.map(|row| row.value.clone())
        };
        assert_eq!(value(0, "osd_op_queue").as_deref(), Some("wpq"), "the first one's queue");
        assert_eq!(value(1, "osd_max_backfills").as_deref(), Some("4"));
        assert_eq!(study.setups[2].profile.as_deref(), Some("high_recovery_ops"));
        assert_eq!(value(2, "osd_recovery_max_active").as_deref(), Some("5"));
        assert_eq!(value(2, "osd_mclock_override_recovery_settings").as_deref(), Some("true"));
        assert_eq!(
            notes(&made, NoteKind::Unknown),
            ["tests/it.yaml:17: `cluster.shuffle_osds`", "c/ceph.conf.wpq:5: `bluestore_frob`"]
        );
        let left_out = notes(&made, NoteKind::LeftOut).join("\n");
        assert!(
            left_out
                .contains("c/ceph.conf.wpq:6: `osd_max_push_cost`: each push carries one object")
        );
        assert!(left_out.contains("ceph.conf.mclock:5: `debug_osd` of osd.1: all OSDs are alike"));
        for note in &made.notes {
            assert!(
                note.kind == NoteKind::Own || made.text.contains(&format!("#   {note}\n")),
                "{note}"
            );
        }
    }

    /// Before Reef the parameters were operations; as shares they would be refused one by one.
    #[test]
    fn parameters_above_one_are_quincys_and_make_a_profile_of_their_own() {
        let conf = "[osd]\nosd_mclock_scheduler_client_res = 1\nosd_mclock_scheduler_client_wgt = 500\n\
                    osd_mclock_scheduler_client_lim = 1000000\n";
        let (_, of_ops) = study(&imported(BACKGROUND, &[("a.conf", conf)]), Place::Sim);
        let setup = &of_ops.setups[1];
        assert_eq!((setup.preset.as_str(), setup.profile.as_deref()), ("quincy", Some("custom")));
        let row = setup.settings.iter().find(|row| row.key == "osd_mclock_scheduler_client_wgt");
        assert_eq!(row.map(|row| row.value.as_str()), Some("500"));
        let shares = "[osd]\nosd_mclock_scheduler_client_res = 0.4\n";
        let (_, of_shares) = study(&imported(BACKGROUND, &[("a.conf", shares)]), Place::Sim);
        assert_eq!(of_shares.setups[1].preset, "reef");
    }

    /// What the engine knows and does not take in this place is told with its line.
    #[test]
    fn an_option_that_is_not_taken_is_told() {
        let conf = "[osd]\n\nosd_max_backfills = many\n";
        let left_out = notes(&imported(BACKGROUND, &[("a.conf", conf)]), NoteKind::LeftOut);
        let told = left_out.iter().find(|note| {
            note.starts_with("a.conf:3: `a.conf` is without osd_max_backfills = many")
        });
        assert!(told.is_some(), "{left_out:?}");
    }

    #[test]
    fn what_makes_no_study_is_refused_with_the_line_of_the_test() {
        let check = |test: &str, says: &str| {
            let error = import(test, &[]).expect_err("it is refused").to_string();
            assert!(error.contains(says), "{says}: {error}");
            assert!(
                !error.contains("imported:"),
                "the file that was not written is nobody's: {error}"
            );
        };
        check("cluster: [", "tests/it.yaml:");
        check(
            &BACKGROUND.replace("replication: 3", "replication: 6"),
            "tests/it.yaml:23: no study can be made of it: `copies` must be",
        );
        check(
            &BACKGROUND.replace("osds: [2]", "osds: [6]"),
            "tests/it.yaml:35: no study can be made of it: `returning` must be",
        );
        check(
            &BACKGROUND.replace("pg_size: 128", "pg_size: 9999"),
            "tests/it.yaml:21: no study can be made of it: `pgs` must be",
        );
        check(
            &BACKGROUND.replace("[8192, 4096]", "[81920000]"),
            "tests/it.yaml:44: no study can be made of it: `block` must be",
        );
        let error = import(BACKGROUND, &[("a.conf", "frob\n")]).expect_err("it is refused");
        assert_eq!(error.to_string(), "a.conf:1: neither a section nor an option with its value");
        let error = import(BACKGROUND, &[("a.conf", "[osd]\nosd_op_queue = prioritized\n")]);
        assert_eq!(
            error.expect_err("it is refused").to_string(),
            "a.conf: no queue is called `prioritized`"
        );
    }

    /// A study of a test runs on a cluster like any other: its setups as the release means them.
    #[test]
    fn an_imported_study_fits_a_cluster() {
        let place = CephTestPlace {
            cluster: "ceph:ceph.conf".parse().expect("it is a place"),
            restart: None,
            found: CephFound {
                fsid: "f".to_owned(),
                release: "18.2.7".to_owned(),
                queue: "mclock_scheduler".to_owned(),
                osds: vec![0, 1, 2, 3],
            },
            allowed: None,
            folder: "run".into(),
        };
        let (script, study) = study(&imported(BACKGROUND, &[]), Place::Ceph(place));
        let names: Vec<&str> = study.setups.iter().map(|setup| setup.name.as_str()).collect();
        assert_eq!(names, ["baseline", "balanced", "high_client_ops", "high_recovery_ops"]);
        assert!(script.left_out.iter().any(|why| why.contains("needs --restart-osd: WPQ")));
        assert_eq!((script.cluster.osds, script.cluster.returning.get()), (4, 2));
    }

    /// Whatever keys are called, the file that is made of them is one.
    #[test]
    fn a_note_is_one_line_of_the_file() {
        let test = BACKGROUND.replace("shuffle_osds:", "\"a\\nosds = 9\":");
        let made = imported(&test, &[]);
        assert_eq!(study(&made, Place::Sim).0.cluster.osds, 6);
        assert!(made.text.contains("`cluster.a?osds = 9`"), "{}", made.text);
    }
}
