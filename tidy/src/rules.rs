//! The house rules as a test: which crate may name which, what `core/` may not touch, how files begin, that every dependency has
//! its reason, and what may only become less ([`ratchet`]). Each finding names file and line.

use crate::{FLOORS, read, root, rust_files, source_files};
use std::fs;
use std::path::Path;

/// Neighbours that stand above each other only in the list.
const MAY_NOT_NAME: [(&str, &[&str]); 5] = [
    ("core/store", &["core/qos"]),
    (
        "core/wire",
        &["core/device", "core/qos", "core/store", "core/osd", "core/cluster", "core/node"],
    ),
    (
        "lab/stats",
        &[
            "core/device",
            "core/qos",
            "core/store",
            "core/osd",
            "core/cluster",
            "core/node",
            "worlds/sim",
        ],
    ),
    ("lab/fio", &["core/qos", "core/store", "core/osd", "core/cluster", "core/node", "worlds/sim"]),
    (
        "lab/report",
        &[
            "core/qos",
            "core/store",
            "core/osd",
            "core/cluster",
            "core/node",
            "worlds/sim",
            "lab/load",
        ],
    ),
];

/// What would let the outside in; `core/` gets all of it as arguments.
const BANNED_IN_CORE: [(&str, &str); 9] = [
    ("Instant::now", "take `now` as an argument"),
    ("SystemTime", "take `now` as an argument"),
    ("std::thread", "the engine is stepped by one owner"),
    ("std::net", "sockets belong to worlds/host"),
    ("std::fs", "files belong to worlds and the binary"),
    ("println!", "return what is to be shown"),
    ("rand::", "use loadline_base::Rng, which is seeded"),
    ("HashMap", "its order is random; use BTreeMap or IdVec"),
    ("worlds/", "core may not know worlds"),
];

/// The crates of this workspace that a manifest's section names.
fn own_dependencies(manifest: &str, section: &str) -> Vec<String> {
    let mut inside = false;
    let mut names = Vec::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            inside = line.trim() == format!("[{section}]");
        } else if inside && let Some(rest) = line.strip_prefix("loadline-") {
            let name: String = rest.chars().take_while(|c| c.is_ascii_lowercase()).collect();
            names.push(name);
        }
    }
    names
}

pub(crate) fn assert_none(findings: Vec<String>) {
    assert!(findings.is_empty(), "\n{}\n", findings.join("\n"));
}

#[test]
fn arrows_go_down_only() {
    let mut findings = Vec::new();
    for (floor, folder) in FLOORS.iter().enumerate() {
        let path = root().join(folder).join("Cargo.toml");
        if !path.exists() {
            continue;
        }
        let forbidden =
            MAY_NOT_NAME.iter().find(|(from, _)| from == folder).map_or(&[][..], |(_, to)| to);
        for name in own_dependencies(&read(&path), "dependencies") {
            let target = FLOORS.iter().position(|f| f.rsplit('/').next() == Some(name.as_str()));
            let below = target.is_some_and(|target| target < floor);
            if !below || target.is_some_and(|target| forbidden.contains(&FLOORS[target])) {
                findings.push(format!("{}: may not depend on loadline-{name}", path.display()));
            }
        }
    }
    assert_none(findings);
}

#[test]
fn every_member_is_on_a_floor() {
    let manifest = read(&root().join("Cargo.toml"));
    let members = manifest.split("members = [").nth(1).and_then(|rest| rest.split(']').next());
    let listed: Vec<&str> =
        members.expect("the workspace lists its members").split('"').skip(1).step_by(2).collect();
    let unknown: Vec<_> = listed.iter().filter(|member| !FLOORS.contains(member)).collect();
    assert!(unknown.is_empty(), "give {unknown:?} a floor in this test");
}

/// Criterion is 39 crates, which were compiled before a unit test of `core/qos` could run.
#[test]
fn what_benchmarks_need_stands_in_their_crate_alone() {
    let crates = FLOORS.iter().filter(|folder| **folder != "benches");
    let manifests = crates.map(|folder| root().join(folder).join("Cargo.toml"));
    let with = manifests.filter(|path| read(path).contains("criterion"));
    assert_none(
        with.map(|path| format!("{}: benchmarks belong into benches/", path.display())).collect(),
    );
}

