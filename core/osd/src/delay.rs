//! Why an op took as long as it did: the longest of its waits on an OSD, with what kept it there.
//!
//! One wait is kept of each copy, in numbers: of an op that took 20 ms nobody asks about a wait of 0.1 ms. So it costs an op no
//! memory beside its stamps, and what it says is exact: what left the queue while the op was in it was counted, not guessed.

use crate::aside::Aside;
use crate::ids::OsdId;
use crate::waits::Stage;
use loadline_base::Span;
use loadline_qos::Work;
use loadline_store::paged::Wait;
use std::fmt;

/// The longest wait of one copy of an op, on its OSD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delay {
    /// Where.
    pub osd: OsdId,
    /// In which stage.
    pub stage: Stage,
    /// How long.
    pub span: Span,
    /// What kept it there.
    pub cause: DelayCause,
}

/// What kept an op where it waited longest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DelayCause {
    /// In a queue: what left that before it.
    Queued(LeftBefore),
    /// On a worker: an earlier item of its placement group, and its own processor time.
    Worker,
    /// Before a direct store's window.
    Window,
    /// For something of the paged store that no request of its own brings.
    Store(Wait),
    /// For its own requests at the device.
    Device(DeviceBusy),
}

/// What left a queue while an item was in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeftBefore {
    /// The kind of work of which most left.
    pub work: Work,
    /// How many of it.
    pub items: u16,
    /// How many of all other kinds.
    pub others: u16,
    /// For how many percent of the time nothing could leave, because the disk had as much as it may.
    pub closed_percent: u8,
}

/// What a device had to do when it answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceBusy {
    /// What the paged store asked of it for the op; `None` on a direct store.
    pub of: Option<Wait>,
    /// Other requests that it had.
    pub requests: u16,
    /// Ops of background work whose requests these may be.
    pub background: u16,
    /// A checkpoint was being written.
    pub checkpoint: bool,
}

impl Delay {
    /// Of an op that did not wait.
    pub(crate) fn none(osd: OsdId) -> Delay {
        Delay { osd, stage: Stage::Worker, span: Span::ZERO, cause: DelayCause::Worker }
    }

    /// The longer one.
    #[inline]
    pub(crate) fn or(self, other: Delay) -> Delay {
        if other.span > self.span { other } else { self }
    }
}

/// What an op waited for longest: on its primary, for its other copies, or before it came to a queue at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpDelay {
    /// On its primary, without the wait for the others.
    pub primary: Delay,
    /// On the OSD that was the last to answer, if that was another one.
    pub replica: Option<Delay>,
    /// What it was put aside for before it came to the queue from which it went.
    pub aside: Aside,
}

impl OpDelay {
    /// Of an op whose primary carried it out at once.
    pub fn none(primary: OsdId) -> OpDelay {
        OpDelay { primary: Delay::none(primary), replica: None, aside: Aside::NONE }
    }
}

impl LeftBefore {
    /// Nothing.
    pub(crate) const NONE: LeftBefore =
        LeftBefore { work: Work::ClientOp, items: 0, others: 0, closed_percent: 0 };

    /// Whether a disk that had enough was what kept the item for most of the time.
    pub fn is_closed(&self) -> bool {
        self.closed_percent >= 50
    }
}

const WORKS: usize = Work::ALL.len();

/// What has left a queue so far, and for how long nothing could. Counts of an item's arrival are compared with those of its leaving, so
/// they may wrap around.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LeftQueue {
    /// Of each kind of work.
    items: [u16; WORKS],
    /// Of all.
    turns: u64,
    closed: Span,
}

impl LeftQueue {
    /// An item leaves. Answers its place among all that have.
    #[inline]
    pub(crate) fn left(&mut self, work: Work) -> u64 {
        let items = &mut self.items[work as usize];
        *items = items.wrapping_add(1);
        self.turns += 1;
        self.turns
    }

    /// The same, with how long nothing could leave until now.
    #[inline]
    pub(crate) fn until(&self, closed: Span) -> LeftQueue {
        LeftQueue { closed, ..*self }
    }

    /// What has left since an earlier look, in this time.
    pub(crate) fn since(&self, earlier: &LeftQueue, waited: Span) -> LeftBefore {
        if waited == Span::ZERO {
            return LeftBefore::NONE;
        }
        let mut ahead = LeftBefore::NONE;
        for work in Work::ALL {
            let items = self.items[work as usize].wrapping_sub(earlier.items[work as usize]);
            if items > ahead.items {
                (ahead.work, ahead.items) = (work, items);
            }
        }
        let all = u16::try_from(self.turns - earlier.turns).unwrap_or(u16::MAX);
        ahead.others = all.saturating_sub(ahead.items);
        let closed = self.closed.nanos() - earlier.closed.nanos();
        ahead.closed_percent = (closed.saturating_mul(100) / waited.nanos()).min(100) as u8;
        ahead
    }
}

