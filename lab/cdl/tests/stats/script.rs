//! To the byte what the script prints, plain and terse, and what it leaves in files.
//!
//! The files in `data/` are the output of `cdl_prio_stats.sh` of cdl-tools (commit 63b6a75a) on these logs, under mawk 1.3.4
//! and bc 1.07.1. `LOADLINE_CDL_TOOLS=<its folder benchmark> LOADLINE_STORE=1` stores it anew.

use crate::logs::{Sample, samples};
use loadline_cdl::stats::{Collector, LogScope, LogStatistics, PriorityName};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) fn statistics(text: &str) -> LogStatistics {
    let mut collector = Collector::new(LogScope::default());
    collector.read(text.as_bytes()).unwrap();
    collector.finish()
}

/// The plain form, the terse one without a head and with one.
fn ours(sample: &Sample) -> String {
    let statistics = statistics(&sample.text);
    let mut text = Vec::new();
    statistics.write_text(&mut text).unwrap();
    statistics.write_terse(&mut text, "").unwrap();
    statistics.write_terse(&mut text, "32").unwrap();
    String::from_utf8(text).unwrap()
}

fn stored(sample: &Sample) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stats/data");
    folder.join(format!("{}.txt", sample.name))
}

/// The folder of the scripts, if somebody named one.
fn tools() -> Option<PathBuf> {
    std::env::var_os("LOADLINE_CDL_TOOLS").map(PathBuf::from)
}

/// What the script prints on its standard output.
fn script(tools: &Path, options: &[&str], log: &Path) -> String {
    let mut command = Command::new("bash");
    command.arg(tools.join("cdl_prio_stats.sh")).args(options).arg(log);
    String::from_utf8(command.output().expect("bash runs").stdout).unwrap()
}

#[test]
fn figures_are_those_of_the_script() {
    for sample in samples() {
        let wanted = fs::read_to_string(stored(&sample)).expect("stored output");
        assert_eq!(ours(&sample), wanted, "{}", sample.name);
    }
}

#[test]
fn figures_are_those_of_the_script_that_is_here() {
    let Some(tools) = tools() else { return };
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("randread.log_lat.log");
    for sample in samples() {
        fs::write(&log, &sample.text).unwrap();
        let forms: [&[&str]; 3] = [&[], &["--terse"], &["--terse", "--head", "32"]];
        let theirs = forms.map(|options| script(&tools, options, &log)).concat();
        if std::env::var_os("LOADLINE_STORE").is_some() {
            fs::write(stored(&sample), &theirs).unwrap();
        }
        assert_eq!(ours(&sample), theirs, "{}", sample.name);
    }
}

/// The script saves each priority's latencies sorted; words that it calls by one name overwrite each other.
#[test]
fn sorted_latencies_are_those_of_the_script_that_is_here() {
    let Some(tools) = tools() else { return };
    for sample in samples() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("randread.log_lat.log");
        fs::write(&log, &sample.text).unwrap();
        script(&tools, &["--save-priolat"], &log);
        for (word, of) in &statistics(&sample.text).priorities {
            let name = PriorityName::of(*word);
            let words = statistics(&sample.text).priorities;
            if words.keys().any(|later| later > word && PriorityName::of(*later) == name) {
                continue;
            }
            let latencies = of.latencies.iter().flat_map(|(millis, times)| {
                std::iter::repeat_n(format!("{millis}\n"), times as usize)
            });
            let theirs = fs::read_to_string(folder.path().join(name.latency_file())).unwrap();
            assert_eq!(latencies.collect::<String>(), theirs, "{} {word:#06x}", sample.name);
        }
    }
}
