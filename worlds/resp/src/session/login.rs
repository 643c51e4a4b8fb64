//! Who a connection is: nobody at first, unless its server takes everybody for a user; then a user, with whose turns its commands go.

use crate::budget::ConnectionMemory;
use crate::gate::Passed;
use crate::refusal::RespRefusal;
use crate::service::Service;
use crate::strangers::Stranger;
use loadline_qos::FlowId;
use std::rc::Rc;
use std::time::Duration;
use tokio::time::Instant;

/// Who has to say who it is and has not by then makes room for others.
const LOGIN: Duration = Duration::from_secs(30);

/// See [above](self).
pub(super) struct Login {
    service: Rc<Service>,
    /// The connection's, and its number.
    memory: Rc<ConnectionMemory>,
    number: u64,
    user: Option<SessionUser>,
    /// What it has of its peer's part of the places, as long as it is nobody.
    stranger: Option<Stranger>,
    /// Until when it may be nobody.
    by: Instant,
}

#[derive(Clone, Copy)]
struct SessionUser {
    number: usize,
    flow: FlowId,
}

impl Login {
    /// `stranger` goes when it is known who it is.
    pub(super) fn new(
        service: &Rc<Service>,
        memory: &Rc<ConnectionMemory>,
        (number, stranger): (u64, Option<Stranger>),
    ) -> Login {
        let (service, memory) = (Rc::clone(service), Rc::clone(memory));
        let by = Instant::now() + LOGIN;
        let mut login = Login { service, memory, number, user: None, stranger, by };
        login.reset();
        login
    }

    /// The connection's number.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    pub(super) fn is_nobody(&self) -> bool {
        self.user.is_none()
    }

    /// The user's number.
    pub(super) fn user(&self) -> Result<usize, RespRefusal> {
        Ok(self.user.ok_or(RespRefusal::NoAuth)?.number)
    }

    /// The user's name; none of nobody.
    pub(super) fn user_name(&self) -> &str {
        self.user.map_or("", |user| self.service.users.name(user.number))
    }

    /// Whose turns its commands have.
    pub(super) fn flow(&self) -> Result<FlowId, RespRefusal> {
        Ok(self.user.ok_or(RespRefusal::NoAuth)?.flow)
    }

    /// Until when it has to say who it is, if it has not.
    pub(super) fn until(&self) -> Option<Instant> {
        Some(self.by).filter(|_| self.is_nobody())
    }

    /// Waits until something has its turn that costs so many commands.
    pub(super) async fn turn(&self, cost: u32) -> Result<Passed, RespRefusal> {
        Ok(self.service.gate.pass(self.flow()?, cost).await)
    }

    pub(super) fn log_in(&mut self, name: &[u8], password: &[u8]) -> Result<(), RespRefusal> {
        let user = self.service.users.find(name, password).ok_or(RespRefusal::WrongPass)?;
        self.become_user(Some(user));
        Ok(())
    }

    /// It is again who it was when it came.
    pub(super) fn reset(&mut self) {
        self.become_user(self.service.users.at_first());
    }

    fn become_user(&mut self, user: Option<usize>) {
        if let Some(before) = self.user.take() {
            self.service.gate.close(before.flow);
            // Who was nobody before has been waited for already.
            self.by = Instant::now() + LOGIN;
        }
        if user.is_some() {
            self.stranger = None;
        }
        self.memory.belongs_to(user);
        self.user = user.map(|number| SessionUser {
            number,
            flow: self.service.gate.flow(number, self.number),
        });
    }
}

impl Drop for Login {
    fn drop(&mut self) {
        self.become_user(None);
    }
}
