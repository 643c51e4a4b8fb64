//! Guests by vhost-user: requests in a guest's rings to ops on objects, ends of ops to answers in the rings.
//!
//! Each image that is served so has a path of its own, and one guest at a time. What is taken from a ring is bounded as an NBD connection's
//! requests are: so many, so many bytes, and no more than the node has memory for; the rest stays in the ring. All that a guest says is
//! looked at as it stands there now, once, and is never believed to be still there.

mod faces;

pub(super) use faces::{VhostCommand, VhostFaces};

use super::Engine;
use super::boot::BootError;
use super::budget::{CONNECTION, ConnectionCharge};
use super::client_ops::{Ended, Waiter};
use super::doors::{Complaint, Speaks};
use super::host_node::Alarm;
use super::image_ops::read_of;
use super::range_work::{RangeAsk, RangeWork};
use crate::{ConnId, ListenAt, ListenerId, ReadinessId};
use faces::{GuestRequest, GuestSession, RINGS, RingTurns, SessionWakes, VhostFace, Wake};
use loadline_cluster::images::View;
use loadline_osd::OpKind;
use loadline_vhost::{
    ControlSocket, DeviceOffer, DeviceTalk, MachineMemory, ReceivedMessage, RingRequest,
    ServedRings, SocketError, TalkError,
};
use loadline_wire::nbd::{ConnectionLimits, PAYLOAD_MAX};
use loadline_wire::range_room::range_room;
use loadline_wire::vhost::{
    BLK_HEADER_BYTES, BlkCommand, BlkConfig, BlkDisk, BlkHeader, BlkRange, BlkShape, BlkStatus,
    VhostRequest,
};

/// Features of rings: tables of descriptors, and both sides say up to where they want to hear nothing.
const RING_FEATURES: u64 = 1 << 28 | 1 << 29;

/// Protocol features: several queues, answers to every request that wants one, requests of the device, configuration, and memory for what is
/// under way, by which a guest goes on where it was after the node's end.
const PROTOCOL_FEATURES: u64 = 1 << 0 | 1 << 3 | 1 << 5 | 1 << 9 | 1 << 12;

/// Pieces of a request's data at most: with head and status they fit a ring of 128. Each is so long at most that the longest request is
/// one that an NBD client may make, too.
const SEGMENTS_MAX: u32 = 126;
const SEGMENT_BYTES_MAX: u32 = 256 << 10;
const _: () = assert!(SEGMENTS_MAX * SEGMENT_BYTES_MAX <= PAYLOAD_MAX);

/// What is written without reading it first.
const BLOCK_BYTES: u32 = 4096;

/// Messages that are carried out before others have their turn.
const MESSAGES_MAX: usize = 64;

/// Bytes of a request that count in a turn as a request does.
const TURN_BYTES: u64 = 64 << 10;

/// Bytes of the name that a guest may ask for.
const ID_BYTES: usize = 20;

fn offer(view: &View) -> DeviceOffer {
    let read_only = if view.is_read_only() { BlkConfig::READ_ONLY } else { 0 };
    DeviceOffer {
        features: BlkConfig::FEATURES | RING_FEATURES | read_only,
        protocol_features: PROTOCOL_FEATURES,
        rings: RINGS,
        config: config(view.size),
    }
}

fn config(bytes: u64) -> Vec<u8> {
    let config = BlkConfig {
        bytes,
        segment_bytes_max: SEGMENT_BYTES_MAX,
        segments_max: SEGMENTS_MAX,
        block_bytes: BLOCK_BYTES,
        queues: RINGS as u16,
    };
    config.bytes().to_vec()
}

/// What becomes of a request that was taken from a ring.
enum RequestStart {
    /// It is under way, or answered.
    Begun,
    /// It waits for memory.
    Waits,
}

