//! The superblock: the places, and which checkpoint the store stands at.

use super::{Inspector, Part, ShownValue};
use crate::paged::api::StoreDevice;
use crate::paged::check::ContentTotals;
use crate::paged::check::slots;
use crate::paged::options::Protection;
use crate::paged::superblock::{CheckpointState, Superblock};
use loadline_base::Bytes;

impl Inspector<'_> {
    /// The newest superblock, and what stands at each of the four places.
    pub fn superblock(&self) -> Vec<Part> {
        let superblock = &self.superblock;
        let mut parts = vec![
            Part::facts("store", store(superblock)),
            Part::table(
                "regions",
                &["region", "device", "first byte", "bytes", "size"],
                regions(superblock),
                0,
            ),
            Part::facts("completed", state(&superblock.completed)),
        ];
        if let Some(begun) = superblock.begun {
            let mut facts = state(&begun.state);
            facts.push(("protection", word(begun.protection).into()));
            facts.push(("images", begun.images.count.into()));
            facts.push(("image bytes", begun.images.bytes.into()));
            parts.push(Part::facts("begun", facts));
        }
        let rows = slots(self.devices).map(|slot| match slot.found {
            Ok(found) => vec![slot.offset.into(), found.sequence.into(), "whole".into()],
            Err(fault) => {
                vec![slot.offset.into(), ShownValue::Nothing, format!("{fault:?}").into()]
            }
        });
        parts.push(Part::table("superblocks", &["byte", "sequence", "state"], rows.into(), 0));
        parts
    }
}

fn store(superblock: &Superblock) -> Vec<(&'static str, ShownValue)> {
    let layout = &superblock.layout;
    vec![
        ("id", format!("{:016x}", superblock.store_id).into()),
        ("sequence", superblock.sequence.into()),
        ("protection", word(superblock.protection).into()),
        ("page bytes", (layout.page.bytes() as u64).into()),
        ("log block bytes", layout.block_bytes.into()),
        ("log segment bytes", layout.segment_bytes.into()),
        ("pages", layout.pages_count.into()),
    ]
}

fn regions(superblock: &Superblock) -> Vec<Vec<ShownValue>> {
    let layout = &superblock.layout;
    let page = layout.page.bytes() as u64;
    let row = |name: &str, target: StoreDevice, offset: u64, bytes: u64| -> Vec<ShownValue> {
        let device = if target == StoreDevice::Data { "data" } else { "log" };
        let size = Bytes::new(bytes).to_string();
        vec![name.into(), device.into(), offset.into(), bytes.into(), size.into()]
    };
    vec![
        row("log", layout.log_target, layout.log_offset, layout.log_bytes),
        row("recovery area", StoreDevice::Data, layout.recovery_offset, layout.recovery_bytes),
        row("free map", StoreDevice::Data, layout.map_first.0 * page, layout.map_pages * page),
        row("pages", StoreDevice::Data, layout.pages_first.0 * page, layout.pages_count * page),
    ]
}

fn state(state: &CheckpointState) -> Vec<(&'static str, ShownValue)> {
    vec![
        ("checkpoint", state.id.0.into()),
        ("log position", state.position.0.into()),
        ("chain", format!("{:08x}", state.chain).into()),
        ("root", state.root.page.0.into()),
        ("root's version", state.root.version.to_string().into()),
        (
            "digest of the free map",
            state.map.map_or(ShownValue::Nothing, |map| format!("{map:08x}").into()),
        ),
        ("levels", u64::from(state.height).into()),
    ]
}

fn word(protection: Protection) -> &'static str {
    match protection {
        Protection::Log => "log",
        Protection::Checkpoint => "checkpoint",
    }
}

/// What the checker counted.
pub fn totals(totals: &ContentTotals) -> Part {
    let rows = [
        ("users' keys", totals.keys),
        ("bytes of values", totals.value_bytes),
        ("objects", totals.objects),
        ("bytes of objects", totals.object_bytes),
        ("attributes", totals.attributes),
        ("extents", totals.extents),
        ("tree pages: inner", totals.inner_pages),
        ("tree pages: leaves", totals.leaf_pages),
        ("data pages", totals.data_pages),
        ("data pages shared", totals.shared_pages),
        ("free pages", totals.free_pages),
        ("log records", totals.log_records),
        ("log transactions", totals.log_transactions),
        ("log bytes", totals.log_bytes),
        ("images of the begun checkpoint", totals.images),
    ];
    let facts = rows.map(|(name, count)| (name, ShownValue::from(count)));
    Part::facts("totals", facts.into())
}
