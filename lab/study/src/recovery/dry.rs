//! What a real run would do, in words, before anything is written.

use super::study::RecoveryStudy;
use crate::job::Job;
use crate::on_ceph;
use loadline_base::Bytes;
use loadline_testbed::{CephTestPlace, ClientKind, HostPlace, HostedSpec, fio_jobs};
use std::fmt::Write;

fn images(spec: &HostedSpec) -> String {
    let sizes: Vec<String> = spec.images.iter().map(|image| image.load.image.to_string()).collect();
    sizes.join(" and ")
}

/// The runs, their disks and steps, and fio's jobs if it is the client.
pub(super) fn describe(study: &RecoveryStudy, place: &HostPlace, jobs: &[Job]) -> String {
    let Some(first) = jobs.first() else { return String::new() };
    let spec = study.hosted(place, &study.setups[first.setup], first);
    let names: Vec<&str> = jobs.iter().map(|job| study.setups[job.setup].name()).collect();
    let objects = study.objects(study.steps.scale);
    let all = Bytes::new(spec.osd_size.get() * u64::from(spec.osds));
    let lines = [
        ("runs", format!("{}: {}", jobs.len(), names.join(", "))),
        ("disks", format!("{} ({} each, {all} in all)", place.disks, spec.osd_size)),
        (
            "image",
            format!("{}, {} copies, written once before the run", images(&spec), spec.copies),
        ),
        (
            "recovery",
            format!("{objects} objects of {} written while an OSD is out", spec.object_size),
        ),
        ("baseline", format!("{} of load without recovery", study.steps.baseline)),
        ("load", study.loads()),
        ("clients", place.client.to_string()),
    ];
    let mut text = String::new();
    for (name, value) in lines {
        writeln!(text, "{name:<10}{value}").expect("writing to a string");
    }
    if let ClientKind::Fio = place.client {
        let [filling, load] = fio_jobs(&spec);
        write!(
            text,
            "\nfio writes each image once:\n{filling}\nand is the load until recovery has ended:\n{load}"
        )
        .expect("writing to a string");
    }
    text
}

/// The cluster, what is in the way, and what would be done there.
pub(super) fn describe_on_ceph(
    study: &RecoveryStudy,
    place: &CephTestPlace,
    jobs: &[Job],
) -> String {
    let Some(first) = jobs.first() else { return String::new() };
    let spec = study.on_ceph(place, &study.setups[first.setup]);
    let (copies, pgs, size) = (spec.copies, spec.pgs, study.steps.object_size);
    let away = match place.restart.as_ref().is_some_and(|hook| hook.can_stop()) {
        true => "stopped and out",
        false => "out, and runs on",
    };
    let lines = [
        ("pools", format!("two, of {pgs} groups and {copies} copies, labelled and deleted again")),
        (
            "recovery",
            format!(
                "{} objects of {size} written while {} is {away}; what returns moves as {}",
                study.objects(study.steps.scale),
                study.cluster.returning,
                place.found.backfill_class()
            ),
        ),
        ("baseline", format!("{} of load without recovery", study.steps.baseline)),
        ("load", study.loads()),
    ];
    let runs: Vec<_> = jobs.iter().map(|job| &study.setups[job.setup].osds).collect();
    on_ceph::describe(&spec, &lines, (&runs, &study.left_out))
}
