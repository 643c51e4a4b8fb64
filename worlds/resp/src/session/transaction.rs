//! A connection's transaction: the keys that are watched for it, and its commands while they are told.

use crate::budget::{ConnectionMemory, HeldBytes};
use crate::commands::KeyCommand;
use crate::needs;
use crate::refusal::RespRefusal;
use crate::service::Queued;
use crate::watch::KeyWatch;
use loadline_kv::{Db, Keyspace};
use loadline_wire::resp::{RespReply, RespRequest};
use std::rc::Rc;

/// What the commands of a transaction may keep.
const MULTI_BYTES_MAX: usize = 8 << 20;

/// See [above](self).
#[derive(Default)]
pub(super) struct RespTransaction {
    watch: KeyWatch,
    multi: Option<Multi>,
}

/// Its commands, from `MULTI` on.
pub(super) struct Multi {
    commands: Vec<Queued>,
    bytes: usize,
    /// What they will take when they are carried out, all of it before they are.
    held: HeldBytes,
    /// Whether one of its commands was refused, so that it cannot be carried out.
    is_broken: bool,
}

/// What is to be carried out at its end.
pub(super) struct ToldTransaction {
    pub(super) commands: Vec<Queued>,
    pub(super) watch: KeyWatch,
    /// What the commands take.
    pub(super) held: HeldBytes,
}

impl RespTransaction {
    /// Watches one more key from now on.
    pub(super) async fn watch(
        &mut self,
        db: &Db,
        memory: &Rc<ConnectionMemory>,
        place: (u8, &Keyspace),
        key: &[u8],
    ) -> Result<(), RespRefusal> {
        self.watch.add(db, memory, place, key).await
    }

    pub(super) fn unwatch(&mut self) {
        self.watch = KeyWatch::default();
    }

    /// Commands that come from now on are its own.
    pub(super) fn begin(&mut self, memory: &Rc<ConnectionMemory>) {
        self.multi = Some(Multi::new(memory));
    }

    pub(super) fn is_begun(&self) -> bool {
        self.multi.is_some()
    }

    /// Where its commands go while they are told.
    pub(super) fn multi(&mut self) -> Option<&mut Multi> {
        self.multi.as_mut()
    }

    /// Something was refused while its commands were told.
    pub(super) fn break_off(&mut self) {
        self.multi.iter_mut().for_each(Multi::break_off);
    }

    /// Nothing of it is carried out, and nothing watched any more.
    pub(super) fn discard(&mut self) {
        *self = RespTransaction::default();
    }

    /// It has been told, and is over here.
    ///
    /// # Errors
    /// [`RespRefusal::Aborted`] if one of its commands was refused.
    pub(super) fn end(&mut self) -> Result<ToldTransaction, RespRefusal> {
        let RespTransaction { multi, watch } = std::mem::take(self);
        let Multi { commands, held, is_broken, .. } = multi.ok_or(RespRefusal::NoMulti("EXEC"))?;
        match is_broken {
            true => Err(RespRefusal::Aborted),
            false => Ok(ToldTransaction { commands, watch, held }),
        }
    }
}

impl Multi {
    fn new(memory: &Rc<ConnectionMemory>) -> Multi {
        Multi { commands: Vec::new(), bytes: 0, held: memory.note(0), is_broken: false }
    }

    /// One more command, or why it can be none of them.
    pub(super) fn add(
        &mut self,
        command: &'static KeyCommand,
        request: RespRequest,
        memory: &ConnectionMemory,
    ) -> RespReply {
        match self.keep(command, request, memory) {
            Ok(()) => RespReply::Simple("QUEUED"),
            Err(refusal) => {
                self.break_off();
                refusal.into()
            }
        }
    }

    fn keep(
        &mut self,
        command: &'static KeyCommand,
        request: RespRequest,
        memory: &ConnectionMemory,
    ) -> Result<(), RespRefusal> {
        command.check(&request)?;
        if self.is_broken {
            return Ok(());
        }
        let bytes = self.bytes + request.bytes();
        if bytes > MULTI_BYTES_MAX {
            return Err(RespRefusal::MultiBytes(MULTI_BYTES_MAX));
        }
        let need = self.held.bytes() + needs::of_request(command, &request);
        memory.could_have(need, || "this transaction".to_owned())?;
        if !self.held.try_set(need) {
            return Err(RespRefusal::Memory);
        }
        self.bytes = bytes;
        self.commands.push((command, request));
        Ok(())
    }

    /// It cannot be carried out any more, so nothing of it is kept.
    fn break_off(&mut self) {
        self.is_broken = true;
        (self.commands, self.bytes) = (Vec::new(), 0);
        self.held.set(0);
    }
}
