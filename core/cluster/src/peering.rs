//! Peering: what the copies of a placement group know decides who serves it, who misses what, and who is filled.
//!
//! The one owner of the map asks all OSDs that run (`intervals.rs`), so this is a function over their answers.

use loadline_osd::{Activation, CopyReport, CopyState, IntervalId, OsdId, OsdSet, PgLog};
use loadline_store::ObjectNo;
use std::collections::{BTreeMap, BTreeSet};

/// How far the conversation about a placement group is.
#[derive(Debug)]
pub(crate) enum Peering {
    /// These have not told their copies yet.
    Asking { left: OsdSet, copies: BTreeMap<OsdId, Option<Box<CopyReport>>> },
    /// These have not joined the interval yet, and the primary waits for them.
    Joining { left: OsdSet, activation: Box<Activation> },
}

/// What each OSD that runs says about its copy; `None` if it has none.
pub(crate) struct Copies<'a> {
    pub states: Vec<(OsdId, Option<CopyState<'a>>)>,
}

/// The rules that a pool, the settings and the past give.
#[derive(Clone, Copy)]
pub(crate) struct Rules<'a> {
    pub copies: usize,
    /// The number of the interval that is to begin.
    pub interval: u32,
    /// The last interval in which somebody served the placement group; never, if it is new.
    pub active_in: IntervalId,
    /// Who may come back with what it had then: those of its OSDs that still are some.
    pub served_by: OsdSet,
    pub stand_in: StandIn,
    /// Objects that those who took part could not give.
    pub sought: &'a BTreeSet<ObjectNo>,
}

/// Who leads where the first that placement wants lacks many objects, or all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StandIn {
    /// The next member that does not, so that groups fall evenly on the others.
    NextMember,
    /// The copy that decides what was written: of equal ones that with the lowest number, as in the original, whose peering goes
    /// through the copies in that order (`PeeringState::find_best_info`) and prefers nobody else if it does not lead it itself.
    Authority,
}

/// The outcome.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Peered {
    pub acting: Vec<OsdId>,
    pub missing: Vec<(OsdId, BTreeSet<ObjectNo>)>,
    pub damaged: Vec<(OsdId, BTreeSet<ObjectNo>)>,
    pub asynchronous: OsdSet,
    pub backfill: Vec<OsdId>,
    /// Whose log all acting OSDs take; `None` if there is nothing to take over.
    pub authority: Option<OsdId>,
    /// The log that they take instead, where no copy has one that tells of every write.
    pub gathered: Option<PgLog>,
}

/// Decides the next interval for a placement group that should be on `up` and was served by `acting`.
pub(crate) fn peer(
    up: &[OsdId],
    acting: &[OsdId],
    copies: &Copies<'_>,
    rules: &Rules<'_>,
) -> Peered {
    if rules.active_in == IntervalId::NEVER {
        let acting = up.iter().copied().filter(|osd| copies.runs(*osd)).collect();
        return Peered { acting, ..Peered::default() };
    }
    if let Some(authority) = copies.authority(rules) {
        return led_by(authority, up, acting, copies, rules);
    }
    let Some(Gathered { osd, log }) = copies.gathered(rules) else { return Peered::default() };
    let copies = copies.with_gathered(osd, &log, rules);
    let authority = copies.of(osd).and_then(|copy| copies.led_by(osd, copy, rules));
    let authority = authority.expect("all who may have something run");
    let peered = led_by(authority, up, acting, &copies, rules);
    Peered { gathered: Some(log), ..peered }
}

