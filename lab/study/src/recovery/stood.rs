//! What a result says about the disks and the doubts of real runs.

use crate::place::Place;
use crate::real_runs;
use crate::record::RunRecord;
use crate::recovery::study::RecoveryStudy;
use crate::result::{DriveSummary, NamedValue};

/// What all runs stood on, and what they did there.
pub(crate) fn drive_summary(study: &RecoveryStudy, records: &[&RunRecord]) -> DriveSummary {
    let mut own = vec![
        ("OSDs", study.cluster.osds.to_string()),
        ("Copies", study.cluster.copies.to_string()),
        ("Placement groups", format!("{} in each of two pools", study.cluster.pgs)),
        (
            "Objects written without the OSD",
            format!("{} of {}", study.objects(study.steps.scale), study.steps.object_size),
        ),
        ("Image of the clients", format!("{}, written before the run", study.load.image)),
    ];
    let options = study.setups.first().map(|setup| setup.osds.options());
    if let Some(options) = options.filter(|_| !matches!(study.place, Place::Ceph(_))) {
        own.push(("Store window", options.window.bytes.to_string()));
    }
    let own = own.into_iter().map(NamedValue::from).collect();
    real_runs::drive_summary(&study.place, records, own)
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
