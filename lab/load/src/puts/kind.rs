//! What one put of a client is to the store: one record, or the three of a transaction around one key.

use loadline_base::Rng;
use loadline_osd::PutEnd;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// What a put is to the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PutKind {
    /// One record: the key with its value.
    #[default]
    Atomic,
    /// An implicit transaction of one key (checkpoint.md 15): that it is prepared, the key with its value, that it is committed. The put has
    /// ended when all three have.
    Transactional,
}

impl PutKind {
    /// Commits that the store carries out for each put.
    pub const fn records(self) -> u64 {
        match self {
            PutKind::Atomic => 1,
            PutKind::Transactional => RECORDS as u64,
        }
    }
}

impl fmt::Display for PutKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PutKind::Atomic => "atomic",
            PutKind::Transactional => "transactional",
        })
    }
}

/// There is no such kind of put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownPutKind;

impl fmt::Display for UnknownPutKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected `atomic` or `transactional`")
    }
}

impl FromStr for PutKind {
    type Err = UnknownPutKind;

    fn from_str(text: &str) -> Result<PutKind, UnknownPutKind> {
        let kinds = [PutKind::Atomic, PutKind::Transactional];
        kinds.into_iter().find(|kind| kind.to_string() == text).ok_or(UnknownPutKind)
    }
}

/// Records of a transaction of one key.
const RECORDS: u8 = 3;

/// Places that states of transactions are written to in turns. Many more than are under way: no state is written over while it counts.
const PLACES: u64 = 4096;

/// Bytes of a state: the transaction's number, its nodes and its time, as the published records name them.
const STATE_BYTES: usize = 64;

/// The states of transactions, and which of their records have ended.
#[derive(Clone, Debug, Default)]
pub(super) struct TransactionStates {
    begun: u64,
    /// By token: records that have ended, and whether all of them were kept. Puts of one token end one after the other.
    partly: BTreeMap<u64, (u8, bool)>,
}

/// A key with its value.
type StateRecord = (Vec<u8>, Vec<u8>);

impl TransactionStates {
    /// What is written before and after the put of the next transaction.
    pub(super) fn next(&mut self, rng: &mut Rng) -> [StateRecord; 2] {
        let key = [b"tx".as_slice(), &((self.begun % PLACES) as u16).to_be_bytes()].concat();
        self.begun += 1;
        let mut state = Vec::with_capacity(STATE_BYTES + 1);
        state.push(b'p');
        state.extend_from_slice(&self.begun.to_le_bytes());
        while state.len() <= STATE_BYTES {
            state.extend_from_slice(&rng.next_u64().to_le_bytes());
        }
        state.truncate(STATE_BYTES + 1);
        let mut committed = state.clone();
        committed[0] = b'c';
        [(key.clone(), state), (key, committed)]
    }

    /// The end of a put, if this record was its last.
    pub(super) fn ended(&mut self, end: PutEnd) -> Option<PutEnd> {
        let (ended, is_kept) = self.partly.entry(end.token).or_insert((0, true));
        *ended += 1;
        *is_kept &= end.is_kept;
        if *ended < RECORDS {
            return None;
        }
        let (_, is_kept) = self.partly.remove(&end.token).expect("it was just there");
        Some(PutEnd { token: end.token, is_kept })
    }
}
