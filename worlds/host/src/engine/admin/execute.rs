//! Commands, carried out.

use super::Outcome;
use crate::admin::api::{Answer, Command, Done, Refusal};
use crate::engine::Engine;

impl Engine {
    /// Carries a command out.
    pub(super) fn execute(&mut self, command: Command) -> Outcome {
        match command {
            Command::Shutdown => {
                self.begin_stop();
                Outcome::Now(Ok(Answer::Done(Done {})))
            }
            _ => Outcome::Now(Err(Refusal::unavailable("not yet"))),
        }
    }
}