/// Decides it where this copy decides what was written.
fn led_by(
    authority: Authority<'_>,
    up: &[OsdId],
    acting: &[OsdId],
    copies: &Copies<'_>,
    rules: &Rules<'_>,
) -> Peered {
    let Authority { osd: authority, copy: best, others } = authority;
    // Where nobody has everything, nobody may be written past.
    let asynchronous_above = if best.is_complete() { best.asynchronous_above } else { u64::MAX };
    let mut peered = Peered { authority: Some(authority), ..Peered::default() };
    for &osd in up.iter().filter(|osd| copies.runs(**osd)) {
        match copies.of(osd).and_then(|copy| missing_in(&copy, &best)) {
            Some(missing) => peered.admit(osd, missing, asynchronous_above),
            None => peered.backfill.push(osd),
        }
    }
    let equal = |osd: &OsdId| {
        let copy = copies.of(*osd).filter(CopyState::is_complete);
        copy.is_some_and(|copy| copy.log.head() == best.log.head())
    };
    let all = acting.iter().copied().chain(copies.states.iter().map(|(osd, _)| *osd));
    for osd in all.filter(equal) {
        if peered.acting.len() < rules.copies && !peered.acting.contains(&osd) {
            peered.acting.push(osd);
        }
    }
    match best.is_complete() {
        true => peered.include_the_authority(authority),
        false => {
            for osd in [authority].into_iter().chain(others) {
                let missing = copies.of(osd).and_then(|copy| missing_in(&copy, &best));
                if !peered.acting.contains(&osd) {
                    peered.admit(osd, missing.unwrap_or_default(), asynchronous_above);
                }
            }
        }
    }
    peered.put_a_ready_primary_first();
    if rules.stand_in == StandIn::Authority && peered.acting.first() != up.first() {
        peered.put_first(authority);
    }
    let damaged = |osd: &OsdId| Some((*osd, copies.of(*osd)?.damaged.clone()));
    peered.damaged = peered.acting.iter().filter_map(damaged).collect();
    peered.damaged.retain(|(_, damaged)| !damaged.is_empty());
    peered.admit_who_has_what_is_lost(copies, &best, (asynchronous_above, rules.sought));
    peered
}

impl Peered {
    /// Who of those that would serve lacks objects, or pages of them.
    pub(crate) fn lacking(&self) -> OsdSet {
        self.missing.iter().chain(&self.damaged).map(|(osd, _)| *osd).collect()
    }

    /// Whether a copy may have something of an object of which everyone who would serve has lost something: it has it whole, or as it once was,
    /// with what no write has changed since. Together the others might still have all of it; nobody has looked.
    pub(crate) fn needs(&self, copy: &CopyState<'_>) -> bool {
        self.needs_one(|object| !copy.damaged.contains(object))
    }

    /// Whether everyone who would serve has lost something of an object that may be had somewhere, by this.
    fn needs_one(&self, is_there: impl Fn(&ObjectNo) -> bool) -> bool {
        let Some((first, lost)) = self.damaged.first() else { return false };
        let is_among = |all: &[(OsdId, BTreeSet<ObjectNo>)], osd: &OsdId, object: &ObjectNo| {
            all.iter().any(|(it, objects)| it == osd && objects.contains(object))
        };
        let is_bad = |osd: &OsdId, object: &ObjectNo| {
            is_among(&self.damaged, osd, object) || is_among(&self.missing, osd, object)
        };
        let others = || self.acting.iter().filter(|osd| *osd != first);
        lost.iter().filter(|it| is_there(it)).any(|object| others().all(|osd| is_bad(osd, object)))
    }

    /// A copy that placement does not want any more acts as long as the others need it: it is kept for that, and they get what they have
    /// lost from nobody but who takes part. Those that do not have the whole are needed where nobody has.
    fn admit_who_has_what_is_lost(
        &mut self,
        copies: &Copies<'_>,
        best: &CopyState<'_>,
        (asynchronous_above, sought): (u64, &BTreeSet<ObjectNo>),
    ) {
        for may_lack in [false, true] {
            for (osd, copy) in &copies.states {
                let Some(copy) = copy.as_ref().filter(|_| !self.takes_part(*osd)) else { continue };
                let missing = missing_in(copy, best);
                let is_missing =
                    |object: &ObjectNo| missing.as_ref().is_none_or(|it| it.contains(object));
                let may_be_there = |object: &ObjectNo| {
                    !copy.damaged.contains(object) && (may_lack || !is_missing(object))
                };
                if !self.needs_one(may_be_there) && !sought.iter().any(may_be_there) {
                    continue;
                }
                match missing {
                    Some(missing) => self.admit(*osd, missing, asynchronous_above),
                    None => self.backfill.push(*osd),
                }
                if !copy.damaged.is_empty() && self.acting.contains(osd) {
                    self.damaged.push((*osd, copy.damaged.clone()));
                }
            }
        }
    }

    fn takes_part(&self, osd: OsdId) -> bool {
        self.acting.contains(&osd) || self.backfill.contains(&osd)
    }
}

/// What a copy misses of the authority's objects; `None` if only a comparison object by object can tell.
fn missing_in(copy: &CopyState<'_>, authority: &CopyState<'_>) -> Option<BTreeSet<ObjectNo>> {
    if copy.filling {
        return None;
    }
    let mut missing = authority.log.differs_from(copy.log)?;
    missing.extend(copy.lacks);
    Some(missing)
}

