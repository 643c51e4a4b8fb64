//! The backend for systems that refuse io_uring: threads for each disk, polling for sockets.
//!
//! Priority words have no way to the device here and are left out.

mod sockets;
mod worker;

use super::{Call, FinishedCall};
use crate::event_loop::{DiskId, new_bell, silence};
use loadline_base::Span;
use sockets::Sockets;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use worker::{Answers, Workers};

/// Threads and the sockets that are polled beside them.
pub(crate) struct Threads<P> {
    disks: Vec<Option<Workers<P>>>,
    sockets: Sockets<P>,
    answers: Receiver<FinishedCall<P>>,
    answer: Sender<FinishedCall<P>>,
    /// Rung by every worker with an answer.
    bell: Arc<OwnedFd>,
    threads_per_disk: usize,
}

impl<P: Send + 'static> Threads<P> {
    pub(crate) fn new(threads_per_disk: usize) -> io::Result<Threads<P>> {
        let (answer, answers) = channel();
        Ok(Threads {
            disks: Vec::new(),
            sockets: Sockets::default(),
            answers,
            answer,
            bell: Arc::new(new_bell()?),
            threads_per_disk,
        })
    }

    /// Starts a disk's threads. Each disk has its own, so that a stuck one holds nobody else up.
    pub(crate) fn attach(&mut self, disk: DiskId, fd: &Arc<OwnedFd>) -> io::Result<()> {
        let answers = Answers { answer: self.answer.clone(), bell: self.bell.clone() };
        let workers = Workers::start(fd, self.threads_per_disk, &answers)?;
        let place = usize::from(disk);
        if self.disks.len() <= place {
            self.disks.resize_with(place + 1, || None);
        }
        self.disks[place] = Some(workers);
        Ok(())
    }

    /// Ends a disk's threads.
    pub(crate) fn detach(&mut self, disk: DiskId) {
        self.disks[usize::from(disk)].take().expect("the disk is attached");
    }

    pub(crate) fn begin(&mut self, purpose: P, call: Call) {
        match &call {
            Call::Read { disk, .. }
            | Call::Write { disk, .. }
            | Call::Flush { disk }
            | Call::Punch { disk, .. } => {
                let workers = self.disks[usize::from(*disk)].as_ref();
                workers.expect("a call names an attached disk").give(purpose, call);
            }
            _ => self.sockets.begin(purpose, call),
        }
    }

    pub(crate) fn wait(&mut self, limit: Option<Span>, out: &mut Vec<FinishedCall<P>>) {
        self.sockets.poll(&self.bell, limit, out);
        silence(&self.bell);
        out.extend(self.answers.try_iter());
    }
}
