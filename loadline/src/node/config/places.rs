//! What this machine has at the places that a node is to take: asked before the node's folder and disks are made, which a refusal would
//! leave behind.

use super::meant::{FieldFault, typed_path};
use super::node_config::{DISKS_FILE, NodeConfig};
use loadline_base::in_short;
use loadline_host::{FormerDisks, check_socket_path, plain_path};
use std::path::Path;

/// The same node, if its sockets can stand where they are to be, and a new one has all that it begins with.
pub(super) fn check_places(config: NodeConfig) -> Result<NodeConfig, FieldFault> {
    let sockets = [("unix", &config.nbd_unix), ("admin", &config.admin)];
    for (field, path) in sockets {
        check_socket(&config.dir, path).map_err(|reason| FieldFault::new(field, reason))?;
    }
    for spec in &config.vhost {
        check_socket(&config.dir, &spec.path)
            .map_err(|reason| FieldFault::at("vhost", &spec.image, reason))?;
    }
    // Of a node that has been, a disk may be missing: it has failed. Where all are, its engine tells what they were.
    let has_been = FormerDisks::read(&config.dir.join(DISKS_FILE)).count() > 0;
    let is_gone = |path: &Path| is_missing(path) && is_missing(&plain_path(path));
    if !has_been && config.osds.iter().all(|osd| is_gone(&osd.path)) {
        check_new(&config)?;
    }
    Ok(config)
}

/// Whether nothing is there. A path through the node's folder leads nowhere until that is made, which is why it is asked without dots, too.
fn is_missing(path: &Path) -> bool {
    matches!(path.try_exists(), Ok(false))
}

/// Whether a socket can stand at a path, with the node's folder made where it is missing.
fn check_socket(dir: &Path, path: &Path) -> Result<(), String> {
    let (shown, dir, place) = (path.display(), plain_path(dir), plain_path(path));
    if dir.starts_with(&place) {
        return Err(format!("{shown} is a folder; it takes a socket's path, such as `nbd.sock`"));
    }
    check_socket_path(path, Some(&dir)).map_err(|refused| refused.to_string())
}

/// Whether a node of which no disk is there yet has what it is to begin with. One that is to make no disk at all is told so by its engine.
fn check_new(config: &NodeConfig) -> Result<(), FieldFault> {
    let sizeless = config.osds.iter().find(|osd| osd.size.is_none());
    if let Some(osd) = sizeless.filter(|_| config.osds.iter().any(|osd| osd.size.is_some())) {
        let typed = typed_path(osd, &config.dir);
        let reason = format!("{typed} is not there and has no size");
        return Err(FieldFault::at("osds", &typed, reason));
    }
    let is_made = |name: &str| config.images.iter().any(|image| image.name == name);
    match config.vhost.iter().find(|spec| !is_made(&spec.image)) {
        None => Ok(()),
        Some(spec) => {
            let name = &spec.image;
            let shown = in_short(name);
            let reason =
                format!("a new node has no image `{shown}`; `images`, or --image, makes it one");
            Err(FieldFault::at("vhost", name, reason))
        }
    }
}
