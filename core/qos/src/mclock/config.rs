//! How the modes are set up, and what each tells of itself.

use loadline_base::Span;

/// The queue beside published mClock (qos.md 2.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SideQueue {
    /// One list; re-queued work of any class goes to its front.
    List,
    /// A FIFO per priority, for work at or above the cut-off too; re-queued work comes last in it.
    Priorities,
}

/// How the published mode is set up; the default is what Ceph runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublishedConfig {
    /// The queue beside mClock.
    pub beside: SideQueue,
    /// With [`SideQueue::Priorities`], the least priority that goes past mClock (`osd_op_queue_cut_off`).
    pub cut_off: u32,
    /// Forgives a client for this much delay between its requests (`osd_mclock_scheduler_anticipation_timeout`).
    pub anticipation: Span,
    /// A record is idle this long after the first pass since its last request.
    pub idle_age: Span,
    /// A record in which none waits is forgotten this long after that pass.
    pub erase_age: Span,
    /// Time between cleaning passes.
    pub clean_every: Span,
    /// Most records forgotten in one pass.
    pub erase_most: usize,
    /// Time to the next pass when there were more.
    pub clean_again: Span,
    /// How far over its limit a request of a rejecting class may be.
    pub reject_threshold: Span,
}

impl Default for PublishedConfig {
    fn default() -> PublishedConfig {
        PublishedConfig {
            beside: SideQueue::List,
            cut_off: 196,
            anticipation: Span::ZERO,
            idle_age: Span::from_secs(300),
            erase_age: Span::from_secs(600),
            clean_every: Span::from_secs(60),
            erase_most: 2000,
            clean_again: Span::from_secs(5),
            reject_threshold: Span::ZERO,
        }
    }
}

/// How Loadline's own mode is set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadlineConfig {
    /// The least priority that is strict whatever the class; none by default.
    pub strict_priority: Option<u32>,
    /// After this many strict requests in a row beside another request that could have run, that one goes.
    pub strict_run_max: Option<u32>,
}

impl Default for LoadlineConfig {
    /// A strict run of 32 leaves the rest 3 % of the requests, enough to be seen alive, and costs strict work at most
    /// one request of delay in 32.
    fn default() -> LoadlineConfig {
        LoadlineConfig { strict_priority: None, strict_run_max: Some(32) }
    }
}

/// What stands where, for operators.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Occupancy {
    /// Waiting requests that go before mClock.
    pub strict: usize,
    /// Waiting requests that were put back.
    pub requeued: usize,
    /// Waiting requests that mClock orders.
    pub shared: usize,
    /// Open flows (as published: without the forgotten ones).
    pub records: usize,
    /// Entries of the heap by reservation tag.
    pub reserved: usize,
    /// Entries of the heap by weighted tag.
    pub weighted: usize,
    /// Entries of the heap by limit tag.
    pub limited: usize,
}
