//! The same door where TLS is not built in: nobody has a server, and so nobody a talk.

use crate::{ClientNames, OpenFile, TlsFault, TlsFile, TlsFileFault, TlsFiles, TlsProblem};
use std::convert::Infallible;

/// There is none.
#[derive(Clone, Debug)]
pub struct NoServer(Infallible);

impl NoServer {
    /// Refuses.
    ///
    /// # Errors
    /// [`TlsProblem::NotBuilt`].
    pub fn open(_files: &TlsFiles, _open: OpenFile) -> Result<NoServer, TlsFileFault> {
        Err(TlsFileFault { file: TlsFile::Certificate, problem: TlsProblem::NotBuilt })
    }

    /// Nobody has one to ask.
    pub fn asks_clients(&self) -> bool {
        match self.0 {}
    }

    #[expect(missing_docs, reason = "nobody has one to ask")]
    #[expect(clippy::unused_async, reason = "who has one waits")]
    pub async fn accept<S>(&self, _stream: S) -> std::io::Result<S> {
        match self.0 {}
    }

    /// Nobody has one to ask.
    pub fn begin(&self) -> NoTalk {
        match self.0 {}
    }
}

/// There is none.
#[derive(Debug)]
pub struct NoTalk(Infallible);

#[expect(missing_docs, reason = "nobody has one to ask")]
impl NoTalk {
    pub fn receive(
        &mut self,
        _bytes: &[u8],
        _plain: &mut Vec<u8>,
        _out: &mut Vec<u8>,
    ) -> Result<(), TlsFault> {
        match self.0 {}
    }

    pub fn seal(&mut self, _plain: &[u8], _out: &mut Vec<u8>) -> Result<(), TlsFault> {
        match self.0 {}
    }

    pub fn close(&mut self, _out: &mut Vec<u8>) {
        match self.0 {}
    }

    pub fn is_open(&self) -> bool {
        match self.0 {}
    }

    pub fn has_ended(&self) -> bool {
        match self.0 {}
    }

    pub fn client(&self) -> &ClientNames {
        match self.0 {}
    }

    pub fn held(&self) -> usize {
        match self.0 {}
    }
}
