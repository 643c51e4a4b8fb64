//! What makes the figures of runs on a real machine doubtful, whichever kind of study they are of.

use crate::place::Place;
use crate::record::RunRecord;
use crate::result::{DriveSummary, NamedValue};
use loadline_testbed::MachineFacts;

/// What all runs stood on: the first one's words, where the runs differ every one's; then the study's `own` facts.
pub(crate) fn drive_summary(
    place: &Place,
    records: &[&RunRecord],
    own: Vec<NamedValue>,
) -> DriveSummary {
    let stood: Vec<&MachineFacts> =
        records.iter().filter_map(|record| record.real.as_ref()).collect();
    let first = stood.first().into_iter().flat_map(|first| &first.facts);
    let known = first.map(|known| (known.name.as_str(), values(&stood, &known.name)).into());
    let capacities = ("Capacity that mClock was given", capacities(&stood)).into();
    let is_ceph = matches!(place, Place::Ceph(_));
    DriveSummary {
        name: if is_ceph { "a Ceph cluster" } else { "real files" }.to_owned(),
        model: facts_named(&stood, "Drive").unwrap_or_else(|| "unknown".to_owned()),
        calibration: "Nothing was calibrated: the disks are real, and time is this machine's."
            .to_owned(),
        facts: known.chain([capacities]).chain(own).collect(),
    }
}

fn facts_named(stood: &[&MachineFacts], name: &str) -> Option<String> {
    let first = stood.first()?.facts.iter().find(|fact| fact.name == name)?;
    Some(first.value.clone())
}

/// The different values of a fact, in the order of the runs.
fn values(stood: &[&MachineFacts], name: &str) -> String {
    let mut found: Vec<&str> = Vec::new();
    for fact in stood.iter().flat_map(|real| &real.facts).filter(|fact| fact.name == name) {
        if !found.contains(&fact.value.as_str()) {
            found.push(&fact.value);
        }
    }
    found.join("; in other runs ")
}

/// The span of the OSDs' capacities over all runs: each run has new disks and may measure them anew.
fn capacities(stood: &[&MachineFacts]) -> String {
    let mut all: Vec<f64> = stood.iter().flat_map(|real| real.capacities.clone()).collect();
    all.sort_by(f64::total_cmp);
    match (all.first(), all.last()) {
        (Some(least), Some(most)) if least == most => format!("{least:.0} IOPS for each OSD"),
        (Some(least), Some(most)) => {
            format!("{least:.0} to {most:.0} IOPS, over all OSDs and runs")
        }
        _ => "unknown".to_owned(),
    }
}

/// All of it: what the machine's facts note, and other work beside.
pub(crate) fn doubts(records: &[&RunRecord]) -> Vec<String> {
    notes(records).into_iter().chain(busy(records)).collect()
}

/// What the machine's facts note, each once.
fn notes(records: &[&RunRecord]) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for note in
        records.iter().filter_map(|record| record.real.as_ref()).flat_map(|real| &real.notes)
    {
        if !notes.contains(note) {
            notes.push(note.clone());
        }
    }
    notes
}

/// Load of the machine, in tasks per core, from which on it is not ours alone.
const BUSY: f64 = 1.0;

/// That something else ran beside, if it did.
fn busy(records: &[&RunRecord]) -> Option<String> {
    let loads = records.iter().filter_map(|record| record.real.as_ref()?.load_before);
    let busy: Vec<f64> = loads.filter(|load| *load > BUSY).collect();
    let most = busy.iter().copied().max_by(f64::total_cmp)?;
    Some(format!(
        "Other work kept the machine busy before {} of {} runs (up to {most:.1} tasks per core); stop it and run again \
         before trusting small differences.",
        busy.len(),
        records.len()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_told_once_and_other_work_with_its_figures() {
        let run = |load_before, note: &str| {
            let notes = vec![note.to_owned()];
            RunRecord {
                real: Some(MachineFacts { load_before, notes, ..MachineFacts::default() }),
                ..RunRecord::default()
            }
        };
        let [quiet, busy, unknown] =
            [(Some(0.9), "a"), (Some(2.5), "b"), (None, "a")].map(|(load, note)| run(load, note));
        assert_eq!(doubts(&[&quiet, &unknown]), ["a"]);
        let said = doubts(&[&quiet, &busy, &unknown]);
        assert_eq!(said[..2], ["a", "b"]);
        assert!(said[2].contains("before 1 of 3 runs (up to 2.5 tasks per core)"), "{said:?}");
    }
}
