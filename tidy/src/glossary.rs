//! The glossary of ARCHITECTURE.md against the names of types.

use crate::source::{House, type_name};
use crate::{read, root};
use std::collections::BTreeMap;

/// What stands between backticks.
fn quoted(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

#[test]
fn the_glossary_names_what_there_is() {
    let text = read(&root().join("ARCHITECTURE.md"));
    let (_, rest) = text.split_once("\n## Words\n").expect("ARCHITECTURE.md has a glossary");
    let glossary = rest.split("\n## ").next().unwrap_or(rest);
    let house = House::read();
    let mut defined: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for file in &house.files {
        for name in file.items.iter().filter_map(type_name) {
            defined.entry(name).or_default().push(&file.path);
        }
    }
    let rows: Vec<Vec<&str>> = glossary
        .lines()
        .filter(|line| line.starts_with("| ") && line.contains('`'))
        .map(|line| line.split('|').map(str::trim).collect())
        .collect();
    assert!(rows.len() > 20, "the glossary has {} rows", rows.len());
    let mut findings = Vec::new();
    for row in rows {
        let [_, word, _, folder, types, _] = row[..] else {
            panic!("a row of other columns: {row:?}")
        };
        for name in quoted(types) {
            let files = defined.get(name).map_or(&[][..], Vec::as_slice);
            if !matches!(files, [file] if file.starts_with(&format!("{folder}/"))) {
                findings.push(format!(
                    "{word}: `{name}` is defined in {files:?}, not once in {folder}"
                ));
            }
        }
    }
    let (_, unused) =
        glossary.split_once("Not used as names of types").expect("the list of words not used");
    let unused = quoted(unused);
    assert!(!unused.is_empty());
    for name in unused {
        if let Some(files) = defined.get(name) {
            findings.push(format!("`{name}` is not used, and is defined in {files:?}"));
        }
    }
    assert!(findings.is_empty(), "\n{}\n", findings.join("\n"));
}
