//! Options and what they agree on, until one of them chooses an export.

use super::bytes::{Fields, string};
use super::numbers::{
    BASE, BASE_ALLOCATION, CONTEXT_ID, DIRTY_BITMAP, QEMU, info, opt, rep, transmission,
};
use super::option_reply::Replies;
use super::{Close, ExportId, ExportInfo, Exports, SessionOutbox, Violation};
use std::collections::BTreeSet;

/// Whether the connection is one that needs TLS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum TlsStand {
    /// It goes as it is.
    #[default]
    NotOffered,
    /// Nothing else is answered before.
    Required,
    /// It goes through TLS.
    Secured,
}

/// What a client may ask about blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockContext {
    /// Whether they are allocated.
    Allocation,
    /// Whether they have changed since something.
    Changes(ExportId),
}

/// What was agreed on so far.
#[derive(Debug, Default)]
pub(super) struct Terms {
    tls: TlsStand,
    /// Whether the client is of the fixed newstyle.
    pub(super) fixed: bool,
    pub(super) no_zeroes: bool,
    structured: bool,
    /// The context that was selected, and for which export.
    context: Option<(ExportId, BlockContext)>,
}

/// What both sides agreed on in the end.
#[derive(Debug)]
pub(super) struct Agreed {
    pub(super) export: ExportId,
    pub(super) size: u64,
    pub(super) read_only: bool,
    pub(super) fast_zero: bool,
    pub(super) cache: bool,
    pub(super) structured: bool,
    /// What may be asked about its blocks.
    pub(super) context: Option<BlockContext>,
}

/// Where the handshake goes from here.
pub(super) enum HandshakeStep {
    Stay,
    Serve(Agreed),
    /// The client begins with TLS now.
    Secure,
    Close(Close),
}

impl From<Violation> for HandshakeStep {
    fn from(violation: Violation) -> HandshakeStep {
        HandshakeStep::Close(Close::Violated(violation))
    }
}

impl Terms {
    pub(super) fn new(tls: TlsStand) -> Terms {
        Terms { tls, ..Terms::default() }
    }

    /// Answers a whole option.
    pub(super) fn answer(
        &mut self,
        option: u32,
        data: &[u8],
        exports: &dyn Exports,
        out: &mut SessionOutbox,
    ) -> HandshakeStep {
        if self.tls == TlsStand::Required {
            return before_tls(option, data, out);
        }
        if option == opt::EXPORT_NAME {
            return self.export_name(data, exports, out);
        }
        let mut replies = Replies { option, out };
        match option {
            opt::ABORT => {
                replies.ack();
                return HandshakeStep::Close(Close::Asked);
            }
            opt::INFO | opt::GO => return self.choose(data, exports, &mut replies),
            opt::LIST if data.is_empty() => list(exports, &mut replies),
            opt::STRUCTURED_REPLY if data.is_empty() => {
                self.structured = true;
                replies.ack();
            }
            opt::LIST | opt::STRUCTURED_REPLY => {
                replies.error(rep::ERR_INVALID, "this option has no data");
            }
            opt::LIST_META_CONTEXT | opt::SET_META_CONTEXT => {
                self.contexts(data, exports, &mut replies);
            }
            opt::STARTTLS if self.tls == TlsStand::Secured => {
                replies.error(rep::ERR_INVALID, "the connection goes through TLS already");
            }
            opt::STARTTLS => replies.error(rep::ERR_UNSUP, "TLS is not offered here"),
            _ => replies.error(rep::ERR_UNSUP, "this option is not known here"),
        }
        HandshakeStep::Stay
    }

    /// The old way to choose an export; it has no replies, hence no errors.
    fn export_name(
        &self,
        data: &[u8],
        exports: &dyn Exports,
        out: &mut SessionOutbox,
    ) -> HandshakeStep {
        let Some(name) = string(data) else { return Violation::ExportName.into() };
        let Some(export) = exports.find(name) else {
            return Violation::UnknownExport(name.into()).into();
        };
        out.put(&export.size.to_be_bytes());
        out.put(&self.transmission_flags(&export).to_be_bytes());
        if !self.no_zeroes {
            out.put(&[0; 124]);
        }
        HandshakeStep::Serve(self.agree(&export))
    }

    /// Tells about an export and, if the option was to go, goes.
    fn choose(&self, data: &[u8], exports: &dyn Exports, replies: &mut Replies) -> HandshakeStep {
        let Some((name, wishes)) = choice(data) else {
            replies.error(rep::ERR_INVALID, "not a name and a list of what to tell about it");
            return HandshakeStep::Stay;
        };
        let Some(export) = exports.find(name) else {
            replies.error(rep::ERR_UNKNOWN, "there is no export of this name");
            return HandshakeStep::Stay;
        };
        replies.export(export.size, self.transmission_flags(&export));
        replies.block_sizes(&export);
        if wishes.contains(&info::NAME) {
            replies.text(info::NAME, &export.name);
        }
        if wishes.contains(&info::DESCRIPTION) && !export.description.is_empty() {
            replies.text(info::DESCRIPTION, &export.description);
        }
        replies.ack();
        if replies.option == opt::GO {
            HandshakeStep::Serve(self.agree(&export))
        } else {
            HandshakeStep::Stay
        }
    }

