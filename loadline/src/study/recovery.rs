//! What `loadline study show` says of a recovery study.

use crate::show;
use loadline_study::{Setup, Study};
use serde_json::json;
use std::fmt::Write;

pub(super) fn study_json(study: &Study) -> serde_json::Value {
    let setups = study.setups.iter().map(|setup| {
        json!({
            "name": setup.name, "preset": setup.preset, "scheduler": setup.scheduler,
            "profile": setup.profile, "recovery": setup.recovery,
            "software_stage_us": setup.software_stage.map(|span| span.as_secs_f64() * 1e6),
            "settings": setup.settings,
        })
    });
    let sets = study.sets.iter().map(|(name, setups)| (name.clone(), json!(setups)));
    json!({
        "name": study.name, "title": study.title, "question": study.question,
        "drive": study.drive.name, "load": study.load.to_string(),
        "osds": study.cluster.osds, "copies": study.cluster.copies,
        "objects": study.steps.objects, "object_bytes": study.steps.object_size.get(),
        "baseline_s": study.steps.baseline.as_secs_f64(),
        "setups": setups.collect::<Vec<_>>(),
        "sets": sets.collect::<serde_json::Map<_, _>>(),
        "expects": study.expectations.iter().map(|claim| &claim.text).collect::<Vec<_>>(),
    })
}

pub(super) fn study_text(study: &Study) -> String {
    let steps = &study.steps;
    let mut text = format!("{}: {}\n\n{}\n\n", study.name, study.title, study.question);
    let lines = [
        ("drive", format!("{} ({})", study.drive.name, study.drive.model)),
        ("cluster", format!("{} OSDs, {} copies", study.cluster.osds, study.cluster.copies)),
        ("load", study.load.to_string()),
        (
            "steps",
            format!(
                "one OSD goes, {} objects of {} are written without it, it returns, and clients \
                 write until it is filled; the baseline writes {} alone",
                steps.objects, steps.object_size, steps.baseline
            ),
        ),
    ];
    for (name, value) in lines {
        writeln!(text, "{name:<9}{value}").expect("writing to a string");
    }
    for (name, setups) in &study.sets {
        writeln!(text, "set {name}: {}", setups.join(", ")).expect("writing to a string");
    }
    for claim in &study.expectations {
        writeln!(text, "expects: {}", claim.text).expect("writing to a string");
    }
    let rows: Vec<[String; 5]> = study.setups.iter().map(setup_row).collect();
    let head = ["setup", "preset", "scheduler", "profile", "set for it"];
    text + "\n" + &show::table(head, &[1, 2, 3, 4], &rows)
}

fn setup_row(setup: &Setup) -> [String; 5] {
    let stored = setup.settings.iter().filter(|row| row.origin.starts_with("stored"));
    let own = stored.filter(|row| {
        let of_drive =
            ["osd_mclock_max_", "bluestore_throttle", "osd_op_queue", "osd_mclock_profile"];
        !of_drive.iter().any(|prefix| row.key.starts_with(prefix))
    });
    let own: Vec<String> = own.map(|row| format!("{}={}", row.key, row.value)).collect();
    [
        setup.name.clone(),
        setup.preset.to_owned(),
        setup.scheduler.to_owned(),
        setup.profile.clone().unwrap_or_else(|| "–".to_owned()),
        own.join(" "),
    ]
}