impl Engine {
    /// Listens at each image's path.
    pub(super) fn vhost_listen(&mut self) -> Result<(), BootError> {
        for spec in self.host.config.vhost.clone() {
            let found = self.host.node.cluster().kept_images().find(&spec.image);
            if let Err(error) = found {
                return Err(BootError::Vhost(spec.image, error, spec.path));
            }
            let at = ListenAt::Unix(spec.path);
            let listener = self.host.world.listen(&at)?;
            self.doors.opened(listener, Speaks::Vhost);
            self.vhost.by_listener.insert(listener, self.vhost.faces.len());
            tracing::info!(%at, image = spec.image, "vhost-user-blk");
            self.vhost.faces.push(VhostFace::new(spec.image));
        }
        Ok(())
    }

    pub(super) fn vhost_accepted(&mut self, listener: ListenerId, conn: ConnId) {
        let face = self.vhost.by_listener[&listener];
        if let Some(old) = self.vhost.session(face).map(|session| session.conn)
            && !self.host.world.hung_up(&[old]).is_empty()
        {
            self.vhost_end(face);
        }
        if let Err(why) = self.vhost_begin(face, conn) {
            self.doors.refused += 1;
            self.host.world.close(conn);
            let image = &self.vhost.faces[face].image;
            let says = format!("a guest of image {image} was refused: {why}");
            self.doors.complain(self.host.now, Complaint::Refused, || says);
        }
    }

    fn vhost_begin(&mut self, face: usize, conn: ConnId) -> Result<(), String> {
        let here = &mut self.vhost.faces[face];
        if here.session.is_some() {
            return Err("another one is connected".to_owned());
        }
        let view = self.host.node.cluster().kept_images().find(&here.image);
        let view = view.map_err(|error| error.to_string())?;
        let socket = self.host.world.socket(conn).ok_or("it has gone already")?;
        let wake = self.host.world.await_readable(&socket).map_err(|error| error.to_string())?;
        self.vhost.by_wake.insert(wake, (face, Wake::Socket));
        here.session = Some(GuestSession {
            conn,
            client: self.doors.new_client(),
            socket: ControlSocket::new(socket),
            talk: DeviceTalk::new(offer(&view)),
            image: (view.image, view.read_at),
            bytes: view.size,
            wakes: SessionWakes { socket: Some(wake), ..SessionWakes::default() },
            waiting: None,
            stops: None,
            turns: RingTurns::default(),
        });
        tracing::info!(image = here.image, "a guest has come");
        self.memory.enter(conn, self.doors.peer(conn));
        self.vhost_charge(conn);
        Ok(())
    }

    /// Something of a guest can be read.
    pub(super) fn vhost_readable(&mut self, id: ReadinessId) {
        let Some((face, wake)) = self.vhost.by_wake.get(&id).copied() else { return };
        let Some(session) = self.vhost.session(face) else { return };
        let heard = match wake {
            Wake::Ring(ring) => session.talk.rings()[ring].take_kicks().map_err(TalkError::from),
            Wake::Socket => self.vhost_hear(face),
        };
        self.vhost.touch(face);
        if let Err(why) = heard {
            self.vhost_over(face, &why);
        }
    }

    /// Carries out what the guest's process has said.
    fn vhost_hear(&mut self, face: usize) -> Result<(), TalkError> {
        for _ in 0..MESSAGES_MAX {
            let Some(session) = self.vhost.session(face) else { return Ok(()) };
            let Some(message) = session.socket.take()? else { return Ok(()) };
            self.vhost_message(face, message)?;
            if self.vhost.session(face).is_some_and(|session| session.stops.is_some()) {
                return Ok(());
            }
        }
        Ok(())
    }

    fn vhost_message(&mut self, face: usize, message: ReceivedMessage) -> Result<(), TalkError> {
        let stops = match message.request {
            VhostRequest::StopRing { ring } => self.vhost.faces[face].is_busy(Some(ring)),
            // Requests under way keep the memory in which they lie, and its files.
            VhostRequest::ResetOwner | VhostRequest::SetMemory(_) => {
                self.vhost.faces[face].is_busy(None)
            }
            _ => false,
        };
        let Some(session) = self.vhost.session(face) else { return Ok(()) };
        if stops {
            session.stops = Some(message);
            if let Some(wake) = session.wakes.socket.take() {
                self.vhost.by_wake.remove(&wake);
                self.host.world.forget_readable(wake);
            }
            return Ok(());
        }
        session.talk.carry_out(message)?.send(&session.socket)?;
        self.vhost_await_kicks(face)
    }