impl<'a> Copies<'a> {
    fn runs(&self, osd: OsdId) -> bool {
        self.states.iter().any(|(id, _)| *id == osd)
    }

    fn of(&self, osd: OsdId) -> Option<CopyState<'a>> {
        self.states.iter().find(|(id, _)| *id == osd)?.1
    }

    /// The copy that decides what was written: of those that took part in the last interval and lack nothing, all of
    /// which have every acknowledged write, the one that has most. If each lacks something, because blocks of several disks
    /// are bad, the one whose log tells most, as long as what it lacks may come from others.
    ///
    /// A longer log counts even where its copy has lost pages of what it tells of, and a shorter one has all of the object as it was before: an OSD may have
    /// gone with a write in its device's cache, a flush been answered by the other one alone, and the power gone before a map told of that.
    fn authority(&self, rules: &Rules<'_>) -> Option<Authority<'a>> {
        let eligible = self.of_the_last_interval(rules).filter(|(_, copy)| !copy.gaps);
        let (osd, copy) = eligible.max_by_key(|(osd, copy)| {
            let lacks = std::cmp::Reverse(copy.lacks.len());
            (copy.is_complete(), copy.log.head(), lacks, std::cmp::Reverse(*osd))
        })?;
        self.led_by(osd, copy, rules)
    }

    fn led_by(&self, osd: OsdId, copy: CopyState<'a>, rules: &Rules<'_>) -> Option<Authority<'a>> {
        let others = self.holders(osd, &copy, rules.served_by)?;
        Some(Authority { osd, copy, others })
    }

    /// The copies that took part in the last interval that was served. A later interval than the map tells of was never served: its copies have what the one
    /// before it had. One that an earlier owner began is not later, whatever its number.
    fn of_the_last_interval(
        &self,
        rules: &Rules<'_>,
    ) -> impl Iterator<Item = (OsdId, CopyState<'a>)> {
        let copies = self.states.iter().filter_map(|(osd, copy)| Some((*osd, (*copy)?)));
        let active_in = rules.active_in;
        copies.filter(move |(_, copy)| !copy.filling && copy.active_in >= active_in)
    }

    /// What is left where every copy that had all is gone for good: those that were being recovered beside the writes. Each has, but for what it lacks by name,
    /// every write up to its last one, and its log tells of them; so what they have together is known, and what all of them lack, that it is lost. Nothing while
    /// somebody may come back who has more.
    fn gathered(&self, rules: &Rules<'_>) -> Option<Gathered> {
        if !self.all_run(rules.served_by) {
            return None;
        }
        let last = self.of_the_last_interval(rules).map(|(_, copy)| copy.active_in).max()?;
        let of_last = || self.of_the_last_interval(rules).filter(|(_, it)| it.active_in == last);
        let (osd, best) = of_last().max_by_key(|(osd, copy)| {
            let lacks = std::cmp::Reverse(copy.lacks.len());
            (copy.log.head(), lacks, std::cmp::Reverse(*osd))
        })?;
        let is_lost = |object: &ObjectNo| {
            self.of_the_last_interval(rules).all(|(_, copy)| copy.lacks.contains(object))
        };
        let lost = best.lacks.iter().copied().filter(is_lost).collect();
        let logs = of_last().map(|(_, copy)| copy.log);
        Some(Gathered { osd, log: PgLog::gathered(logs, &lost, rules.interval) })
    }

    /// The same copies, where the log of all of them is one's, and those of the last interval may be measured by it.
    fn with_gathered<'b>(&self, osd: OsdId, log: &'b PgLog, rules: &Rules<'_>) -> Copies<'b>
    where
        'a: 'b,
    {
        let measured: OsdSet = self.of_the_last_interval(rules).map(|(osd, _)| osd).collect();
        let state = |(id, copy): &(OsdId, Option<CopyState<'a>>)| {
            let copy = copy.map(|copy| CopyState {
                log: if *id == osd { log } else { copy.log },
                gaps: copy.gaps && !measured.contains(*id),
                ..copy
            });
            (*id, copy)
        };
        Copies { states: self.states.iter().map(state).collect() }
    }

    fn all_run(&self, osds: OsdSet) -> bool {
        osds.iter().all(|osd| self.runs(osd))
    }

    /// Who gives what a copy lacks. `None` if somebody who may have some of it does not run. What nobody has of those who
    /// served is lost, and the rest is not the worse for it. Who runs without a copy got another disk: what it had will not
    /// come back.
    fn holders(&self, osd: OsdId, copy: &CopyState<'_>, served_by: OsdSet) -> Option<Vec<OsdId>> {
        let all_run = self.all_run(served_by);
        let others = self.missing_in_others(osd, copy);
        let mut holders = Vec::new();
        for object in copy.lacks {
            match others.iter().find(|(_, missing)| !missing.contains(object)) {
                Some((id, _)) if holders.contains(id) => {}
                Some((id, _)) => holders.push(*id),
                None if all_run => {}
                None => return None,
            }
        }
        Some(holders)
    }

    /// The objects that a copy lacks and that nobody who runs has.
    pub(crate) fn nobody_has(&self, osd: OsdId) -> Vec<ObjectNo> {
        let Some(copy) = self.of(osd) else { return Vec::new() };
        let others = self.missing_in_others(osd, &copy);
        let is_nowhere = |object: &ObjectNo| others.iter().all(|(_, it)| it.contains(object));
        copy.lacks.iter().copied().filter(is_nowhere).collect()
    }

    fn missing_in_others(
        &self,
        osd: OsdId,
        copy: &CopyState<'_>,
    ) -> Vec<(OsdId, BTreeSet<ObjectNo>)> {
        let missing = |(id, other): &(OsdId, Option<CopyState<'a>>)| {
            Some((*id, missing_in(other.as_ref()?, copy)?)).filter(|(id, _)| *id != osd)
        };
        self.states.iter().filter_map(missing).collect()
    }
}

