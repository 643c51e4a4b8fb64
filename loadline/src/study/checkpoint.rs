//! What `loadline study show` says of a checkpoint study.

use crate::show;
use loadline_study::CheckpointStudy;
use serde_json::json;
use std::fmt::Write;

pub(super) fn study_json(study: &CheckpointStudy) -> serde_json::Value {
    let setups = study.setups.iter().map(|setup| {
        json!({
            "name": setup.name,
            "protection": setup.protection.to_string(),
            "log_mode": setup.log_mode.to_string(),
            "compression": setup.compression.to_string(),
            "throttle": setup.throttle.to_string(),
        })
    });
    let sets = study.sets.iter().map(|(name, setups)| (name.clone(), json!(setups)));
    let work = &study.work;
    json!({
        "name": study.name, "title": study.title, "question": study.question,
        "drive": study.drive_name, "load": study.load.to_string(), "scale": work.scale,
        "keys": work.keys, "filled": work.filled, "period_s": work.period.as_secs_f64(),
        "warm_up": work.warm_up, "periods": work.periods,
        "setups": setups.collect::<Vec<_>>(),
        "sets": sets.collect::<serde_json::Map<_, _>>(),
    })
}

pub(super) fn study_text(study: &CheckpointStudy) -> String {
    let work = &study.work;
    let mut text = format!("{}: {}\n\n{}\n\n", study.name, study.title, study.question);
    let lines = [
        ("drive", format!("{} ({})", study.drive_name, study.drive.model)),
        ("load", study.load.to_string()),
        (
            "steps",
            format!(
                "a store is filled with {} of {} keys, clients put for {} checkpoint periods of {} \
                 and are measured for {} more; keys, memory, log and period are all times {}",
                work.filled, work.keys, work.warm_up, work.period, work.periods, work.scale
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
                setup.protection.to_string(),
                setup.log_mode.to_string(),
                setup.compression.to_string(),
                setup.throttle.to_string(),
            ]
        })
        .collect();
    let head = ["setup", "protection", "log mode", "compression", "throttle"];
    text + "\n" + &show::table(head, &[1, 2, 3, 4], &rows)
}
