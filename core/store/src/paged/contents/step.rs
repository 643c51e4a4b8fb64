//! A step: what of a transaction is carried out at a time.
//!
//! Nearly every transaction is one step. One that touches more pages than may be held at once, because an object that it removes
//! or clones has many extents, goes in several. Between two of them is a *mark*: a moment at which the tree is sound and the
//! rest of the transaction, from its [`Carried`] on, leads to the same end. Each kind of change says where its marks are.

use super::losses::ReplayLosses;
use crate::paged::api::ObjectId;
use crate::paged::codec::Reader;
use crate::paged::ids::{Child, PageNo};
use crate::paged::space::Space;
use crate::paged::tree::Missing;

/// Pages that an op asks for at a time.
const MISSES_MAX: usize = 64;

/// How far a transaction has been carried out. The least of all says nothing of whether it has begun: a removal comes back to its own
/// beginning with each of its marks. So what may not have begun is an `Option` of this.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Carried {
    /// Changes that are done.
    pub change: u64,
    /// How far the next one is, in its own measure; 0 if it has not begun.
    pub inside: u64,
}

/// Why a change goes no further now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChangeStop {
    /// It misses a page.
    Miss(Miss),
    /// The step is over at the last mark.
    Cut,
}

impl From<Miss> for ChangeStop {
    fn from(miss: Miss) -> ChangeStop {
        ChangeStop::Miss(miss)
    }
}

impl From<Missing> for ChangeStop {
    fn from(missing: Missing) -> ChangeStop {
        ChangeStop::Miss(missing.into())
    }
}

/// One step under way.
#[derive(Clone, Debug)]
pub struct StepUnderWay {
    /// Where the last mark was.
    progress: Carried,
    /// Steps before it have carried a part of the transaction out, be it nothing but what stands before the first mark.
    is_begun: bool,
    /// Marks that were passed.
    marks: u32,
    marks_max: u32,
    /// It ends at the last mark with at most so many pages drafted; the first one may have more.
    pages_max: usize,
    /// It has gone beyond that mark.
    is_over: bool,
    /// Where it ends is noted down in the tree.
    is_noted: bool,
    misses: Vec<Miss>,
    /// Pages of data that it cannot have, and goes past.
    pub(super) losses: ReplayLosses,
    /// Keys that were removed, to be settled at its end.
    pub(super) removed: Vec<Vec<u8>>,
}

impl Carried {
    pub(super) fn encode(self) -> [u8; 16] {
        let mut out = [0; 16];
        out[..8].copy_from_slice(&self.change.to_le_bytes());
        out[8..].copy_from_slice(&self.inside.to_le_bytes());
        out
    }

    /// Reads the value of the cell that keeps it.
    pub(in crate::paged) fn decode(value: &[u8]) -> Option<Carried> {
        let mut reader = Reader::new(value);
        let progress = Carried { change: reader.u64()?, inside: reader.u64()? };
        reader.is_empty().then_some(progress)
    }
}

impl StepUnderWay {
    /// A step from here on, or the first one of its transaction. It ends at the last mark with at most `pages_max` pages drafted, and not
    /// behind that of number `marks_max`.
    pub fn new(from: Option<Carried>, pages_max: usize, marks_max: u32) -> StepUnderWay {
        let (misses, losses, removed, is_over) = Default::default();
        StepUnderWay {
            progress: from.unwrap_or_default(),
            is_begun: from.is_some(),
            marks: 0,
            marks_max,
            pages_max,
            is_over,
            is_noted: true,
            misses,
            losses,
            removed,
        }
    }

    /// The same step, of a transaction that is begun anew if it does not come to its end.
    pub fn without_note(self) -> StepUnderWay {
        StepUnderWay { is_noted: false, ..self }
    }

    /// The same step, going past pages that are lost.
    pub fn past(self, losses: &ReplayLosses) -> StepUnderWay {
        StepUnderWay { losses: losses.clone(), ..self }
    }

    pub(super) fn is_noted(&self) -> bool {
        self.is_noted
    }

    /// Whether its transaction was carried out in part before it.
    pub(super) fn is_begun(&self) -> bool {
        self.is_begun
    }

    /// Whether it has more pages than it may, and is to be made again up to the last of its marks.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Marks that were passed before it missed a page or had too many.
    pub fn marks(&self) -> u32 {
        self.marks
    }

    /// Where it stands.
    pub fn progress(&self) -> Carried {
        self.progress
    }

    /// How far the present change was when the step began.
    pub(super) fn inside(&self) -> u64 {
        self.progress.inside
    }

    /// The pages that are missing. The caller reads them and makes the step again.
    pub fn misses(&self) -> &[Miss] {
        &self.misses
    }

    /// What is done so far may stand alone.
    pub(super) fn mark(&mut self, space: &Space, inside: u64) -> Result<(), ChangeStop> {
        self.pass(space, Carried { inside, ..self.progress })
    }

    /// A change is over.
    pub(super) fn next_change(&mut self, space: &Space) -> Result<(), ChangeStop> {
        self.pass(space, Carried { change: self.progress.change + 1, inside: 0 })
    }

    fn pass(&mut self, space: &Space, progress: Carried) -> Result<(), ChangeStop> {
        let fits = space.pages.drafted() <= self.pages_max;
        if !fits && self.marks > 0 {
            self.is_over = true;
            return Err(ChangeStop::Cut);
        }
        self.progress = progress;
        // Behind a missing page it only goes on to see what else is missing.
        self.marks += u32::from(self.misses.is_empty());
        if fits && self.marks < self.marks_max { Ok(()) } else { Err(ChangeStop::Cut) }
    }

    /// Notes a missing page. Answers whether to look for more of them.
    pub(super) fn note(&mut self, miss: Miss) -> bool {
        if !self.misses.contains(&miss) {
            self.misses.push(miss);
        }
        self.misses.len() < MISSES_MAX
    }

    /// Goes on behind a change that misses a page.
    pub(super) fn skip_change(&mut self) {
        self.progress = Carried { change: self.progress.change + 1, inside: 0 };
    }
}

/// A page of object data, and how to tell that it is whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataPage {
    /// Which page.
    pub number: PageNo,
    /// CRC-32C of its bytes.
    pub sum: u32,
    /// Whose page it is.
    pub object: ObjectId,
    /// Which of the object's pages.
    pub index: u64,
}

/// A page that must be read before an op can go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Miss {
    /// A page with a header, as its parent knows it.
    Structure(Child),
    /// A page of object data.
    Data(DataPage),
}

impl Miss {
    /// Which page it is.
    pub fn page(self) -> PageNo {
        match self {
            Miss::Structure(child) => child.page,
            Miss::Data(data) => data.number,
        }
    }
}

impl From<Missing> for Miss {
    fn from(missing: Missing) -> Miss {
        Miss::Structure(missing.0)
    }
}
