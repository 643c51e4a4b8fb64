//! What a command on an image is, as ops on its objects, whoever asks for it.

use super::host_node::HostNode;
use loadline_cluster::PoolId;
use loadline_cluster::images::{Piece, SnapshotId, View, split};
use loadline_osd::{Data, OpKind, SnapshotNo};
use loadline_store::ObjectNo;

/// An op of a command that is about to be issued.
#[derive(Debug)]
pub(super) struct NewOp {
    pub kind: OpKind,
    pub pool: PoolId,
    pub object: ObjectNo,
    pub offset: u32,
    pub length: u32,
    /// Where its bytes are in the command's.
    pub at: u64,
    pub data: Data,
}

/// How a view is read.
pub(super) fn read_of(view: &View) -> OpKind {
    match view.read_at {
        SnapshotId::HEAD => OpKind::Read,
        SnapshotId(snapshot) => OpKind::ReadAt(SnapshotNo(snapshot)),
    }
}

pub(super) fn op_on(view: &View, kind: OpKind, piece: Piece, data: Data) -> NewOp {
    let Piece { object, offset, length, at } = piece;
    NewOp { kind, pool: view.pool, object, offset, length, at, data }
}

impl HostNode {
    /// The ops on objects that carry out a command on an image.
    pub(super) fn ops_of(
        &self,
        view: &View,
        (offset, length): (u64, u64),
        kind: OpKind,
        bytes: Vec<u8>,
    ) -> Vec<NewOp> {
        let mut whole = Some(bytes);
        let mut data = |piece: &Piece| match kind {
            OpKind::Write => Data::new(part(&mut whole, piece, length)),
            _ => Data::NONE,
        };
        split(view, offset, length).map(|piece| op_on(view, kind, piece, data(&piece))).collect()
    }
}

/// The bytes of one piece: all of them without copying, if it is the only one.
fn part(whole: &mut Option<Vec<u8>>, piece: &Piece, length: u64) -> Vec<u8> {
    if u64::from(piece.length) == length {
        return whole.take().unwrap_or_default();
    }
    let bytes = whole.as_deref().unwrap_or_default();
    let from = piece.at as usize;
    bytes[from..from + piece.length as usize].to_vec()
}
