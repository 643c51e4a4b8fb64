//! What lies between an NBD session and its socket: nothing, or TLS.

use loadline_tls::{ClientNames, TlsFault, TlsServer, TlsTalk};
use std::collections::VecDeque;

/// Buffers are put together up to what one record carries: a head and its data go as one where both are short.
const RECORD: usize = 16 << 10;
/// What TLS itself has to say that a client leaves standing: nobody needs so much, and nothing is answered for more.
const EXCESS_MAX: u64 = 256 << 10;

/// What lies between them.
#[derive(Debug, Default)]
pub(super) struct NbdChannel {
    /// Nothing, for the whole of the connection.
    tls: Option<TlsLink>,
}

/// A connection that goes through TLS as soon as its client has begun with it.
#[derive(Debug, Default)]
struct TlsLink {
    talk: Option<Box<TlsTalk>>,
    nobody: ClientNames,
    leaving: VecDeque<SealedBuffer>,
    /// Bytes on their way beyond what they carry.
    excess: u64,
}

/// A buffer on its way.
#[derive(Debug)]
struct SealedBuffer {
    /// How much of it has not left.
    left: usize,
    /// How many bytes of the session's it carries, and how many it has beyond them.
    carries: u64,
    excess: u64,
}

impl NbdChannel {
    /// One that is to become TLS.
    pub(super) fn before_tls() -> NbdChannel {
        NbdChannel { tls: Some(TlsLink::default()) }
    }

    /// What comes and goes from now on is TLS.
    pub(super) fn begin(&mut self, server: &TlsServer) {
        let link = self.tls.as_mut().expect("only one that is to become TLS does");
        link.talk = Some(Box::new(server.begin()));
    }

    /// Whether what comes is TLS.
    pub(super) fn is_tls(&self) -> bool {
        self.tls.as_ref().is_some_and(|link| link.talk.is_some())
    }

    /// Whether the session's bytes go as they are and are counted by nobody.
    pub(super) fn is_plain(&self) -> bool {
        self.tls.is_none()
    }

    /// Whether TLS stands: the client is known.
    pub(super) fn is_open(&self) -> bool {
        self.talk().is_some_and(TlsTalk::is_open)
    }

    /// Whether the client has said that nothing more comes through TLS.
    pub(super) fn has_ended(&self) -> bool {
        self.talk().is_some_and(TlsTalk::has_ended)
    }

    /// Who the client is, where it was asked.
    pub(super) fn client(&self) -> Option<&ClientNames> {
        let link = self.tls.as_ref()?;
        Some(link.talk.as_ref().map_or(&link.nobody, |talk| talk.client()))
    }

    fn talk(&self) -> Option<&TlsTalk> {
        self.tls.as_ref()?.talk.as_deref()
    }

    /// Takes what came: what it means to the session, and `out` of what TLS itself has to say to it.
    pub(super) fn unseal(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<Vec<u8>, TlsFault> {
        let link = self.tls.as_mut().expect("it is TLS");
        let talk = link.talk.as_mut().expect("it is TLS");
        let mut plain = Vec::new();
        let received = talk.receive(bytes, &mut plain, out);
        link.note(out.len(), 0);
        received.map(|()| plain)
    }

    /// What carries these buffers, in order.
    pub(super) fn seal(&mut self, buffers: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, TlsFault> {
        let Some(link) = &mut self.tls else { return Ok(buffers) };
        if link.talk.is_none() {
            buffers.iter().for_each(|buffer| link.note(buffer.len(), buffer.len()));
            return Ok(buffers);
        }
        let mut sealed = Vec::new();
        let mut gathered = Vec::new();
        for buffer in buffers {
            if gathered.len() + buffer.len() > RECORD {
                link.seal(&std::mem::take(&mut gathered), &mut sealed)?;
            }
            match buffer.len() > RECORD {
                true => link.seal(&buffer, &mut sealed)?,
                false if gathered.is_empty() => gathered = buffer,
                false => gathered.extend(buffer),
            }
        }
        link.seal(&gathered, &mut sealed)?;
        Ok(sealed)
    }

    /// That nothing more comes, where TLS says so.
    pub(super) fn close(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        if let Some(link) = &mut self.tls
            && let Some(talk) = &mut link.talk
        {
            talk.close(&mut out);
            link.note(out.len(), 0);
        }
        out
    }

    /// How many of the session's bytes are gone, now that so many have left.
    pub(super) fn sent(&mut self, mut bytes: usize) -> u64 {
        let Some(link) = &mut self.tls else { return bytes as u64 };
        let mut gone = 0;
        while bytes > 0 {
            let first = link.leaving.front_mut().expect("what leaves was noted");
            let part = bytes.min(first.left);
            (first.left, bytes) = (first.left - part, bytes - part);
            if first.left == 0 {
                (gone, link.excess) = (gone + first.carries, link.excess - first.excess);
                link.leaving.pop_front();
            }
        }
        gone
    }

    /// Bytes that it holds itself: what came and is no whole message yet, and what is on its way beyond what it carries.
    pub(super) fn held(&self) -> u64 {
        let Some(link) = &self.tls else { return 0 };
        link.talk.as_ref().map_or(0, |talk| talk.held() as u64) + link.excess
    }

    /// Whether the client leaves more of TLS' own words standing than it has a reason to.
    pub(super) fn is_clogged(&self) -> bool {
        self.tls.as_ref().is_some_and(|link| link.excess >= EXCESS_MAX)
    }
}

impl TlsLink {
    fn note(&mut self, length: usize, carries: usize) {
        if length > 0 {
            let (carries, excess) = (carries as u64, (length - carries) as u64);
            self.leaving.push_back(SealedBuffer { left: length, carries, excess });
            self.excess += excess;
        }
    }

    fn seal(&mut self, plain: &[u8], sealed: &mut Vec<Vec<u8>>) -> Result<(), TlsFault> {
        if plain.is_empty() {
            return Ok(());
        }
        let mut out = Vec::new();
        self.talk.as_mut().expect("it is TLS").seal(plain, &mut out)?;
        self.note(out.len(), plain.len());
        sealed.push(out);
        Ok(())
    }
}
