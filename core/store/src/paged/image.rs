//! How the image of a page is stored: compacted, compressed, or as it is (checkpoint.md 7.5).
//!
//! A tree node is compacted by leaving out the gap between its slots and its cells. The gap comes back as zeros, so a node's
//! checksum holds after a restore only if the gap was zero when the page was sealed: that is the sealer's duty. A codec is
//! given what compaction left. The shortest of the three forms is kept, and a page of which neither step saves a byte is
//! stored raw.
//!
//! The form of a stored image is one byte:
//!
//! | bits | meaning |
//! |---|---|
//! | 0-3 | codec: 0 none, 1 Snappy, 2 LZ4 block, 3 Zstd frame |
//! | 4 | 1 if the gap was left out |
//! | 5-7 | zero |
//!
//! Where the gap was is not stored: the node's own header says it.

use super::node::TreeNode;
use super::page::HEADER;
use super::word::ParseWordError;
use std::fmt;
use std::str::FromStr;

/// What is done to a page before its image is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Nothing.
    None,
    /// A tree node's gap is left out.
    SkipGarbage,
    /// The same, then Snappy.
    Snappy,
    /// The same, then LZ4.
    Lz4,
    /// The same, then Zstd at this level, -131072 to 22.
    Zstd(i32),
}

/// The level of `zstd` without a level.
const ZSTD_DEFAULT: i32 = 3;

/// Levels that Zstd knows.
const ZSTD_LEVELS: std::ops::RangeInclusive<i32> = -131_072..=22;

/// What a page holds, which decides whether it can be compacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// A page of the store's own making, with a header.
    Headed,
    /// Object data: any byte may mean something.
    Data,
}

impl Content {
    /// The content of a page that is object data, or is not.
    pub const fn of(raw: bool) -> Content {
        if raw { Content::Data } else { Content::Headed }
    }
}

/// A way to make bytes fewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Codec {
    /// Snappy's raw format.
    Snappy = 1,
    /// LZ4's block format.
    Lz4 = 2,
    /// A Zstd frame.
    Zstd = 3,
}

/// How one image is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageForm {
    /// The codec, if one was of use.
    pub codec: Option<Codec>,
    /// Whether the gap was left out.
    pub compacted: bool,
}

/// Why stored bytes do not give a page back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageFault {
    /// The codec cannot read them.
    Codec,
    /// They give more or fewer bytes than a page has.
    Length,
}

const COMPACTED: u8 = 0x10;

impl ImageForm {
    /// The page as it is.
    pub const RAW: ImageForm = ImageForm { codec: None, compacted: false };

    /// Its byte on disk.
    pub const fn byte(self) -> u8 {
        let codec = match self.codec {
            None => 0,
            Some(codec) => codec as u8,
        };
        codec | if self.compacted { COMPACTED } else { 0 }
    }

    /// The form with this byte.
    pub const fn from_byte(byte: u8) -> Option<ImageForm> {
        let codec = match byte & !COMPACTED {
            0 => None,
            1 => Some(Codec::Snappy),
            2 => Some(Codec::Lz4),
            3 => Some(Codec::Zstd),
            _ => return None,
        };
        Some(ImageForm { codec, compacted: byte & COMPACTED != 0 })
    }
}

/// Makes images. It keeps its buffers and contexts from one page to the next.
pub struct Compressor {
    setting: Compression,
    encoder: Encoder,
    compacted: Vec<u8>,
    packed: Vec<u8>,
}

/// A codec ready to work.
enum Encoder {
    None,
    Snappy(Box<snap::raw::Encoder>),
    Lz4,
    Zstd(zstd::bulk::Compressor<'static>),
}

impl Compressor {
    /// A compressor of this setting.
    pub fn new(setting: Compression) -> Compressor {
        let encoder = match setting {
            Compression::None | Compression::SkipGarbage => Encoder::None,
            Compression::Snappy => Encoder::Snappy(Box::new(snap::raw::Encoder::new())),
            Compression::Lz4 => Encoder::Lz4,
            Compression::Zstd(level) => Encoder::Zstd(
                zstd::bulk::Compressor::new(level).expect("there is memory for a codec"),
            ),
        };
        Compressor { setting, encoder, compacted: Vec::new(), packed: Vec::new() }
    }

