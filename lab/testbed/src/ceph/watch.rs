//! Whether an OSD's return has begun, copies move, or all is over, from looks that are late and from a map that is not.
//!
//! The map of OSDs knows within a second which groups are to move; the groups themselves tell every five. So "not begun" and
//! "over" look alike in what the groups say, and the end counts only after a beginning was seen, and after every OSD has been made
//! to report once more.

use loadline_base::{Span, Time};
use loadline_ceph::answers::ClusterStatus;

/// One look at the cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct MoveLook {
    pub(super) at_ns: u64,
    /// Copies that the OSDs have sent since everything counts.
    pub(super) pushed: f64,
    pub(super) moves: bool,
    pub(super) clean: bool,
}

impl MoveLook {
    pub(super) fn of(at: Time, pushed: f64, status: &ClusterStatus) -> MoveLook {
        let (moves, clean) = (status.has_recovery(), status.is_clean());
        MoveLook { at_ns: at.nanos(), pushed, moves, clean }
    }
}

/// A change of the map of which nothing is seen for so long moves nothing.
pub(super) const FIRST_SIGN: Span = Span::from_secs(20);

/// What was seen since the map was changed.
#[derive(Clone, Debug, Default)]
pub(super) struct MoveWatch {
    began_ns: u64,
    started: bool,
    pushed: f64,
    /// Between the looks around the first copy and at the last one.
    first_ns: Option<u64>,
    last_ns: Option<u64>,
    seen_ns: u64,
    /// Copies seen, look by look.
    course: Vec<(u64, f64)>,
}

impl MoveWatch {
    /// Nothing is known of what comes after this moment.
    pub(super) fn begin(at: Time) -> MoveWatch {
        let at = at.nanos();
        MoveWatch { began_ns: at, seen_ns: at, ..MoveWatch::default() }
    }

    /// Takes a look in; the answer is whether all may be over.
    pub(super) fn see(&mut self, look: MoveLook) -> bool {
        self.started |= look.moves || look.pushed > self.pushed;
        if look.pushed > self.pushed {
            self.first_ns.get_or_insert(self.seen_ns);
            self.last_ns = Some(look.at_ns);
            self.pushed = look.pushed;
        }
        self.seen_ns = look.at_ns;
        self.course.push((look.at_ns, self.pushed));
        let waited = look.at_ns.saturating_sub(self.began_ns) >= FIRST_SIGN.nanos();
        look.clean && (self.started || waited)
    }

    pub(super) fn has_started(&self) -> bool {
        self.started
    }

    /// Copies sent.
    pub(super) fn pushed(&self) -> u64 {
        self.pushed as u64
    }

    /// When copies were sent first and last, as closely as the looks tell.
    pub(super) fn copying(&self) -> Option<(Time, Time)> {
        let (first, last) = (self.first_ns?, self.last_ns?);
        Some((Time::from_nanos(first), Time::from_nanos(last)))
    }

    /// Between which moments the copies went from `from` to `to` of all, as shares.
    pub(super) fn between(&self, from: f64, to: f64) -> Option<(Time, Time)> {
        let when = |share: f64| {
            let of = self.course.iter().find(|(_, pushed)| *pushed >= share * self.pushed)?;
            Some(Time::from_nanos(of.0))
        };
        (self.pushed > 0.0).then_some((when(from)?, when(to)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(second: u64, pushed: f64, moves: bool, clean: bool) -> MoveLook {
        MoveLook { at_ns: second * 1_000_000_000, pushed, moves, clean }
    }

    fn recorded(name: &str) -> ClusterStatus {
        let path = format!("{}/../../worlds/ceph/tests/samples/{name}", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read(path).expect("it was recorded");
        serde_json::from_slice(&text).expect("it is a status")
    }

    /// 1.1 s after `osd in` the groups still said that all was clean: who believes them ends a recovery before it begins.
    #[test]
    fn a_recovery_does_not_end_before_it_has_begun() {
        let of =
            |second, pushed, name| MoveLook::of(Time::from_secs(second), pushed, &recorded(name));
        let mut watch = MoveWatch::begin(Time::ZERO);
        assert!(!watch.see(of(0, 0.0, "idle-status.json")), "nothing has begun");
        assert!(!watch.has_started());
        assert!(!watch.see(of(1, 0.0, "recovery-early-status.json")), "the map knows");
        assert!(watch.has_started());
        assert!(!watch.see(of(4, 10.0, "recovery-status.json")));
        assert!(!watch.see(of(9, 90.0, "recovery-status.json")));
        assert!(!watch.see(of(14, 90.0, "recovery-status.json")));
        assert!(watch.see(of(16, 90.0, "idle-status.json")));
        assert_eq!(watch.copying(), Some((Time::from_secs(1), Time::from_secs(9))));
        assert_eq!(watch.pushed(), 90);
    }

    #[test]
    fn what_never_begins_is_over_after_a_time() {
        let mut watch = MoveWatch::begin(Time::from_secs(100));
        assert!(!watch.see(look(101, 0.0, false, true)));
        assert!(!watch.see(look(119, 0.0, false, true)));
        assert!(watch.see(look(120, 0.0, false, true)));
        assert_eq!((watch.copying(), watch.between(0.1, 0.9)), (None, None));
    }

    #[test]
    fn the_middle_of_the_copies_is_told_by_the_looks() {
        let mut watch = MoveWatch::begin(Time::ZERO);
        for second in 0..=10 {
            watch.see(look(second, second as f64 * 10.0, true, false));
        }
        assert_eq!(watch.between(0.1, 0.9), Some((Time::from_secs(1), Time::from_secs(9))));
    }
}
