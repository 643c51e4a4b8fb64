//! What all connections together may make the server keep: requests that are not whole yet, and answers that nobody has taken.
//!
//! A connection notes what it has. While more is noted than there may be, each has its answers taken before it goes on, one command at a time, and who has
//! received more than [`FREE_BYTES`] that is not carried out waits. So the bound is passed by those bytes and one answer for each
//! connection, and no further. Who neither sends nor takes anything meanwhile is closed, or those who stand still would keep all others out.

use std::cell::Cell;
use std::rc::Rc;
use tokio::sync::Notify;

/// What a connection may have without asking (what is received at once, twice), so that those who ask for little are served while others have taken all.
pub(crate) const FREE_BYTES: usize = 128 << 10;

/// See [above](self).
#[derive(Debug)]
pub(crate) struct Budget {
    most: u64,
    held: Cell<u64>,
    freed: Notify,
}

/// What one connection, or one answer, has of it; given back when this is dropped.
#[derive(Debug)]
pub(crate) struct HeldBytes {
    budget: Rc<Budget>,
    bytes: u64,
}

impl Budget {
    pub(crate) fn new(most: u64) -> Rc<Budget> {
        Rc::new(Budget { most, held: Cell::new(0), freed: Notify::new() })
    }

    /// Bytes that are noted.
    pub(crate) fn held(&self) -> u64 {
        self.held.get()
    }

    /// Whether as much is noted as may be.
    pub(crate) fn is_full(&self) -> bool {
        self.held.get() >= self.most
    }

    /// Waits until it is not full.
    pub(crate) async fn room(&self) {
        while self.is_full() {
            self.freed.notified().await;
        }
        // Others may have room too; who finds none waits on.
        self.freed.notify_one();
    }
}

impl HeldBytes {
    pub(crate) fn new(budget: &Rc<Budget>, bytes: usize) -> HeldBytes {
        let mut held = HeldBytes { budget: Rc::clone(budget), bytes: 0 };
        held.set(bytes);
        held
    }

    /// So many bytes from now on.
    pub(crate) fn set(&mut self, bytes: usize) {
        let all = &self.budget.held;
        let was_full = self.budget.is_full();
        all.set(all.get() - self.bytes + bytes as u64);
        self.bytes = bytes as u64;
        if was_full && !self.budget.is_full() {
            self.budget.freed.notify_one();
        }
    }
}

impl Drop for HeldBytes {
    fn drop(&mut self) {
        self.set(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_dropped_is_given_back_and_wakes_all_who_wait() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let budget = Budget::new(100);
        let (one, mut other) = (HeldBytes::new(&budget, 60), HeldBytes::new(&budget, 50));
        assert!(budget.is_full());
        let tasks = tokio::task::LocalSet::new();
        tasks.block_on(&runtime, async {
            let waiting: Vec<_> = (0..3)
                .map(|_| {
                    let budget = Rc::clone(&budget);
                    tokio::task::spawn_local(async move { budget.room().await })
                })
                .collect();
            tokio::task::yield_now().await;
            other.set(39);
            for waits in waiting {
                waits.await.expect("it ends");
            }
        });
        drop(one);
        assert_eq!(budget.held(), 39);
    }
}
