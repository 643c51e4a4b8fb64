//! The stream of a backup.
//!
//! ```text
//! magic  LOADLKVB (8)   version (4)   zero (4)
//! frame  length of the body (4)   CRC-32C of the frame's number (8) and the body (4)   body
//! ```
//!
//! Integers are little-endian. A body's first byte says what it is: 1 for pairs (each: length of the key, length of the value, 4 bytes each, key,
//! value), 2 for the end (how many pairs there were, 8). Frames are counted from 0, so one that is missing, doubled or out of place has the wrong CRC. The stream
//! ends with its end: one without it was cut, and nothing may stand behind.

use crate::error::{DbError, DbOpenError};
use crate::record::{self, StoredPairs};
use loadline_host::why;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

const MAGIC: [u8; 8] = *b"LOADLKVB";
const VERSION: u32 = 1;
const PAIRS: u8 = 1;
const END: u8 = 2;
/// A frame is written when it has so many bytes.
const FRAME_AIM: usize = 256 << 10;
/// The most that a reader takes for a frame.
const FRAME_MAX: usize = FRAME_AIM + record::ENTRY_BYTES_MAX + 64;

/// Why a backup could not be made or used.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The stream cannot be written or read.
    #[error("the backup's stream: {}", why(.0))]
    Io(#[from] io::Error),
    /// What was read is no backup, or no whole one.
    #[error(transparent)]
    Stream(#[from] StreamFault),
    /// The database does not let it.
    #[error(transparent)]
    Db(#[from] DbError),
    /// The database could not be opened or made.
    #[error(transparent)]
    Open(#[from] DbOpenError),
    /// What has the name is no earlier backup, and is left as it is.
    #[error("{}: it is there already, is no backup, and is left as it is: name another file", path.display())]
    NotReplaced {
        /// The file or the device.
        path: PathBuf,
    },
    /// What was written is not what it should be.
    #[error("the copy was checked and is damaged")]
    CopyDamaged,
}

/// Whether a backup may take the place of what has this name, or of what a link leads to: of an earlier backup, or of nothing. What keeps nothing, as a pipe, is written
/// as it is; so is a device, once its beginning has been wiped. A file without contents may be held by somebody as a lock.
///
/// # Errors
/// [`BackupError::NotReplaced`], or the system's.
pub(crate) fn may_replace(path: &Path) -> Result<(), BackupError> {
    let Ok(found) = fs::metadata(path) else { return Ok(()) };
    let is_device = found.file_type().is_block_device();
    if !found.is_file() && !is_device {
        return Ok(());
    }
    let mut head = [0u8; MAGIC.len()];
    let is_known = match File::open(path)?.read_exact(&mut head) {
        Ok(()) => head == MAGIC || (is_device && head == [0u8; MAGIC.len()]),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => false,
        Err(error) => return Err(error.into()),
    };
    if is_known { Ok(()) } else { Err(BackupError::NotReplaced { path: path.to_owned() }) }
}

/// What is wrong with a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StreamFault {
    /// It does not begin as a backup does.
    #[error("this is no backup of a database: it does not begin as one does")]
    Foreign,
    /// It was written in a later form.
    #[error("this is a backup of version {0}, and this program reads version 1")]
    Version(u32),
    /// A frame's checksum does not fit.
    #[error("the backup is not whole: frame {0} is damaged")]
    Damaged(u64),
    /// It ends before its end.
    #[error("the backup is not whole: it ends in frame {0}")]
    Cut(u64),
    /// There is more behind its end.
    #[error("the backup is not whole: there are bytes behind its end")]
    Behind,
    /// It says that it has so many pairs, and has others.
    #[error("the backup is not whole: it should have {told} keys and has {found}")]
    Count {
        /// What it says.
        told: u64,
        /// What it has.
        found: u64,
    },
}

/// Writes a stream.
pub(crate) struct BackupWriter<W> {
    to: W,
    body: Vec<u8>,
    frames: u64,
    pairs: u64,
}

impl<W: Write> BackupWriter<W> {
    /// Begins a stream.
    pub(crate) fn new(mut to: W) -> io::Result<BackupWriter<W>> {
        to.write_all(&MAGIC)?;
        to.write_all(&u64::from(VERSION).to_le_bytes())?;
        Ok(BackupWriter { to, body: vec![PAIRS], frames: 0, pairs: 0 })
    }

    /// Adds a key with its value and tail.
    pub(crate) fn push(&mut self, key: &[u8], value: &[u8]) -> io::Result<()> {
        self.pairs += 1;
        self.body.extend_from_slice(&(key.len() as u32).to_le_bytes());
        self.body.extend_from_slice(&(value.len() as u32).to_le_bytes());
        self.body.extend_from_slice(key);
        self.body.extend_from_slice(value);
        if self.body.len() >= FRAME_AIM { self.write_frame() } else { Ok(()) }
    }

    /// Ends the stream. Answers how many keys it has.
    pub(crate) fn finish(mut self) -> io::Result<u64> {
        if self.body.len() > 1 {
            self.write_frame()?;
        }
        self.body = vec![END];
        self.body.extend_from_slice(&self.pairs.to_le_bytes());
        self.write_frame()?;
        self.to.flush()?;
        Ok(self.pairs)
    }

    fn write_frame(&mut self) -> io::Result<()> {
        self.to.write_all(&(self.body.len() as u32).to_le_bytes())?;
        self.to.write_all(&checksum(self.frames, &self.body).to_le_bytes())?;
        self.to.write_all(&self.body)?;
        self.frames += 1;
        self.body.truncate(1);
        Ok(())
    }
}

fn checksum(frame: u64, body: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&frame.to_le_bytes()), body)
}

