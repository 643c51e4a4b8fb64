//! The kinds of schedulers.

/// Which scheduler an OSD runs; the setting `osd_op_queue`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SchedulerKind {
    /// mClock, in the form that the preset names.
    Mclock,
    /// The weighted priority queue.
    Wpq,
    /// The plain line.
    Fifo,
}

impl SchedulerKind {
    /// Every kind.
    pub const ALL: [SchedulerKind; 3] =
        [SchedulerKind::Mclock, SchedulerKind::Wpq, SchedulerKind::Fifo];

    /// The name as the setting spells it.
    pub const fn name(self) -> &'static str {
        match self {
            SchedulerKind::Mclock => "mclock_scheduler",
            SchedulerKind::Wpq => "wpq",
            SchedulerKind::Fifo => "fifo",
        }
    }
}
