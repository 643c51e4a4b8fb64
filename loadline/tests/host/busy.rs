//! A machine on which many others want the processors: what needs an unlucky moment comes to it when everything takes longer.

use std::sync::atomic::{AtomicBool, Ordering};

/// Does something while so many others compute.
pub(crate) fn beside(many: usize, work: impl FnOnce()) {
    let ends = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..many {
            scope.spawn(|| {
                while !ends.load(Ordering::Relaxed) {
                    std::hint::spin_loop()
                }
            });
        }
        let _ended = Ended(&ends);
        work();
    });
}

/// Says so when it is dropped, also by a panic: a scope waits for its threads.
struct Ended<'a>(&'a AtomicBool);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