/// Reads a stream, and believes nothing of it.
pub(crate) struct BackupReader<R> {
    from: R,
    frames: u64,
    pairs: u64,
    is_over: bool,
}

impl<R: Read> BackupReader<R> {
    /// Begins to read.
    pub(crate) fn new(mut from: R) -> Result<BackupReader<R>, BackupError> {
        let mut head = [0; 16];
        let foreign = |error: io::Error| match error.kind() {
            io::ErrorKind::UnexpectedEof => StreamFault::Foreign.into(),
            _ => BackupError::Io(error),
        };
        from.read_exact(&mut head).map_err(foreign)?;
        if head[..8] != MAGIC {
            return Err(StreamFault::Foreign.into());
        }
        match u32::from_le_bytes(head[8..12].try_into().expect("four bytes")) {
            VERSION => Ok(BackupReader { from, frames: 0, pairs: 0, is_over: false }),
            other => Err(StreamFault::Version(other).into()),
        }
    }

    /// The next keys with their values and tails; `None` behind the last ones, of a whole stream.
    pub(crate) fn next(&mut self) -> Result<Option<StoredPairs>, BackupError> {
        if self.is_over {
            return Ok(None);
        }
        let frame = self.frames;
        let body = self.read_frame()?;
        let damaged = StreamFault::Damaged(frame);
        match body.split_first() {
            Some((&PAIRS, rest)) => {
                let pairs = read_pairs(rest).ok_or(damaged)?;
                self.pairs += pairs.len() as u64;
                Ok(Some(pairs))
            }
            Some((&END, rest)) => {
                let told = u64::from_le_bytes(rest.try_into().map_err(|_| damaged)?);
                if told != self.pairs {
                    return Err(StreamFault::Count { told, found: self.pairs }.into());
                }
                if self.from.read(&mut [0])? > 0 {
                    return Err(StreamFault::Behind.into());
                }
                self.is_over = true;
                Ok(None)
            }
            _ => Err(damaged.into()),
        }
    }

    /// How many keys there were so far.
    pub(crate) fn pairs(&self) -> u64 {
        self.pairs
    }

    fn read_frame(&mut self) -> Result<Vec<u8>, BackupError> {
        let frame = self.frames;
        let cut = |error: io::Error| match error.kind() {
            io::ErrorKind::UnexpectedEof => StreamFault::Cut(frame).into(),
            _ => BackupError::Io(error),
        };
        let mut head = [0; 8];
        self.from.read_exact(&mut head).map_err(cut)?;
        let [length, sum] = [&head[..4], &head[4..]]
            .map(|bytes| u32::from_le_bytes(bytes.try_into().expect("four bytes")));
        if length as usize > FRAME_MAX {
            return Err(StreamFault::Damaged(frame).into());
        }
        let mut body = vec![0; length as usize];
        self.from.read_exact(&mut body).map_err(cut)?;
        if checksum(frame, &body) != sum {
            return Err(StreamFault::Damaged(frame).into());
        }
        self.frames += 1;
        Ok(body)
    }
}

/// The pairs of a body; `None` if they do not end where it does, or are nothing that a database holds.
fn read_pairs(mut rest: &[u8]) -> Option<StoredPairs> {
    let mut pairs = Vec::new();
    while !rest.is_empty() {
        let (key_length, behind) = rest.split_first_chunk::<4>()?;
        let (value_length, behind) = behind.split_first_chunk::<4>()?;
        let (key, behind) = behind.split_at_checked(u32::from_le_bytes(*key_length) as usize)?;
        let (value, behind) = behind.split_at_checked(u32::from_le_bytes(*value_length) as usize)?;
        record::split(key).filter(|_| record::tail(value).is_some())?;
        pairs.push((key.to_vec(), value.to_vec()));
        rest = behind;
    }
    Some(pairs)
}

/// Reads a whole backup and checks every frame of it. Answers how many keys it has.
///
/// # Errors
/// [`BackupError::Stream`] says what is wrong and where.
pub fn verify_backup(from: impl Read) -> Result<u64, BackupError> {
    let mut reader = BackupReader::new(from)?;
    while reader.next()?.is_some() {}
    Ok(reader.pairs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(pairs: u32) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut writer = BackupWriter::new(&mut bytes).expect("memory takes it");
        for number in 0..pairs {
            let key = [&[2][..], b"ks", &number.to_be_bytes()].concat();
            writer.push(&key, &record::with_tail(&[7; 1000], None)).expect("memory takes it");
        }
        assert_eq!(writer.finish().expect("memory takes it"), u64::from(pairs));
        bytes
    }

    #[test]
    fn a_stream_reads_back_and_every_damage_is_found() {
        for pairs in [0, 1, 1000] {
            assert_eq!(verify_backup(&stream(pairs)[..]).expect("it is whole"), u64::from(pairs));
        }
        let whole = stream(600);
        let is_refused = |bytes: &[u8]| assert!(verify_backup(bytes).is_err());
        for at in (0..12).chain((16..whole.len()).step_by(997)) {
            let mut bytes = whole.clone();
            bytes[at] ^= 4;
            is_refused(&bytes);
            is_refused(&whole[..at]);
        }
        is_refused(&[&whole[..], &[0]].concat());
        let first =
            16..16 + 8 + u32::from_le_bytes(whole[16..20].try_into().expect("four")) as usize;
        is_refused(&[&whole[..first.end], &whole[first.clone()], &whole[first.end..]].concat());
        is_refused(&[&whole[..16], &whole[first.end..]].concat());
    }
}
