//! An export of a node as its own commands read it: where it holds data or has changed, and its bytes. One request at a time.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

/// Bytes of one read.
const READ: u64 = 4 << 20;
/// Bytes of one question.
const ASKED: u64 = 1 << 30;
/// A chunk of an answer is never longer than what was asked for with its head.
const CHUNK_MAX: u32 = READ as u32 + 64;

/// What is asked about an export's blocks.
pub(super) enum BlockQuestion<'a> {
    /// Where it holds data.
    Data,
    /// Where it may be other than at this snapshot.
    ChangesSince(&'a str),
}

impl BlockQuestion<'_> {
    fn context(&self) -> String {
        match self {
            BlockQuestion::Data => "base:allocation".to_owned(),
            BlockQuestion::ChangesSince(snapshot) => format!("qemu:dirty-bitmap:{snapshot}"),
        }
    }

    /// Whether an extent in this state is one that is asked for.
    fn is_meant(&self, state: u32) -> bool {
        match self {
            BlockQuestion::Data => state & 1 == 0,
            BlockQuestion::ChangesSince(_) => state & 1 != 0,
        }
    }
}

/// Why an export cannot be read.
#[derive(Debug)]
pub(super) enum ExportError {
    /// It is not there.
    Unknown,
    /// It cannot tell what is asked about its blocks.
    NoContext,
    /// A read or a question failed, with the protocol's number.
    Refused(u32),
    /// The connection broke, or made no sense.
    Broken(io::Error),
}

impl From<io::Error> for ExportError {
    fn from(error: io::Error) -> ExportError {
        ExportError::Broken(error)
    }
}

/// A connection to an export.
pub(super) struct Export<'a> {
    stream: UnixStream,
    question: BlockQuestion<'a>,
    /// Its size.
    pub(super) bytes: u64,
}

