//! Requests about images and their snapshots.

use super::{Asked, Method, Request};
use crate::admin::api::{ImageCommand, Refusal, SnapshotName};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Size {
    size_bytes: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Name {
    name: String,
}

pub(super) fn request(command: &ImageCommand) -> Request {
    use Method::{Delete, Get, Post, Put};
    match command {
        ImageCommand::List => Request::plain(Get, &["image"]),
        ImageCommand::Info(image) => Request::plain(Get, &["image", image]),
        ImageCommand::Create(asked) => Request::with(Post, &["image"], asked),
        ImageCommand::Resize(image, size) => {
            Request::with(Put, &["image", image, "size"], &Size { size_bytes: *size })
        }
        ImageCommand::Rename { image, name } => {
            Request::with(Put, &["image", image, "name"], &Name { name: name.clone() })
        }
        ImageCommand::Remove(image) => Request::plain(Delete, &["image", image]),
        ImageCommand::Clone { from, name } => {
            let path = ["image", &from.image, "snapshot", &from.snapshot, "clone"];
            Request::with(Post, &path, &Name { name: name.clone() })
        }
        ImageCommand::Snapshots(image) => Request::plain(Get, &["image", image, "snapshot"]),
        ImageCommand::Snapshot(name) => {
            Request::plain(Put, &["image", &name.image, "snapshot", &name.snapshot])
        }
        ImageCommand::RemoveSnapshot(name) => {
            Request::plain(Delete, &["image", &name.image, "snapshot", &name.snapshot])
        }
    }
}

pub(super) fn command(asked: &Asked<'_>, path: &[&str]) -> Result<ImageCommand, Refusal> {
    use Method::{Delete, Get, Post, Put};
    match (asked.method, path) {
        (Get, []) => asked.plain(ImageCommand::List),
        (Post, []) => asked.body().map(ImageCommand::Create),
        (Get, [image]) => asked.plain(ImageCommand::Info((*image).into())),
        (Delete, [image]) => asked.plain(ImageCommand::Remove((*image).into())),
        (Put, [image, "size"]) => {
            let Size { size_bytes } = asked.body()?;
            Ok(ImageCommand::Resize((*image).into(), size_bytes))
        }
        (Put, [image, "name"]) => {
            let Name { name } = asked.body()?;
            Ok(ImageCommand::Rename { image: (*image).into(), name })
        }
        (Get, [image, "snapshot"]) => asked.plain(ImageCommand::Snapshots((*image).into())),
        (Put, [image, "snapshot", name]) => {
            asked.plain(ImageCommand::Snapshot(snapshot(image, name)))
        }
        (Delete, [image, "snapshot", name]) => {
            asked.plain(ImageCommand::RemoveSnapshot(snapshot(image, name)))
        }
        (Post, [image, "snapshot", from, "clone"]) => {
            let Name { name } = asked.body()?;
            Ok(ImageCommand::Clone { from: snapshot(image, from), name })
        }
        _ => Err(asked.unknown()),
    }
}

fn snapshot(image: &str, snapshot: &str) -> SnapshotName {
    SnapshotName { image: image.to_owned(), snapshot: snapshot.to_owned() }
}
