//! Says which commit the program was built from, and with which features: `loadline --version` and the manifests of studies tell it.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-env-changed=LOADLINE_COMMIT");
    // A package is built where there is no repository; its recipe says the commit.
    let commit = std::env::var_os("LOADLINE_COMMIT").and_then(|commit| commit.into_string().ok());
    let commit = commit.filter(|commit| !commit.is_empty());
    let commit = commit.or_else(of_repository).unwrap_or_else(|| "unknown".to_owned());
    println!("cargo::rustc-env=LOADLINE_COMMIT={commit}");
    println!("cargo::rustc-env=LOADLINE_FEATURES={}", features());
}

/// What the program is built with of what can be left out.
fn features() -> String {
    let names = std::env::vars()
        .filter_map(|(name, _)| Some(name.strip_prefix("CARGO_FEATURE_")?.to_lowercase()));
    let mut built: Vec<String> = names.filter(|name| name != "default").collect();
    built.sort();
    if built.is_empty() { "none".to_owned() } else { built.join(" ") }
}

fn of_repository() -> Option<String> {
    // Each commit, and each change of branch, appends a line to this file.
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"])?;
    if Path::new(&log).is_file() {
        println!("cargo::rerun-if-changed={log}");
    }
    git(&["rev-parse", "--short=12", "HEAD"])
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !text.trim().is_empty()).then(|| text.trim().to_owned())
}
