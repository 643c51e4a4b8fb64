//! What is known of each image's guest.

use crate::{ConnId, ListenerId, ReadinessId};
use loadline_base::{SlotId, Slots};
use loadline_cluster::images::{ImageId, SnapshotId};
use loadline_osd::ClientId;
use loadline_vhost::{ControlSocket, DeviceTalk, MachineMemory, ReceivedMessage, RingRequest};
use loadline_wire::vhost::BlkCommand;
use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// What is taken from a guest's rings before others have their turn: one that offers more all the time would keep the loop. A request
/// counts as one, and as one more for each 64 KiB that it brings and for each 64 descriptors.
const TAKEN_MAX: u64 = 512;

/// Request queues at most: one for each processor of a guest is what guests ask for, and one thread serves all.
pub(super) const RINGS: usize = 16;

/// Requests that are taken from one ring in a row, while others of its guest have some.
const IN_A_ROW: usize = 8;

/// A request of a guest, as its ops remember it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) struct VhostCommand {
    pub(super) face: usize,
    pub(super) id: SlotId,
    /// Whether its guest keeps what is under way, so that the node's next life carries it out again.
    pub(in crate::engine) is_kept: bool,
}

impl VhostCommand {
    /// Whether it was taken from a ring of this face's guest.
    pub(in crate::engine) fn is_of(&self, face: usize) -> bool {
        self.face == face
    }
}

/// What woke a face.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wake {
    /// Its guest's process says something.
    Socket,
    /// A ring has been kicked.
    Ring(usize),
}

/// A path at which the guest of one image connects, one at a time.
pub(super) struct VhostFace {
    /// `image` or `image@snapshot`.
    pub(super) image: String,
    pub(super) session: Option<GuestSession>,
    under_way: Slots<GuestPart>,
    /// How many of these are of a session that is over: they end for nobody, and the next one is served when they have.
    old: usize,
    /// What was taken from its rings in this turn of the loop ([`TAKEN_MAX`]).
    taken: u64,
}

/// A guest that is connected.
pub(super) struct GuestSession {
    pub(super) conn: ConnId,
    pub(super) client: ClientId,
    pub(super) socket: ControlSocket,
    pub(super) talk: DeviceTalk,
    /// The image, or the snapshot.
    pub(super) image: (ImageId, SnapshotId),
    /// How many bytes of it the guest has been told of in this session. Its front end may have asked in an earlier one, and never again.
    pub(super) told: Option<u64>,
    pub(super) wakes: SessionWakes,
    /// A request, or what is left of one, that waits for memory.
    pub(super) waiting: Option<GuestRequest>,
    /// Whether a request is carried out in parts, for want of memory for all of it: nothing else is then.
    pub(super) is_in_parts: bool,
    /// A message that is carried out when nothing is under way any more: it stops a ring, whose memory is the guest's again then, or
    /// gives other memory.
    pub(super) stops: Option<ReceivedMessage>,
    pub(super) turns: RingTurns,
}

/// Whose turn it is among a guest's rings: one that is never empty keeps no other out.
#[derive(Debug, Default)]
pub(super) struct RingTurns {
    ring: usize,
    /// How many requests were taken from it in a row.
    in_a_row: usize,
}

impl RingTurns {
    /// The ring that is looked into now.
    pub(super) fn ring(&self) -> usize {
        self.ring
    }

    /// A request was taken from it.
    pub(super) fn took(&mut self) {
        self.in_a_row += 1;
        if self.in_a_row == IN_A_ROW {
            self.found_none();
        }
    }

    /// It was empty, or had its turn.
    pub(super) fn found_none(&mut self) {
        *self = RingTurns { ring: (self.ring + 1) % RINGS, in_a_row: 0 };
    }
}

/// By what the loop wakes a session.
#[derive(Default)]
pub(super) struct SessionWakes {
    pub(super) socket: Option<ReadinessId>,
    pub(super) kicks: BTreeMap<usize, (ReadinessId, Arc<OwnedFd>)>,
}

/// A request that was taken from a ring.
pub(super) struct GuestRequest {
    /// Whose it is.
    pub(super) conn: ConnId,
    pub(super) ring: usize,
    pub(super) request: RingRequest,
    /// Where it lies.
    pub(super) memory: MachineMemory,
    /// What is left to be done, of which a part may be under way. The guest may have written other words over those it was read from.
    pub(super) command: BlkCommand,
    /// Bytes of its data that have been read or written.
    pub(super) done: u64,
}

/// A request whose ops are under way, or those of a part of it.
pub(super) struct GuestPart {
    pub(super) request: GuestRequest,
    /// How many bytes of the connections' memory it holds.
    pub(super) holds: u64,
    /// Bytes that are read or written.
    pub(super) length: u64,
}

/// All of them.
#[derive(Default)]
pub(in crate::engine) struct VhostFaces {
    pub(super) faces: Vec<VhostFace>,
    pub(super) by_listener: BTreeMap<ListenerId, usize>,
    pub(super) by_wake: BTreeMap<ReadinessId, (usize, Wake)>,
    /// Those with something to take or to answer, each once.
    touched: Vec<usize>,
    /// Those of whose rings not everything was taken, for the next turn, each once.
    again: Vec<usize>,
    /// Rings with an answer that their guest was not called for.
    pub(super) uncalled: Vec<(usize, usize)>,
}

impl VhostFaces {
    /// A face has something to take or to answer.
    pub(super) fn touch(&mut self, face: usize) {
        if !self.touched.contains(&face) {
            self.touched.push(face);
        }
    }

    /// The guest of an image may go on.
    pub(in crate::engine) fn touch_image(&mut self, image: ImageId) {
        for face in
            (0..self.faces.len()).filter(|face| self.faces[*face].shows(image)).collect::<Vec<_>>()
        {
            self.touch(face);
        }
    }

