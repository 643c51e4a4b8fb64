//! The loop: one machine after the other, one thread, woken by the machine, by the medium's next event and by signals.

use crate::counts::DriveStatistics;
use crate::device::ScsiDevice;
use crate::session::{VhostSession, VhostSessionError};
use crate::socket::SocketError;
use loadline_base::{Span, Time};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::time::Timespec;
use std::io;
use std::num::NonZeroU64;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::os::unix::net::UnixListener;
use std::time::Instant;
use thiserror::Error;

/// How long a wish of a signal may go unseen, where it comes between a look at it and the sleep.
const SIGNAL_TIME: Span = Span::from_millis(200);

/// Why a drive cannot serve.
#[derive(Debug, Error)]
pub enum ServeError {
    /// Its own socket, or the waiting for it, failed.
    #[error("the drive's socket failed: {0}")]
    Socket(#[from] io::Error),
}

/// What others ask of a drive that serves, and what it tells them.
pub trait ServeOrders {
    /// Whether it is to end.
    fn ends(&self) -> bool;
    /// Whether somebody wants its statistics now; the wish is over when it was asked for.
    fn wants_statistics(&mut self) -> bool;
    /// Its statistics.
    fn statistics(&mut self, statistics: &DriveStatistics);
    /// A machine's session is over for a reason other than that it has gone.
    fn session_over(&mut self, why: &str);
}

/// The real clock, from the drive's start on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RealClock {
    start: Instant,
}

impl RealClock {
    fn start() -> RealClock {
        #[expect(clippy::disallowed_methods, reason = "this world's time is the real clock's")]
        let start = Instant::now();
        RealClock { start }
    }

    fn now(&self) -> Time {
        let nanos = u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Time::ZERO + Span::from_nanos(nanos)
    }
}

/// Serves whoever connects, one machine at a time, until an order ends it.
pub fn serve(
    listener: &UnixListener,
    device: &mut ScsiDevice,
    orders: &mut dyn ServeOrders,
) -> Result<DriveStatistics, ServeError> {
    // An answer is due at its instant, not up to 50 us later.
    rustix::thread::set_current_timer_slack(NonZeroU64::new(1)).map_err(io::Error::from)?;
    let clock = RealClock::start();
    while !orders.ends() {
        let ready = wait(&[listener.as_fd()], SIGNAL_TIME)?;
        tell(device, &clock, orders);
        if ready.is_empty() {
            device.advance(clock.now(), None).expect("without a machine no ring is touched");
            continue;
        }
        let (stream, _) = listener.accept()?;
        let mut session = VhostSession::new(stream)?;
        device.connected();
        let over = serve_session(&mut session, device, &clock, orders);
        device.disconnected(clock.now());
        match over {
            // A machine that is switched off closes its end.
            Ok(()) | Err(VhostSessionError::Socket(SocketError::Gone)) => {}
            Err(error) => orders.session_over(&error.to_string()),
        }
    }
    Ok(device.statistics(clock.now()))
}

fn tell(device: &ScsiDevice, clock: &RealClock, orders: &mut dyn ServeOrders) {
    if orders.wants_statistics() {
        orders.statistics(&device.statistics(clock.now()));
    }
}

fn serve_session(
    session: &mut VhostSession,
    device: &mut ScsiDevice,
    clock: &RealClock,
    orders: &mut dyn ServeOrders,
) -> Result<(), VhostSessionError> {
    while !orders.ends() {
        tell(device, clock, orders);
        let now = clock.now();
        device.advance(now, session.rings())?;
        if let Some(mut rings) = session.rings() {
            // A command may be aborted that the machine has offered just before.
            device.take_requests(now, &mut rings)?;
            device.take_controls(now, &mut rings)?;
        }
        let idle = match device.next_event() {
            Some(at) if at <= now => continue,
            Some(at) => at.since(clock.now()).min(SIGNAL_TIME),
            None => SIGNAL_TIME,
        };
        let descriptors = session.descriptors();
        let socket = descriptors[0].as_raw_fd();
        let ready = wait(&descriptors, idle).map_err(SocketError::from)?;
        session.take_kicks(|kick| ready.contains(&kick.as_raw_fd()))?;
        if ready.contains(&socket) {
            session.receive()?;
        }
    }
    Ok(())
}

/// Waits until one of these is readable, at most so long; which of them are.
fn wait(descriptors: &[BorrowedFd<'_>], at_most: Span) -> io::Result<Vec<RawFd>> {
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

    #[test]
    fn waiting_ends_in_time() {
        let (one, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        let ready = wait(&[one.as_fd()], Span::from_micros(10)).unwrap();
        assert!(ready.is_empty(), "nothing was sent");
    }
}
