//! The handshake: a greeting, the client's flags, then options until one of them chooses an export.

use super::bytes::{Body, Fields, Head, Skip};
use super::numbers::{INIT_PASSWD, OPTION_MAGIC, handshake, opt, rep};
use super::option_reply::Replies;
use super::terms::{Next, Terms};
use super::{Exports, OPTION_MAX, Outbox, STRING_MAX, Violation};

/// A connection on which no export is chosen yet.
#[derive(Debug)]
pub(super) struct Handshake {
    stage: Stage,
    terms: Terms,
}

#[derive(Debug)]
enum Stage {
    Flags(Head<4>),
    Option(Head<16>),
    Data(u32, Body),
    TooBig(u32, Skip),
}

impl Handshake {
    /// Greets.
    pub(super) fn new(out: &mut Outbox) -> Handshake {
        out.put(&INIT_PASSWD.to_be_bytes());
        out.put(&OPTION_MAGIC.to_be_bytes());
        out.put(&(handshake::FIXED_NEWSTYLE | handshake::NO_ZEROES).to_be_bytes());
        Handshake { stage: Stage::Flags(Head::new()), terms: Terms::default() }
    }

    /// How many bytes the next message, or its body, still lacks.
    pub(super) fn want(&self) -> usize {
        match &self.stage {
            Stage::Flags(head) => head.missing(),
            Stage::Option(head) => head.missing(),
            Stage::Data(_, body) => body.missing(),
            Stage::TooBig(_, skip) => skip.0 as usize,
        }
    }

    /// Takes at least one byte from the input, which is not empty.
    pub(super) fn step(
        &mut self,
        input: &mut &[u8],
        exports: &dyn Exports,
        out: &mut Outbox,
    ) -> Next {
        match &mut self.stage {
            Stage::Flags(head) => head.fill(input).map_or(Next::Stay, |head| self.flags(head)),
            Stage::Option(head) => match head.fill(input) {
                Some(head) => self.head(head, exports, out),
                None => Next::Stay,
            },
            Stage::Data(option, body) => {
                let option = *option;
                let Some(data) = body.fill(input) else { return Next::Stay };
                self.stage = Stage::Option(Head::new());
                self.terms.answer(option, &data, exports, out)
            }
            Stage::TooBig(option, skip) => {
                if skip.pass(input) {
                    let option = *option;
                    self.stage = Stage::Option(Head::new());
                    let sentence = "an option may have 64 KiB of data";
                    Replies { option, out }.error(rep::ERR_TOO_BIG, sentence);
                }
                Next::Stay
            }
        }
    }

    fn flags(&mut self, head: [u8; 4]) -> Next {
        let flags = u32::from_be_bytes(head);
        self.terms.fixed = flags & u32::from(handshake::FIXED_NEWSTYLE) != 0;
        self.terms.no_zeroes = flags & u32::from(handshake::NO_ZEROES) != 0;
        self.stage = Stage::Option(Head::new());
        let offered = u32::from(handshake::FIXED_NEWSTYLE | handshake::NO_ZEROES);
        if flags & !offered == 0 { Next::Stay } else { Violation::ClientFlags(flags).into() }
    }

    fn head(&mut self, head: [u8; 16], exports: &dyn Exports, out: &mut Outbox) -> Next {
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
            self.stage = Stage::Option(Head::new());
            return self.terms.answer(option, &[], exports, out);
        }
        self.stage = if length > OPTION_MAX {
            Stage::TooBig(option, Skip(length))
        } else {
            Stage::Data(option, Body::new(length))
        };
        Next::Stay
    }
}
