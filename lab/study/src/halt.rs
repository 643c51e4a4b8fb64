//! Why a run stops before its end, and what becomes then of what it has changed.

use crate::record::RunRecord;
use crate::script::RunError;
use loadline_testbed::{Stop, Testbed};

/// Why a run stops early.
pub(crate) enum Halt {
    /// The testbed, or somebody, stopped it.
    Stop(Stop),
    /// It came to no result.
    Run(RunError),
}

impl From<Stop> for Halt {
    fn from(stop: Stop) -> Halt {
        Halt::Stop(stop)
    }
}

/// Whatever became of a run, all that was changed goes back; only then is known what it stood on.
pub(crate) fn put_back(
    bed: &mut impl Testbed,
    made: Result<RunRecord, Halt>,
) -> Result<RunRecord, Halt> {
    match (made, bed.put_back()) {
        (Ok(record), Ok(())) => Ok(RunRecord { real: bed.facts(), ..record }),
        (Err(halt), Ok(())) => Err(halt),
        (Err(Halt::Stop(Stop::Failed(why))), Err(Stop::Failed(back))) => {
            Err(Halt::Stop(Stop::Failed(format!("{why}; and then: {back}"))))
        }
        (_, Err(back)) => Err(back.into()),
    }
}

/// A run of a setup as a script answers it: `None` if somebody ended it.
pub(crate) fn answered(
    setup: &str,
    made: Result<RunRecord, Halt>,
) -> Result<Option<RunRecord>, RunError> {
    match made {
        Ok(record) => Ok(Some(record)),
        Err(Halt::Stop(Stop::Interrupted)) => Ok(None),
        Err(Halt::Stop(Stop::Failed(reason))) => {
            Err(RunError::Failed { setup: setup.to_owned(), reason })
        }
        Err(Halt::Run(error)) => Err(error),
    }
}
