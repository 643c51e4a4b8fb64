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

#[cfg(test)]
mod tests {
    use super::*;

    fn directive(osd: u32, number: u32) -> Letter {
        Letter::Directive(OsdId::new(osd), Directive::Sync(number))
    }

    fn notice(osd: u32, number: u32) -> Letter {
        Letter::Notice(OsdId::new(osd), 1, Notice::Synced(number))
    }

    /// The OSDs, whether they are told something, and what, in the order in which it arrives by then.
    fn arrived(post: &mut Post, by: Time) -> Vec<(u32, bool, u32)> {
        let letters = std::iter::from_fn(|| post.arrived(by));
        let told = |letter| match letter {
            Letter::Directive(osd, Directive::Sync(number)) => (osd.get(), true, number),
            Letter::Notice(osd, _, Notice::Synced(number)) => (osd.get(), false, number),
            _ => unreachable!("nothing else was sent"),
        };
        letters.map(told).collect()
    }

    #[test]
    fn what_osds_tell_is_heard_before_one_of_them_is_told_something() {
        let mut post = Post::default();
        for letter in [directive(0, 1), notice(1, 2), directive(0, 3), notice(0, 4)] {
            post.send(Time::ZERO, letter);
        }
        assert_eq!(post.next(), Time::MAX, "it is due at once");
        let wanted = [(1, false, 2), (0, false, 4), (0, true, 1), (0, true, 3)];
        assert_eq!(arrived(&mut post, Time::ZERO), wanted);
    }

    #[test]
    fn late_letters_overtake_each_other_on_different_ways_only() {
        let mut post = Post::default();
        post.be_late(Lateness { seed: 1, most: Span::from_nanos(1000) });
        for number in 0..100 {
            post.send(Time::ZERO, directive(0, number));
            post.send(Time::ZERO, directive(1, number));
            post.send(Time::ZERO, notice(0, number));
        }
        let first = post.next();
        assert!(Time::ZERO < first && first <= Time::from_nanos(1000));
        assert!(arrived(&mut post, first - Span::from_nanos(1)).is_empty());
        let all = arrived(&mut post, Time::from_nanos(1000));
        assert_eq!((all.len(), post.next()), (300, Time::MAX));
        for way in [(0, true), (1, true), (0, false)] {
            let numbers = all.iter().filter(|(osd, told, _)| (*osd, *told) == way);
            assert!(numbers.map(|(.., number)| *number).eq(0..100), "{way:?}");
        }
        assert!(!all.is_sorted_by_key(|(.., number)| *number), "the ways are independent");
    }

    #[test]
    fn nothing_arrives_for_an_osd_that_is_none_any_more() {
        let mut post = Post::default();
        post.be_late(Lateness { seed: 1, most: Span::from_nanos(1000) });
        for letter in [directive(0, 1), directive(1, 2), notice(1, 3)] {
            post.send(Time::ZERO, letter);
        }
        post.forget(OsdId::new(1));
        assert_eq!(arrived(&mut post, Time::from_nanos(1000)), [(0, true, 1)]);
    }
}
