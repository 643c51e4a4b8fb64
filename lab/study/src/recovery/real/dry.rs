//! What a real run would do, in words, before anything is written.

use super::ground::folder_of;
use super::work::RealWork;
use super::{fio, node};
use crate::place::{ClientKind, HostPlace};
use crate::plan::Job;
use crate::recovery::study::RecoveryStudy;
use std::fmt::Write;
use std::path::Path;

/// The runs, their disks and steps, and fio's jobs if it is the client.
pub(crate) fn describe(study: &RecoveryStudy, place: &HostPlace, jobs: &[Job]) -> String {
    let work = RealWork::of(study);
    let recovered = work.objects;
    let names: Vec<&str> = jobs.iter().map(|job| study.setups[job.setup].name()).collect();
    let lines = [
        ("runs", format!("{}: {}", jobs.len(), names.join(", "))),
        (
            "disks",
            format!("{} ({} each, {} in all)", place.disks, work.osd_size, work.disk_bytes()),
        ),
        (
            "image",
            format!("{}, {} copies, written once before the run", work.image, study.cluster.copies),
        ),
        (
            "recovery",
            format!("{recovered} objects of {} written while an OSD is out", work.object_size),
        ),
        ("baseline", format!("{} of load without recovery", work.baseline)),
        ("load", study.load.to_string()),
        ("clients", place.client.to_string()),
    ];
    let mut text = String::new();
    for (name, value) in lines {
        writeln!(text, "{name:<10}{value}").expect("writing to a string");
    }
    if let ClientKind::Fio = place.client {
        let socket = folder_of(&place.disks).join("nbd.sock");
        text += &jobs_of_fio(study, &work, &socket);
    }
    text
}

fn jobs_of_fio(study: &RecoveryStudy, work: &RealWork, socket: &Path) -> String {
    let load = fio::load(&study.load).unwrap_or_else(|reason| reason);
    format!(
        "\nfio writes image {} once:\n{}\nand is the load until recovery has ended:\n{}",
        node::IMAGE,
        fio::file(&fio::filling(work), socket),
        fio::file(&load, socket)
    )
}
