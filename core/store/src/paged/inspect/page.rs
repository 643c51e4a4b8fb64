//! One page: its header and cells, or its bytes.

use super::{Body, InspectTrouble, Inspector, Part, ShownValue, describe};
use crate::paged::ids::{Child, PageNo};
use crate::paged::node::{self, TreeNode};
use crate::paged::page::{self, PageFault, PageKind};

impl Inspector<'_> {
    /// What a page holds. A page of object data has no header and shows as bytes; so does a damaged one.
    pub fn page(&self, number: PageNo) -> Result<Vec<Part>, InspectTrouble> {
        let bytes = self.page_bytes(number)?;
        let wanted = Child::of_any_version(number);
        let verdict = page::verify(&bytes, self.superblock.seed(), wanted);
        let offset = self.superblock.layout.page.offset(number);
        let words = match verdict {
            Ok(kind) => format!("{kind:?}"),
            Err(PageFault::Checksum) => "object data, free, or damaged".to_owned(),
            Err(PageFault::Misplaced(other)) => format!("a copy of {other}"),
            Err(PageFault::Stale(_) | PageFault::Unknown) => "unknown".to_owned(),
        };
        let mut facts: Vec<(_, ShownValue)> = vec![
            ("number", number.0.into()),
            ("first byte", offset.into()),
            ("kind", words.into()),
            ("checksum", format!("{:08x}", crc32c::crc32c(&bytes)).into()),
        ];
        match verdict {
            Ok(PageKind::FreeMap) => {
                facts.push(("checkpoint", page::writer(&bytes).0.into()));
                let map = &bytes[page::HEADER..];
                let used = map.iter().map(|byte| u64::from(byte.count_ones())).sum::<u64>();
                facts.extend([
                    ("used bits", used.into()),
                    ("free bits", (8 * map.len() as u64 - used).into()),
                ]);
                let dump = Part { name: "bytes", body: Body::Bytes(bytes) };
                Ok(vec![Part::facts("page", facts), dump])
            }
            Ok(_) if node::check(&bytes).is_ok() => {
                let node = TreeNode::new(&bytes);
                facts.extend([
                    ("checkpoint", page::writer(&bytes).0.into()),
                    ("cells", u64::from(node.count()).into()),
                    ("free bytes", (node.free() as u64).into()),
                ]);
                Ok(vec![Part::facts("page", facts), cells(node)])
            }
            _ => {
                let dump = Part { name: "bytes", body: Body::Bytes(bytes) };
                Ok(vec![Part::facts("page", facts), dump])
            }
        }
    }
}

fn cells(node: TreeNode<'_>) -> Part {
    let row = |at: u16| -> Vec<ShownValue> {
        let value = match node.is_leaf() {
            true => describe::bytes(node.value(at)),
            false => node.child(at).to_string(),
        };
        let bytes = node.value(at).len() as u64;
        vec![u64::from(at).into(), describe::key(node.key(at)).into(), bytes.into(), value.into()]
    };
    let rows = (0..node.count()).map(row).collect();
    Part::table("cells", &["cell", "key", "bytes", "value"], rows, 0)
}
