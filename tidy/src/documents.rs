//! The documents: their links lead somewhere, each has its place in `docs/README.md`, the README stays one page, and a package has what it links.

use crate::rules::assert_none;
use crate::{read, root};
use std::fs;
use std::path::{Path, PathBuf};

/// What it is, one picture, two commands, ten lines more. It had grown to a hundred lines, and nobody found the two commands.
const README_LINES_MAX: usize = 45;

/// The documents outside of `docs/`.
const ELSEWHERE: [&str; 5] =
    ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "contrib/python/README.md"];

fn documents() -> Vec<PathBuf> {
    let listed = fs::read_dir(root().join("docs")).expect("docs can be listed");
    let listed = listed.map(|entry| entry.expect("docs can be listed").path());
    let mut found: Vec<PathBuf> =
        listed.filter(|path| path.extension().is_some_and(|ending| ending == "md")).collect();
    found.extend(ELSEWHERE.map(|path| root().join(path)));
    found.sort();
    found
}

/// What the links of a text lead to in this tree, without the place inside of it.
fn links(text: &str) -> Vec<&str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    let targets = targets.map(|(target, _)| target.split('#').next().unwrap_or(target));
    targets.filter(|target| !target.is_empty() && !target.contains("://")).collect()
}

#[test]
fn every_link_leads_to_a_file() {
    let mut findings = Vec::new();
    for document in documents() {
        let folder = document.parent().expect("a document lies in a folder");
        let text = read(&document);
        let gone = links(&text).into_iter().filter(|target| !folder.join(target).exists());
        findings
            .extend(gone.map(|target| format!("{}: {target} is not there", document.display())));
    }
    assert_none(findings);
}

#[test]
fn every_document_has_its_place_in_the_list() {
    let list = read(&root().join("docs/README.md"));
    let listed = links(&list);
    let in_docs =
        documents().into_iter().filter(|path| path.parent() == Some(&root().join("docs")));
    let names =
        in_docs.map(|path| path.file_name().expect("a name").to_string_lossy().into_owned());
    let missing = names.filter(|name| name != "README.md" && !listed.contains(&name.as_str()));
    assert_none(missing.map(|name| format!("docs/README.md: no link to {name}")).collect());
}

#[test]
fn the_readme_is_one_page() {
    let lines = read(&root().join("README.md")).lines().count();
    assert!(lines <= README_LINES_MAX, "README.md has {lines} lines, of {README_LINES_MAX}");
}

/// A package had the README without its picture, and its documents where no link of it led.
#[test]
fn the_package_has_what_its_readme_links() {
    let manifest = read(&root().join("loadline/Cargo.toml"));
    let assets: Vec<(&str, &str)> = (manifest.lines())
        .filter_map(|line| line.trim().strip_prefix("[\"../"))
        .filter_map(|line| line.split_once("\", \""))
        .filter_map(|(from, rest)| Some((from, rest.split_once('"')?.0)))
        .collect();
    let doc = "usr/share/doc/loadline/";
    let is_there = |target: &str| {
        let (target, folder) = (Path::new(target), Path::new(target).parent().expect("a file"));
        assets.iter().any(|(from, to)| {
            let from = Path::new(from);
            let named = from == target
                || from.parent() == target.parent()
                    && from.file_stem().is_some_and(|stem| stem == "*")
                    && from.extension() == target.extension();
            named && Path::new(to) == Path::new(doc).join(folder)
        })
    };
    let readme = read(&root().join("README.md"));
    let missing = links(&readme).into_iter().filter(|target| !is_there(target));
    let missing =
        missing.map(|target| format!("loadline/Cargo.toml: no asset is README's {target}"));
    assert_none(missing.collect());
    assert!(is_there("docs/results.schema.json"), "docs/results.md tells of it");
}

#[test]
fn the_changelog_has_this_version_below_what_comes() {
    let manifest = read(&root().join("Cargo.toml"));
    let version = manifest.lines().find_map(|line| line.strip_prefix("version = \""));
    let version = version.and_then(|rest| rest.strip_suffix('"')).expect("a version");
    let changes = read(&root().join("CHANGELOG.md"));
    let headings: Vec<&str> = changes.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    assert_eq!(headings[..2], ["Unreleased", version]);
}
