//! The commands of a connection that are on their way, and their answers in the order in which they came.

use crate::budget::HeldBytes;
use crate::commands::KeyCommand;
use crate::refusal::RespRefusal;
use crate::service::{EndedCommand, Queued, told};
use futures_util::StreamExt;
use futures_util::future::{LocalBoxFuture, ready};
use futures_util::stream::FuturesOrdered;
use loadline_wire::resp::RespReply;

/// Commands of one connection on their way at a time.
const ON_THEIR_WAY_MAX: usize = 128;

/// See [above](self).
#[derive(Default)]
pub(super) struct Pipeline {
    on_their_way: FuturesOrdered<LocalBoxFuture<'static, RespAnswer>>,
    /// Whether those change something.
    are_writes: bool,
}

/// An answer, and what it has of the server's memory until it is put down.
pub(super) struct RespAnswer {
    pub(super) reply: RespReply,
    /// What is to be carried out again when it is the next to be answered, since there was no room for its answer.
    pub(super) again: Option<Queued>,
    _held: Option<HeldBytes>,
}

impl RespAnswer {
    /// What a command is answered, which has of the memory what it takes.
    pub(super) fn ended(
        command: &'static KeyCommand,
        ended: EndedCommand,
        mut held: HeldBytes,
    ) -> RespAnswer {
        let EndedCommand { answer, request } = ended;
        let request = request.filter(|_| matches!(answer, Err(RespRefusal::Room)));
        let again = request.map(|request| (command, request));
        let reply = told(answer);
        held.set(if again.is_some() { 0 } else { reply.bytes() as u64 });
        RespAnswer { reply, again, _held: Some(held) }
    }
}

impl From<RespReply> for RespAnswer {
    fn from(reply: RespReply) -> RespAnswer {
        RespAnswer { reply, again: None, _held: None }
    }
}

impl Pipeline {
    pub(super) fn is_empty(&self) -> bool {
        self.on_their_way.is_empty()
    }

    /// Whether a command may go while those before it are on their way. What changes something keeps its order in the database, and what reads
    /// behind that goes the same way. Reads may be overtaken.
    pub(super) fn lets_follow(&self, writes: bool) -> bool {
        self.on_their_way.len() < ON_THEIR_WAY_MAX && (!writes || self.are_writes)
    }

    /// Whether a command that may follow keeps its order in the database.
    pub(super) fn keeps_order(&mut self, writes: bool) -> bool {
        if self.is_empty() {
            self.are_writes = writes;
        }
        self.are_writes
    }

    /// Puts a command among those that are on their way, as a task of its own: its turn is over when the database has answered, also while this
    /// connection waits for its next turn or for a client that takes nothing. Otherwise connections that wait for turns would keep all of them.
    pub(super) fn go_on_without_me(&mut self, command: impl Future<Output = RespAnswer> + 'static) {
        let task = tokio::task::spawn_local(command);
        self.on_their_way.push_back(Box::pin(async move {
            task.await.expect("nobody ends it before its end, and a panic is everyone's")
        }));
    }

    /// Puts an answer behind those of the commands that are on their way.
    pub(super) fn answer(&mut self, reply: RespReply) {
        self.on_their_way.push_back(Box::pin(ready(reply.into())));
    }

    /// The next answer, when it is there; `None` if nothing is on its way.
    pub(super) async fn next(&mut self) -> Option<RespAnswer> {
        self.on_their_way.next().await
    }
}
