//! What the Ceph Benchmarking Tool (CBT) is told: a recovery test in YAML, and the `ceph.conf` that its OSDs start with.
//!
//! Every key is read, or named with its line and with the reason why nothing comes of it. This crate runs nothing, and may not
//! know studies, engines and worlds: what a test becomes is its caller's business.

mod recovery_test;

// The client, and what keys mean of which nothing is read.
mod client;
mod keys;

// The texts.
mod conf;
mod section;
mod tree;

pub use client::CbtClient;
pub use conf::{CephConf, ConfOption};
pub use recovery_test::{CbtTest, RecoveryForm};
pub use section::{CbtNote, NoteKind, Stated};

/// Why a file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct CbtError {
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong and what would be right, as one sentence.
    pub reason: String,
}

impl CbtError {
    fn new(line: usize, reason: impl Into<String>) -> CbtError {
        CbtError { line, reason: reason.into() }
    }
}
