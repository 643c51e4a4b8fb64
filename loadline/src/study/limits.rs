//! What `loadline study show` says of a limits study.

use crate::show;
use loadline_study::LimitsStudy;
use serde_json::json;
use std::fmt::Write;

pub(super) fn study_json(study: &LimitsStudy) -> serde_json::Value {
    let setups = study.setups.iter().map(|setup| {
        json!({
            "name": setup.name, "preset": setup.preset, "scheduler": setup.scheduler,
            "profile": setup.profile, "limit": setup.limit, "window": setup.window,
            "settings": setup.settings,
        })
    });
    let sets = study.sets.iter().map(|(name, setups)| (name.clone(), json!(setups)));
    let steps = &study.steps;
    json!({
        "name": study.name, "title": study.title, "question": study.question,
        "drive": study.drive.name, "client": study.client.to_string(),
        "background": study.background.to_string(),
        "ramp_s": steps.ramp.as_secs_f64(), "measured_s": steps.measured.as_secs_f64(),
        "setups": setups.collect::<Vec<_>>(),
        "sets": sets.collect::<serde_json::Map<_, _>>(),
    })
}

pub(super) fn study_text(study: &LimitsStudy) -> String {
    let steps = &study.steps;
    let mut text = format!("{}: {}\n\n{}\n\n", study.name, study.title, study.question);
    let guidelines = loadline_osd::guidelines(&study.limits);
    let guidelines: Vec<String> =
        guidelines.map(|(index, guideline)| format!("{index}: {guideline}")).collect();
    let lines = [
        ("drive", format!("{} ({})", study.drive.name, study.drive.model)),
        ("client", study.client.to_string()),
        ("beside", format!("{}, class background_best_effort", study.background)),
        ("limits", guidelines.join(", ")),
        (
            "steps",
            format!(
                "both load one OSD; after {} they are measured for {}",
                steps.ramp, steps.measured
            ),
        ),
    ];
    for (name, value) in lines {
        writeln!(text, "{name:<9}{value}").expect("writing to a string");
    }
    for (name, setups) in &study.sets {
        writeln!(text, "set {name}: {}", setups.join(", ")).expect("writing to a string");
    }
    let rows: Vec<[String; 5]> = study
        .setups
        .iter()
        .map(|setup| {
            [
                setup.name.clone(),
                setup.scheduler.to_owned(),
                setup.profile.clone().unwrap_or_default(),
                setup.limit.clone().unwrap_or_else(|| "none".to_owned()),
                setup.window.to_string(),
            ]
        })
        .collect();
    let head = ["setup", "scheduler", "profile", "client's limit", "at the drive"];
    text + "\n" + &show::table(head, &[1, 2, 3], &rows)
}