/// Whose log counts.
struct Authority<'a> {
    osd: OsdId,
    copy: CopyState<'a>,
    /// Who has what it lacks.
    others: Vec<OsdId>,
}

/// What several copies tell together, none of whose logs tells of every write.
struct Gathered {
    /// Whose copy has the last of these writes.
    osd: OsdId,
    log: PgLog,
}

impl Peered {
    fn admit(&mut self, osd: OsdId, missing: BTreeSet<ObjectNo>, asynchronous_above: u64) {
        self.acting.push(osd);
        if missing.is_empty() {
            return;
        }
        if missing.len() as u64 > asynchronous_above {
            self.asynchronous.insert(osd);
        }
        self.missing.push((osd, missing));
    }

    /// Somebody who acts must have every object, so that the others can get it from there: the authority serves until
    /// they have, even if that is one copy more than wanted.
    fn include_the_authority(&mut self, authority: OsdId) {
        let is_whole = |osd: &OsdId| self.missing.iter().all(|(behind, _)| behind != osd);
        if !self.acting.iter().any(is_whole) {
            self.acting.insert(0, authority);
        }
    }

    /// A primary that lacks many objects would hold up every op; the first member that does not leads instead.
    fn put_a_ready_primary_first(&mut self) {
        let asynchronous = self.asynchronous;
        if let Some(ready) = self.acting.iter().position(|osd| !asynchronous.contains(*osd)) {
            self.acting[..=ready].rotate_right(1);
        }
    }