    /// Appends the image of `page` to `out` and says in which form.
    pub fn compress(&mut self, page: &[u8], content: Content, out: &mut Vec<u8>) -> ImageForm {
        let compacted = self.setting != Compression::None
            && content == Content::Headed
            && leave_out_gap(page, &mut self.compacted);
        let body = if compacted { &self.compacted } else { page };
        match self.encoder.encode(body, &mut self.packed) {
            Some((codec, length)) if length < body.len() => {
                out.extend_from_slice(&self.packed[..length]);
                ImageForm { codec: Some(codec), compacted }
            }
            _ => {
                out.extend_from_slice(body);
                ImageForm { codec: None, compacted }
            }
        }
    }
}

/// Puts `page` without its gap into `compacted`. False if it has none.
fn leave_out_gap(page: &[u8], compacted: &mut Vec<u8>) -> bool {
    let Some(gap) = TreeNode::of(page).map(TreeNode::gap).filter(|gap| !gap.is_empty()) else {
        return false;
    };
    compacted.clear();
    compacted.extend_from_slice(&page[..gap.start]);
    compacted.extend_from_slice(&page[gap.end..]);
    true
}

impl Encoder {
    /// Encodes `body` into the beginning of `packed`: with what, and how many bytes that took.
    fn encode(&mut self, body: &[u8], packed: &mut Vec<u8>) -> Option<(Codec, usize)> {
        let bound = match self {
            Encoder::None => return None,
            Encoder::Snappy(_) => snap::raw::max_compress_len(body.len()),
            Encoder::Lz4 => lz4_flex::block::get_maximum_output_size(body.len()),
            Encoder::Zstd(_) => zstd::zstd_safe::compress_bound(body.len()),
        };
        if packed.len() < bound {
            packed.resize(bound, 0);
        }
        let room = "the codec has the room that it asked for";
        Some(match self {
            Encoder::None => return None,
            Encoder::Snappy(encoder) => {
                (Codec::Snappy, encoder.compress(body, packed).expect(room))
            }
            Encoder::Lz4 => (Codec::Lz4, lz4_flex::block::compress_into(body, packed).expect(room)),
            Encoder::Zstd(encoder) => {
                (Codec::Zstd, encoder.compress_to_buffer(body, &mut packed[..]).expect(room))
            }
        })
    }
}

/// Turns images back into pages. It keeps its buffers and contexts from one page to the next.
#[derive(Default)]
pub struct Restorer {
    compacted: Vec<u8>,
    zstd: Option<zstd::bulk::Decompressor<'static>>,
}

impl Restorer {
    /// A restorer of any form.
    pub fn new() -> Restorer {
        Restorer::default()
    }

    /// Fills `page` from the bytes of its image. After a fault `page` holds anything.
    pub fn restore(
        &mut self,
        stored: &[u8],
        form: ImageForm,
        page: &mut [u8],
    ) -> Result<(), ImageFault> {
        if !form.compacted {
            let length = decode(&mut self.zstd, form.codec, stored, page)?;
            return if length == page.len() { Ok(()) } else { Err(ImageFault::Length) };
        }
        self.compacted.resize(page.len(), 0);
        let length = decode(&mut self.zstd, form.codec, stored, &mut self.compacted)?;
        put_gap_back(&self.compacted[..length], page)
    }
}

/// Decodes `stored` into the beginning of `out`: how many bytes that gave.
fn decode(
    zstd: &mut Option<zstd::bulk::Decompressor<'static>>,
    codec: Option<Codec>,
    stored: &[u8],
    out: &mut [u8],
) -> Result<usize, ImageFault> {
    match codec {
        None => {
            out.get_mut(..stored.len()).ok_or(ImageFault::Length)?.copy_from_slice(stored);
            Ok(stored.len())
        }
        Some(Codec::Snappy) => {
            snap::raw::Decoder::new().decompress(stored, out).map_err(|_| ImageFault::Codec)
        }
        Some(Codec::Lz4) => {
            lz4_flex::block::decompress_into(stored, out).map_err(|_| ImageFault::Codec)
        }
        Some(Codec::Zstd) => zstd
            .get_or_insert_with(|| {
                zstd::bulk::Decompressor::new().expect("there is memory for a codec")
            })
            .decompress_to_buffer(stored, out)
            .map_err(|_| ImageFault::Codec),
    }
}

/// Fills `page` from its compacted form.
fn put_gap_back(compacted: &[u8], page: &mut [u8]) -> Result<(), ImageFault> {
    if compacted.len() < HEADER {
        return Err(ImageFault::Length);
    }
    let gap = TreeNode::of(compacted).map(TreeNode::gap).ok_or(ImageFault::Length)?;
    let fits = gap.start <= compacted.len()
        && gap.start <= gap.end
        && gap.end <= page.len()
        && compacted.len() + gap.len() == page.len();
    if !fits {
        return Err(ImageFault::Length);
    }
    page[..gap.start].copy_from_slice(&compacted[..gap.start]);
    page[gap.end..].copy_from_slice(&compacted[gap.start..]);
    page[gap].fill(0);
    Ok(())
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Compression::None => f.write_str("none"),
            Compression::SkipGarbage => f.write_str("skip-garbage"),
            Compression::Snappy => f.write_str("snappy"),
            Compression::Lz4 => f.write_str("lz4"),
            Compression::Zstd(ZSTD_DEFAULT) => f.write_str("zstd"),
            Compression::Zstd(level) => write!(f, "zstd:{level}"),
        }
    }
}

impl FromStr for Compression {
    type Err = ParseWordError;

    fn from_str(text: &str) -> Result<Compression, ParseWordError> {
        let wanted = "`none`, `skip-garbage`, `snappy`, `lz4`, `zstd` or `zstd:LEVEL` with a level from -131072 to 22";
        let level = |text: &str| text.parse().ok().filter(|level| ZSTD_LEVELS.contains(level));
        match text {
            "none" => Some(Compression::None),
            "skip-garbage" => Some(Compression::SkipGarbage),
            "snappy" => Some(Compression::Snappy),
            "lz4" => Some(Compression::Lz4),
            "zstd" => Some(Compression::Zstd(ZSTD_DEFAULT)),
            _ => text.strip_prefix("zstd:").and_then(level).map(Compression::Zstd),
        }
        .ok_or(ParseWordError { wanted })
    }
}

#[cfg(test)]
mod tests;
