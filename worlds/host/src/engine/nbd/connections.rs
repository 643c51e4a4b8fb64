//! What is known of each NBD connection.

use super::channel::NbdChannel;
use crate::engine::range_work::CommandFailure;
use crate::{ConnId, ListenerId};
use loadline_base::{SlotId, Time};
use loadline_cluster::images::ImageId;
use loadline_osd::ClientId;
use loadline_wire::nbd::{
    ExportCommand, ExportId, NbdError, NbdFailure, NbdSession, SessionOutbox,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A command of a connection, as its ops remember it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) struct NbdCommand {
    pub(super) conn: ConnId,
    pub(super) id: SlotId,
    /// How many bytes of the connections' memory it holds.
    pub(super) holds: u64,
    /// How it fails if the image is shorter by then than its range.
    pub(super) past_end: NbdError,
    pub(super) brings: Brings,
}

impl NbdCommand {
    /// Whether it was asked on this connection.
    pub(in crate::engine) fn is_of(&self, conn: ConnId) -> bool {
        self.conn == conn
    }

    /// Why it failed, in the protocol's words.
    pub(super) fn failure(&self, why: CommandFailure) -> NbdFailure {
        let (error, message) = match why {
            CommandFailure::NoCopy => (NbdError::Io, "no copy of the data can be read"),
            CommandFailure::Gone => (NbdError::Shutdown, "the image is gone"),
            CommandFailure::Ending => (NbdError::Shutdown, "the node ends"),
            CommandFailure::PastEnd => (self.past_end, "the image is shorter now"),
            CommandFailure::MayBeLost => {
                (NbdError::Io, "what was answered since the last flush may be lost")
            }
        };
        NbdFailure { error, message: message.into() }
    }
}

/// What the answer to a command brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Brings {
    Nothing,
    Data,
    /// Where data is held.
    Status,
    /// Where it may be other than in another snapshot.
    Changes,
}

/// One connection. It is charged for its own state, what its receive buffer has beyond a short one, what its session holds and what its
/// commands do, which may outlive it.
pub(super) struct NbdConnection {
    pub(super) session: NbdSession,
    pub(super) out: SessionOutbox,
    /// What lies between them and the socket.
    pub(super) channel: NbdChannel,
    pub(super) client: ClientId,
    /// What came while the session could take no more.
    pub(super) unread: Vec<u8>,
    /// How many bytes the loop has been asked for; none if it has not.
    pub(super) asked: usize,
    /// Whether as many bytes came the last time as were asked for.
    pub(super) is_busy: bool,
    pub(super) came: Time,
    /// When it came, or bytes last came or left.
    pub(super) moved: Time,
    /// Whether it stands in the line of those that wait for memory.
    pub(super) is_waiting: bool,
    /// Whether the client's close had not reached this machine before it chose an export: what it asks for otherwise is not begun.
    pub(super) chose_in_time: bool,
    /// Whether the client will send nothing more. It may still read.
    pub(super) ended: bool,
    pub(super) closing: bool,
}

/// A command that waits for what clients have left behind at its image, or may still have to say.
pub(super) struct HeldCommand {
    pub(super) conn: ConnId,
    /// It waits for closes of smaller numbers: those that came before it.
    pub(super) before: u64,
    pub(super) command: ExportCommand,
}

/// A client that has closed and of whom not everything has begun.
pub(super) struct UnheardClient {
    pub(super) conn: ConnId,
    /// The image that it may change.
    pub(super) image: ImageId,
    /// The number of its close.
    pub(super) close: u64,
    /// When that came.
    pub(super) since: Time,
}

/// All of them.
#[derive(Default)]
pub(in crate::engine) struct NbdConnections {
    pub(super) connections: BTreeMap<ConnId, NbdConnection>,
    /// Where clients have to begin with TLS.
    pub(super) behind_tls: BTreeSet<ListenerId>,
    /// Those with something to send or to ask for.
    pub(super) touched: Vec<ConnId>,
    /// When the next handshake is looked for, if nothing happens before.
    pub(super) handshakes_at: Option<Time>,
    /// Commands that wait until what clients have left behind at their image has ended, in the order in which they came.
    pub(super) held: BTreeMap<ImageId, VecDeque<HeldCommand>>,
    /// In the order in which they closed.
    pub(super) unheard: Vec<UnheardClient>,
    /// The number of the next close.
    closes: u64,
}

