//! Our folders and our plots beside the real scripts, where they are: `LOADLINE_CDL_TOOLS` names their `benchmark` folder,
//! and gnuplot and bc must be there. Without it this test has nothing to compare with and says so.

use super::{asked, drive, run};
use loadline_cdl::bench::BenchOptions;
use loadline_cdl::plot::{SIZE_DEFAULT, Save, plot};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The scripts with the shell that they need: the first line of `cdl_prio_stats.sh` names sh, and its text is bash.
fn tools(place: &Path) -> Option<PathBuf> {
    #[expect(clippy::disallowed_methods, reason = "where the scripts are is this machine's matter")]
    let Ok(origin) = std::env::var("LOADLINE_CDL_TOOLS") else {
        eprintln!("not compared: set LOADLINE_CDL_TOOLS to the benchmark folder of cdl-tools");
        return None;
    };
    let copy = place.join("tools");
    let copied = Command::new("cp").arg("-r").args([Path::new(&origin), &copy]).status().unwrap();
    assert!(copied.success(), "{origin} can be copied");
    let stats = copy.join("cdl_prio_stats.sh");
    let text = fs::read_to_string(&stats).expect("the folder holds the scripts");
    fs::write(&stats, text.replacen("#!/bin/sh", "#!/bin/bash", 1)).unwrap();
    Some(copy)
}

/// Names of the files below `root` that `keep` takes, relative to it.
fn names(root: &Path, keep: impl Fn(&str) -> bool) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open = vec![root.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().display().to_string();
            if path.is_dir() {
                open.push(path);
            } else if keep(&name) {
                found.insert(name);
            }
        }
    }
    found
}

/// Every plot of the script is there under the same name, and every table is the same to the byte.
#[test]
fn the_scripts_make_the_same_of_our_folder() {
    let place = tempfile::tempdir().unwrap();
    let Some(tools) = tools(place.path()) else { return };
    let (ours, theirs) = (place.path().join("ours"), place.path().join("theirs"));
    let asked = BenchOptions { qds: "1 4 32".to_owned(), runtime: 30, ..asked() };
    run(&asked, drive(), &ours, 2).unwrap();
    run(&asked, drive(), &theirs, 2).unwrap();
    plot(&ours, Some(Save { size: SIZE_DEFAULT, png: false }), &mut |_| ()).unwrap();
    let script =
        Command::new("bash").arg(tools.join("cdl_plots.sh")).arg("--save").arg(&theirs).output();
    let said = script.expect("bash runs");
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    let plots = |root: &Path, ending: &'static str| -> BTreeSet<String> {
        let is_plot = |name: &str| name.ends_with(ending);
        names(root, is_plot).iter().map(|name| name.replace(ending, "")).collect()
    };
    assert_eq!(plots(&ours, ".svg"), plots(&theirs, ".png"));
    let is_table = |name: &str| name.ends_with(".csv") || name.contains("priolat");
    let tables = names(&theirs, is_table);
    assert_eq!(names(&ours, is_table), tables);
    for name in &tables {
        let read = |root: &Path| fs::read_to_string(root.join(name)).unwrap();
        assert!(read(&ours) == read(&theirs), "{name} differs");
    }
}
