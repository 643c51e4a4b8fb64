//! Why a node did not do what it was asked.

use crate::is_refused_again;
use serde::{Deserialize, Serialize};
use std::{fmt, io};

/// A command that was not carried out. Nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdminRefusal {
    /// Whose fault, in the terms of HTTP.
    pub kind: RefusalKind,
    /// Why, in one sentence without a stop.
    pub error: String,
    /// What would be right, as a noun phrase, if that can be said.
    pub wanted: Option<String>,
}

/// The kinds of refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalKind {
    /// The request itself cannot be used.
    Bad,
    /// There is no such thing.
    NotFound,
    /// Who asks may not ask that.
    Forbidden,
    /// It does not go together with what there is.
    Conflict,
    /// Not now: the node starts, stops, or lacks the OSDs that it takes.
    Unavailable,
}

impl RefusalKind {
    const ALL: [RefusalKind; 5] = [
        RefusalKind::Bad,
        RefusalKind::NotFound,
        RefusalKind::Forbidden,
        RefusalKind::Conflict,
        RefusalKind::Unavailable,
    ];

    /// The status code of HTTP.
    pub const fn code(self) -> u16 {
        match self {
            RefusalKind::Bad => 400,
            RefusalKind::NotFound => 404,
            RefusalKind::Forbidden => 403,
            RefusalKind::Conflict => 409,
            RefusalKind::Unavailable => 503,
        }
    }

    /// The kind with this status code.
    pub fn from_code(code: u16) -> Option<RefusalKind> {
        RefusalKind::ALL.into_iter().find(|kind| kind.code() == code)
    }
}

/// A refusal's body.
#[derive(Serialize, Deserialize)]
struct RefusalBody {
    error: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    wanted: Option<String>,
}

impl AdminRefusal {
    /// A request that cannot be used.
    pub fn bad(error: impl Into<String>) -> AdminRefusal {
        AdminRefusal { kind: RefusalKind::Bad, error: error.into(), wanted: None }
    }

    /// Something that does not exist.
    pub fn not_found(error: impl Into<String>) -> AdminRefusal {
        AdminRefusal { kind: RefusalKind::NotFound, error: error.into(), wanted: None }
    }

    /// Something that who asks may not ask.
    pub fn forbidden(error: impl Into<String>) -> AdminRefusal {
        AdminRefusal { kind: RefusalKind::Forbidden, error: error.into(), wanted: None }
    }

    /// Something that does not go together with what there is.
    pub fn conflict(error: impl Into<String>) -> AdminRefusal {
        AdminRefusal { kind: RefusalKind::Conflict, error: error.into(), wanted: None }
    }

    /// Something that is not possible now.
    pub fn unavailable(error: impl Into<String>) -> AdminRefusal {
        AdminRefusal { kind: RefusalKind::Unavailable, error: error.into(), wanted: None }
    }

    /// What the system has refused: a request that cannot be used, or something that is not possible now.
    pub fn by_system(kind: io::ErrorKind, error: impl Into<String>) -> AdminRefusal {
        match is_refused_again(kind) {
            true => AdminRefusal::bad(error),
            false => AdminRefusal::unavailable(error),
        }
    }

    /// The refusal, and what would be right.
    pub fn wants(mut self, wanted: impl Into<String>) -> AdminRefusal {
        self.wanted = Some(wanted.into());
        self
    }

    /// The body: `{"error": "...", "wanted": "..."}`.
    pub(in crate::admin) fn to_json(&self) -> Vec<u8> {
        let body = RefusalBody { error: self.error.clone(), wanted: self.wanted.clone() };
        serde_json::to_vec(&body).expect("two texts can be written")
    }

    /// Reads a body that came with a status code.
    pub(in crate::admin) fn from_json(code: u16, body: &[u8]) -> Option<AdminRefusal> {
        let kind = RefusalKind::from_code(code)?;
        let RefusalBody { error, wanted } = serde_json::from_slice(body).ok()?;
        Some(AdminRefusal { kind, error, wanted })
    }
}

impl fmt::Display for AdminRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.wanted {
            Some(wanted) => write!(f, "{}, expected {wanted}", self.error),
            None => f.write_str(&self.error),
        }
    }
}

impl std::error::Error for AdminRefusal {}
