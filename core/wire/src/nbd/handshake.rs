//! The handshake: a greeting, the client's flags, then options until one of them chooses an export.

use super::bytes::{BodyBuffer, Fields, HeadBuffer, Skip};
use super::numbers::{INIT_PASSWD, OPTION_MAGIC, handshake, opt, rep};
use super::option_reply::Replies;
use super::terms::{HandshakeStep, Terms, TlsStand};
use super::{Exports, OPTION_MAX, STRING_MAX, SessionOutbox, Violation};

/// A connection on which no export is chosen yet.
#[derive(Debug)]
pub(super) struct Handshake {
    stage: HandshakeStage,
    terms: Terms,
}

#[derive(Debug)]
enum HandshakeStage {
    Flags(HeadBuffer<4>),
    Option(HeadBuffer<16>),
    Data(u32, BodyBuffer),
    TooBig(u32, Skip),
}

impl Handshake {
    /// Greets a client that goes on as it comes, or one that has to begin with TLS.
    pub(super) fn new(tls: TlsStand, out: &mut SessionOutbox) -> Handshake {
        out.put(&INIT_PASSWD.to_be_bytes());
        out.put(&OPTION_MAGIC.to_be_bytes());
        out.put(&(handshake::FIXED_NEWSTYLE | handshake::NO_ZEROES).to_be_bytes());
        Handshake { stage: HandshakeStage::Flags(HeadBuffer::new()), terms: Terms::new(tls) }
    }

    /// The same client behind TLS. What it asked for before does not count, but for its flags.
    pub(super) fn secured(&self) -> Handshake {
        let Terms { fixed, no_zeroes, .. } = self.terms;
        let mut terms = Terms::new(TlsStand::Secured);
        (terms.fixed, terms.no_zeroes) = (fixed, no_zeroes);
        Handshake { stage: HandshakeStage::Option(HeadBuffer::new()), terms }
    }

    /// How many bytes the next message, or its body, still lacks.
    pub(super) fn want(&self) -> usize {
        match &self.stage {
            HandshakeStage::Flags(head) => head.missing(),
            HandshakeStage::Option(head) => head.missing(),
            HandshakeStage::Data(_, body) => body.missing(),
            HandshakeStage::TooBig(_, skip) => skip.0 as usize,
        }
    }

    /// Takes at least one byte from the input, which is not empty.
    pub(super) fn step(
        &mut self,
        input: &mut &[u8],
        exports: &dyn Exports,
        out: &mut SessionOutbox,
    ) -> HandshakeStep {
        match &mut self.stage {
            HandshakeStage::Flags(head) => {
                head.fill(input).map_or(HandshakeStep::Stay, |head| self.flags(head))
            }
            HandshakeStage::Option(head) => match head.fill(input) {
                Some(head) => self.head(head, exports, out),
                None => HandshakeStep::Stay,
            },
            HandshakeStage::Data(option, body) => {
                let option = *option;
                let Some(data) = body.fill(input) else { return HandshakeStep::Stay };
                self.stage = HandshakeStage::Option(HeadBuffer::new());
                self.terms.answer(option, &data, exports, out)
            }
            HandshakeStage::TooBig(option, skip) => {
                if skip.pass(input) {
                    let option = *option;
                    self.stage = HandshakeStage::Option(HeadBuffer::new());
                    let sentence = "an option may have 64 KiB of data";
                    Replies { option, out }.error(rep::ERR_TOO_BIG, sentence);
                }
                HandshakeStep::Stay
            }
        }
    }

    fn flags(&mut self, head: [u8; 4]) -> HandshakeStep {
        let flags = u32::from_be_bytes(head);
        self.terms.fixed = flags & u32::from(handshake::FIXED_NEWSTYLE) != 0;
        self.terms.no_zeroes = flags & u32::from(handshake::NO_ZEROES) != 0;
        self.stage = HandshakeStage::Option(HeadBuffer::new());
        let offered = u32::from(handshake::FIXED_NEWSTYLE | handshake::NO_ZEROES);
        if flags & !offered == 0 {
            HandshakeStep::Stay
        } else {
            Violation::ClientFlags(flags).into()
        }
    }

    fn head(
        &mut self,
        head: [u8; 16],
        exports: &dyn Exports,
        out: &mut SessionOutbox,
    ) -> HandshakeStep {
        let mut fields = Fields(&head);
        let magic = fields.u64().expect("the head has 16 bytes");
        let option = fields.u32().expect("the head has 16 bytes");
        let length = fields.u32().expect("the head has 16 bytes");
        if magic != OPTION_MAGIC {
            return Violation::OptionMagic(magic).into();
        }
        if option == opt::EXPORT_NAME && length as usize > STRING_MAX {
            return Violation::ExportName.into();
        }
        if option != opt::EXPORT_NAME && !self.terms.fixed {
            return Violation::NotFixed(option).into();
        }
        if length == 0 {
            self.stage = HandshakeStage::Option(HeadBuffer::new());
            return self.terms.answer(option, &[], exports, out);
        }
        self.stage = if length > OPTION_MAX {
            HandshakeStage::TooBig(option, Skip(length))
        } else {
            HandshakeStage::Data(option, BodyBuffer::new(length))
        };
        HandshakeStep::Stay
    }
}
