//! Mail from other threads: a channel, and a counter that wakes the loop.

use rustix::event::{EventfdFlags, eventfd};
use rustix::io::{read, write};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

/// Puts mail into a loop from any thread. Copies lead to the same loop.
#[derive(Debug)]
pub struct Mailbox<M> {
    mail: Sender<M>,
    bell: Arc<OwnedFd>,
    /// Whether the bell was rung for mail that the loop has not taken: then it need not be rung again.
    rung: Arc<AtomicBool>,
}

impl<M> Clone for Mailbox<M> {
    fn clone(&self) -> Mailbox<M> {
        let Mailbox { mail, bell, rung } = self;
        Mailbox { mail: mail.clone(), bell: bell.clone(), rung: rung.clone() }
    }
}

impl<M> Mailbox<M> {
    /// Puts `mail` in and wakes the loop. It comes back if the loop is gone.
    pub fn post(&self, mail: M) -> Result<(), M> {
        self.mail.send(mail).map_err(|refused| refused.0)?;
        if !self.rung.swap(true, Ordering::AcqRel) {
            ring_bell(&self.bell);
        }
        Ok(())
    }
}

/// Rings. A bell that cannot count any further has not been heard yet and will be.
pub(crate) fn ring_bell(bell: &OwnedFd) {
    let _ = write(bell, &1u64.to_ne_bytes());
}

/// Makes the bell silent again. One that is silent already stays so.
pub(crate) fn silence(bell: &OwnedFd) {
    let _ = read(bell, &mut [0u8; 8]);
}

/// A bell: readable from when it is rung until it is silenced. Neither waits.
pub(crate) fn new_bell() -> io::Result<OwnedFd> {
    Ok(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?)
}

/// The loop's end of a mailbox.
#[derive(Debug)]
pub(super) struct Inbox<M> {
    mail: Receiver<M>,
    mailbox: Mailbox<M>,
}

impl<M> Inbox<M> {
    pub(super) fn new() -> io::Result<Inbox<M>> {
        let (sender, mail) = channel();
        let bell = Arc::new(new_bell()?);
        let rung = Arc::new(AtomicBool::new(false));
        Ok(Inbox { mail, mailbox: Mailbox { mail: sender, bell, rung } })
    }

    pub(super) fn mailbox(&self) -> Mailbox<M> {
        self.mailbox.clone()
    }

    pub(super) fn bell(&self) -> &Arc<OwnedFd> {
        &self.mailbox.bell
    }

    /// Takes what is there. The bell falls silent first, so that later mail rings again.
    pub(super) fn take(&self) -> impl Iterator<Item = M> + '_ {
        silence(self.bell());
        // A post that still saw it rung happened before this, so that its mail is taken below.
        self.mailbox.rung.swap(false, Ordering::AcqRel);
        self.mail.try_iter()
    }
}
