//! The loop: one machine after the other, one thread, woken by the machine, by the medium's next event and by signals.

use crate::calendar::CalendarError;
use crate::counts::DriveStatistics;
use crate::device::ScsiDevice;
use crate::session::{VhostSession, VhostSessionError};
use crate::waiting::{SIGNAL_TIME, wait};
use loadline_base::{Span, Time};
use loadline_vhost::{SocketError, TalkError};
use loadline_wire::vhost::MessageEffect;
use std::io;
use std::num::NonZeroU64;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixListener;
use std::time::Instant;
use thiserror::Error;

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
        tell(device, clock.now(), orders);
        if ready.is_empty() {
            device.advance(clock.now(), None).expect("without a machine no ring is touched");
            continue;
        }
        let (stream, _) = listener.accept()?;
        let mut session = VhostSession::new(stream);
        device.connected();
        let over = serve_session(&mut session, device, &clock, orders);
        device.disconnected(clock.now());
        over.unwrap_or_else(|error| tell_end(&error, orders));
    }
    Ok(device.statistics(clock.now()))
}

/// Says that a session is over; one of a machine that was switched off closes its end, and is no matter.
pub(crate) fn tell_end(error: &VhostSessionError, orders: &mut dyn ServeOrders) {
    match error {
        VhostSessionError::Talk(TalkError::Socket(SocketError::Gone))
        | VhostSessionError::Time(CalendarError::Socket(SocketError::Gone)) => {}
        error => orders.session_over(&error.to_string()),
    }
}

/// Tells statistics, if they are wanted.
pub(crate) fn tell(device: &ScsiDevice, now: Time, orders: &mut dyn ServeOrders) {
    if orders.wants_statistics() {
        orders.statistics(&device.statistics(now));
    }
}

fn serve_session(
    session: &mut VhostSession,
    device: &mut ScsiDevice,
    clock: &RealClock,
    orders: &mut dyn ServeOrders,
) -> Result<(), VhostSessionError> {
    while !orders.ends() {
        tell(device, clock.now(), orders);
        let now = clock.now();
        device.advance(now, session.rings())?;
        // While a message waits for commands under way no others are taken.
        let is_settled = carry_out(session, device, now)?;
        if let Some(mut rings) = session.rings().filter(|_| is_settled) {
            // A command may be aborted that the machine has offered just before.
            device.take_requests(now, &mut rings)?;
            device.take_controls(now, &mut rings)?;
        }
        let idle = match device.next_event() {
            Some(at) if at <= now => continue,
            Some(at) => at.since(clock.now()).min(SIGNAL_TIME),
            None => SIGNAL_TIME,
        };
        let ready = wait(&session.descriptors(), idle).map_err(SocketError::from)?;
        session.take_kicks(|kick| ready.contains(&kick.as_raw_fd()))?;
        if ready.contains(&session.socket().as_raw_fd()) {
            session.receive()?;
        }
    }
    Ok(())
}

/// Does what the machine has said, once no command under way needs what it takes away; whether nothing is left.
fn carry_out(
    session: &mut VhostSession,
    device: &mut ScsiDevice,
    now: Time,
) -> Result<bool, VhostSessionError> {
    let effect = session.heard().unwrap_or(MessageEffect::None);
    if effect != MessageEffect::None && device.is_busy() {
        return Ok(false);
    }
    if let MessageEffect::RingEnds(ring) = effect {
        device.forget_commands(now, ring);
    }
    if let Some(owed) = session.carry_out()? {
        session.reply(owed)?;
    }
    Ok(true)
}
