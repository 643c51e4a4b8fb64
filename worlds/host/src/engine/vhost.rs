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
use super::image_ops::{NewOp, read_of};
use super::range_work::{CommandFailure, RangeAsk, RangeWork};
use crate::{ConnId, ListenAt, ListenerId, ReadinessId};
use faces::{
    GuestPart, GuestRequest, GuestSession, RINGS, RingTurns, SessionWakes, VhostFace, Wake,
};
use loadline_cluster::images::{ImageId, View};
use loadline_osd::OpKind;
use loadline_vhost::{
    ControlSocket, DeviceOffer, DeviceTalk, MachineMemory, ReceivedMessage, RingRequest,
    ServedRings, SocketError, TalkError,
};
use loadline_wire::nbd::{ConnectionLimits, PAYLOAD_MAX};
use loadline_wire::request_room::{ROOM_MIN, RangeLimits, part_within, range_room};
use loadline_wire::vhost::{
    BLK_HEADER_BYTES, BlkCommand, BlkConfig, BlkDisk, BlkHeader, BlkRange, BlkShape, BlkStatus,
    MessageEffect,
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

/// Bytes of a request that count in a turn as a request does, and descriptors of one that do.
const TURN_BYTES: u64 = 64 << 10;
const TURN_DESCRIPTORS: usize = 64;

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

/// What a request asks of an image.
enum GuestAsk {
    Ops(Vec<NewOp>),
    Steps(RangeWork),
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

    /// The connections of the guests that have an image, or a snapshot of it.
    pub(super) fn vhost_open_at(&self, image: ImageId) -> Vec<ConnId> {
        self.vhost.open_at(image)
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
            client: self.doors.client(conn),
            socket: ControlSocket::new(socket),
            talk: DeviceTalk::new(offer(&view)),
            image: (view.image, view.read_at),
            told: None,
            wakes: SessionWakes { socket: Some(wake), ..SessionWakes::default() },
            waiting: None,
            is_in_parts: false,
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
        // Requests under way keep the memory in which they lie, and its files.
        let stops = match message.request.effect() {
            MessageEffect::RingEnds(ring) => self.vhost.faces[face].is_busy(ring),
            MessageEffect::OtherMemory => self.vhost.faces[face].is_busy(None),
            MessageEffect::None => false,
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
            // What has ended gives back its memory before something new is taken.
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
        let shown = self.vhost.session(face).map(|session| session.image);
        // What others have left behind would come behind what is taken now.
        if shown.is_some_and(|shown| self.is_left_at(shown)) {
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
            let is_alone = session.waiting.is_some() || session.is_in_parts;
            if is_full || is_old || session.stops.is_some() || is_alone {
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
            here.takes(1 + (request.descriptors() / TURN_DESCRIPTORS) as u64);
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
        let here = &self.vhost.faces[face];
        let Some(session) = &here.session else { return Ok(RequestStart::Begun) };
        let (conn, (image, snapshot)) = (session.conn, session.image);
        let command = match self.host.node.cluster().view_of(image, snapshot) {
            Some(view) => understood(&request, &memory, &view),
            None => Err(BlkStatus::Failed),
        };
        let (status, data) = match command {
            Ok(BlkCommand::Id) => {
                let mut id = [0; ID_BYTES];
                let name = here.image.as_bytes();
                let length = name.len().min(ID_BYTES);
                id[..length].copy_from_slice(&name[..length]);
                match request.writable.write(&memory, 0, &id) {
                    Ok(()) => (BlkStatus::Done, ID_BYTES as u32),
                    Err(_) => (BlkStatus::Failed, 0),
                }
            }
            Ok(command) => {
                let request = GuestRequest { conn, ring, request, memory, command, done: 0 };
                return self.vhost_go_on(face, request);
            }
            Err(status) => (status, 0),
        };
        self.vhost_answer(face, ring, &request, &memory, status, data)?;
        Ok(RequestStart::Begun)
    }

    /// Carries out a request, or what is left of one, as far as there is memory for it; what finds none while others of its guest are under way,
    /// which give back theirs, waits for that.
    fn vhost_go_on(
        &mut self,
        face: usize,
        request: GuestRequest,
    ) -> Result<RequestStart, TalkError> {
        let here = &mut self.vhost.faces[face];
        let is_alone = here.requests() == 0;
        let Some(session) = here.session.as_mut() else { return Ok(RequestStart::Begun) };
        let conn = request.conn;
        let room = self.memory.room(conn, self.host.requests_part());
        let wants = cost(&request.command);
        let is_short = wants > room;
        self.memory.set_short(conn, is_short || session.is_in_parts);
        if is_short && !(is_alone && room >= ROOM_MIN) {
            session.waiting = Some(request);
            return Ok(RequestStart::Waits);
        }
        let part = part(&request.command, room);
        session.is_in_parts |= is_short && part.is_some();
        // A guest that never asks for a flush expects what is answered to be durable.
        let is_durable = !session.talk.has(BlkConfig::FLUSH);
        let (client, (image, snapshot)) = (session.client, session.image);
        let is_kept = session.talk.keeps_under_way();
        here.takes(part.map_or(0, |part| part.length / TURN_BYTES));
        let holds = wants.min(room);
        let view = self.host.node.cluster().view_of(image, snapshot);
        let Some(ask) = view.and_then(|view| self.vhost_ask(&request, &view, part, holds)) else {
            self.vhost_ends(face, &request, BlkStatus::Failed)?;
            return Ok(RequestStart::Begun);
        };
        let then_sync = match &request.command {
            BlkCommand::Read(_) | BlkCommand::Id => false,
            BlkCommand::Flush => true,
            BlkCommand::Write(_) | BlkCommand::Zero(_) => is_durable,
        };
        let then_sync = then_sync.then_some(image);
        self.memory.begin(conn, holds);
        self.vhost_charge(conn);
        let length = part.map_or(0, |part| part.length);
        let id = self.vhost.faces[face].begin(GuestPart { request, holds, length });
        let waiter = Waiter::Vhost(VhostCommand { face, id, is_kept });
        match ask {
            GuestAsk::Steps(work) => self.begin_steps(waiter, client, work, then_sync),
            GuestAsk::Ops(ops) => self.begin_command(waiter, client, ops, then_sync),
        }
        Ok(RequestStart::Begun)
    }

    /// What a request, or a part of its data, asks of the image as it is now; `None` if that ends past the image or brings nothing.
    fn vhost_ask(
        &self,
        request: &GuestRequest,
        view: &View,
        part: Option<BlkRange>,
        holds: u64,
    ) -> Option<GuestAsk> {
        let range = part.map_or((0, 0), |part| (part.offset, part.length));
        if range.0 + range.1 > view.size {
            return None;
        }
        let (kind, mut bytes) = match &request.command {
            BlkCommand::Zero(ranges) => {
                let ranges = ranges.iter().map(|range| (range.offset, range.length)).collect();
                let limits = RangeLimits::of_zeros(holds);
                let work = RangeWork::new(view, RangeAsk::Zero, ranges, limits);
                return Some(GuestAsk::Steps(work));
            }
            BlkCommand::Flush | BlkCommand::Id => return Some(GuestAsk::Ops(Vec::new())),
            BlkCommand::Read(_) => (read_of(view), Vec::new()),
            BlkCommand::Write(_) => (OpKind::Write, vec![0; range.1 as usize]),
        };
        let at = BLK_HEADER_BYTES as u64 + request.done;
        request.request.readable.read(&request.memory, at, &mut bytes).ok()?;
        Some(GuestAsk::Ops(self.host.ops_of(view, range, kind, bytes)))
    }

    pub(super) fn vhost_command_ended(&mut self, command: VhostCommand, ended: Ended) {
        let VhostCommand { face, id, .. } = command;
        let here = &mut self.vhost.faces[face];
        let GuestPart { mut request, holds, length } = here.end(id);
        let (conn, is_there) = (request.conn, here.is_of(request.conn));
        self.memory.end(conn, holds);
        self.vhost.touch(face);
        if !is_there {
            return;
        }
        self.vhost_charge(conn);
        if ended.data == Err(CommandFailure::Ending) {
            // It stays under way in what its guest keeps, and the next life carries it out.
            return;
        }
        let is_done = match (&request.command, ended.data) {
            (BlkCommand::Read(_), Ok(data)) => {
                request.request.writable.write(&request.memory, request.done, &data).is_ok()
            }
            (_, data) => data.is_ok(),
        };
        request.done += length;
        let is_over = match &mut request.command {
            BlkCommand::Read(range) | BlkCommand::Write(range) => {
                (range.offset, range.length) = (range.offset + length, range.length - length);
                range.length == 0
            }
            _ => true,
        };
        let ended = match is_done {
            true if !is_over => match self.vhost_go_on(face, request) {
                Ok(RequestStart::Waits) => {
                    self.memory.wait(conn, self.host.now);
                    Ok(())
                }
                other => other.map(|_| ()),
            },
            true => self.vhost_ends(face, &request, BlkStatus::Done),
            false => self.vhost_ends(face, &request, BlkStatus::Failed),
        };
        if let Err(why) = ended {
            self.vhost_over(face, &why);
        }
    }

    /// A request is over, and answered.
    fn vhost_ends(
        &mut self,
        face: usize,
        ended: &GuestRequest,
        status: BlkStatus,
    ) -> Result<(), TalkError> {
        let GuestRequest { conn, ring, request, memory, command, done } = ended;
        if let Some(session) = self.vhost.session(face) {
            session.is_in_parts = false;
            self.memory.set_short(*conn, false);
        }
        let data = match (command, status) {
            (BlkCommand::Read(_), BlkStatus::Done) => *done as u32,
            _ => 0,
        };
        self.vhost_answer(face, *ring, request, memory, status, data)
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
        let Some(request) = session.waiting.take() else { return true };
        self.vhost.touch(face);
        match self.vhost_go_on(face, request) {
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

    /// Tells guests the size of their image, once in a session and when it is another. To be called every second or so.
    pub(super) fn vhost_tell_sizes(&mut self) {
        for face in &mut self.vhost.faces {
            let Some(session) = &mut face.session else { continue };
            let (image, snapshot) = session.image;
            let Some(view) = self.host.node.cluster().view_of(image, snapshot) else { continue };
            // One that gives no channel may still ask, and finds what is so now.
            if session.told != Some(view.size) && session.talk.set_config(config(view.size)) {
                session.told = Some(view.size);
                tracing::info!(
                    image = face.image,
                    bytes = view.size,
                    "a guest is told its disk's size"
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
        self.give_up_guest(face);
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

/// How many bytes of the node's memory a command asks for.
fn cost(command: &BlkCommand) -> u64 {
    match command {
        BlkCommand::Read(range) | BlkCommand::Write(range) => range.length,
        BlkCommand::Zero(ranges) => range_room(ranges.iter().map(|range| range.length)),
        BlkCommand::Flush | BlkCommand::Id => 0,
    }
}

/// What is read or written in so much memory: all of it, or a part that ends at a block's border.
fn part(command: &BlkCommand, room: u64) -> Option<BlkRange> {
    let (BlkCommand::Read(range) | BlkCommand::Write(range)) = command else { return None };
    Some(BlkRange { length: part_within(range.offset, range.length, room), ..*range })
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
        assert_eq!(cost(&BlkCommand::Write(range(1 << 20))), 1 << 20);
        assert_eq!(cost(&BlkCommand::Zero(vec![range(64 << 20); 16])), 64 << 10);
        assert_eq!(cost(&BlkCommand::Flush), 0);
    }

    #[test]
    fn what_brings_data_has_parts() {
        let range = BlkRange { offset: 512, length: 40_000 };
        let within = |command: &BlkCommand| part(command, ROOM_MIN).map(|part| part.length);
        let first = Some(ROOM_MIN - 512);
        assert_eq!(
            [BlkCommand::Read(range), BlkCommand::Write(range)].map(|it| within(&it)),
            [first; 2]
        );
        assert_eq!(within(&BlkCommand::Flush), None);
    }
}