impl<'a> Export<'a> {
    /// Chooses an export, about whose blocks one thing is asked.
    ///
    /// # Errors
    /// [`ExportError`].
    pub(super) fn open(
        socket: &Path,
        name: &str,
        question: BlockQuestion<'a>,
    ) -> Result<Export<'a>, ExportError> {
        let mut export = Export { stream: UnixStream::connect(socket)?, question, bytes: 0 };
        let mut greeting = [0; 18];
        export.stream.read_exact(&mut greeting)?;
        if &greeting[..16] != b"NBDMAGICIHAVEOPT" {
            return Err(nonsense());
        }
        export.stream.write_all(&3u32.to_be_bytes())?;
        export.option(8, &[], |_, _| {})?;
        let text = |text: &str| [&(text.len() as u32).to_be_bytes()[..], text.as_bytes()].concat();
        let context = export.question.context();
        let wanted = [text(name), 1u32.to_be_bytes().into(), text(&context)].concat();
        let mut has_context = false;
        export.option(10, &wanted, |kind, _| has_context |= kind == 4)?;
        if !has_context {
            return Err(ExportError::NoContext);
        }
        let mut bytes = 0;
        export.option(7, &[text(name), vec![0, 0]].concat(), |kind, data| {
            // Size and flags; other facts are told as well.
            if kind == 3 && data.len() == 12 && data[..2] == [0, 0] {
                bytes = be(&data[2..10]);
            }
        })?;
        export.bytes = bytes;
        Ok(export)
    }

    /// Asks for an option, and shows each reply before the last.
    fn option(
        &mut self,
        option: u32,
        data: &[u8],
        mut reply: impl FnMut(u32, &[u8]),
    ) -> Result<(), ExportError> {
        let head = [b"IHAVEOPT", &option.to_be_bytes()[..], &(data.len() as u32).to_be_bytes()];
        self.stream.write_all(&[&head.concat(), data].concat())?;
        loop {
            let mut head = [0; 20];
            self.stream.read_exact(&mut head)?;
            let (kind, length) = (be(&head[12..16]) as u32, be(&head[16..]) as u32);
            let data = self.take(length)?;
            match kind {
                1 => return Ok(()),
                0x8000_0006 => return Err(ExportError::Unknown),
                kind if kind >> 31 != 0 => return Err(nonsense()),
                kind => reply(kind, &data),
            }
        }
    }

    fn take(&mut self, length: u32) -> Result<Vec<u8>, ExportError> {
        if length > CHUNK_MAX {
            return Err(nonsense());
        }
        let mut bytes = vec![0; length as usize];
        self.stream.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// Asks for something, and shows each chunk of the answer.
    fn request(
        &mut self,
        command: u16,
        (offset, length): (u64, u32),
        mut chunk: impl FnMut(u16, &[u8]),
    ) -> Result<(), ExportError> {
        let mut head = 0x2560_9513u32.to_be_bytes().to_vec();
        head.extend([0, 0]);
        head.extend(command.to_be_bytes());
        head.extend(0u64.to_be_bytes());
        head.extend(offset.to_be_bytes());
        head.extend(length.to_be_bytes());
        self.stream.write_all(&head)?;
        loop {
            let mut head = [0; 20];
            self.stream.read_exact(&mut head)?;
            if be(&head[..4]) != 0x668e_33ef {
                return Err(nonsense());
            }
            let (flags, kind) = (be(&head[4..6]), be(&head[6..8]) as u16);
            let data = self.take(be(&head[16..]) as u32)?;
            match kind >> 15 {
                0 => chunk(kind, &data),
                _ => return Err(ExportError::Refused(data.get(..4).map_or(0, be) as u32)),
            }
            if flags & 1 != 0 {
                return Ok(());
            }
        }
    }

    /// The extents that the question is about, in order: first byte and length.
    ///
    /// # Errors
    /// [`ExportError`].
    pub(super) fn extents(&mut self) -> Result<Vec<(u64, u64)>, ExportError> {
        let mut found: Vec<(u64, u64)> = Vec::new();
        let mut at = 0;
        while at < self.bytes {
            let mut told = Vec::new();
            let length = ASKED.min(self.bytes - at) as u32;
            self.request(7, (at, length), |kind, data| {
                if kind == 5 && data.len() > 4 {
                    let pairs = data[4..].chunks_exact(8);
                    told.extend(pairs.map(|pair| (be(&pair[..4]), be(&pair[4..]) as u32)));
                }
            })?;
            if told.iter().all(|(length, _)| *length == 0) {
                return Err(nonsense());
            }
            for (length, state) in told {
                let length = length.min(self.bytes - at);
                match found.last_mut() {
                    _ if !self.question.is_meant(state) || length == 0 => {}
                    Some((offset, known)) if *offset + *known == at => *known += length,
                    _ => found.push((at, length)),
                }
                at += length;
            }
        }
        Ok(found)
    }

    /// Hands an extent's bytes on, in order and piece by piece.
    ///
    /// # Errors
    /// [`ExportError`], or what `take` has failed with.
    pub(super) fn read<E: From<ExportError>>(
        &mut self,
        (offset, length): (u64, u64),
        mut take: impl FnMut(u64, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut at = offset;
        while at < offset + length {
            let part = READ.min(offset + length - at);
            let mut bytes = vec![0; part as usize];
            let mut is_whole = true;
            self.request(0, (at, part as u32), |kind, data| {
                // What holes leave out stays zeros.
                if kind == 1 && data.len() >= 8 {
                    let from = be(&data[..8]).wrapping_sub(at) as usize;
                    let place = bytes.get_mut(from..from.saturating_add(data.len() - 8));
                    is_whole &= place.map(|place| place.copy_from_slice(&data[8..])).is_some();
                }
            })?;
            if !is_whole {
                return Err(nonsense().into());
            }
            take(at, &bytes)?;
            at += part;
        }
        Ok(())
    }
}

fn be(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

fn nonsense() -> ExportError {
    ExportError::Broken(io::Error::other("the server does not answer as NBD has it"))
}
