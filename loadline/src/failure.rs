//! Why a command did not do what it was asked, and the exit code that says so.

use loadline_host::{DiskOpenError, ListenError, in_words, is_refused_again, why};
use loadline_report::ReportError;
use loadline_study::{FolderError, InputError, RunError, SessionError};
use serde_json::json;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

/// A command that did not do what it was asked.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Something that was typed, or a file that it names, cannot be used: typed again, it is refused again.
    Input(String),
    /// This machine does not let it now: no room, a disk that fails, somebody else who uses it.
    Environment(String),
    /// A node has ended as it was asked to, and not all that was answered is known to be durable. Whoever starts programs again that failed
    /// is to tell it from a node that died: it was to end.
    NotDurable(String),
    /// A store is damaged.
    Damaged(String),
    /// Somebody pressed Ctrl-C; the text says how to continue.
    Interrupted(String),
    /// The output says already why.
    Said,
    /// The output says what was found, and this code how bad it is.
    #[cfg(feature = "ceph")]
    Found(u8),
}

impl Failure {
    /// What the system has refused. It was typed wrong where the same line never works, because of what stands at the place that it names or may
    /// not be done there; it is this machine's where it works once there is room, or nobody else uses it, or the disk answers.
    pub(crate) fn refused(kind: io::ErrorKind, text: String) -> Failure {
        match is_refused_again(kind) {
            true => Failure::Input(text),
            false => Failure::Environment(text),
        }
    }

    /// A file or folder could not be read.
    pub(crate) fn unreadable(path: &Path, error: &io::Error) -> Failure {
        let text = format!("cannot read {}: {}", path.display(), why(error));
        Failure::refused(error.kind(), text)
    }

    /// A file or folder could not be written.
    pub(crate) fn unwritable(path: &Path, error: &io::Error) -> Failure {
        let text = format!("cannot write {}: {}", path.display(), why(error));
        Failure::refused(error.kind(), text)
    }

    /// Says why in one sentence, or in an object for programs, and gives the exit code.
    pub(crate) fn report(self, in_json: bool) -> ExitCode {
        let (prefix, text, code) = match self {
            Failure::Input(text) => ("error: ", text, 2),
            Failure::Environment(text) | Failure::Damaged(text) => ("error: ", text, 1),
            Failure::NotDurable(text) => ("error: ", text, 3),
            Failure::Interrupted(text) => ("", text, 130),
            Failure::Said => return ExitCode::FAILURE,
            #[cfg(feature = "ceph")]
            Failure::Found(code) => return ExitCode::from(code),
        };
        let text = in_words(&text);
        let text = match in_json {
            true => error_in_json(&text, code),
            false => format!("{prefix}{text}"),
        };
        // If even the standard error is gone, the code still tells.
        let _ = writeln!(io::stderr(), "{text}");
        ExitCode::from(code)
    }
}

/// An error as one JSON object.
pub(crate) fn error_in_json(text: &str, code: u8) -> String {
    json!({ "error": text, "exit_code": code }).to_string()
}

impl From<InputError> for Failure {
    fn from(error: InputError) -> Failure {
        Failure::Input(error.to_string())
    }
}

impl From<ListenError> for Failure {
    fn from(error: ListenError) -> Failure {
        Failure::refused(error.kind(), error.to_string())
    }
}

impl From<DiskOpenError> for Failure {
    fn from(error: DiskOpenError) -> Failure {
        Failure::refused(error.problem.kind(), error.to_string())
    }
}

impl From<FolderError> for Failure {
    fn from(error: FolderError) -> Failure {
        match error {
            FolderError::Foreign { .. } | FolderError::OtherForm { .. } => {
                Failure::Input(error.to_string())
            }
            FolderError::Unreadable { path, source } => Failure::unreadable(&path, &source),
            FolderError::Unwritable { path, source } => Failure::unwritable(&path, &source),
            _ => Failure::Environment(error.to_string()),
        }
    }
}

impl From<SessionError> for Failure {
    fn from(error: SessionError) -> Failure {
        match error {
            SessionError::Folder(error) => error.into(),
            SessionError::Interrupted => Failure::Interrupted("interrupted".to_owned()),
            SessionError::Run(RunError::Failed { .. }) => Failure::Environment(error.to_string()),
            other => Failure::Input(other.to_string()),
        }
    }
}

impl From<ReportError> for Failure {
    fn from(error: ReportError) -> Failure {
        match error {
            ReportError::Unwritable { path, source } => Failure::unwritable(&path, &source),
            other => Failure::Environment(other.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A real run that its disk or its node had failed ended with the code of something typed wrong.
    #[test]
    fn a_run_that_the_machine_failed_is_not_of_what_was_typed() {
        let failed = |error: RunError| Failure::from(SessionError::Run(error));
        let (setup, reason) = ("balanced".to_owned(), "the node ended".to_owned());
        let by_machine = failed(RunError::Failed { setup: setup.clone(), reason });
        assert!(matches!(by_machine, Failure::Environment(_)), "{by_machine:?}");
        let limit = loadline_base::Span::from_secs(1);
        let by_limit = failed(RunError::NeverEnded { setup, limit, left: 3 });
        assert!(matches!(by_limit, Failure::Input(_)), "{by_limit:?}");
    }

    /// A manifest of another version ended with 1, and one that was cut with 2.
    #[test]
    fn a_folder_that_cannot_be_used_was_typed() {
        let path = std::path::PathBuf::from("s");
        let other = Failure::from(FolderError::OtherForm { path: path.clone() });
        assert!(matches!(other, Failure::Input(_)), "{other:?}");
        let unwritable = |kind: io::ErrorKind| {
            Failure::from(FolderError::Unwritable { path: path.clone(), source: kind.into() })
        };
        let taken = unwritable(io::ErrorKind::AlreadyExists);
        assert!(matches!(taken, Failure::Input(_)), "{taken:?}");
        let full = unwritable(io::ErrorKind::StorageFull);
        assert!(matches!(full, Failure::Environment(_)), "{full:?}");
    }
}
