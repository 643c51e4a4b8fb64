//! The witness: up to where the log is durable, said a second time and far away from the log.
//!
//! What shows that rot is no torn end is a [`Durable`](super::RecordKind::Durable) record behind it. The newest of them is itself the log's
//! end, so damage that takes it together with a record that only it covers (two blocks of the log in each other's place, a write of
//! several pages that went astray) would pass for a power cut. So the position that it names stands on the data device as well, in
//! two places, each in a page of its own and neither next to the log: one damage does not reach a record, its proof and both.
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 4 | seeded CRC of bytes 4..32 |
//! | 4 | 4 | version: 1 |
//! | 8 | 8 | `LOADLWIT` |
//! | 16 | 8 | store id |
//! | 24 | 8 | position: the log before it is durable |
//! | 32 | | zeros, to the end of a block of the log |
//!
//! It is written when a flush of the log has ended, beside the proof in the log and at the same time, so it never says more than what
//! is durable and whoever waits for both waits no longer. Positions only grow: of two places the one that says more is the newer.
//! A place that is torn, unreadable or never written says nothing, and the other, or the log alone, speaks.

use super::LogRing;
use crate::paged::codec::{u32_at, u64_at};
use crate::paged::ids::Lsn;
use crate::paged::seed::Seed;
use loadline_base::{Span, Time};

const MAGIC: [u8; 8] = *b"LOADLWIT";
const VERSION: u32 = 1;
/// Bytes that say something.
const BYTES: usize = 32;

/// What stands in one place of the witness of this store's log: whole blocks.
pub fn encode(ring: &LogRing, durable: Lsn) -> Vec<u8> {
    let mut out = vec![0; 4];
    out.extend_from_slice(&VERSION.to_le_bytes());
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&ring.store_id.to_le_bytes());
    out.extend_from_slice(&durable.0.to_le_bytes());
    let crc = ring.seed.sum(&out[4..]);
    out[..4].copy_from_slice(&crc.to_le_bytes());
    out.resize(ring.block as usize, 0);
    out
}

/// What one place says, if it is whole and this store's. Never panics.
pub fn decode(store_id: u64, bytes: &[u8]) -> Option<Lsn> {
    let bytes = bytes.get(..BYTES)?;
    let is_whole = u32_at(bytes, 0) == Seed::of(store_id).sum(&bytes[4..])
        && u32_at(bytes, 4) == VERSION
        && bytes[8..16] == MAGIC
        && u64_at(bytes, 16) == store_id;
    is_whole.then(|| Lsn(u64_at(bytes, 24)))
}

/// When the witness is written, and what it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Witness {
    places: Option<[u64; 2]>,
    /// How long it may stay behind when nobody waits for it.
    lag: Span,
    /// The log is durable up to here.
    durable: Lsn,
    /// Both places say at least this.
    says: Lsn,
    /// Somebody waits until both say as much.
    demanded: Lsn,
    /// What is being written, and how many places have not answered.
    writing: Option<(Lsn, u32)>,
    /// When it is to be written, whether somebody waits or not.
    due: Option<Time>,
}

impl Witness {
    /// A witness of which nothing is known, in these places, or of a store that has none.
    pub fn new(places: Option<[u64; 2]>, lag: Span) -> Witness {
        let none = Lsn(0);
        let (writing, due) = (None, None);
        Witness { places, lag, durable: none, says: none, demanded: none, writing, due }
    }

    /// The log is durable up to `position`.
    pub fn durable(&mut self, now: Time, position: Lsn) {
        self.durable = position;
        if position > self.writing.map_or(self.says, |(position, _)| position) {
            self.due.get_or_insert(now + self.lag);
        }
    }

    /// Somebody waits until it says as much as `position`.
    pub fn demand(&mut self, position: Lsn) {
        self.demanded = self.demanded.max(position);
    }

    /// Whether it says that the log is durable up to `position`, or need not.
    pub fn says(&self, position: Lsn) -> bool {
        self.places.is_none() || position <= self.says
    }