    /// Lets a copy that lacks nothing lead, even if that is one more than wanted.
    fn put_first(&mut self, osd: OsdId) {
        if self.missing.iter().all(|(behind, _)| *behind != osd) {
            self.acting.retain(|member| *member != osd);
            self.acting.insert(0, osd);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_base::SlotId;
    use loadline_osd::{ChangedBytes, LogEntry, OpId};
    use loadline_store::Version;

    /// One copy.
    #[derive(Clone, Copy)]
    struct Has {
        osd: u32,
        writes: u64,
        lacks: &'static [u64],
        gaps: bool,
        filling: bool,
        active_in: IntervalId,
    }

    /// An interval of the present owner.
    fn now(epoch: u32) -> IntervalId {
        IntervalId { term: 2, epoch }
    }

    /// A whole copy that has seen so many writes and took part until this interval.
    fn whole(osd: u32, writes: u64, active_in: u32) -> Has {
        Has { osd, writes, lacks: &[], gaps: false, filling: false, active_in: now(active_in) }
    }

    fn empty(osd: u32) -> Has {
        Has { filling: true, active_in: IntervalId::NEVER, ..whole(osd, 0, 0) }
    }

    fn osd(n: u32) -> OsdId {
        OsdId::new(n)
    }

    fn log_of(writes: u64) -> PgLog {
        let mut log = PgLog::default();
        for number in 0..writes {
            let op = OpId { slot: SlotId::new(0), number: number as u32 };
            log.append(1, ObjectNo(number), op, ChangedBytes::ALL);
        }
        log
    }

    /// Who acts, who of them misses how much, who of those beside the writes, and who is filled.
    type Outcome<'a> = (&'a [u32], &'a [(u32, usize)], &'a [u32], &'a [u32]);

    fn check(up: &[u32], acting: &[u32], active_in: u32, copies: &[Has], expected: Outcome<'_>) {
        check_led(StandIn::NextMember, (up, acting), active_in, copies, expected);
    }

    fn check_led(
        stand_in: StandIn,
        (up, acting): (&[u32], &[u32]),
        active_in: u32,
        copies: &[Has],
        expected: Outcome<'_>,
    ) {
        let logs: Vec<PgLog> = copies.iter().map(|has| log_of(has.writes)).collect();
        let lacks: Vec<BTreeSet<ObjectNo>> =
            copies.iter().map(|has| has.lacks.iter().copied().map(ObjectNo).collect()).collect();
        let none = BTreeSet::new();
        let state = |index: usize, has: &Has| {
            let Has { gaps, filling, active_in, .. } = *has;
            let (log, lacks, damaged) = (&logs[index], &lacks[index], &none);
            let asynchronous_above = 1;
            let copy =
                CopyState { log, lacks, damaged, gaps, filling, active_in, asynchronous_above };
            (osd(has.osd), Some(copy))
        };
        let states = copies.iter().enumerate().map(|(index, has)| state(index, has)).collect();
        let ids = |ids: &[u32]| ids.iter().map(|id| osd(*id)).collect::<Vec<_>>();
        let active_in = if active_in == 0 { IntervalId::NEVER } else { now(active_in) };
        let sought = &BTreeSet::new();
        let last = if acting.is_empty() { up } else { acting };
        let served_by = ids(last).into_iter().collect();
        let rules = Rules { copies: 3, interval: 5, active_in, served_by, stand_in, sought };
        let peered = peer(&ids(up), &ids(acting), &Copies { states }, &rules);
        let numbers = |osds: &[OsdId]| osds.iter().map(|osd| osd.get()).collect::<Vec<_>>();
        let missing: Vec<(u32, usize)> =
            peered.missing.iter().map(|(osd, missing)| (osd.get(), missing.len())).collect();
        let asynchronous: Vec<u32> = peered.asynchronous.iter().map(|osd| osd.get()).collect();
        let found = (numbers(&peered.acting), missing, asynchronous, numbers(&peered.backfill));
        let (acting, missing, asynchronous, backfill) = expected;
        let expected = (acting.into(), missing.into(), asynchronous.into(), backfill.into());
        assert_eq!(found, expected);
    }

    #[test]
    fn an_empty_osd_is_filled_while_the_old_members_serve() {
        let copies = [whole(0, 9, 4), whole(1, 9, 4), whole(2, 9, 4), empty(3)];
        check(&[3, 0, 1], &[0, 1, 2], 4, &copies, (&[0, 1, 2], &[], &[], &[3]));
    }

    /// osd.0 returns to be filled in the published study, and of the groups that it should lead osd.1 leads all: the time of recovery is
    /// that of the shard with most groups.
    #[test]
    fn in_the_original_the_lowest_of_equal_copies_stands_in() {
        let copies = [whole(0, 9, 4), whole(1, 9, 4), whole(2, 9, 4), empty(3)];
        let [next, lowest]: [Outcome<'_>; 2] =
            [(&[2, 1, 0], &[], &[], &[3]), (&[0, 2, 1], &[], &[], &[3])];
        check_led(StandIn::NextMember, (&[3, 2, 1], &[2, 1, 0]), 4, &copies, next);
        check_led(StandIn::Authority, (&[3, 2, 1], &[2, 1, 0]), 4, &copies, lowest);
        check_led(
            StandIn::Authority,
            (&[2, 3, 1], &[2, 1, 0]),
            4,
            &copies,
            (&[2, 1, 0], &[], &[], &[3]),
        );
    }

    #[test]
    fn a_short_absence_is_recovered_from_the_log_and_a_longer_one_beside_the_writes() {
        let copies = |seen| [whole(0, 9, 4), whole(1, 9, 4), whole(2, seen, 3)];
        let leads_and_pulls: Outcome<'_> = (&[2, 0, 1], &[(2, 1)], &[], &[]);
        check(&[2, 0, 1], &[0, 1], 4, &copies(8), leads_and_pulls);
        let follows: Outcome<'_> = (&[0, 2, 1], &[(2, 4)], &[2], &[]);
        check(&[2, 0, 1], &[0, 1], 4, &copies(5), follows);
    }

    /// An OSD went away again before it had caught up. Its log was as long as the others', and what it still lacked
    /// was never asked for again.
    #[test]
    fn what_a_copy_lacked_when_it_went_away_is_still_missing() {
        let copies = [whole(0, 9, 4), whole(1, 9, 4), Has { lacks: &[3], ..whole(2, 9, 3) }];
        check(&[0, 1, 2], &[0, 1], 4, &copies, (&[0, 1, 2], &[(2, 1)], &[], &[]));
    }

    /// All three OSDs were away. The one that came back first had missed the last writes of the others, and served
    /// what it had: acknowledged writes were gone.
    #[test]
    fn nobody_serves_until_a_copy_of_the_last_interval_is_back() {
        let stale = whole(2, 5, 3);
        check(&[0, 1, 2], &[], 4, &[stale], (&[], &[], &[], &[]));
        let unfinished = Has { lacks: &[7], ..whole(1, 9, 4) };
        check(&[0, 1, 2], &[], 4, &[unfinished], (&[], &[], &[], &[]));
    }

    /// A copy was recovered beside the writes: it got every object, but its log did not tell of those that were written
    /// while it lacked them. It then led the others, and one that returned never learned of those writes.
    #[test]
    fn a_log_with_gaps_leads_nobody() {
        let caught_up = Has { gaps: true, ..whole(0, 9, 4) };
        let outcome: Outcome<'_> = (&[1, 2], &[(2, 4)], &[2], &[]);
        check(&[1, 2], &[0, 1], 4, &[caught_up, whole(1, 9, 4), whole(2, 5, 3)], outcome);
        check(&[0, 2], &[0, 1], 4, &[caught_up, whole(2, 5, 3)], (&[], &[], &[], &[]));
    }

    /// The only OSD that ran had never heard of the placement group, and so it was taken for a new one.
    #[test]
    fn a_group_is_new_only_once() {
        check(&[0, 1, 2], &[], 4, &[empty(0)], (&[], &[], &[], &[]));
        let empty = [empty(0), empty(1)];
        check(&[0, 1, 2], &[], 0, &empty, (&[0, 1], &[], &[], &[]));
    }

    /// An owner died with an interval on one disk that its map did not tell of. The next one went on without that disk, with
    /// intervals that were not larger by number; the disk came back alone, and seemed to have taken part in the last one.
    #[test]
    fn an_interval_of_an_earlier_owner_is_not_later_by_its_number() {
        let active_in = IntervalId { term: 1, epoch: 7 };
        let left_behind = Has { active_in, ..whole(2, 5, 0) };
        check(&[0, 1, 2], &[], 4, &[left_behind], (&[], &[], &[], &[]));
        let outcome: Outcome<'_> = (&[0, 1, 2], &[(2, 4)], &[2], &[]);
        check(&[0, 1, 2], &[], 4, &[whole(0, 9, 4), whole(1, 9, 4), left_behind], outcome);
    }

    /// Copies in their places had lost pages of an object that the one before had whole. That one was kept, but nobody got anything from it.
    #[test]
    fn who_has_whole_what_all_others_have_lost_pages_of_acts() {
        let (log, shorter) = (log_of(9), log_of(8));
        let (none, last, lost) = (BTreeSet::new(), BTreeSet::from([ObjectNo(8)]), ObjectNo(3));
        let (one, other) = (BTreeSet::from([lost]), BTreeSet::from([lost, ObjectNo(5)]));
        let asynchronous_above = 1;
        let copy = |log, lacks, damaged| CopyState {
            log,
            lacks,
            damaged,
            gaps: false,
            filling: false,
            active_in: now(4),
            asynchronous_above,
        };
        let check = |copies: [CopyState<'_>; 4], acting: &[u32], lacking: &[u32]| {
            let states = (0..).map(osd).zip(copies.map(Some)).collect();
            let (active_in, stand_in) = (now(4), StandIn::NextMember);
            let sought = &BTreeSet::new();
            let up = [0, 1, 2].map(osd);
            let served_by = up.into_iter().collect();
            let rules = Rules { copies: 3, interval: 5, active_in, served_by, stand_in, sought };
            let peered = peer(&up, &up, &Copies { states }, &rules);
            let numbers: Vec<u32> = peered.acting.iter().map(|osd| osd.get()).collect();
            assert_eq!(numbers, acting);
            assert_eq!(peered.lacking(), lacking.iter().copied().map(osd).collect());
        };
        let (whole, bad) = (copy(&log, &none, &none), copy(&log, &none, &one));
        check([whole, whole, whole, whole], &[0, 1, 2], &[]);
        check([bad, whole, bad, whole], &[0, 1, 2], &[0, 2]);
        check([bad, bad, bad, whole], &[0, 1, 2, 3], &[0, 1, 2]);
        check([bad, copy(&log, &none, &other), bad, bad], &[0, 1, 2], &[0, 1, 2]);
        // It is behind, but not with that object; or it is.
        let behind = copy(&shorter, &none, &none);
        check([bad, bad, bad, behind], &[0, 1, 2, 3], &[0, 1, 2, 3]);
        check([bad, bad, bad, copy(&log, &one, &none)], &[0, 1, 2, 3], &[0, 1, 2, 3]);
        // Who has the whole is enough, wherever it stands; who has lost a page is of no use.
        let lacks_it = copy(&log, &one, &none);
        check([bad, bad, lacks_it, whole], &[0, 1, 2, 3], &[0, 1, 2]);
        check([bad, bad, bad, copy(&log, &none, &one)], &[0, 1, 2], &[0, 1, 2]);
        check([bad, copy(&log, &last, &one), bad, whole], &[0, 1, 2, 3], &[0, 1, 2]);
    }

    /// Each member of the acting set lacked the same object, and the one copy that had it did not act: there was
    /// nobody to pull it from.
    #[test]
    fn whoever_has_everything_acts_even_where_placement_does_not_want_it() {
        let copies = [whole(0, 8, 3), whole(1, 8, 3), whole(2, 8, 3), whole(3, 9, 4)];
        let outcome: Outcome<'_> = (&[3, 0, 1, 2], &[(0, 1), (1, 1), (2, 1)], &[], &[]);
        check(&[0, 1, 2], &[3], 4, &copies, outcome);
    }

    /// A block was bad under a write on one disk, and another on another one. Each copy lacked an object that the others
    /// had, none was whole, and nobody served the placement group any more.
    #[test]
    fn copies_that_lack_different_objects_serve_together() {
        let lacking = |osd: u32, lacks| Has { lacks, ..whole(osd, 9, 4) };
        let outcome: Outcome<'_> = (&[0, 1], &[(0, 1), (1, 1)], &[], &[]);
        check(&[0, 1], &[0, 1, 2], 4, &[lacking(0, &[3]), lacking(1, &[5])], outcome);
        // Who has it may be behind otherwise, and must act although placement does not want it.
        let behind = Has { lacks: &[5], ..whole(2, 7, 3) };
        let outcome: Outcome<'_> = (&[0, 1, 2], &[(0, 1), (1, 1), (2, 3)], &[], &[]);
        check(&[0, 1], &[0, 1], 4, &[lacking(0, &[3]), lacking(1, &[3]), behind], outcome);
    }

    #[test]
    fn what_an_absent_copy_may_have_is_waited_for_and_what_no_copy_has_is_not() {
        let lacking = |osd: u32| Has { lacks: &[3], ..whole(osd, 9, 4) };
        let both = [lacking(0), lacking(1)];
        check(&[0, 1], &[0, 1, 2], 4, &both, (&[], &[], &[], &[]));
        check(&[0, 1], &[0, 1], 4, &both, (&[0, 1], &[(0, 1), (1, 1)], &[], &[]));
    }

    /// The only copy with the last write of an object was on a disk that could not read it. When that disk was replaced, the others
    /// waited for it for ever, with everything else that they had.
    #[test]
    fn what_a_replaced_disk_had_is_not_waited_for() {
        let lacking = |osd: u32| Has { lacks: &[3], ..whole(osd, 9, 4) };
        let copies = [lacking(0), empty(1), lacking(2)];
        let outcome: Outcome<'_> = (&[0, 2], &[(0, 1), (2, 1)], &[], &[1]);
        check(&[1, 0, 2], &[1, 0, 2], 4, &copies, outcome);
        check(&[1, 0, 2], &[1, 0, 2], 4, &[lacking(0), lacking(2)], (&[], &[], &[], &[]));
    }

    /// The same where the others were being recovered beside the writes, as every copy is that lacks something under Loadline's own preset: their logs may lack
    /// writes in the middle, and so nobody led.
    #[test]
    fn copies_recovered_beside_the_writes_are_what_is_left_of_a_replaced_disk() {
        let beside = |osd, writes, lacks| Has { gaps: true, lacks, ..whole(osd, writes, 4) };
        let (up, nobody): ([u32; 3], Outcome<'_>) = ([1, 0, 2], (&[], &[], &[], &[]));
        let both = [beside(0, 9, &[3]), beside(2, 8, &[3])];
        let copies = |of: &[Has]| both.iter().chain(of).copied().collect::<Vec<_>>();
        let outcome: Outcome<'_> = (&[0, 2], &[(0, 1), (2, 2)], &[], &[1]);
        check(&up, &up, 4, &copies(&[empty(1)]), outcome);
        // It may come back; it is back, with all of it or what it had once.
        check(&up, &up, 4, &both, nobody);
        let outcome: Outcome<'_> = (&[1, 0, 2], &[(0, 1), (2, 2)], &[2], &[]);
        check(&up, &up, 4, &copies(&[whole(1, 9, 4)]), outcome);
        let outcome: Outcome<'_> = (&[1, 0, 2], &[(1, 4), (0, 1), (2, 2)], &[], &[]);
        check(&up, &up, 4, &copies(&[whole(1, 6, 3)]), outcome);
        // Each gives what the other lacks; one that has come to have all goes first.
        let outcome: Outcome<'_> = (&[0, 2], &[(0, 1), (2, 1)], &[], &[1]);
        let apart = [beside(0, 9, &[3]), empty(1), beside(2, 9, &[5])];
        check(&up, &up, 4, &apart, outcome);
        let outcome: Outcome<'_> = (&[0, 2], &[(2, 2)], &[2], &[1]);
        check(&up, &up, 4, &[beside(0, 9, &[]), empty(1), beside(2, 9, &[3, 5])], outcome);
    }

    /// What such a copy was not told of stands in another one's log, or in none. A copy from before those writes looked as if it had everything.
    #[test]
    fn a_copy_from_before_lacks_what_the_others_were_not_told_of() {
        let (before, op) = (log_of(6), OpId { slot: SlotId::new(0), number: 77 });
        // Each of these was written once more, and osd.1, which was told of all of it, is gone.
        let told_of = |objects: [u64; 2]| {
            let mut log = before.clone();
            for (object, number) in [1, 2, 3, 4].into_iter().zip(1..) {
                let (version, changed) = (Version(4 << 32 | number), ChangedBytes::ALL);
                let entry = LogEntry { version, object: ObjectNo(object), op, changed };
                if objects.contains(&object) {
                    log.record(entry);
                }
            }
            log
        };
        let objects = |of: &[u64]| of.iter().copied().map(ObjectNo).collect::<BTreeSet<_>>();
        let (logs, none) = ([told_of([1, 4]), told_of([2, 4])], BTreeSet::new());
        let lacks = [objects(&[2, 3]), objects(&[1, 3])];
        let copy = |log, lacks, gaps, active_in| CopyState {
            log,
            lacks,
            damaged: &none,
            gaps,
            filling: false,
            active_in,
            asynchronous_above: 0,
        };
        let gapped = |of: usize| Some(copy(&logs[of], &lacks[of], true, now(4)));
        let from_before = Some(copy(&before, &none, false, now(3)));
        let states =
            vec![(osd(0), gapped(0)), (osd(1), None), (osd(2), gapped(1)), (osd(3), from_before)];
        let (up, stand_in) = ([0, 2, 3].map(osd), StandIn::NextMember);
        let served_by = [0, 1, 2].map(osd).into_iter().collect();
        let sought = &BTreeSet::new();
        let rules =
            Rules { copies: 3, interval: 9, active_in: now(4), served_by, stand_in, sought };
        let peered = peer(&up, &[0, 1, 2].map(osd), &Copies { states }, &rules);
        assert_eq!((peered.acting, peered.asynchronous), (up.to_vec(), OsdSet::EMPTY));
        let lacks_now = [(osd(0), objects(&[2, 3])), (osd(2), objects(&[1, 3]))];
        let behind = (osd(3), objects(&[1, 2, 3, 4]));
        assert_eq!(peered.missing, lacks_now.into_iter().chain([behind]).collect::<Vec<_>>());
        // Whoever comes later learns it from the log that they have from now on.
        let log = peered.gathered.expect("nobody's log tells of every write");
        assert_eq!(log.differs_from(&before), Some(objects(&[1, 2, 3, 4])));
        assert_eq!(log.head(), Version(9 << 32 | 1), "of what is lost");
    }
}
