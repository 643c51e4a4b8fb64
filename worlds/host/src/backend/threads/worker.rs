//! A disk's threads: each takes the next call, carries it out and waits for the device.

use crate::backend::{Call, FinishedCall};
use crate::event_loop::ring_bell;
use rustix::fs::{FallocateFlags, fallocate, fdatasync};
use rustix::io::{Errno, pread, pwrite, retry_on_intr};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{Builder, JoinHandle};

/// Where answers go, and how the loop learns of them.
pub(super) struct Answers<P> {
    pub(super) answer: Sender<FinishedCall<P>>,
    pub(super) bell: Arc<OwnedFd>,
}

/// The threads of one disk. Dropping them carries out what is in line and then ends them.
pub(super) struct Workers<P> {
    line: Option<Sender<(P, Call)>>,
    threads: Vec<JoinHandle<()>>,
}

impl<P: Send + 'static> Workers<P> {
    pub(super) fn start(
        fd: &Arc<OwnedFd>,
        count: usize,
        answers: &Answers<P>,
    ) -> io::Result<Workers<P>> {
        let (line, calls) = channel();
        let calls = Arc::new(Mutex::new(calls));
        let mut workers = Workers { line: Some(line), threads: Vec::new() };
        for _ in 0..count.max(1) {
            let (fd, calls) = (fd.clone(), calls.clone());
            let answers = Answers { answer: answers.answer.clone(), bell: answers.bell.clone() };
            let thread = Builder::new().name("loadline-disk".into());
            workers.threads.push(thread.spawn(move || work(&fd, &calls, &answers))?);
        }
        Ok(workers)
    }

    pub(super) fn give(&self, purpose: P, call: Call) {
        let line = self.line.as_ref().expect("the line is open until the workers are dropped");
        assert!(line.send((purpose, call)).is_ok(), "a disk's threads end only with their line");
    }
}

impl<P> Drop for Workers<P> {
    fn drop(&mut self) {
        self.line = None;
        for thread in self.threads.drain(..) {
            // A thread that panicked has said so; there is nothing left to do about it here.
            let _ = thread.join();
        }
    }
}

fn work<P>(fd: &OwnedFd, calls: &Mutex<Receiver<(P, Call)>>, answers: &Answers<P>) {
    loop {
        let next = calls.lock().expect("no thread panics while it takes a call").recv();
        let Ok((purpose, mut call)) = next else { return };
        let result = carry_out(fd, &mut call);
        if answers.answer.send(FinishedCall { purpose, call, result }).is_err() {
            return;
        }
        ring_bell(&answers.bell);
    }
}

fn carry_out(fd: &OwnedFd, call: &mut Call) -> Result<usize, Errno> {
    retry_on_intr(|| match call {
        Call::Read { offset, length, block, .. } => {
            pread(fd, &mut block[..*length as usize], *offset)
        }
        Call::Write { offset, length, block, .. } => {
            pwrite(fd, &block[..*length as usize], *offset)
        }
        Call::Flush { .. } => fdatasync(fd).map(|()| 0),
        Call::Punch { offset, length, .. } => {
            let mode = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            fallocate(fd, mode, *offset, *length).map(|()| 0)
        }
        _ => unreachable!("sockets are polled"),
    })
}
