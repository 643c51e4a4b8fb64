//! Where the node is met beside its admin socket.

use crate::ListenAt;
use crate::admin::api::{AdminAnswer, NodePlaces};
use crate::engine::host_node::HostNode;
use std::path::{Path, PathBuf, absolute};

impl HostNode {
    pub(super) fn places(&self) -> AdminAnswer {
        let admin = in_the_file_system(&self.config.admin);
        let folder = admin.and_then(Path::parent).unwrap_or(Path::new("/"));
        let nbd = self.config.nbd.at.iter().find_map(in_the_file_system);
        let page = self.config.page.as_ref().map(|page| page.token_file.as_path());
        AdminAnswer::Places(NodePlaces {
            nbd: nbd.map(|path| seen_from(folder, path)),
            page: page.map(|path| seen_from(folder, path)),
        })
    }
}

fn in_the_file_system(at: &ListenAt) -> Option<&Path> {
    match at {
        ListenAt::Unix(path) => Some(path),
        ListenAt::Tcp(_) => None,
    }
}

/// A path as it goes on from a folder, or the whole of it where it lies elsewhere. Both may be relative to where the node was started.
fn seen_from(folder: &Path, path: &Path) -> String {
    let whole =
        |path: &Path| absolute(Path::new(".").join(path)).unwrap_or_else(|_| PathBuf::from(path));
    let (folder, path) = (whole(folder), whole(path));
    path.strip_prefix(&folder).unwrap_or(&path).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_told_so_that_it_holds_elsewhere() {
        let seen = |folder: &str, path: &str| seen_from(Path::new(folder), Path::new(path));
        assert_eq!(seen("/srv/node", "/srv/node/nbd.sock"), "nbd.sock");
        assert_eq!(seen("node", "node/doors/nbd.sock"), "doors/nbd.sock");
        assert_eq!(seen("/run/x", "/srv/node/nbd.sock"), "/srv/node/nbd.sock");
        assert!(seen("/run/x", "node/nbd.sock").starts_with('/'));
        // The admin socket's folder may be the one in which the node was started.
        assert_eq!(seen("", "nbd.sock"), "nbd.sock");
    }
}
