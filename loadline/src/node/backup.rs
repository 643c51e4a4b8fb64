//! `loadline image diff` and `image backup`: what has changed between two snapshots, and copies of snapshots that are brought on by it.

use super::nbd::{BlockQuestion, Export, ExportError};
use super::reach::NodeArgs;
use super::size;
use crate::failure::Failure;
use crate::show;
use loadline_host::admin::api::{Command, SnapshotName, Snapshots};
use loadline_host::{read_text, why, write_whole};
use serde_json::json;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// A copy came to nothing: by the node, or by the file.
enum CopyFailure {
    Export(ExportError),
    File(io::Error),
}

impl From<ExportError> for CopyFailure {
    fn from(error: ExportError) -> CopyFailure {
        CopyFailure::Export(error)
    }
}

/// What may be other in one snapshot than in an older one.
pub(super) fn diff(node: &NodeArgs, from: &SnapshotName, to: &SnapshotName) -> Result<(), Failure> {
    if from.image != to.image {
        return Err(Failure::Input(format!(
            "{from} and {to} are of different images, which are not compared"
        )));
    }
    let mut export = open(node, to, BlockQuestion::ChangesSince(&from.snapshot))?;
    let extents = export.extents().map_err(|error| of_export(to, &error))?;
    let changed_bytes: u64 = extents.iter().map(|(_, length)| length).sum();
    if node.json() {
        let extent = |(offset, length): (u64, u64)| json!({ "offset": offset, "length": length });
        return show::json(&json!({
            "image": to.image,
            "from": from.snapshot,
            "to": to.snapshot,
            "size_bytes": export.bytes,
            "changed_bytes": changed_bytes,
            "extents": extents.into_iter().map(extent).collect::<Vec<_>>(),
        }));
    }
    let rows: Vec<[String; 2]> =
        extents.iter().map(|(offset, length)| [offset.to_string(), size(*length)]).collect();
    let table = match rows.is_empty() {
        true => String::new(),
        false => show::table(["from byte", "changed"], &[], &rows),
    };
    show::text(&format!("{table}{} of {} may be other\n", size(changed_bytes), size(export.bytes)))
}

/// Copies a snapshot to a new raw file, or brings one that is a copy of an older snapshot on.
pub(super) fn backup(
    node: &NodeArgs,
    name: &SnapshotName,
    path: &Path,
    since: Option<&str>,
) -> Result<(), Failure> {
    if let Some(since) = since.filter(|_| matches!(path.try_exists(), Ok(false))) {
        return Err(Failure::Input(format!(
            "--since {since}: there is no {}: it takes the copy of that older snapshot at that file, and what has changed since is written to it; \
             leave it out for a whole copy",
            path.display()
        )));
    }
    let question = since.map_or(BlockQuestion::Data, BlockQuestion::ChangesSince);
    let mut export = open(node, name, question)?;
    let extents = export.extents().map_err(|error| of_export(name, &error))?;
    let label = path.with_added_extension("is");
    let says = read_text(&label).unwrap_or_default();
    let says = says.trim_end();
    let (whole, _) = identity(node, name)?;
    let unfinished = match since {
        None if says.starts_with("unfinished: ") && path.exists() => {
            let (path, label) = (path.display(), label.display());
            return Err(Failure::Input(format!(
                "{path} is a copy that was not finished, as {label} says: remove both, or name another file"
            )));
        }
        None => format!("unfinished: {whole}"),
        Some(since) => {
            let older = SnapshotName { image: name.image.clone(), snapshot: since.to_owned() };
            let (older, bytes) = identity(node, &older)?;
            let unfinished = format!("{older}, unfinished: {whole}");
            if ![&older, &unfinished].iter().any(|label| **label == says) {
                return Err(Failure::Input(no_copy(path, &label, says, &older)));
            }
            // One that was begun may have its new size already.
            let sizes = if says == unfinished { [bytes, export.bytes] } else { [bytes; 2] };
            check_length(path, &older, sizes)?;
            unfinished
        }
    };
    let file = match since {
        None => File::options().write(true).create_new(true).open(path),
        Some(_) => File::options().write(true).open(path),
    };
    let file = file.map_err(|error| Failure::unwritable(path, &error))?;
    let unwritable = |error: &io::Error| Failure::unwritable(path, error);
    let say = |text: &str| {
        let written = write_whole(&label, format!("{text}\n"));
        written.map_err(|error| Failure::unwritable(&label, &error))
    };
    let copy = || -> Result<u64, Failure> {
        say(&unfinished)?;
        file.set_len(export.bytes).map_err(|error| unwritable(&error))?;
        let mut written_bytes = 0;
        for extent in extents {
            written_bytes += extent.1;
            let write = |at, bytes: &[u8]| file.write_all_at(bytes, at).map_err(CopyFailure::File);
            export.read(extent, write).map_err(|failure| match failure {
                CopyFailure::Export(error) => of_export(name, &error),
                CopyFailure::File(error) => unwritable(&error),
            })?;
        }
        file.sync_all().map_err(|error| unwritable(&error))?;
        say(&whole)?;
        Ok(written_bytes)
    };
    let written_bytes = copy().inspect_err(|_| {
        if since.is_none() {
            // A new copy that came to nothing is of no use, and would be in the next one's way.
            let _ = fs::remove_file(path);
            let _ = fs::remove_file(&label);
        }
    })?;
    if node.json() {
        let done = json!({ "size_bytes": export.bytes, "written_bytes": written_bytes });
        return show::json(&done);
    }
    let shown = path.display();
    show::text(&format!("{shown} is {name}; {} were written\n", size(written_bytes)))
}