    /// Waits for the kicks of the rings as they are now.
    fn vhost_await_kicks(&mut self, face: usize) -> Result<(), TalkError> {
        let Some(session) = self.vhost.faces[face].session.as_mut() else { return Ok(()) };
        for (number, ring) in session.talk.rings().iter().enumerate() {
            let wanted = ring.shared_kick();
            let known = session.wakes.kicks.get(&number).map(|(_, kick)| kick);
            let is_same = match (wanted, known) {
                (Some(wanted), Some(known)) => std::sync::Arc::ptr_eq(wanted, known),
                (None, None) => true,
                _ => false,
            };
            if is_same {
                continue;
            }
            if let Some((old, _)) = session.wakes.kicks.remove(&number) {
                self.vhost.by_wake.remove(&old);
                self.host.world.forget_readable(old);
            }
            if let Some(kick) = wanted {
                let wake = self.host.world.await_readable(kick).map_err(SocketError::from)?;
                self.vhost.by_wake.insert(wake, (face, Wake::Ring(number)));
                session.wakes.kicks.insert(number, (wake, kick.clone()));
            }
        }
        Ok(())
    }

    /// Takes what the rings offer, and answers what has ended, once per round.
    pub(super) fn vhost_flush(&mut self) {
        while let Some(face) = self.vhost.next_touched() {
            // What has ended gives back its memory, the express part too, before something new is taken.
            if let Some(conn) = self.vhost.session(face).map(|session| session.conn) {
                self.vhost_charge(conn);
            }
            let served = self.vhost_stop_rings(face).and_then(|()| self.vhost_serve(face));
            if let Err(why) = served {
                self.vhost_over(face, &why);
            }
        }
        for (face, ring) in std::mem::take(&mut self.vhost.uncalled) {
            let Some(session) = self.vhost.session(face) else { continue };
            let Some(ServedRings { rings, memory }) = session.talk.served() else { continue };
            if rings[ring].call(memory).is_err() {
                self.vhost_over(face, &TalkError::Ring);
            }
        }
    }

    /// Carries out what had to wait for the requests under way.
    fn vhost_stop_rings(&mut self, face: usize) -> Result<(), TalkError> {
        let Some(session) = self.vhost.session(face) else { return Ok(()) };
        let Some(message) = session.stops.take() else { return Ok(()) };
        self.vhost_message(face, message)?;
        let Some(session) = self.vhost.faces[face].session.as_mut() else { return Ok(()) };
        if session.stops.is_none() {
            let socket = self.host.world.socket(session.conn).ok_or(SocketError::Gone)?;
            let wake = self.host.world.await_readable(&socket).map_err(SocketError::from)?;
            session.wakes.socket = Some(wake);
            self.vhost.by_wake.insert(wake, (face, Wake::Socket));
        }
        Ok(())
    }

