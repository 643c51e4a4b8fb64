//! Replies to an option, as bytes.

use super::bytes::cut;
use super::numbers::{OPTION_REPLY_MAGIC, info, rep};
use super::{ExportInfo, PAYLOAD_MAX, SessionOutbox};

/// The replies to one option.
pub(super) struct Replies<'a> {
    pub(super) option: u32,
    pub(super) out: &'a mut SessionOutbox,
}

impl Replies<'_> {
    fn put(&mut self, kind: u32, data: &[&[u8]]) {
        let length = data.iter().map(|part| part.len()).sum::<usize>() as u32;
        self.out.put(&OPTION_REPLY_MAGIC.to_be_bytes());
        for word in [self.option, kind, length] {
            self.out.put(&word.to_be_bytes());
        }
        for part in data {
            self.out.put(part);
        }
    }

    /// The option is accepted, and nothing more comes.
    pub(super) fn ack(&mut self) {
        self.put(rep::ACK, &[]);
    }

    /// The option is refused, with a sentence for the client's user.
    pub(super) fn error(&mut self, kind: u32, sentence: &str) {
        self.put(kind, &[sentence.as_bytes()]);
    }

    /// One line of the list of exports.
    pub(super) fn server(&mut self, name: &str, description: &str) {
        let (name, description) = (cut(name), cut(description));
        let length = (name.len() as u32).to_be_bytes();
        self.put(rep::SERVER, &[&length, name.as_bytes(), description.as_bytes()]);
    }

    /// A metadata context.
    pub(super) fn context(&mut self, id: u32, name: &str) {
        self.put(rep::META_CONTEXT, &[&id.to_be_bytes(), name.as_bytes()]);
    }

    /// Size and flags of an export.
    pub(super) fn export(&mut self, size: u64, flags: u16) {
        self.info(info::EXPORT, &[&size.to_be_bytes(), &flags.to_be_bytes()]);
    }

    /// Which lengths suit an export: any, the preferred one, and the longest payload.
    pub(super) fn block_sizes(&mut self, export: &ExportInfo) {
        let preferred = export.preferred_block;
        assert!(
            preferred.is_power_of_two() && (512..=PAYLOAD_MAX).contains(&preferred),
            "a preferred block is a power of two from 512 bytes to 32 MiB"
        );
        let sizes = [1, preferred, PAYLOAD_MAX].map(u32::to_be_bytes);
        self.info(info::BLOCK_SIZE, &[sizes.as_flattened()]);
    }

    /// A text about an export: its name or its description.
    pub(super) fn text(&mut self, kind: u16, text: &str) {
        self.info(kind, &[cut(text).as_bytes()]);
    }

    fn info(&mut self, kind: u16, data: &[&[u8]]) {
        let kind = kind.to_be_bytes();
        let parts: Vec<&[u8]> = std::iter::once(&kind[..]).chain(data.iter().copied()).collect();
        self.put(rep::INFO, &parts);
    }
}