    /// What is to be written now, and where. Each place has its own answer.
    pub fn next_write(&mut self, now: Time) -> Option<(Lsn, [u64; 2])> {
        let places = self.places?;
        if self.writing.is_some() || self.durable <= self.says {
            return None;
        }
        let is_waited_for = self.says < self.demanded && self.demanded <= self.durable;
        if !is_waited_for && self.due.is_none_or(|due| now < due) {
            return None;
        }
        (self.writing, self.due) = (Some((self.durable, 2)), None);
        Some((self.durable, places))
    }

    /// One place is written.
    pub fn write_done(&mut self) {
        let (position, left) = self.writing.take().expect("it is being written");
        if left == 1 {
            self.says = position;
        } else {
            self.writing = Some((position, left - 1));
        }
    }

    /// When it is to be asked again, if nothing else happens before.
    pub fn deadline(&self) -> Option<Time> {
        self.due.filter(|_| self.places.is_some() && self.writing.is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paged::log::RING;

    #[test]
    fn a_place_says_what_was_written_and_any_other_bit_makes_it_say_nothing() {
        let bytes = encode(&RING, Lsn(77));
        assert_eq!((bytes.len(), decode(9, &bytes)), (512, Some(Lsn(77))));
        assert_eq!(decode(8, &bytes), None, "another store's");
        for bit in 0..BYTES * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(decode(9, &damaged), None, "bit {bit}");
        }
        assert_eq!(decode(9, &bytes[..31]), None);
    }

    fn written(witness: &mut Witness, now: Time) -> Option<Lsn> {
        let (position, _) = witness.next_write(now)?;
        assert_eq!(witness.next_write(now), None, "one writing at a time");
        assert!(!witness.says(position));
        witness.write_done();
        assert!(!witness.says(position), "one of two places says it");
        witness.write_done();
        assert!(witness.says(position));
        Some(position)
    }

    #[test]
    fn a_burst_is_written_down_once_and_at_once_for_those_who_wait() {
        let at = |millis| Time::ZERO + Span::from_millis(millis);
        let mut witness = Witness::new(Some([0, 4096]), Span::from_millis(500));
        for millis in 1..=400 {
            witness.durable(at(millis), Lsn(10 * millis));
            assert_eq!(written(&mut witness, at(millis)), None);
        }
        assert_eq!(witness.deadline(), Some(at(501)));
        witness.demand(Lsn(4100));
        assert_eq!(written(&mut witness, at(410)), None, "it is not durable yet");
        witness.durable(at(420), Lsn(4200));
        assert_eq!(written(&mut witness, at(420)), Some(Lsn(4200)));
        assert_eq!((witness.deadline(), written(&mut witness, at(900))), (None, None));
        witness.durable(at(1000), Lsn(5000));
        assert_eq!(written(&mut witness, at(1499)), None);
        assert_eq!(written(&mut witness, at(1500)), Some(Lsn(5000)));
    }

    #[test]
    fn what_became_durable_meanwhile_is_written_next() {
        let mut witness = Witness::new(Some([0, 4096]), Span::ZERO);
        witness.durable(Time::ZERO, Lsn(10));
        assert_eq!(witness.next_write(Time::ZERO), Some((Lsn(10), [0, 4096])));
        witness.durable(Time::ZERO, Lsn(20));
        witness.demand(Lsn(20));
        witness.write_done();
        witness.write_done();
        assert!(witness.says(Lsn(10)) && !witness.says(Lsn(11)));
        assert_eq!(written(&mut witness, Time::ZERO), Some(Lsn(20)));
    }

    #[test]
    fn nobody_waits_for_a_witness_that_has_no_place() {
        let mut witness = Witness::new(None, Span::ZERO);
        witness.durable(Time::ZERO, Lsn(10));
        assert!(witness.says(Lsn(10)) && witness.deadline().is_none());
        assert_eq!(witness.next_write(Time::ZERO), None);
    }
}
