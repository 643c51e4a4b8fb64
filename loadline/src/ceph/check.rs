//! `loadline ceph check`

use super::args::{CephLookArgs, WATCHED_S};
use crate::failure::Failure;
use crate::show;
use loadline_ceph::{ClusterFinding, Severity, check, look};
use serde_json::json;

pub(super) fn carry_out(args: &CephLookArgs) -> Result<(), Failure> {
    let connection = args.place.connect()?;
    let found = look(&*connection, args.seconds.unwrap_or(WATCHED_S))?;
    let findings = check(&found);
    if args.json {
        show::json(&json!({
            "fsid": found.status.fsid, "release": found.releases.of_osds(), "findings": findings,
        }))?;
    } else {
        show::text(&in_words(&findings))?;
    }
    match findings.iter().map(|finding| finding.severity).max() {
        Some(Severity::Error) => Err(Failure::Found(4)),
        Some(Severity::Warning) => Err(Failure::Found(3)),
        Some(Severity::Note) | None => Ok(()),
    }
}

fn in_words(findings: &[ClusterFinding]) -> String {
    if findings.is_empty() {
        return "nothing found\n".to_owned();
    }
    let mut text = String::new();
    for finding in findings {
        let word = match finding.severity {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        text += &format!("{word:<9}{} ({})\n", finding.what, finding.code);
        text += &format!("{:<9}do: {}\n{:<9}from: {}\n", "", finding.remedy, "", finding.source);
    }
    text
}