/// What was cut, or has grown, is no copy any more, whatever its label says: what it lacks would be zeros in the newer one.
fn check_length(path: &Path, older: &str, sizes: [u64; 2]) -> Result<(), Failure> {
    let found = fs::metadata(path).map_err(|error| Failure::unwritable(path, &error))?;
    if !found.is_file() || sizes.contains(&found.len()) {
        return Ok(());
    }
    let (shown, is, wanted) = (path.display(), size(found.len()), size(sizes[0]));
    Err(Failure::Input(format!(
        "{shown} has {is}, and a copy of {older} has {wanted}: something else has changed it; make a whole copy"
    )))
}

/// What a copy of a snapshot is labelled by, and how long it is. A name may be given anew, a number is not; each counts inside the next: the snapshot's, the image's
/// and the cluster's.
fn identity(node: &NodeArgs, name: &SnapshotName) -> Result<(String, u64), Failure> {
    let all: Snapshots =
        node.connect()?.ask(&Command::SnapshotList { image: name.image.clone() })?;
    let found = all.snapshots.iter().find(|row| row.name == name.snapshot);
    let found = found.ok_or_else(|| Failure::Input(format!("there is no {name}")))?;
    let Snapshots { image_id, cluster_id, .. } = &all;
    let label = format!("{name} (image {image_id} of cluster {cluster_id}, snapshot {})", found.id);
    Ok((label, found.size_bytes))
}

/// Why a file is not brought on from an older snapshot.
fn no_copy(path: &Path, label: &Path, says: &str, older: &str) -> String {
    let (path, label) = (path.display(), label.display());
    match says {
        "" => format!(
            "nothing says that {path} is a copy of {older}: a backup writes that into {label}; make a whole copy"
        ),
        says => format!("{path} is a copy of {says}, as {label} says, and not of {older}"),
    }
}

fn open<'a>(
    node: &NodeArgs,
    name: &SnapshotName,
    question: BlockQuestion<'a>,
) -> Result<Export<'a>, Failure> {
    let nobody = || Failure::Environment("the node serves no NBD at a Unix socket".to_owned());
    let socket = node.place(|told| told.nbd)?.ok_or_else(nobody)?;
    Export::open(&socket, &name.to_string(), question).map_err(|error| match error {
        ExportError::Broken(error) => {
            Failure::refused(error.kind(), format!("{}: {}", socket.display(), why(&error)))
        }
        error => of_export(name, &error),
    })
}

/// Why an export could not be read.
fn of_export(name: &SnapshotName, error: &ExportError) -> Failure {
    match error {
        ExportError::Unknown => Failure::Input(format!("there is no {name}")),
        ExportError::NoContext => Failure::Input(format!(
            "{name} can be compared with older snapshots of its image alone; `loadline image info {}` shows them",
            name.image
        )),
        ExportError::Refused(number) => Failure::Environment(format!(
            "{name}: the node refuses it with error {number}; was a snapshot removed meanwhile?"
        )),
        ExportError::Broken(error) => Failure::Environment(format!("{name}: {}", why(error))),
    }
}
