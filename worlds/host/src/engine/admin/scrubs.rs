//! Scrubs that an operator asks for, and what scrubs have told.

use super::desk::{CommandOutcome, Executed, now};
use crate::admin::api::{
    AdminAnswer, AdminRefusal, BadCopy, InconsistentRow, InconsistentStates, ScrubHow, ScrubRow,
    Scrubbing, Scrubs, UnfoundObject, Who,
};
use crate::engine::host_node::HostNode;
use loadline_base::{WallTime, in_short};
use loadline_node::ScrubReport;
use loadline_osd::{
    InconsistentState, PgId, ScrubError, ScrubKind, ScrubRecord, ScrubRequest, SnapshotNo,
};

impl HostNode {
    /// Has copies compared.
    pub(super) fn scrub(&mut self, how: ScrubHow, what: &str) -> Executed {
        let pgs = self.pgs_to_scrub(what)?;
        let kind = match how {
            ScrubHow::Scrub => ScrubKind::Shallow,
            ScrubHow::DeepScrub | ScrubHow::Repair => ScrubKind::Deep,
        };
        let repairs = how == ScrubHow::Repair;
        let request = ScrubRequest { kind, is_requested: true, repairs };
        let (mut begin, mut left_out) = (Vec::new(), Vec::new());
        for pg in pgs {
            let told = self.node.change(self.now, |cluster, fx| cluster.scrub(pg, request, fx));
            let name = self.node.cluster().pg_name(pg);
            if told { begin.push(name) } else { left_out.push(name) }
        }
        match begin.is_empty() && !left_out.is_empty() {
            true => Ok(CommandOutcome::Busy(format!("nobody serves PG {}", left_out.join(", ")))),
            false => now(AdminAnswer::Scrubbing(Scrubbing { pgs: begin, left_out })),
        }
    }

    /// The placement groups that are meant: one, those with a copy on an OSD, or a pool's.
    fn pgs_to_scrub(&self, what: &str) -> Result<Vec<PgId>, AdminRefusal> {
        let map = self.node.cluster().map();
        if let Ok(Who::Osd(osd)) = what.parse() {
            let osd = self.known_osd(osd)?;
            let of_osd = map.pgs().filter(|(_, state)| state.acting.contains(&osd));
            return Ok(of_osd.map(|(pg, _)| pg).collect());
        }
        let pool = map.pools().iter().find(|(_, pool)| pool.spec.name == what);
        match (self.pg_of(what), pool) {
            (Ok(pg), _) => Ok(vec![pg]),
            (_, Some((pool, _))) => Ok(map.pgs_of(*pool).collect()),
            _ => {
                let shown = in_short(what);
                let error = format!("`{}` is no PG, no OSD and no pool", shown.escape_debug());
                Err(AdminRefusal::not_found(error).wants("such as `0.1f`, `osd.2` or `data`"))
            }
        }
    }

    pub(super) fn scrub_list(&self) -> AdminAnswer {
        let today = self.config.clock.at(self.now);
        let reports = self.node.scrub_reports(self.now);
        let round = self.scrub_round(&reports);
        let rows = reports.into_iter().map(|(pg, report)| self.scrub_row(pg, report, today));
        AdminAnswer::Scrubs(Scrubs { pgs: rows.collect(), round })
    }

    fn scrub_row(&self, pg: PgId, report: ScrubReport, today: WallTime) -> ScrubRow {
        let ScrubReport { record, runs, rests_until, held_back, .. } = report;
        let ScrubRecord { last, last_deep, last_clean, duration, findings, under_way, .. } = record;
        let since = |at: Option<WallTime>| at.map(|at| today.since(at).nanos());
        ScrubRow {
            pg: self.node.cluster().pg_name(pg),
            under_way: under_way.as_ref().map(|it| it.request.kind.name().to_owned()),
            runs,
            rests_ns: rests_until.map(|until| until.since(today).nanos()),
            held_back: held_back.map(|why| why.to_string()),
            objects_scrubbed: under_way.as_ref().map_or(0, |it| it.objects),
            last_ns: since(last),
            last_deep_ns: since(last_deep),
            last_clean_ns: since(last_clean),
            duration_ns: duration.nanos(),
            shallow_errors: findings.counts.shallow,
            deep_errors: findings.counts.deep,
            failed_repair: record.has_failed_repair,
        }
    }

    pub(super) fn inconsistent_list(&self, name: &str) -> Executed {
        let findings = self.node.scrub_report(self.now, self.pg_of(name)?).record.findings;
        now(AdminAnswer::Inconsistent(InconsistentStates {
            pg: name.to_owned(),
            inconsistent: findings.inconsistent,
            states: findings.named.iter().map(|state| self.shown_state(state)).collect(),
        }))
    }

    fn shown_state(&self, state: &InconsistentState) -> InconsistentRow {
        let UnfoundObject { object, image, offset_bytes } = self.shown_object(state.object);
        InconsistentRow {
            object,
            snapshot: (state.label != SnapshotNo::HEAD).then_some(state.label.0),
            image,
            offset_bytes,
            selected_osd: state.authority.map(|osd| osd.get()),
            as_recorded: state
                .as_recorded
                .map(|copies| copies.iter().map(|osd| osd.get()).collect()),
            bad: state
                .bad
                .iter()
                .map(|(osd, errors)| BadCopy {
                    osd: osd.get(),
                    errors: errors.iter().map(ScrubError::name).map(str::to_owned).collect(),
                })
                .collect(),
        }
    }
}