    fn vhost_serve(&mut self, face: usize) -> Result<(), TalkError> {
        if self.is_stopping() {
            return Ok(());
        }
        let limits = ConnectionLimits::default();
        let mut idle = 0;
        while idle < RINGS {
            let here = &mut self.vhost.faces[face];
            let is_many = here.requests() >= limits.commands;
            let (is_old, had_its_turn) = (here.has_old(), here.had_its_turn());
            let Some(session) = here.session.as_mut() else { return Ok(()) };
            let is_full = is_many || self.memory.under_way(session.conn) >= limits.bytes;
            if is_full || is_old || session.stops.is_some() || session.waiting.is_some() {
                return Ok(());
            }
            // It is for one request, and nothing behind it.
            if self.memory.has_express(session.conn) {
                return Ok(());
            }
            if had_its_turn {
                // Nobody kicks for what is there already.
                if self.vhost.goes_on_later(face) {
                    self.host.alarms.push(self.host.now, Alarm::Again);
                }
                return Ok(());
            }
            let ring = session.turns.ring();
            let Some(ServedRings { rings, memory }) = session.talk.served() else { return Ok(()) };
            let Some(request) = rings[ring].take(memory)? else {
                session.turns.found_none();
                idle += 1;
                continue;
            };
            let memory = memory.clone();
            session.turns.took();
            idle = 0;
            here.takes(1);
            if let RequestStart::Waits = self.vhost_request(face, ring, request, memory)?
                && let Some(session) = self.vhost.session(face)
            {
                self.memory.wait(session.conn, self.host.now);
            }
        }
        Ok(())
    }

    /// Begins a request, or answers it at once, or lets it wait for memory.
    fn vhost_request(
        &mut self,
        face: usize,
        ring: usize,
        request: RingRequest,
        memory: MachineMemory,
    ) -> Result<RequestStart, TalkError> {
        let here = &mut self.vhost.faces[face];
        let Some(session) = here.session.as_mut() else { return Ok(RequestStart::Begun) };
        let (image, snapshot) = session.image;
        let view = self.host.node.cluster().view_of(image, snapshot);
        let command = match &view {
            Some(view) => understood(&request, &memory, view),
            None => Err(BlkStatus::Failed),
        };
        let (view, command) = match (view, command) {
            (Some(view), Ok(command)) => (view, command),
            (_, status) => {
                let status = status.err().unwrap_or(BlkStatus::Failed);
                self.vhost_answer(face, ring, &request, &memory, status, 0)?;
                return Ok(RequestStart::Begun);
            }
        };
        let (holds, counts) = cost(&command);
        let conn = session.conn;
        let room = self.memory.room(conn, self.host.requests_part());
        if holds > room && !self.memory.take_express(conn, holds) {
            session.waiting = Some((ring, request));
            return Ok(RequestStart::Waits);
        }
        here.takes(counts);
        let Some(session) = here.session.as_mut() else { return Ok(RequestStart::Begun) };
        // A guest that never asks for a flush expects what is answered to be durable.
        let is_durable = !session.talk.has(BlkConfig::FLUSH);
        let reads = matches!(command, BlkCommand::Read(_));
        let client = session.client;
        let (ops, then_sync) = match command {
            BlkCommand::Zero(ranges) => {
                let ranges = ranges.iter().map(|range| (range.offset, range.length)).collect();
                let work = RangeWork::new(&view, RangeAsk::Zero, ranges);
                let waiter = self
                    .vhost_waiter(face, GuestRequest { conn, holds, ring, request, memory, reads });
                self.begin_steps(waiter, client, work, is_durable);
                return Ok(RequestStart::Begun);
            }
            BlkCommand::Read(BlkRange { offset, length }) => {
                let kind = read_of(&view);
                (self.host.ops_of(&view, (offset, length), kind, Vec::new()), false)
            }
            BlkCommand::Write(BlkRange { offset, length }) => {
                let mut bytes = vec![0; length as usize];
                if request.readable.read(&memory, BLK_HEADER_BYTES as u64, &mut bytes).is_err() {
                    self.vhost_answer(face, ring, &request, &memory, BlkStatus::Failed, 0)?;
                    return Ok(RequestStart::Begun);
                }
                let ops = self.host.ops_of(&view, (offset, length), OpKind::Write, bytes);
                (ops, is_durable)
            }
            BlkCommand::Flush => (Vec::new(), true),
            BlkCommand::Id => {
                let mut id = [0; ID_BYTES];
                let name = here.image.as_bytes();
                let length = name.len().min(ID_BYTES);
                id[..length].copy_from_slice(&name[..length]);
                let status = match request.writable.write(&memory, 0, &id) {
                    Ok(()) => BlkStatus::Done,
                    Err(_) => BlkStatus::Failed,
                };
                self.vhost_answer(face, ring, &request, &memory, status, ID_BYTES as u32)?;
                return Ok(RequestStart::Begun);
            }
        };
        let waiter =
            self.vhost_waiter(face, GuestRequest { conn, holds, ring, request, memory, reads });
        self.begin_command(waiter, client, ops, then_sync);
        Ok(RequestStart::Begun)
    }

