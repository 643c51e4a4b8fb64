//! Waiting for descriptors, not longer than a signal's wish may go unseen.

use loadline_base::Span;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::time::Timespec;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};

/// How long a wish of a signal may go unseen, where it comes between a look at it and the sleep.
pub(crate) const SIGNAL_TIME: Span = Span::from_millis(200);

/// Waits until one of these is readable, at most so long; which of them are.
pub(crate) fn wait(descriptors: &[BorrowedFd<'_>], at_most: Span) -> io::Result<Vec<RawFd>> {
    let mut polled: Vec<PollFd<'_>> =
        descriptors.iter().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
    let nanos = at_most.nanos();
    let timeout = Timespec {
        tv_sec: (nanos / 1_000_000_000) as i64,
        tv_nsec: (nanos % 1_000_000_000) as i64,
    };
    match poll(&mut polled, Some(&timeout)) {
        Ok(_) => {}
        // A signal, whose wish is looked at next.
        Err(Errno::INTR) => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    }
    let ready = polled.iter().zip(descriptors).filter(|(polled, _)| !polled.revents().is_empty());
    Ok(ready.map(|(_, fd)| fd.as_raw_fd()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn waiting_ends_in_time() {
        let (one, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        let ready = wait(&[one.as_fd()], Span::from_micros(10)).unwrap();
        assert!(ready.is_empty(), "nothing was sent");
    }
}