impl NbdConnections {
    /// Whether commands wait for what clients have left behind.
    pub(super) fn has_held(&self) -> bool {
        !self.held.is_empty()
    }

    /// Those that have chosen such an export, and whose clients have not closed.
    pub(super) fn open_at(&self, is_of: impl Fn(ExportId) -> bool) -> Vec<ConnId> {
        let has_it = |(conn, connection): (&ConnId, &NbdConnection)| {
            let is_over = connection.closing || self.has_closed(*conn);
            (!is_over && connection.session.export().is_some_and(&is_of)).then_some(*conn)
        };
        self.connections.iter().filter_map(has_it).collect()
    }

    /// Whether the client of a connection has closed: its end has been read, or that of one that may change an image has come.
    pub(super) fn has_closed(&self, conn: ConnId) -> bool {
        let has_ended = self.connections.get(&conn).is_some_and(|connection| connection.ended);
        has_ended || self.unheard(conn).is_some()
    }

    /// The command of this place among those that wait at an image: whose, and for which closes it waits.
    pub(super) fn held_at(&self, image: ImageId, at: usize) -> Option<(ConnId, u64)> {
        let held = self.held.get(&image)?.get(at)?;
        Some((held.conn, held.before))
    }

    /// Takes it.
    pub(super) fn take_held(&mut self, image: ImageId, at: usize) -> ExportCommand {
        let held = self.held.get_mut(&image).expect("it was found there");
        let HeldCommand { command, .. } = held.remove(at).expect("it was found there");
        if held.is_empty() {
            self.held.remove(&image);
        }
        command
    }

    /// Whether a command of this connection waits.
    pub(super) fn holds_of(&self, conn: ConnId) -> bool {
        self.held.values().flatten().any(|held| held.conn == conn)
    }

    /// Takes all commands of a connection that wait.
    pub(super) fn drop_held(&mut self, conn: ConnId) -> Vec<ExportCommand> {
        let mut dropped = Vec::new();
        self.held.retain(|_, held| {
            let all = std::mem::take(held).into_iter();
            let (of, others): (Vec<_>, Vec<_>) = all.partition(|held| held.conn == conn);
            dropped.extend(of.into_iter().map(|held| held.command));
            held.extend(others);
            !held.is_empty()
        });
        dropped
    }

    /// Takes a client that has closed, of whom nothing is still to begin.
    pub(super) fn take_unheard(&mut self, conn: ConnId) -> Option<UnheardClient> {
        let at = self.unheard.iter().position(|unheard| unheard.conn == conn)?;
        Some(self.unheard.remove(at))
    }

    /// Somebody has closed: the number of that.
    pub(super) fn number_close(&mut self) -> u64 {
        self.closes += 1;
        self.closes - 1
    }

    /// A client that may change an image has closed.
    pub(super) fn note_close(&mut self, conn: ConnId, image: ImageId, since: Time) {
        let close = self.number_close();
        self.unheard.push(UnheardClient { conn, image, close, since });
    }

    /// Whether commands wait at an image for what the close of this number has left behind.
    pub(super) fn is_waited_for(&self, image: ImageId, close: u64) -> bool {
        let mut held = self.held.get(&image).into_iter().flatten();
        held.any(|held| held.before > close)
    }

    /// A client that has closed and is not heard out.
    pub(super) fn unheard(&self, conn: ConnId) -> Option<&UnheardClient> {
        self.unheard.iter().find(|unheard| unheard.conn == conn)
    }

    /// Closes of smaller numbers came before what is read of a connection now.
    pub(super) fn comes_before(&self, conn: ConnId) -> u64 {
        self.unheard(conn).map_or(self.closes, |unheard| unheard.close)
    }
}

impl NbdConnection {
    /// Whether the client has said all and has all its answers.
    pub(super) fn is_over(&self) -> bool {
        let is_waiting = self.session.waits_for_room();
        let is_answered = self.unread.is_empty() && self.session.in_flight() == 0 && !is_waiting;
        self.ended && is_answered && !self.closing
    }

    /// Whether the client has said all, and nothing of it is still to begin.
    pub(super) fn has_begun_all(&self) -> bool {
        self.ended && self.unread.is_empty() && !self.session.lacks_room()
    }

    /// Whether the loop may be asked for more of it.
    pub(super) fn may_be_asked(&self) -> bool {
        let has_end = self.ended || self.closing || self.channel.is_clogged();
        self.asked == 0 && !has_end && self.unread.is_empty()
    }
}
