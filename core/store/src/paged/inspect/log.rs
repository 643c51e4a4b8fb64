//! The log's records from the last completed checkpoint on.

use super::{InspectTrouble, Inspector, Part, ShownValue, describe};
use crate::paged::change::decode_all;
use crate::paged::check::{LogEnd, LogReader};
use crate::paged::codec::Reader;
use crate::paged::edit::PageEdit;
use crate::paged::ids::Lsn;
use crate::paged::log::{Record, RecordKind};

impl Inspector<'_> {
    /// The records that a restart would read, at most so many, and where they end.
    pub fn log(&self, most: usize) -> Result<Vec<Part>, InspectTrouble> {
        let mut reader = LogReader::new(self.devices, &self.superblock);
        let (mut rows, mut records) = (Vec::new(), 0);
        let end = reader.read(|record| {
            if rows.len() < most {
                let words = in_words(record).unwrap_or_else(|| "cannot be decoded".to_owned());
                let (from, to) = (record.position.0.into(), record.end.0.into());
                rows.push(vec![from, to, format!("{:?}", record.kind).into(), words.into()]);
            }
            records += 1;
            true
        });
        if let LogEnd::Unreadable(offset) = end {
            return Err(InspectTrouble::Unreadable(self.superblock.layout.log_target, offset));
        }
        let from = self.superblock.completed.position;
        let facts: Vec<(_, ShownValue)> = vec![
            ("from", from.0.into()),
            ("to", reader.position().0.into()),
            ("bytes", (reader.position().0 - from.0).into()),
            ("next byte on the device", reader.place(reader.position()).into()),
            ("records", records.into()),
            ("durable, says the witness", says(reader.witnesses()[0])),
            ("durable, says its twin", says(reader.witnesses()[1])),
        ];
        let more = records - rows.len() as u64;
        let table = Part::table("records", &["from", "to", "kind", "what"], rows, more);
        Ok(vec![Part::facts("log", facts), table])
    }
}

/// What a place of the witness says.
fn says(witness: Option<Lsn>) -> ShownValue {
    witness.map_or(ShownValue::Nothing, |position| position.0.into())
}

fn in_words(record: Record<'_>) -> Option<String> {
    let mut reader = Reader::new(record.body);
    Some(match record.kind {
        RecordKind::Pad => String::new(),
        RecordKind::Segment => {
            format!("segment {}", u64::from_le_bytes(*record.body.last_chunk()?))
        }
        RecordKind::Transaction | RecordKind::Again => {
            let changes = decode_all(record.body)?;
            changes.iter().map(describe::change).collect::<Vec<_>>().join("; ")
        }
        RecordKind::Image => {
            let (page, form, raw) = (reader.u64()?, reader.byte()?, reader.byte()?);
            let content = if raw == 1 { "data" } else { "structure" };
            format!("page {page}, {content}, form {form:#04x}, {} bytes", reader.rest().len())
        }
        RecordKind::Edits => {
            let mut words = Vec::new();
            while !reader.is_empty() {
                let page = reader.u64()?;
                let (edit, rest) = PageEdit::decode(reader.rest())?;
                reader = Reader::new(rest);
                words.push(format!("page {page}: {}", describe::edit(&edit)));
            }
            words.join("; ")
        }
        RecordKind::Instant => format!("checkpoint {}", reader.u64()?),
        RecordKind::Durable => format!("up to {}", reader.u64()?),
    })
}
