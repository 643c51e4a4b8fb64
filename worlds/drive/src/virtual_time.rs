//! The loop in virtual time. Either the machine runs, and the drive hears its kicks, or the machine waits, and time goes on to
//! what comes first: the drive's next event or what the machine waits for.

use crate::calendar::Calendar;
use crate::counts::DriveStatistics;
use crate::device::ScsiDevice;
use crate::serve::{ServeError, ServeOrders, tell, tell_end};
use crate::session::{VhostSession, VhostSessionError};
use crate::waiting::{SIGNAL_TIME, wait};
use loadline_base::Time;
use loadline_vhost::SocketError;
use loadline_wire::vhost::MessageEffect;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixListener;

/// Serves whoever connects, one machine at a time, until an order ends it. A machine connects to `calendars` first, by its kernel's
/// word `time-travel=ext:PATH`, and to `listener` when it looks for its disk.
pub fn serve_in_virtual_time(
    listener: &UnixListener,
    calendars: &UnixListener,
    device: &mut ScsiDevice,
    orders: &mut dyn ServeOrders,
) -> Result<DriveStatistics, ServeError> {
    let mut now = Time::ZERO;
    while !orders.ends() {
        let ready = wait(&[listener.as_fd(), calendars.as_fd()], SIGNAL_TIME)?;
        tell(device, now, orders);
        if ready.contains(&calendars.as_raw_fd()) {
            let mut machine = match Calendar::new(calendars.accept()?.0, now) {
                Ok(calendar) => VirtualMachine { calendar, session: None },
                Err(error) => {
                    tell_end(&error.into(), orders);
                    continue;
                }
            };
            let over = machine.serve(listener, device, orders);
            now = machine.calendar.now();
            device.disconnected(now);
            over.unwrap_or_else(|error| tell_end(&error, orders));
        } else if ready.contains(&listener.as_raw_fd()) {
            drop(listener.accept()?);
            orders.session_over(
                "a machine looked for its disk that keeps its own time; its kernel has to be built with \
                 CONFIG_UML_TIME_TRAVEL_SUPPORT and started with time-travel=ext:PATH",
            );
        }
    }
    Ok(device.statistics(now))
}

/// A machine whose time the drive keeps.
struct VirtualMachine {
    calendar: Calendar,
    /// Its talk about the disk, once that has begun.
    session: Option<VhostSession>,
}

impl VirtualMachine {
    fn serve(
        &mut self,
        listener: &UnixListener,
        device: &mut ScsiDevice,
        orders: &mut dyn ServeOrders,
    ) -> Result<(), VhostSessionError> {
        while !orders.ends() {
            tell(device, self.calendar.now(), orders);
            if !self.calendar.waits() || !self.pass_time(device)? {
                self.hear(listener, device)?;
            }
        }
        Ok(())
    }

    /// Hears what the machine says while it runs, or while neither side has anything to wait for.
    fn hear(
        &mut self,
        listener: &UnixListener,
        device: &mut ScsiDevice,
    ) -> Result<(), VhostSessionError> {
        let mut descriptors = vec![self.calendar.descriptor()];
        let disk = self.session.as_ref().map_or(listener.as_fd(), VhostSession::socket);
        descriptors.push(disk);
        let (calendar, disk) = (descriptors[0].as_raw_fd(), disk.as_raw_fd());
        let ready = wait(&descriptors, SIGNAL_TIME).map_err(SocketError::from)?;
        if ready.contains(&disk) {
            if self.session.is_some() {
                self.hear_disk(device)?;
            } else {
                let (stream, _) = listener.accept().map_err(SocketError::from)?;
                let session = VhostSession::in_virtual_time(stream);
                self.session = Some(session);
                device.connected();
            }
        }
        if ready.contains(&calendar) {
            self.calendar.receive()?;
        }
        Ok(())
    }

    /// Hears a message about the disk, and does what it says.
    fn hear_disk(&mut self, device: &mut ScsiDevice) -> Result<(), VhostSessionError> {
        let now = self.calendar.now();
        let Some(session) = &mut self.session else { return Ok(()) };
        session.receive()?;
        // The machine has its turn and stands still until it is answered: no command can end in between. Those whose memory alone
        // becomes another stay where the machine's addresses lead then.
        if let Some(MessageEffect::RingEnds(ring)) = session.heard() {
            device.advance(now, session.rings())?;
            device.forget_commands(now, ring);
        }
        let owed = session.carry_out()?;
        if owed.as_ref().is_some_and(|owed| owed.kicked) {
            self.take_requests(device)?;
        }
        self.promise(device);
        if let (Some(session), Some(owed)) = (&mut self.session, owed) {
            session.reply(owed)?;
        }
        Ok(())
    }

    fn take_requests(&mut self, device: &mut ScsiDevice) -> Result<(), VhostSessionError> {
        let now = self.calendar.now();
        let Some(session) = &mut self.session else { return Ok(()) };
        device.advance(now, session.rings())?;
        if let Some(mut rings) = session.rings() {
            // A command may be aborted that the machine has offered just before.
            device.take_requests(now, &mut rings)?;
            device.take_controls(now, &mut rings)?;
        }
        Ok(())
    }

    /// Promises the machine to be left alone until the drive has something to say.
    fn promise(&mut self, device: &ScsiDevice) {
        let calls = self.session.as_ref().is_some_and(VhostSession::has_calls);
        let now = self.calendar.now();
        let until = if calls { Some(now) } else { device.next_event().map(|at| at.max(now)) };
        self.calendar.promise(until);
    }

    /// One step of time while the machine waits; whether there was one.
    fn pass_time(&mut self, device: &mut ScsiDevice) -> Result<bool, VhostSessionError> {
        if let Some(session) = self.session.as_mut().filter(|session| session.has_calls()) {
            session.call(&mut self.calendar)?;
            return Ok(true);
        }
        let wanted = self.calendar.wanted();
        match device.next_event() {
            Some(at) if wanted.is_none_or(|wanted| at <= wanted) => {
                self.calendar.pass(at);
                let rings = self.session.as_mut().and_then(VhostSession::rings);
                device.advance(self.calendar.now(), rings)?;
            }
            _ => {
                let Some(wanted) = wanted else { return Ok(false) };
                self.calendar.pass(wanted);
                self.promise(device);
                self.calendar.run()?;
            }
        }
        Ok(true)
    }
}
