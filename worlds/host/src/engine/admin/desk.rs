//! Admin connections and what their commands wait for.

use crate::admin::api::{AdminAnswer, AdminRefusal, Command, Done};
use crate::admin::{HttpOutbox, HttpRequestId, HttpSession, UNSENT_MAX};
use crate::{ConnId, OpenedDisk};
use loadline_base::{Bytes, Span, Time};
use loadline_cluster::MapChange;
use loadline_osd::OsdId;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What is to happen before a command is answered.
#[derive(Debug)]
pub(in crate::engine) enum CommandOutcome {
    /// Nothing.
    Now(Result<AdminAnswer, AdminRefusal>),
    /// The map as it is now must be committed.
    WhenKept(AdminAnswer),
    /// Work must end. Whoever does it has the ticket, and hands it to [`Engine::admin_ended`] with the answer.
    Later,
    /// What stands in the way passes by itself; the command is tried again until then. Nothing was begun.
    Busy(String),
}

/// Where the answer to a command goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) struct Ticket {
    pub(super) conn: ConnId,
    pub(super) request: HttpRequestId,
}

impl AdminConnection {
    /// Whether so little waits to be sent that more may be asked.
    pub(super) fn has_room(&self) -> bool {
        self.unsent < UNSENT_MAX
    }
}

impl Ticket {
    /// The connection on which it was asked.
    pub(in crate::engine) fn conn(self) -> ConnId {
        self.conn
    }
}

pub(super) struct AdminConnection {
    pub(super) session: HttpSession,
    pub(super) out: HttpOutbox,
    pub(super) closing: bool,
    /// When it came, or bytes last came or left.
    pub(super) moved: Time,
    /// Bytes that were handed to the loop and have not left.
    pub(super) unsent: usize,
}

/// An answer that waits until what it tells of is kept.
#[derive(Debug)]
pub(super) struct WaitingAnswer {
    pub(super) ticket: Ticket,
    pub(super) answer: AdminAnswer,
    pub(super) change: MapChange,
    pub(super) until: Time,
}

/// Work that a command has begun. It goes on when whoever asked has been told that it takes longer than anybody is to wait.
#[derive(Debug)]
pub(super) struct BegunWork {
    pub(super) ticket: Ticket,
    pub(super) until: Time,
}

/// A command that waits for what passes by itself.
#[derive(Debug)]
pub(super) struct Delayed {
    pub(super) ticket: Ticket,
    pub(super) command: Command,
    pub(super) until: Time,
}

/// All connections.
#[derive(Default)]
pub(in crate::engine) struct AdminConnections {
    /// What who uses the page's buttons must know.
    pub(in crate::engine) page_token: Arc<str>,
    pub(super) connections: BTreeMap<ConnId, AdminConnection>,
    pub(super) waiting: Vec<WaitingAnswer>,
    /// OSDs that are to come up, and who is told.
    pub(super) joining: Vec<Joining>,
    pub(super) delayed: Vec<Delayed>,
    /// Whose work has begun, and who has no answer yet.
    pub(super) begun: Vec<BegunWork>,
    /// What operators change, until it is done.
    pub(super) changing: Vec<(Ticket, Changing)>,
}

impl AdminConnections {
    /// Connections without anything under way on which nothing has moved for so long, the longest silent first.
    pub(in crate::engine) fn idle_since(&self, now: Time, long: Span) -> Vec<ConnId> {
        let is_idle = |connection: &AdminConnection| {
            // Who follows the live view is never owed anything; one who takes none of it is silent too.
            let waits = connection.session.streams() && connection.unsent > 0;
            (connection.session.is_idle() || waits) && now.since(connection.moved) >= long
        };
        let idle = self.connections.iter().filter(|(_, one)| is_idle(one));
        let mut idle: Vec<_> = idle.map(|(conn, one)| (one.moved, *conn)).collect();
        idle.sort_unstable();
        idle.into_iter().map(|(_, conn)| conn).collect()
    }

    /// Those that follow the live view and have taken all of it so far.
    pub(super) fn following(&self) -> Vec<ConnId> {
        let follows =
            |one: &AdminConnection| one.session.streams() && one.unsent == 0 && !one.closing;
        let following = self.connections.iter().filter(|(_, one)| follows(one));
        following.map(|(conn, _)| *conn).collect()
    }

    /// Whether an OSD is to come up, or a disk is being opened for it.
    pub(in crate::engine) fn is_joining(&self, osd: OsdId) -> bool {
        self.joining.iter().any(|joining| joining.osd == osd)
    }

    /// Whether a disk is being opened that an operator gives an OSD.
    pub(super) fn is_getting_disk(&self, osd: OsdId) -> bool {
        self.joining.iter().any(|joining| joining.osd == osd && joining.opening.is_none())
    }

    /// Whether every change that was made has its answer.
    pub(in crate::engine) fn nothing_waits(&self) -> bool {
        self.waiting.is_empty() && self.delayed.is_empty()
    }
}

/// What every command comes to.
pub(in crate::engine) type Executed = Result<CommandOutcome, AdminRefusal>;

pub(in crate::engine) const DONE: AdminAnswer = AdminAnswer::Done(Done {});

pub(in crate::engine) fn now(answer: AdminAnswer) -> Executed {
    Ok(CommandOutcome::Now(Ok(answer)))
}

/// What becomes of a disk that an OSD is given: it holds a store, or nothing, and then a new store is written.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct NewDisk {
    /// A missing file is made if this is known.
    pub(super) size: Option<Bytes>,
    /// A new store is written whatever it holds: that may be lost.
    pub(super) overwrite: bool,
}

/// A disk that is ready, or why it is not; by mail of the thread that opened it.
#[derive(Debug)]
pub struct DiskReady {
    pub(super) ticket: Ticket,
    pub(super) osd: Option<OsdId>,
    pub(super) disk: Result<OpenedDisk, AdminRefusal>,
}

/// An OSD that is to come up.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct Joining {
    pub(super) osd: OsdId,
    pub(super) ticket: Ticket,
    /// Whether the OSD opens its disk already; before, a thread does.
    pub(super) opening: Option<Is>,
    /// Its disk is being measured, or was.
    pub(super) measured: bool,
}

/// Whether the map knew an OSD before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::engine) enum Is {
    /// It did.
    There,
    /// It did, with another disk.
    Replaced,
    /// It did not: placement uses it from the moment that it is up, and if it does not come up, it is none.
    New,
}

/// A change under way.
#[derive(Debug)]
pub(in crate::engine) struct Changing {
    pub(super) who: String,
    pub(super) what: String,
    pub(super) of: Command,
    pub(super) before: String,
}

impl From<AdminRefusal> for CommandOutcome {
    fn from(refusal: AdminRefusal) -> CommandOutcome {
        CommandOutcome::Now(Err(refusal))
    }
}
