//! What is on its way between the owner of the map and the OSDs.
//!
//! It arrives at once, or late, as it does where they run on threads of their own. Either way what one tells another arrives in
//! the order in which it was told, and nothing is known of the order between two ways.

use loadline_base::{Agenda, Rng, Span, Time};
use loadline_osd::{Directive, Notice, OsdId};
use std::collections::{BTreeMap, VecDeque};

/// What arrives.
pub(crate) enum Letter {
    /// The owner tells an OSD.
    Directive(OsdId, Directive),
    /// An OSD tells the owner, in this life.
    Notice(OsdId, u32, Notice),
}

impl Letter {
    fn osd(&self) -> OsdId {
        match self {
            Letter::Directive(osd, _) | Letter::Notice(osd, ..) => *osd,
        }
    }
}

/// How long a letter takes: any time up to `most`, drawn for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lateness {
    /// Decides how long each takes.
    pub seed: u64,
    /// The longest.
    pub most: Span,
}

/// All letters that have not arrived.
#[derive(Default)]
pub(crate) struct Post {
    /// Due now. What OSDs tell is heard before the next one of them is told something.
    notices: VecDeque<Letter>,
    directives: VecDeque<Letter>,
    late: Option<Late>,
}

/// Letters that are due some time.
struct Late {
    rng: Rng,
    most: Span,
    letters: Agenda<Letter>,
    /// When the last one of each way is due: to an OSD, or from it.
    last: BTreeMap<(OsdId, bool), Time>,
}

impl Post {
    /// From now on letters are late.
    pub(crate) fn be_late(&mut self, lateness: Lateness) {
        let (rng, letters) = (Rng::new(lateness.seed), Agenda::default());
        self.late = Some(Late { rng, most: lateness.most, letters, last: BTreeMap::new() });
    }

    /// Takes a letter.
    pub(crate) fn send(&mut self, now: Time, letter: Letter) {
        match (&mut self.late, &letter) {
            (Some(late), _) => late.send(now, letter),
            (None, Letter::Notice(..)) => self.notices.push_back(letter),
            (None, Letter::Directive(..)) => self.directives.push_back(letter),
        }
    }

    /// The next letter that is due.
    pub(crate) fn arrived(&mut self, now: Time) -> Option<Letter> {
        if let Some(late) = &mut self.late {
            return late.letters.pop_until(now).map(|(_, letter)| letter);
        }
        self.notices.pop_front().or_else(|| self.directives.pop_front())
    }

    /// When the next letter is due that is not due at once; [`Time::MAX`] if there is none.
    #[inline]
    pub(crate) fn next(&self) -> Time {
        self.late.as_ref().map_or(Time::MAX, |late| late.letters.next())
    }

    /// An OSD is none any more.
    pub(crate) fn forget(&mut self, osd: OsdId) {
        if let Some(late) = &mut self.late {
            late.letters.retain(|letter| letter.osd() != osd);
        }
    }
}

impl Late {
    fn send(&mut self, now: Time, letter: Letter) {
        let way = (letter.osd(), matches!(letter, Letter::Notice(..)));
        let drawn = now + Span::from_nanos(self.rng.below(self.most.nanos() + 1));
        let due = self.last.get(&way).map_or(drawn, |last| drawn.max(*last));
        self.last.insert(way, due);
        self.letters.push(due, letter);
    }
}
