//! An answer on its way: waited for by a thread, or polled as a future that needs no runtime.

use crate::error::DbError;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};
use std::thread::{self, ThreadId};

/// What was asked and is not answered yet. [`wait`](Pending::wait) blocks the thread; as a future it wakes whoever polls it, on any
/// executor. Dropping it gives the answer up, not the op.
pub struct Pending<T> {
    place: Arc<AnswerPlace<T>>,
    /// Who will answer, and so cannot wait for it.
    owner: Option<ThreadId>,
}

/// Who owes the answer. Dropped without one, the answer is [`DbError::Closed`].
pub(crate) struct Answerer<T> {
    place: Arc<AnswerPlace<T>>,
}

struct AnswerPlace<T> {
    state: Mutex<AnswerState<T>>,
    answered: Condvar,
}

enum AnswerState<T> {
    Awaited(Option<Waker>),
    Here(Result<T, DbError>),
    Taken,
}

/// An answer that is awaited, and who owes it.
pub(crate) fn pending<T>() -> (Pending<T>, Answerer<T>) {
    let state = Mutex::new(AnswerState::Awaited(None));
    let place = Arc::new(AnswerPlace { state, answered: Condvar::new() });
    (Pending { place: place.clone(), owner: None }, Answerer { place })
}

impl<T> AnswerPlace<T> {
    fn lock(&self) -> MutexGuard<'_, AnswerState<T>> {
        self.state.lock().expect("nobody panics while an answer is put down")
    }

    /// Puts the answer down. One that is there already stays.
    fn put(&self, result: Result<T, DbError>) {
        let mut state = self.lock();
        if let AnswerState::Awaited(waker) = &mut *state {
            let waker = waker.take();
            *state = AnswerState::Here(result);
            drop(state);
            self.answered.notify_one();
            waker.into_iter().for_each(Waker::wake);
        }
    }
}

impl<T> AnswerState<T> {
    fn take(&mut self) -> Option<Result<T, DbError>> {
        match std::mem::replace(self, AnswerState::Taken) {
            AnswerState::Here(result) => Some(result),
            other => {
                *self = other;
                None
            }
        }
    }
}

impl<T> Pending<T> {
    /// An answer that is there already.
    pub(crate) fn ready(result: Result<T, DbError>) -> Pending<T> {
        let (pending, answerer) = pending();
        answerer.give(result);
        pending
    }

    /// The same, owed by this thread.
    pub(crate) fn owed_by(self, owner: Option<ThreadId>) -> Pending<T> {
        Pending { owner, ..self }
    }

    /// Blocks the thread until the answer is there.
    ///
    /// # Errors
    /// What the op ended with; [`DbError::WaitsForItself`].
    pub fn wait(self) -> Result<T, DbError> {
        let mut state = self.place.lock();
        loop {
            if let Some(result) = state.take() {
                return result;
            }
            if self.owner == Some(thread::current().id()) {
                return Err(DbError::WaitsForItself);
            }
            state = self.place.answered.wait(state).expect("nobody panics while it is put down");
        }
    }
}

impl<T> Future for Pending<T> {
    type Output = Result<T, DbError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.place.lock();
        if let Some(result) = state.take() {
            return Poll::Ready(result);
        }
        match &mut *state {
            AnswerState::Awaited(waker) => *waker = Some(context.waker().clone()),
            _ => panic!("a pending answer is polled after it was taken"),
        }
        Poll::Pending
    }
}

impl<T> Answerer<T> {
    /// Answers.
    pub(crate) fn give(self, result: Result<T, DbError>) {
        self.place.put(result);
    }
}

impl<T> Drop for Answerer<T> {
    fn drop(&mut self) {
        self.place.put(Err(DbError::Closed));
    }
}

impl<T> fmt::Debug for Pending<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pending")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::task::Wake;

    #[derive(Default)]
    struct Wakings(AtomicU32);

    impl Wake for Wakings {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_future_is_woken_once_when_its_answer_comes() {
        let wakings = Arc::new(Wakings::default());
        let waker = Waker::from(wakings.clone());
        let mut context = Context::from_waker(&waker);
        let (mut pending, answerer) = pending();
        assert_eq!(Pin::new(&mut pending).poll(&mut context), Poll::Pending);
        answerer.give(Ok(7));
        assert_eq!(wakings.0.load(Ordering::Relaxed), 1);
        assert_eq!(Pin::new(&mut pending).poll(&mut context), Poll::Ready(Ok(7)));
    }

    #[test]
    fn nobody_waits_for_an_answer_that_will_not_come() {
        let (waiting, answerer) = pending::<u32>();
        drop(answerer);
        assert_eq!(waiting.wait(), Err(DbError::Closed));
        assert_eq!(Pending::ready(Ok(1)).wait(), Ok(1));
    }
}