    /// Whether a guest of an image at which others have left something behind waits for that: its rings are not looked into then.
    pub(in crate::engine) fn waits_at(&self, image: ImageId) -> bool {
        let sessions = self.faces.iter().filter_map(|face| face.session.as_ref());
        let mut of = sessions.filter(|session| session.image == (image, SnapshotId::HEAD));
        of.any(|session| session.talk.has_requests())
    }

    /// The connections of its guests.
    pub(super) fn open_at(&self, image: ImageId) -> Vec<ConnId> {
        let showing = self.faces.iter().filter(|face| face.shows(image));
        showing.filter_map(|face| Some(face.session.as_ref()?.conn)).collect()
    }

    pub(super) fn next_touched(&mut self) -> Option<usize> {
        self.touched.pop()
    }

    /// A turn of the loop begins, in which each face may take as much as in any other.
    pub(in crate::engine) fn begin_turn(&mut self) {
        for face in &mut self.faces {
            face.taken = 0;
        }
    }

    /// A face has taken what it may, and goes on in the next turn. Whether somebody has to see to it that there is one.
    pub(super) fn goes_on_later(&mut self, face: usize) -> bool {
        let is_new = !self.again.contains(&face);
        if is_new {
            self.again.push(face);
        }
        is_new
    }

    /// Those that have not taken everything in the last turn go on.
    pub(super) fn go_on(&mut self) {
        for face in std::mem::take(&mut self.again) {
            self.touch(face);
        }
    }

    pub(super) fn of_conn(&self, conn: ConnId) -> Option<usize> {
        self.faces.iter().position(|face| face.is_of(conn))
    }

    /// The session of a face, if there is one.
    pub(super) fn session(&mut self, face: usize) -> Option<&mut GuestSession> {
        self.faces[face].session.as_mut()
    }
}

impl VhostFace {
    pub(super) fn new(image: String) -> VhostFace {
        VhostFace { image, session: None, under_way: Slots::new(), old: 0, taken: 0 }
    }

    /// Whether its guest has an image.
    fn shows(&self, image: ImageId) -> bool {
        self.session.as_ref().is_some_and(|session| session.image.0 == image)
    }

    /// So much more was taken from its rings in this turn.
    pub(super) fn takes(&mut self, more: u64) {
        self.taken += more;
    }

    /// Whether it has taken what one turn gives it.
    pub(super) fn had_its_turn(&self) -> bool {
        self.taken >= TAKEN_MAX
    }

    /// A request of the session is under way from now on.
    pub(super) fn begin(&mut self, request: GuestPart) -> SlotId {
        self.under_way.acquire(request)
    }

    /// A request has ended, of the session or of one that is over.
    pub(super) fn end(&mut self, id: SlotId) -> GuestPart {
        let begun = self.under_way.release(id);
        self.old -= usize::from(!self.is_of(begun.request.conn));
        begun
    }

    /// Whether this is the connection of the session that there is.
    pub(super) fn is_of(&self, conn: ConnId) -> bool {
        self.session.as_ref().is_some_and(|session| session.conn == conn)
    }

    /// The session is over. What its requests hold they hold until they end.
    pub(super) fn let_go(&mut self) -> Option<GuestSession> {
        let session = self.session.take()?;
        self.old = self.under_way.len();
        Some(session)
    }

    /// Whether requests of a session that is over are still under way.
    pub(super) fn has_old(&self) -> bool {
        self.old > 0
    }

    /// How many requests are under way.
    pub(super) fn requests(&self) -> usize {
        self.under_way.len()
    }

    /// Whether a request of the session is under way, or waits to be: of this ring, or of any.
    pub(super) fn is_busy(&self, ring: Option<usize>) -> bool {
        let Some(session) = &self.session else { return false };
        let is_meant = |of: usize| ring.is_none_or(|ring| ring == of);
        let under_way = self.under_way.iter().map(|(_, begun)| &begun.request);
        let own = under_way.filter(|request| request.conn == session.conn);
        own.chain(&session.waiting).any(|request| is_meant(request.ring))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A guest that puts in a new request for each answer is touched by each of them.
    #[test]
    fn a_face_takes_so_much_in_a_turn_however_often_it_is_touched() {
        let mut faces = VhostFaces::default();
        faces.faces.push(VhostFace::new("vol0".to_owned()));
        let turn = |faces: &mut VhostFaces| {
            let mut taken = 0;
            faces.begin_turn();
            faces.go_on();
            faces.touch(0);
            while let Some(face) = faces.next_touched() {
                if faces.faces[face].had_its_turn() {
                    faces.goes_on_later(face);
                    continue;
                }
                faces.faces[face].takes(1);
                taken += 1;
                faces.touch(face);
                faces.touch(face);
            }
            taken
        };
        assert_eq!([turn(&mut faces), turn(&mut faces)], [TAKEN_MAX; 2]);
        assert!(!faces.goes_on_later(0), "it is known already");
    }

    #[test]
    fn a_ring_that_is_never_empty_has_eight_requests_taken_at_a_time() {
        let mut turns = RingTurns::default();
        let mut taken = [0; RINGS];
        for _ in 0..RINGS + 3 * IN_A_ROW {
            let ring = turns.ring();
            // The third one has three requests, the first and the last one have more all the time.
            if ring == 0 || ring == RINGS - 1 || ring == 2 && taken[2] < 3 {
                taken[ring] += 1;
                turns.took();
            } else {
                turns.found_none();
            }
        }
        assert_eq!((taken[0], taken[2], taken[RINGS - 1]), (15, 3, 8), "{taken:?}");
    }
}