impl DelayCause {
    /// The reason without its numbers, for whoever sums reasons up.
    pub fn summary(&self) -> String {
        match self {
            DelayCause::Queued(ahead) if ahead.items == 0 && ahead.is_closed() => {
                "the disk had as much as it may".to_owned()
            }
            DelayCause::Queued(ahead) if ahead.items == 0 => {
                "its class or image was not due yet".to_owned()
            }
            DelayCause::Queued(ahead) if ahead.is_closed() => {
                format!("store window full, behind {}", plural(ahead.work))
            }
            DelayCause::Queued(ahead) => format!("behind {}", plural(ahead.work)),
            DelayCause::Worker => "an earlier item of its PG".to_owned(),
            DelayCause::Window => "store window full".to_owned(),
            DelayCause::Store(wait) => wait.phrase().to_owned(),
            DelayCause::Device(busy) => busy.summary().to_owned(),
        }
    }
}

impl DeviceBusy {
    fn summary(&self) -> &'static str {
        self.of.map_or("requests at the disk", Wait::phrase)
    }
}

/// `store window of osd.2: full for 93 % of it, behind 4 pushes and 10 others`.
impl fmt::Display for Delay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Delay { osd, stage, cause, .. } = self;
        match cause {
            DelayCause::Queued(ahead) if ahead.is_closed() => {
                write!(f, "store window of {osd}: full for {} % of it", ahead.closed_percent)?;
                if ahead.items > 0 { write!(f, ", {ahead}") } else { Ok(()) }
            }
            DelayCause::Queued(ahead) if ahead.items == 0 => {
                write!(f, "{} of {osd}: {}", stage.name(), cause.summary())
            }
            DelayCause::Queued(ahead) => write!(f, "{} of {osd}: {ahead}", stage.name()),
            DelayCause::Window => write!(f, "store window of {osd}: full"),
            DelayCause::Store(_) => write!(f, "store of {osd}: {}", cause.summary()),
            DelayCause::Device(busy) => write!(f, "device of {osd}: {busy}"),
            DelayCause::Worker => {
                write!(f, "{} of {osd}: {}", stage.name(), cause.summary())
            }
        }
    }
}

impl fmt::Display for LeftBefore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.items {
            0 => write!(f, "behind nothing")?,
            1 => write!(f, "behind 1 {}", self.work.name())?,
            items => write!(f, "behind {items} {}", plural(self.work))?,
        }
        match self.others {
            0 => Ok(()),
            others => write!(f, " and {others} of other work"),
        }
    }
}

impl fmt::Display for DeviceBusy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.summary())?;
        match self.requests {
            0 => {}
            1 => write!(f, ", beside 1 other request")?,
            requests => write!(f, ", beside {requests} other requests")?,
        }
        match self.background {
            0 => {}
            1 => write!(f, ", with 1 op of background work under way")?,
            ops => write!(f, ", with {ops} ops of background work under way")?,
        }
        if self.checkpoint { write!(f, ", while a checkpoint was written") } else { Ok(()) }
    }
}

/// The kind of work, of several.
fn plural(work: Work) -> String {
    match work {
        Work::Push => "recovery pushes".to_owned(),
        Work::Pull => "recovery pulls".to_owned(),
        Work::PushReply => "push replies".to_owned(),
        Work::Checkpoint => "writes of a checkpoint".to_owned(),
        Work::PgDelete => "deletions of PGs".to_owned(),
        Work::BackfillProgress => "steps of a backfill".to_owned(),
        _ => format!("{}s", work.name()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_left_meanwhile_is_counted_across_a_wrap() {
        let mut left = LeftQueue::default();
        for _ in 0..u16::MAX {
            left.left(Work::Push);
        }
        let earlier = left.until(Span::from_millis(5));
        for work in [Work::Push, Work::ClientOp, Work::Push, Work::Push, Work::Push] {
            left.left(work);
        }
        let waited = Span::from_millis(10);
        let ahead = left.until(Span::from_millis(14)).since(&earlier, waited);
        assert_eq!((ahead.work, ahead.items, ahead.others), (Work::Push, 4, 1));
        let cause = DelayCause::Queued(ahead);
        let delay = Delay { osd: OsdId::new(2), stage: Stage::Queue, span: waited, cause };
        assert_eq!(
            delay.to_string(),
            "store window of osd.2: full for 90 % of it, behind 4 recovery pushes and 1 of other work"
        );
        assert_eq!(cause.summary(), "store window full, behind recovery pushes");
    }

    #[test]
    fn a_device_says_what_it_had_beside() {
        let busy = DeviceBusy { of: Some(Wait::Log), requests: 3, background: 1, checkpoint: true };
        assert_eq!(
            busy.to_string(),
            "log write and flush, beside 3 other requests, with 1 op of background work under way, while a checkpoint was written"
        );
    }
}
