//! Descriptors that their owner reads: one call in flight waits for all of them, so that each can be taken away without one that has to be
//! cancelled.

use super::events::{CallPurpose, LoopEvent, ReadinessId};
use crate::backend::{Backend, Call};
use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// So many are told at a time; the others are told next.
const TOLD_MAX: usize = 64;

/// The descriptors that are waited for.
#[derive(Debug, Default)]
pub(super) struct Readiness {
    /// What waits for all of them; there is none before the first.
    all: Option<Arc<OwnedFd>>,
    of: BTreeMap<ReadinessId, Arc<OwnedFd>>,
    /// How many there ever were.
    made: u64,
}

impl Readiness {
    pub(super) fn add(
        &mut self,
        descriptor: &Arc<OwnedFd>,
        backend: &mut Backend<CallPurpose>,
    ) -> io::Result<ReadinessId> {
        let all = match &self.all {
            Some(all) => all,
            None => {
                let made = Arc::new(epoll::create(epoll::CreateFlags::CLOEXEC)?);
                backend.begin(CallPurpose::Readiness, Call::Hear { bell: made.clone() });
                self.all.insert(made)
            }
        };
        let id = ReadinessId(self.made);
        epoll::add(all, descriptor, epoll::EventData::new_u64(id.0), epoll::EventFlags::IN)?;
        self.made += 1;
        self.of.insert(id, descriptor.clone());
        Ok(id)
    }

    pub(super) fn forget(&mut self, id: ReadinessId) {
        if let (Some(all), Some(descriptor)) = (&self.all, self.of.remove(&id)) {
            // Others may hold it open, so that it would be told of for ever.
            let _ = epoll::delete(all, &descriptor);
        }
    }

    /// Some of them have something. Waits for the next.
    pub(super) fn told<M>(
        &mut self,
        backend: &mut Backend<CallPurpose>,
        out: &mut Vec<LoopEvent<M>>,
    ) {
        let all = self.all.as_ref().expect("only what was made is waited for");
        let mut events = Vec::with_capacity(TOLD_MAX);
        match epoll::wait(all, spare_capacity(&mut events), Some(&Timespec::default())) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => panic!("waiting for our own descriptors failed: {errno}"),
        }
        let ids = events.iter().map(|event| ReadinessId(event.data.u64()));
        out.extend(ids.filter(|id| self.of.contains_key(id)).map(LoopEvent::Readable));
        backend.begin(CallPurpose::Readiness, Call::Hear { bell: all.clone() });
    }
}
