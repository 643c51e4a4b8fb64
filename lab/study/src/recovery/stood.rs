//! What a result says about the disks and the doubts of real runs.

use crate::place::Place;
use crate::real_runs;
use crate::record::RunRecord;
use crate::recovery::study::RecoveryStudy;
use crate::result::{DriveSummary, NamedValue};
use loadline_testbed::MachineFacts;

/// What all runs stood on: the first one's words, where the runs differ every one's.
pub(crate) fn drive_summary(study: &RecoveryStudy, records: &[&RunRecord]) -> DriveSummary {
    let stood: Vec<&MachineFacts> =
        records.iter().filter_map(|record| record.real.as_ref()).collect();
    let options = study.setups.first().map(|setup| setup.osds.options());
    let fact = |name: &str, value: String| NamedValue { name: name.to_owned(), value };
    let mut facts = Vec::new();
    for known in stood.first().into_iter().flat_map(|first| &first.facts) {
        facts.push(fact(&known.name, values(&stood, &known.name)));
    }
    facts.extend([
        fact("Capacity that mClock was given", capacities(&stood)),
        fact("OSDs", study.cluster.osds.to_string()),
        fact("Copies", study.cluster.copies.to_string()),
        fact("Placement groups", format!("{} in each of two pools", study.cluster.pgs)),
        fact(
            "Objects written without the OSD",
            format!("{} of {}", study.objects(study.steps.scale), study.steps.object_size),
        ),
        fact("Image of the clients", format!("{}, written before the run", study.load.image)),
    ]);
    let is_ceph = matches!(study.place, Place::Ceph(_));
    let options = options.filter(|_| !is_ceph);
    facts.extend(options.map(|options| fact("Store window", options.window.bytes.to_string())));
    DriveSummary {
        name: if is_ceph { "a Ceph cluster" } else { "real files" }.to_owned(),
        model: facts_named(&stood, "Drive").unwrap_or_else(|| "unknown".to_owned()),
        calibration: "Nothing was calibrated: the disks are real, and time is this machine's."
            .to_owned(),
        facts,
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

/// What a reader must know, each once; `compares` says whether published figures stand beside ours.
pub(crate) fn warnings(records: &[&RunRecord], compares: bool) -> Vec<String> {
    let published = "The published figures come from other hardware and other software; they stand beside these for \
                     orientation, and none of them is claimed to be reproduced: compare the setups with each other.";
    let mut warnings = vec!["This ran on real disks in real time.".to_owned()];
    if compares {
        warnings[0] += &format!(" {published}");
    }
    warnings.extend(real_runs::doubts(records));
    warnings.extend(short(records));
    warnings
}

/// A recovery shorter than this ends before queues and checkpoints have settled.
const SHORT_S: f64 = 5.0;

fn short(records: &[&RunRecord]) -> Option<String> {
    let seconds = records.iter().filter_map(|record| record.counted.get("recovery/seconds"));
    let shortest = seconds.min_by(f64::total_cmp).filter(|seconds| *seconds < SHORT_S)?;
    Some(format!(
        "The shortest recovery lasted {shortest:.1} s, too little for a steady state; take a larger --set scale before \
         arguing with rates and latencies."
    ))
}