    /// A request is under way from now on; who waits for its ops.
    fn vhost_waiter(&mut self, face: usize, request: GuestRequest) -> Waiter {
        let GuestRequest { conn, holds, .. } = request;
        self.memory.begin(conn, holds);
        self.vhost_charge(conn);
        Waiter::Vhost(VhostCommand { face, id: self.vhost.faces[face].begin(request) })
    }

    pub(super) fn vhost_command_ended(&mut self, command: VhostCommand, ended: Ended) {
        let VhostCommand { face, id } = command;
        let here = &mut self.vhost.faces[face];
        let GuestRequest { conn, holds, ring, request, memory, reads } = here.end(id);
        let is_there = here.is_of(conn);
        self.memory.end(conn, holds);
        self.vhost.touch(face);
        if !is_there {
            return;
        }
        let (status, data) = match ended.data {
            Ok(data) if reads => match request.writable.write(&memory, 0, &data) {
                Ok(()) => (BlkStatus::Done, data.len() as u32),
                Err(_) => (BlkStatus::Failed, 0),
            },
            Ok(_) => (BlkStatus::Done, 0),
            Err(_) => (BlkStatus::Failed, 0),
        };
        if let Err(why) = self.vhost_answer(face, ring, &request, &memory, status, data) {
            self.vhost_over(face, &why);
        }
    }

    /// Answers a request by its status, behind so many bytes of data. One that has no room for a status is answered by nothing.
    fn vhost_answer(
        &mut self,
        face: usize,
        ring: usize,
        request: &RingRequest,
        memory: &MachineMemory,
        status: BlkStatus,
        data: u32,
    ) -> Result<(), TalkError> {
        let Some(session) = self.vhost.session(face) else { return Ok(()) };
        let Some(ServedRings { rings, memory: now }) = session.talk.served() else { return Ok(()) };
        let room = request.writable.bytes();
        let told = room
            .checked_sub(1)
            .is_some_and(|last| request.writable.write(memory, last, &[status as u8]).is_ok());
        rings[ring].answer(now, request.head, if told { data + 1 } else { 0 })?;
        if !self.vhost.uncalled.contains(&(face, ring)) {
            self.vhost.uncalled.push((face, ring));
        }
        Ok(())
    }

    /// Lets a guest go on that waits for memory, as far as there is some; whether it waits no longer.
    pub(super) fn vhost_goes_on(&mut self, conn: ConnId) -> bool {
        let Some(face) = self.vhost.of_conn(conn) else { return true };
        let Some(session) = self.vhost.session(face) else { return true };
        let Some((ring, request)) = session.waiting.take() else { return true };
        let Some(ServedRings { memory, .. }) = session.talk.served() else { return true };
        let memory = memory.clone();
        self.vhost.touch(face);
        match self.vhost_request(face, ring, request, memory) {
            Ok(RequestStart::Begun) => true,
            Ok(RequestStart::Waits) => false,
            Err(why) => {
                self.vhost_over(face, &why);
                true
            }
        }
    }

    /// Those of whose rings not everything was taken have their turn again.
    pub(super) fn vhost_again(&mut self) {
        self.vhost.go_on();
    }

    /// Charges a guest that is connected for what it holds now: all but its state its requests do.
    fn vhost_charge(&mut self, conn: ConnId) {
        let own = ConnectionCharge { states: CONNECTION, ..ConnectionCharge::default() };
        self.memory.charge(conn, own);
    }

