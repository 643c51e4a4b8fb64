//! Peering: what the copies of a placement group know decides who serves it, who misses what, and who is filled.
//!
//! One owner holds all OSDs of the host, so this is a function over their answers, not a protocol between them.

use loadline_osd::{CopyInfo, OsdId, OsdSet, PgLog};
use loadline_store::{ObjectNo, Version};
use std::collections::BTreeMap;

/// What each OSD that runs says about its copy.
pub(crate) struct Copies<'a> {
    pub infos: Vec<(OsdId, CopyInfo, Option<&'a PgLog>)>,
}

/// The rules that a pool and the settings give.
pub(crate) struct Rules {
    pub copies: usize,
    /// A copy that misses more objects than this is recovered beside the acting set's writes
    /// (`osd_async_recovery_min_cost`).
    pub asynchronous_above: u64,
}

/// The outcome.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Peered {
    pub acting: Vec<OsdId>,
    pub missing: Vec<(OsdId, BTreeMap<ObjectNo, Version>)>,
    pub asynchronous: OsdSet,
    pub backfill: Vec<OsdId>,
}

/// Decides the next interval for a placement group that should be on `up` and was served by `acting`.
pub(crate) fn peer(up: &[OsdId], acting: &[OsdId], copies: &Copies<'_>, rules: &Rules) -> Peered {
    let info = |osd: OsdId| copies.infos.iter().find(|(id, ..)| *id == osd);
    let complete = copies.infos.iter().filter(|(_, info, _)| info.complete);
    let Some((_, best, best_log)) = complete.max_by_key(|(_, info, _)| info.head) else {
        return first_interval(up, copies);
    };
    let best_log = best_log.expect("a complete copy has a log");
    let mut peered = Peered::default();
    for &osd in up {
        let Some((_, copy, _)) = info(osd) else { continue };
        let missing = copy.complete.then(|| best_log.written_after(copy.head)).flatten();
        match missing {
            Some(missing) => peered.admit(osd, missing, rules),
            None => peered.backfill.push(osd),
        }
    }
    let current = |osd: &OsdId| {
        info(*osd).is_some_and(|(_, copy, _)| copy.complete && copy.head == best.head)
    };
    let others = acting.iter().copied().chain(copies.infos.iter().map(|(osd, ..)| *osd));
    for osd in others.filter(current) {
        if peered.acting.len() < rules.copies && !peered.acting.contains(&osd) {
            peered.acting.push(osd);
        }
    }
    peered.put_a_ready_primary_first();
    peered
}

/// Nobody has the placement group yet, or those who had it all are gone. New, it begins empty and complete on `up`.
fn first_interval(up: &[OsdId], copies: &Copies<'_>) -> Peered {
    let is_new = copies.infos.iter().all(|(_, info, _)| *info == CopyInfo::default());
    let runs = |osd: &OsdId| copies.infos.iter().any(|(id, ..)| id == osd);
    let acting = if is_new { up.iter().copied().filter(runs).collect() } else { Vec::new() };
    Peered { acting, ..Peered::default() }
}

impl Peered {
    fn admit(&mut self, osd: OsdId, missing: BTreeMap<ObjectNo, Version>, rules: &Rules) {
        self.acting.push(osd);
        if missing.is_empty() {
            return;
        }
        if missing.len() as u64 > rules.asynchronous_above {
            self.asynchronous.insert(osd);
        }
        self.missing.push((osd, missing));
    }

    /// A primary that lacks many objects would hold up every op; the first member that does not leads instead.
    fn put_a_ready_primary_first(&mut self) {
        let asynchronous = self.asynchronous;
        if let Some(ready) = self.acting.iter().position(|osd| !asynchronous.contains(*osd)) {
            self.acting[..=ready].rotate_right(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: Rules = Rules { copies: 3, asynchronous_above: 1 };

    fn osd(n: u32) -> OsdId {
        OsdId::new(n)
    }

    fn log_of(writes: u64) -> PgLog {
        let mut log = PgLog::default();
        for object in 0..writes {
            log.append(ObjectNo(object));
        }
        log
    }

    /// `copies` are (osd, writes seen, complete).
    fn check(up: &[u32], acting: &[u32], copies: &[(u32, u64, bool)], check: impl Fn(Peered)) {
        let logs: Vec<PgLog> = copies.iter().map(|(_, writes, _)| log_of(*writes)).collect();
        let infos = copies
            .iter()
            .zip(&logs)
            .map(|(&(id, writes, complete), log)| {
                let info = CopyInfo { head: Version(writes), complete, objects: writes };
                (osd(id), info, Some(log))
            })
            .collect();
        let ids = |ids: &[u32]| ids.iter().map(|id| osd(*id)).collect::<Vec<_>>();
        check(peer(&ids(up), &ids(acting), &Copies { infos }, &RULES));
    }

    #[test]
    fn an_empty_osd_is_filled_while_the_old_members_serve() {
        let copies = [(0, 9, true), (1, 9, true), (2, 9, true), (3, 0, false)];
        check(&[3, 0, 1], &[0, 1, 2], &copies, |peered| {
            assert_eq!(peered.acting, [osd(0), osd(1), osd(2)]);
            assert_eq!(peered.backfill, [osd(3)]);
        });
    }

    #[test]
    fn a_short_absence_is_recovered_from_the_log_and_a_longer_one_beside_the_writes() {
        let copies = [(0, 9, true), (1, 9, true), (2, 8, true)];
        check(&[2, 0, 1], &[0, 1], &copies, |peered| {
            assert_eq!(peered.acting, [osd(2), osd(0), osd(1)], "one object: it may lead and pull");
            assert_eq!(peered.missing.len(), 1);
        });
        let copies = [(0, 9, true), (1, 9, true), (2, 5, true)];
        check(&[2, 0, 1], &[0, 1], &copies, |peered| {
            assert_eq!(peered.acting, [osd(0), osd(2), osd(1)]);
            assert!(peered.asynchronous.contains(osd(2)) && peered.backfill.is_empty());
        });
    }

    #[test]
    fn without_a_complete_copy_nobody_serves_unless_the_group_is_new() {
        check(&[0, 1, 2], &[], &[(0, 4, false), (1, 3, false)], |peered| {
            assert_eq!(peered, Peered::default());
        });
        check(&[0, 1, 2], &[], &[(0, 0, false), (1, 0, false)], |peered| {
            assert_eq!(peered.acting, [osd(0), osd(1)]);
        });
    }
}
