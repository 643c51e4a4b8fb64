//! The image set in the recovery area, whether anybody needs it or not.

use super::{InspectTrouble, Inspector, Part, ShownValue};
use crate::paged::api::StoreDevice;
use crate::paged::image::Content;
use crate::paged::image_set::{HEADER_BLOCK, ImageSetFault, ImageSetHeader, ImageSetReader};

/// Bytes of a read.
const PIECE: u64 = 1 << 20;

impl Inspector<'_> {
    /// The set's header and its images, at most so many.
    pub fn recovery(&self, most: usize) -> Result<Vec<Part>, InspectTrouble> {
        let layout = &self.superblock.layout;
        let block = self.read(StoreDevice::Data, layout.recovery_offset, HEADER_BLOCK)?;
        let header = match ImageSetHeader::decode(&block, self.superblock.seed()) {
            Ok(header) => header,
            Err(fault) => return Ok(vec![self.about(None, Err(fault))]),
        };
        let mut reader = ImageSetReader::new(header);
        let (mut rows, mut images) = (Vec::new(), 0);
        let mut result = Ok(());
        while result.is_ok() && !reader.is_fed() {
            let offset = HEADER_BLOCK as u64 + reader.fed();
            let length = (header.sum.bytes - reader.fed()).min(PIECE);
            if offset + length > layout.recovery_bytes {
                result = Err(ImageSetFault::Short);
                break;
            }
            let offset = layout.recovery_offset + offset;
            reader.feed(&self.read(StoreDevice::Data, offset, length as usize)?);
            result = take(&mut reader, most, &mut rows, &mut images);
        }
        let result = result.and_then(|()| reader.end());
        let more = images - rows.len() as u64;
        let head = &["image", "page", "content", "form", "bytes"];
        Ok(vec![self.about(Some(header), result), Part::table("images", head, rows, more)])
    }

    fn about(&self, header: Option<ImageSetHeader>, verdict: Result<(), ImageSetFault>) -> Part {
        let is_needed = self.superblock.begun.is_some_and(|begun| begun.images.count > 0);
        let words = verdict.map_or_else(|fault| fault.to_string(), |()| "whole".to_owned());
        let mut facts: Vec<(_, ShownValue)> = vec![
            ("state", words.into()),
            ("needed by a restart", if is_needed { "yes" } else { "no" }.into()),
        ];
        if let Some(header) = header {
            facts.extend([
                ("checkpoint", ShownValue::from(header.checkpoint.0)),
                ("images", header.sum.count.into()),
                ("bytes", header.sum.bytes.into()),
                ("digest", format!("{:08x}", header.sum.digest).into()),
            ]);
        }
        Part::facts("image set", facts)
    }
}

fn take(
    reader: &mut ImageSetReader,
    most: usize,
    rows: &mut Vec<Vec<ShownValue>>,
    images: &mut u64,
) -> Result<(), ImageSetFault> {
    while let Some(image) = reader.image()? {
        if rows.len() < most {
            let content = if image.content == Content::Data { "data" } else { "structure" };
            let codec = image.form.codec.map_or("plain".to_owned(), |codec| format!("{codec:?}"));
            let gap = if image.form.compacted { ", no gap" } else { "" };
            rows.push(vec![
                (*images).into(),
                image.page.0.into(),
                content.into(),
                format!("{codec}{gap}").into(),
                (image.data.len() as u64).into(),
            ]);
        }
        *images += 1;
    }
    Ok(())
}
