//! Placement groups by state, in the words of the field, and the sums over all of them.

use crate::admin::api::{ObjectCounts, PgCount};
use loadline_node::{Node, PgReport};
use loadline_osd::{RecoveryKind, RecoveryState, ScrubKind, TrimState};
use std::collections::BTreeMap;

/// What all placement groups together say.
#[derive(Debug, Default)]
pub(super) struct PgStates {
    counts: BTreeMap<String, u32>,
    pub objects: ObjectCounts,
    pub down: u32,
    pub inactive: u32,
    pub undersized: u32,
    pub too_full: u32,
    pub unfound: u64,
    pub all: u32,
}

impl PgStates {
    pub(super) fn of(node: &mut Node) -> PgStates {
        let mut states = PgStates::default();
        node.pg_reports().iter().for_each(|pg| states.add(pg));
        states
    }

    fn add(&mut self, pg: &PgReport) {
        *self.counts.entry(in_words(pg)).or_default() += 1;
        self.all += 1;
        self.down += u32::from(pg.down);
        self.inactive += u32::from(!pg.active && !pg.down);
        self.undersized += u32::from(pg.undersized && !pg.down);
        self.too_full += u32::from(matches!(pg.recovery, Some(RecoveryState::TooFull(_))));
        self.unfound += pg.unfound;
        let objects = &mut self.objects;
        objects.copies += pg.copies;
        objects.misplaced += pg.progress.misplaced;
        objects.degraded += pg.progress.degraded;
        objects.recovering += pg.progress.recovering;
    }

    /// By state, the most frequent first.
    pub(super) fn counts(&self) -> Vec<PgCount> {
        let count = |(state, pgs): (&String, &u32)| PgCount { state: state.clone(), pgs: *pgs };
        let mut counts: Vec<PgCount> = self.counts.iter().map(count).collect();
        counts.sort_by_key(|count| std::cmp::Reverse(count.pgs));
        counts
    }
}

/// `active+undersized+degraded+backfilling`: the order of the words is Ceph's.
fn in_words(pg: &PgReport) -> String {
    if pg.down {
        return "down".to_owned();
    }
    let mut words = vec![if pg.active { "active" } else { "peering" }];
    let recovery = pg.recovery.map(|state| match state {
        RecoveryState::Running(RecoveryKind::Log) => "recovering",
        RecoveryState::Running(RecoveryKind::Backfill) => "backfilling",
        RecoveryState::Waiting(RecoveryKind::Log) => "recovery_wait",
        RecoveryState::Waiting(RecoveryKind::Backfill) => "backfill_wait",
        RecoveryState::TooFull(RecoveryKind::Log) => "recovery_toofull",
        RecoveryState::TooFull(RecoveryKind::Backfill) => "backfill_toofull",
        RecoveryState::Unfound(RecoveryKind::Log) => "recovery_unfound",
        RecoveryState::Unfound(RecoveryKind::Backfill) => "backfill_unfound",
    });
    let flags = [
        (pg.active && pg.clean, "clean"),
        (pg.undersized, "undersized"),
        (pg.undersized || pg.progress.degraded > 0, "degraded"),
        (pg.remapped && !pg.undersized, "remapped"),
    ];
    words.extend(flags.iter().filter(|(holds, _)| *holds).map(|(_, word)| word));
    words.extend(recovery.filter(|_| pg.active));
    let trim = pg.trim.map(|state| match state {
        TrimState::Trimming => "snaptrim",
        TrimState::Waiting => "snaptrim_wait",
        TrimState::Failed => "snaptrim_error",
    });
    words.extend(trim);
    let scrub = [
        (pg.scrubbing.is_some(), "scrubbing"),
        (pg.scrubbing == Some(ScrubKind::Deep), "deep"),
        (pg.inconsistent, "inconsistent"),
        (pg.failed_repair, "failed_repair"),
    ];
    words.extend(scrub.iter().filter(|(holds, _)| *holds).map(|(_, word)| word));
    words.join("+")
}

#[cfg(test)]
mod tests {
    use super::{PgStates, in_words};
    use loadline_node::PgReport;
    use loadline_osd::{PgProgress, RecoveryKind, RecoveryState, ScrubKind, TrimState};

    const CLEAN: PgReport = PgReport {
        down: false,
        active: true,
        clean: true,
        undersized: false,
        remapped: false,
        recovery: None,
        progress: PgProgress { misplaced: 0, degraded: 0, recovering: 0 },
        copies: 3,
        unfound: 0,
        trim: None,
        scrubbing: None,
        inconsistent: false,
        failed_repair: false,
    };

    #[test]
    fn states_are_told_in_the_words_of_the_field() {
        let unclean = PgReport { clean: false, ..CLEAN };
        let undersized = PgReport { undersized: true, remapped: true, ..unclean };
        let degraded = PgProgress { degraded: 1, ..PgProgress::default() };
        let backfill = RecoveryKind::Backfill;
        let running = Some(RecoveryState::Running(backfill));
        let log = Some(RecoveryState::Running(RecoveryKind::Log));
        let check = |pg: PgReport, says: &str| assert_eq!(in_words(&pg), says);
        check(CLEAN, "active+clean");
        let scrubbed = |kind| PgReport { scrubbing: Some(kind), ..CLEAN };
        check(scrubbed(ScrubKind::Shallow), "active+clean+scrubbing");
        check(scrubbed(ScrubKind::Deep), "active+clean+scrubbing+deep");
        let trimmed = |state| PgReport { trim: Some(state), ..CLEAN };
        check(trimmed(TrimState::Trimming), "active+clean+snaptrim");
        check(trimmed(TrimState::Waiting), "active+clean+snaptrim_wait");
        check(trimmed(TrimState::Failed), "active+clean+snaptrim_error");
        let bad = PgReport { inconsistent: true, failed_repair: true, ..CLEAN };
        check(bad, "active+clean+inconsistent+failed_repair");
        check(PgReport { down: true, active: false, ..undersized }, "down");
        check(PgReport { active: false, ..unclean }, "peering");
        check(undersized, "active+undersized+degraded");
        check(
            PgReport { recovery: running, ..undersized },
            "active+undersized+degraded+backfilling",
        );
        check(
            PgReport { remapped: true, recovery: running, ..unclean },
            "active+remapped+backfilling",
        );
        let full = Some(RecoveryState::TooFull(backfill));
        check(
            PgReport { remapped: true, recovery: full, ..unclean },
            "active+remapped+backfill_toofull",
        );
        let waiting = Some(RecoveryState::Waiting(backfill));
        check(
            PgReport { remapped: true, recovery: waiting, ..unclean },
            "active+remapped+backfill_wait",
        );
        check(
            PgReport { progress: degraded, recovery: log, ..unclean },
            "active+degraded+recovering",
        );
    }

    #[test]
    fn a_group_that_nobody_serves_is_down_and_nothing_else() {
        let down = PgReport { down: true, active: false, clean: false, undersized: true, ..CLEAN };
        let peering = PgReport { active: false, clean: false, ..CLEAN };
        let mut states = PgStates::default();
        [down, CLEAN, peering, CLEAN].iter().for_each(|pg| states.add(pg));
        assert_eq!((states.down, states.inactive, states.undersized), (1, 1, 0));
        let counts = states.counts();
        assert_eq!((counts[0].state.as_str(), counts[0].pgs, states.all), ("active+clean", 2, 4));
        assert_eq!(states.objects.copies, 12);
    }
}
