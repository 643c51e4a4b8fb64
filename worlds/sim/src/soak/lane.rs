//! What is a lane's own in a store: its keys and its collection.

use loadline_store::CollectionId;

/// The key under which a lane counts its transactions.
pub(super) fn counter(lane: u32) -> Vec<u8> {
    format!("{lane:02}!").into_bytes()
}

/// What all keys of a lane begin with.
pub(super) fn prefix(lane: u32) -> Vec<u8> {
    format!("{lane:02}").into_bytes()
}

/// The collection of a lane's objects.
pub(super) fn collection(lane: u32) -> CollectionId {
    CollectionId::new(lane)
}
