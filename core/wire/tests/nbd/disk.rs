//! A toy owner: three exports, and a disk of 64 KiB in memory that knows which of its blocks were written.

use loadline_wire::nbd::{
    ChangeExtent, CommandKind, ExportCommand, ExportId, ExportInfo, ExportName, Exports, ReadPiece,
    ReplyPayload, StatusExtent,
};

const BLOCK: usize = 4096;
pub(crate) const SIZE: usize = 16 * BLOCK;

/// `disk` (also the default) has everything, `tape` is read-only and rotates, `huge` is 2^64 - 1 bytes long.
pub(crate) struct Shop;

impl Exports for Shop {
    fn list(&self) -> Vec<ExportName> {
        let name = |name: &str, description: &str| ExportName {
            name: name.into(),
            description: description.into(),
        };
        vec![name("disk", ""), name("tape", "slow and safe"), name("huge", "")]
    }

    /// The tape is compared with itself on two days.
    fn comparable(&self, export: ExportId) -> Vec<(String, ExportId)> {
        let days = [("monday".to_owned(), ExportId(21)), ("tuesday".to_owned(), ExportId(22))];
        if export == ExportId(2) { days.into() } else { Vec::new() }
    }

    fn find(&self, name: &str) -> Option<ExportInfo> {
        let disk = ExportInfo {
            id: ExportId(1),
            name: "disk".into(),
            description: String::new(),
            size: SIZE as u64,
            preferred_block: 4096,
            read_only: false,
            rotational: false,
            multi_conn: true,
            cache: true,
            fast_zero: true,
        };
        let tape = ExportInfo {
            id: ExportId(2),
            name: "tape".into(),
            description: "slow and safe".into(),
            read_only: true,
            rotational: true,
            multi_conn: false,
            cache: false,
            ..disk.clone()
        };
        match name {
            "" | "disk" => Some(disk),
            "tape" => Some(tape),
            "huge" => Some(ExportInfo {
                id: ExportId(3),
                name: "huge".into(),
                size: u64::MAX,
                fast_zero: false,
                cache: false,
                ..disk
            }),
            _ => None,
        }
    }
}

/// The disk behind the exports.
pub(crate) struct Disk {
    bytes: Vec<u8>,
    written: [bool; SIZE / BLOCK],
}

impl Disk {
    pub(crate) fn new() -> Disk {
        Disk { bytes: vec![0; SIZE], written: [false; SIZE / BLOCK] }
    }

    /// Carries out a command whose range lies inside the disk.
    pub(crate) fn carry_out(&mut self, command: &ExportCommand) -> ReplyPayload {
        let start = command.offset as usize;
        let range = start..start + command.length as usize;
        match &command.kind {
            CommandKind::Read => return self.read(range.start, range.end),
            CommandKind::Write(data) => {
                assert_eq!(data.len(), range.len(), "the whole payload arrives");
                self.written[start / BLOCK..range.end.div_ceil(BLOCK)].fill(true);
                self.bytes[range].copy_from_slice(data);
            }
            CommandKind::Trim | CommandKind::WriteZeroes { .. } => {
                let (first, end) = (start.div_ceil(BLOCK), range.end / BLOCK);
                if first < end {
                    self.written[first..end].fill(false);
                }
                self.bytes[range].fill(0);
            }
            CommandKind::BlockStatus { since: Some(_), .. } => {
                let whole = ChangeExtent { length: command.length, is_changed: true };
                return ReplyPayload::Changes(vec![whole]);
            }
            CommandKind::BlockStatus { .. } => {
                let extent = |(from, to, written): (usize, usize, bool)| StatusExtent {
                    length: (to - from) as u32,
                    hole: !written,
                    zero: !written,
                };
                let runs = self.runs(range.start, range.end);
                return ReplyPayload::Extents(runs.into_iter().map(extent).collect());
            }
            CommandKind::Flush | CommandKind::Cache => {}
        }
        ReplyPayload::Done
    }

    fn read(&self, start: usize, end: usize) -> ReplyPayload {
        let runs = self.runs(start, end);
        if let [(_, _, true)] = runs[..] {
            return ReplyPayload::Data(self.bytes[start..end].to_vec());
        }
        let piece = |(from, to, written)| match written {
            true => ReadPiece::Data(self.bytes[from..to].to_vec()),
            false => ReadPiece::Hole((to - from) as u32),
        };
        ReplyPayload::Pieces(runs.into_iter().map(piece).collect())
    }

    /// The range as runs of written and unwritten blocks.
    fn runs(&self, start: usize, end: usize) -> Vec<(usize, usize, bool)> {
        let mut runs: Vec<(usize, usize, bool)> = Vec::new();
        let mut at = start;
        while at < end {
            let next = end.min((at / BLOCK + 1) * BLOCK);
            let written = self.written[at / BLOCK];
            match runs.last_mut() {
                Some((_, to, same)) if *same == written => *to = next,
                _ => runs.push((at, next, written)),
            }
            at = next;
        }
        runs
    }
}