    /// Lists the metadata contexts, or selects them; a selection replaces the one before even if it fails.
    fn contexts(&mut self, data: &[u8], exports: &dyn Exports, replies: &mut Replies) {
        let selects = replies.option == opt::SET_META_CONTEXT;
        if selects {
            self.context = None;
        }
        if !self.structured {
            return replies.error(rep::ERR_INVALID, "metadata needs structured replies first");
        }
        let Some((name, queries)) = query(data) else {
            return replies.error(rep::ERR_INVALID, "not a name and a list of queries");
        };
        let Some(export) = exports.find(name) else {
            return replies.error(rep::ERR_UNKNOWN, "there is no export of this name");
        };
        let changes = exports.comparable(export.id).into_iter();
        let changes = changes
            .map(|(name, since)| (format!("{DIRTY_BITMAP}{name}"), BlockContext::Changes(since)));
        let all =
            [(BASE_ALLOCATION.to_owned(), BlockContext::Allocation)].into_iter().chain(changes);
        // An option has room for sixteen thousand queries, and an image for as many snapshots as there are.
        let queries: BTreeSet<&str> = queries.into_iter().collect();
        let mut spaces = vec![BASE, QEMU, DIRTY_BITMAP];
        spaces.retain(|space| !selects && queries.contains(space));
        for (name, context) in all {
            let by_space = spaces.iter().any(|space| name.starts_with(space));
            let is_listed = !selects && (queries.is_empty() || by_space);
            if !is_listed && !queries.contains(name.as_str()) {
                continue;
            }
            // In a list the number is reserved.
            replies.context(if selects { CONTEXT_ID } else { 0 }, &name);
            if selects {
                self.context = Some((export.id, context));
                break;
            }
        }
        replies.ack();
    }

    fn transmission_flags(&self, export: &ExportInfo) -> u16 {
        use transmission::*;
        let when = |condition: bool, flags: u16| if condition { flags } else { 0 };
        HAS_FLAGS
            | SEND_FLUSH
            | SEND_FUA
            | when(export.read_only, READ_ONLY)
            | when(!export.read_only, SEND_TRIM | SEND_WRITE_ZEROES)
            | when(!export.read_only && export.fast_zero, SEND_FAST_ZERO)
            | when(export.rotational, ROTATIONAL)
            | when(export.multi_conn, CAN_MULTI_CONN)
            | when(export.cache, SEND_CACHE)
            | when(self.structured, SEND_DF)
    }

    fn agree(&self, export: &ExportInfo) -> Agreed {
        Agreed {
            export: export.id,
            size: export.size,
            read_only: export.read_only,
            fast_zero: export.fast_zero,
            cache: export.cache,
            structured: self.structured,
            context: self.context.filter(|(of, _)| *of == export.id).map(|(_, context)| context),
        }
    }
}

/// Answers an option of a client that has to begin with TLS, and learns nothing before.
fn before_tls(option: u32, data: &[u8], out: &mut SessionOutbox) -> HandshakeStep {
    if option == opt::EXPORT_NAME {
        return Violation::BeforeTls.into();
    }
    let mut replies = Replies { option, out };
    match option {
        opt::STARTTLS if data.is_empty() => {
            replies.ack();
            return HandshakeStep::Secure;
        }
        opt::STARTTLS => replies.error(rep::ERR_INVALID, "this option has no data"),
        opt::ABORT => {
            replies.ack();
            return HandshakeStep::Close(Close::Asked);
        }
        _ => replies.error(rep::ERR_TLS_REQD, "TLS comes first here"),
    }
    HandshakeStep::Stay
}

fn list(exports: &dyn Exports, replies: &mut Replies) {
    for export in exports.list() {
        replies.server(&export.name, &export.description);
    }
    replies.ack();
}

/// The name and the wishes of an option that chooses an export.
fn choice(data: &[u8]) -> Option<(&str, Vec<u16>)> {
    let mut fields = Fields(data);
    let name = fields.string()?;
    let count = fields.u16()?;
    let wishes = (0..count).map(|_| fields.u16()).collect::<Option<Vec<u16>>>()?;
    fields.is_empty().then_some((name, wishes))
}

/// The name and the queries of an option about metadata contexts.
fn query(data: &[u8]) -> Option<(&str, Vec<&str>)> {
    let mut fields = Fields(data);
    let name = fields.string()?;
    let count = fields.u32()?;
    let queries = (0..count).map(|_| fields.string()).collect::<Option<Vec<&str>>>()?;
    fields.is_empty().then_some((name, queries))
}
