//! Clients that write, zero, read and flush at random on several connections, until the node is gone or they are told to
//! stop; and one that reads the whole image.

use super::block::{BLOCK_BYTES, encode};
use super::ledger::{Ledger, Open};
use crate::client::{Connection, Request};
use loadline_base::Rng;
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// Requests in flight on each connection.
const DEPTH: usize = 8;

/// Blocks of one request where everything is read.
const STEP_BLOCKS: u64 = 256;

/// Half of all requests fall on the first blocks, so that writes meet each other.
const HOT_BLOCKS: u64 = 256;

enum Kind {
    Read,
    Change,
    Flush,
}

/// One connection with its requests in flight.
struct Client<'a> {
    connection: Connection,
    ledger: &'a Mutex<Ledger>,
    random: Rng,
    open: BTreeMap<u64, (Kind, Open)>,
}

/// Keeps one connection busy until it is told to stop and everything is answered, or until the node is gone.
///
/// # Errors
/// The connection's, with which a killed node ends it.
pub(crate) fn run(
    socket: &Path,
    ledger: &Mutex<Ledger>,
    seed: u64,
    stop: &AtomicBool,
) -> io::Result<()> {
    let connection = Connection::open(socket, "vol0")?;
    let mut client = Client { connection, ledger, random: Rng::new(seed), open: BTreeMap::new() };
    client.keep_busy(stop)
}

impl Client<'_> {
    fn keep_busy(&mut self, stop: &AtomicBool) -> io::Result<()> {
        loop {
            while self.open.len() < DEPTH && !stop.load(Ordering::Relaxed) {
                self.begin()?;
            }
            if self.open.is_empty() {
                return Ok(());
            }
            self.finish_one()?;
        }
    }

    fn begin(&mut self) -> io::Result<()> {
        let blocks = self.range();
        let offset = blocks.start * BLOCK_BYTES as u64;
        let length = u32::try_from((blocks.end - blocks.start) * BLOCK_BYTES as u64).unwrap();
        let mut ledger = self.ledger.lock().unwrap();
        let (kind, open, request) = match self.random.below(100) {
            0..55 => {
                let (open, content) = ledger.begin_write(blocks.clone());
                let data = blocks.flat_map(|block| encode(block, content)).collect();
                (Kind::Change, open, Request::Write { offset, data })
            }
            55..65 => (Kind::Change, ledger.begin_zero(blocks), Request::Zero { offset, length }),
            65..97 => (Kind::Read, ledger.begin_read(blocks), Request::Read { offset, length }),
            _ => (Kind::Flush, ledger.begin_read(0..0), Request::Flush),
        };
        drop(ledger);
        self.open.insert(self.connection.cookie(), (kind, open));
        self.connection.send(&request)
    }

    /// Mostly small, sometimes a megabyte.
    fn range(&mut self) -> Range<u64> {
        let blocks = self.ledger.lock().unwrap().blocks();
        let longest = [1, 4, 16, 256][self.random.below(20).min(19) as usize / 6];
        let count = 1 + self.random.below(longest);
        let reach = if self.random.below(2) == 0 { HOT_BLOCKS } else { blocks };
        let first = self.random.below(reach).min(blocks - count);
        first..first + count
    }

    fn finish_one(&mut self) -> io::Result<()> {
        let reply = self.connection.receive()?;
        let (kind, open) = self.open.remove(&reply.cookie).expect("each answer has its request");
        let mut ledger = self.ledger.lock().unwrap();
        match kind {
            Kind::Change => ledger.acknowledge(&open),
            Kind::Read => ledger.finish_read(&open, &reply.data),
            Kind::Flush => ledger.flushed(&open),
        }
        Ok(())
    }
}

/// Reads every block of the image while nobody writes; from now on it must stay what it is.
///
/// # Errors
/// The connection's: the node is gone, or says nothing.
pub(crate) fn verify_all(socket: &Path, ledger: &Mutex<Ledger>) -> io::Result<()> {
    let mut connection = Connection::open(socket, "vol0")?;
    let mut ledger = ledger.lock().unwrap();
    assert_eq!(connection.bytes, ledger.blocks() * BLOCK_BYTES as u64);
    let mut open = BTreeMap::new();
    for first in (0..ledger.blocks()).step_by(STEP_BLOCKS as usize) {
        let blocks = first..(first + STEP_BLOCKS).min(ledger.blocks());
        let length = u32::try_from((blocks.end - blocks.start) * BLOCK_BYTES as u64).unwrap();
        let offset = first * BLOCK_BYTES as u64;
        open.insert(connection.cookie(), ledger.begin_read(blocks));
        connection.send(&Request::Read { offset, length })?;
        if open.len() == DEPTH {
            settle_one(&mut connection, &mut ledger, &mut open)?;
        }
    }
    while !open.is_empty() {
        settle_one(&mut connection, &mut ledger, &mut open)?;
    }
    Ok(())
}

fn settle_one(
    connection: &mut Connection,
    ledger: &mut Ledger,
    open: &mut BTreeMap<u64, Open>,
) -> io::Result<()> {
    let reply = connection.receive()?;
    let read = open.remove(&reply.cookie).expect("each answer has its request");
    ledger.settle(&read, &reply.data);
    Ok(())
}
