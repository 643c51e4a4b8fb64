//! A session with its outbox and its toy disk, to say something to and hear what comes back.

use crate::client::{Answer, MODERN, Reader, choice, contexts, hello, option};
use crate::disk::{Disk, Shop};
use loadline_wire::nbd::{
    Close, ConnectionLimits, ExportCommand, NbdReply, NbdSession, ReplyPayload, SessionOutbox,
};

pub(crate) struct Talk {
    pub(crate) session: NbdSession,
    pub(crate) out: SessionOutbox,
    disk: Disk,
}

impl Talk {
    pub(crate) fn with(limits: ConnectionLimits) -> Talk {
        let mut out = SessionOutbox::default();
        Talk { session: NbdSession::new(limits, &mut out), out, disk: Disk::new() }
    }

    /// A connection whose client has to begin with TLS; its greeting was heard and its client flags were sent.
    pub(crate) fn before_tls(flags: u32) -> Talk {
        let mut out = SessionOutbox::default();
        let session = NbdSession::behind_tls(ConnectionLimits::default(), &mut out);
        let mut talk = Talk { session, out, disk: Disk::new() };
        talk.heard();
        assert_eq!(talk.say(&hello(flags)), []);
        talk
    }

    /// A connection whose greeting was heard and whose client flags were sent.
    pub(crate) fn greeted(flags: u32) -> Talk {
        let mut talk = Talk::with(ConnectionLimits::default());
        talk.heard();
        assert_eq!(talk.say(&hello(flags)), []);
        talk
    }

    /// A connection that serves `export` with simple replies.
    pub(crate) fn simple(export: &str) -> Talk {
        let mut talk = Talk::greeted(MODERN);
        talk.say(&option(7, &choice(export, &[])));
        assert!(!talk.session.is_negotiating(), "the export is chosen");
        talk
    }

    /// A connection that serves `export` with structured replies and `base:allocation`.
    pub(crate) fn structured(export: &str) -> Talk {
        let mut talk = Talk::greeted(MODERN);
        talk.say(&option(8, &[]));
        talk.say(&option(10, &contexts(export, &["base:allocation"])));
        talk.say(&option(7, &choice(export, &[])));
        assert!(!talk.session.is_negotiating(), "the export is chosen");
        talk
    }

    /// Everything that was queued, which counts as sent.
    pub(crate) fn heard(&mut self) -> Vec<u8> {
        let bytes = std::mem::take(&mut self.out.send).concat();
        self.session.sent(bytes.len() as u64);
        bytes
    }

    /// Says something and hears what comes back at once.
    pub(crate) fn say(&mut self, bytes: &[u8]) -> Vec<u8> {
        assert_eq!(self.session.receive(bytes, &Shop, &mut self.out), bytes.len());
        self.heard()
    }

    /// Says one request, which must become exactly one command.
    pub(crate) fn command(&mut self, bytes: &[u8]) -> ExportCommand {
        assert_eq!(self.say(bytes), [], "a command is not answered before it is carried out");
        assert_eq!(self.out.commands.len(), 1);
        self.out.commands.remove(0)
    }

    pub(crate) fn finish(&mut self, command: &ExportCommand, payload: ReplyPayload) -> Vec<u8> {
        self.session.finish(NbdReply { id: command.id, result: Ok(payload) }, &mut self.out);
        self.heard()
    }

    /// Lets the disk carry out every command that waits, in order.
    pub(crate) fn carry_out(&mut self) {
        for command in std::mem::take(&mut self.out.commands) {
            let result = Ok(self.disk.carry_out(&command));
            self.session.finish(NbdReply { id: command.id, result }, &mut self.out);
        }
    }

    /// Says a request that the session refuses by itself, and returns its error's number.
    pub(crate) fn refused(&mut self, bytes: &[u8]) -> u32 {
        let heard = self.say(bytes);
        assert_eq!(self.out.commands, []);
        assert_eq!(self.out.close, None);
        let mut reader = Reader(&heard);
        let answer = reader.answer(|_| 0);
        assert_eq!(reader.0, [], "one answer");
        match answer {
            Answer::Simple { error, .. } => error,
            Answer::Chunk { done, kind, data, .. } => {
                assert!(done && kind == 0x8001, "an error chunk");
                let mut reader = Reader(&data);
                let (error, length) = (reader.number(4), reader.number(2) as usize);
                assert!(length > 0 && reader.0.len() == length, "with a message");
                error as u32
            }
        }
    }

    pub(crate) fn closed_by_request(&self) -> bool {
        self.out.close == Some(Close::Asked)
    }
}