    /// Tells guests whose image has another size now. To be called every second or so.
    pub(super) fn vhost_tell_sizes(&mut self) {
        for face in &mut self.vhost.faces {
            let Some(session) = &mut face.session else { continue };
            let (image, snapshot) = session.image;
            let Some(view) = self.host.node.cluster().view_of(image, snapshot) else { continue };
            if view.size != session.bytes {
                session.bytes = view.size;
                let told = session.talk.set_config(config(view.size));
                tracing::info!(
                    image = face.image,
                    bytes = view.size,
                    told,
                    "a guest's disk has another size"
                );
            }
        }
    }

    /// A session is over, and why.
    fn vhost_over(&mut self, face: usize, why: &TalkError) {
        let image = &self.vhost.faces[face].image;
        match why {
            TalkError::Socket(SocketError::Gone) => tracing::info!(image, "a guest has gone"),
            why => {
                let says = format!("the guest of image {image} is let go: {why}");
                self.doors.complain(self.host.now, Complaint::Violation, || says);
            }
        }
        self.vhost_end(face);
    }

    /// Ends a session. Its requests under way end for nobody, and give back what they hold when they do.
    fn vhost_end(&mut self, face: usize) {
        let Some(session) = self.vhost.faces[face].let_go() else { return };
        let kicks = session.wakes.kicks.values().map(|(wake, _)| *wake);
        for wake in kicks.chain(session.wakes.socket) {
            self.vhost.by_wake.remove(&wake);
            self.host.world.forget_readable(wake);
        }
        self.memory.leave(session.conn);
        self.host.world.close(session.conn);
    }

    pub(super) fn vhost_closed(&mut self, conn: ConnId) {
        if let Some(face) = self.vhost.of_conn(conn) {
            self.vhost_end(face);
        }
    }
}

/// How many bytes a command holds of the node's memory, and what it counts in a turn beside itself. Zeros have their own turns.
fn cost(command: &BlkCommand) -> (u64, u64) {
    match command {
        BlkCommand::Read(range) | BlkCommand::Write(range) => {
            (range.length, range.length / TURN_BYTES)
        }
        BlkCommand::Zero(ranges) => (range_room(ranges.iter().map(|range| range.length)), 0),
        BlkCommand::Flush | BlkCommand::Id => (0, 0),
    }
}

/// What a request wants of the image.
fn understood(
    request: &RingRequest,
    memory: &MachineMemory,
    view: &View,
) -> Result<BlkCommand, BlkStatus> {
    let mut header = [0; BLK_HEADER_BYTES];
    let has_header = request.readable.read(memory, 0, &mut header).is_ok();
    let room = request.writable.bytes().checked_sub(1).filter(|_| request.is_whole && has_header);
    let room = room.ok_or(BlkStatus::Failed)?;
    // Nothing is done, and no memory taken, for one that could not be carried out in the end.
    if ![&request.readable, &request.writable].iter().all(|side| side.lies_in(memory)) {
        return Err(BlkStatus::Failed);
    }
    let header = BlkHeader::decode(&header);
    let shape = BlkShape { brings: request.readable.bytes() - BLK_HEADER_BYTES as u64, room };
    let mut ranges = vec![0; header.range_bytes(shape.brings)];
    let read = request.readable.read(memory, BLK_HEADER_BYTES as u64, &mut ranges);
    read.map_err(|_| BlkStatus::Failed)?;
    let transfer_max = u64::from(PAYLOAD_MAX);
    let disk = BlkDisk { bytes: view.size, read_only: view.is_read_only(), transfer_max };
    BlkCommand::read(header, shape, &ranges, &disk)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_charged_for_its_data_or_for_its_ops() {
        let range = |length| BlkRange { offset: 0, length };
        assert_eq!(cost(&BlkCommand::Write(range(1 << 20))), (1 << 20, 16));
        assert_eq!(cost(&BlkCommand::Zero(vec![range(64 << 20); 16])), (64 << 10, 0));
        assert_eq!(cost(&BlkCommand::Flush), (0, 0));
    }
}