#[test]
fn core_touches_nothing_ambient() {
    let mut findings = Vec::new();
    for path in rust_files(&root().join("core")) {
        let in_tests = path.components().any(|part| part.as_os_str() == "tests");
        for (number, line) in read(&path).lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            for (word, instead) in BANNED_IN_CORE {
                if !in_tests && code.contains(word) {
                    findings.push(format!(
                        "{}:{}: `{word}`: {instead}",
                        path.display(),
                        number + 1
                    ));
                }
            }
        }
    }
    assert_none(findings);
}

/// The map's owner and the OSDs know each other by messages alone.
#[test]
fn the_owner_of_the_map_has_no_osd() {
    let mut findings = Vec::new();
    for path in
        source_files().into_iter().filter(|path| path.starts_with(root().join("core/cluster")))
    {
        let text = read(&path);
        for (at, _) in text.match_indices("loadline_osd::") {
            let end = text[at..].find(';').map_or(text.len(), |end| at + end);
            let mut names = text[at..end].split(|c: char| !c.is_alphanumeric() && c != '_');
            if names.any(|name| name == "Osd") {
                findings.push(format!("{}: `Osd`: tell it a directive", path.display()));
            }
        }
    }
    assert_none(findings);
}

#[test]
fn every_file_says_what_it_is_and_every_crate_what_it_may_not_know() {
    let mut findings = Vec::new();
    for path in source_files() {
        let text = read(&path);
        if !text.trim_start_matches("#![no_main]").trim_start().starts_with("//!") {
            findings.push(format!("{}:1: begin with `//!` and the file's purpose", path.display()));
        }
        let is_library = path.ends_with("src/lib.rs");
        let head: String = text.lines().take_while(|line| line.starts_with("//!")).collect();
        if is_library && !head.contains("may not") && !head.contains("reads no clock") {
            findings.push(format!("{}:1: say what this crate may not know", path.display()));
        }
    }
    assert_none(findings);
}

#[test]
fn every_dependency_has_its_reason() {
    let reasons = read(&root().join("docs/dependencies.md"));
    let manifest = read(&root().join("Cargo.toml"));
    let section = manifest.split("[workspace.dependencies]").nth(1).expect("the section exists");
    let names = section
        .lines()
        .take_while(|line| !line.starts_with('['))
        .filter_map(|line| line.split([' ', '.', '=']).next())
        .filter(|name| !name.is_empty() && !name.starts_with('#') && !name.starts_with("loadline"));
    let without = names.filter(|name| !reasons.contains(&format!("| `{name}` |")));
    assert_none(
        without.map(|name| format!("docs/dependencies.md: no line for `{name}`")).collect(),
    );
}

/// `make fuzz` begins a target from what `fuzz/seeds` has under its name. Those that stand beside a crate's own tests were named in words
/// alone, and no search began from them.
#[test]
fn a_fuzz_target_begins_from_the_seeds_that_it_names() {
    let mut findings = Vec::new();
    for path in rust_files(&root().join("fuzz/fuzz_targets")) {
        let text = read(&path);
        let head: String = text.lines().filter(|line| line.starts_with("//!")).collect();
        if !head.contains("seeds") {
            continue;
        }
        let target = path.file_stem().expect("a target has a name");
        let seeds = root().join("fuzz/seeds").join(target);
        let is_empty = fs::read_dir(&seeds).map_or(true, |mut files| files.next().is_none());
        let named = head.split('`').skip(1).step_by(2).map(|word| root().join(word));
        let elsewhere = named.filter(|folder| folder.is_dir()).any(|folder| {
            let path_of = |folder: &Path| fs::canonicalize(folder).ok();
            path_of(&folder) != path_of(&seeds)
        });
        if is_empty || elsewhere {
            findings.push(format!("{}: its seeds are not {}", path.display(), seeds.display()));
        }
    }
    assert_none(findings);
}
