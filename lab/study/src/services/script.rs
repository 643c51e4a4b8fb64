//! What this kind answers when a study is run and told of.

use super::file::TimesSection;
use super::run;
use super::study::{ServicesCluster, ServicesSteps, ServicesStudy};
use super::work::scaled;
use crate::beside::{BesideResult, BesideTerms, BesideVerdict, OPS_MIN};
use crate::beside_figure::put_share_of_baseline;
use crate::chance::{ADD_REPEATS, one_run_is_close};
use crate::input::InputError;
use crate::job::Job;
use crate::on_ceph;
use crate::place::Place;
use crate::placed::placed;
use crate::promise::OfferedRate;
use crate::promise_terms::PromiseTerms;
use crate::published::PublishedSet;
use crate::real_runs;
use crate::record::RunRecord;
use crate::result::{DriveSummary, FittedFigure, NamedValue, SetupResult, Statement, quoted};
use crate::script::{OnProgress, RunError, Script};
use loadline_base::Span;
use loadline_sim::ReadService;
use serde_json::{Value, json};

/// The services, as the keys of their figures begin.
const SERVICES: [&str; 4] = ["scrub", "trim", "removal", "recovery"];

/// Whether a service ran in a setup.
fn ran(service: &str, setup: &SetupResult) -> bool {
    setup.figure(&format!("{service}/objects")).is_some()
}

/// Whether any service ran in a setup.
fn has_services(setup: &SetupResult) -> bool {
    SERVICES.iter().any(|service| ran(service, setup))
}

impl Script for ServicesStudy {
    fn identity(&self, job: &Job) -> String {
        let ServicesStudy { drive, cluster, load, .. } = self;
        // By what a run is judged does not change it.
        let times = TimesSection { deadline: None, on_disks: None, ..self.steps.times };
        let steps = ServicesSteps { scale: 1.0, times, ..self.steps };
        let place = self.place.identity().unwrap_or_default();
        let setup = &self.setups[job.setup];
        let engine = setup.osds.engine(0, 0);
        format!("{drive:?} {cluster:?} {steps:?} {load:?}{place} {:?} {engine:?}", setup.services)
    }

    fn weight(&self, published: Option<&PublishedSet>, job: &Job) -> f64 {
        let setup = &self.setups[job.setup];
        let published = published.and_then(|set| set.setup(setup.osds.name()));
        let iops = published.and_then(|figures| Some(figures.get("client/iops")?.value));
        let iops = iops.unwrap_or(self.drive.calibration.baseline_iops);
        let scrub = self.steps.scrub.filter(|_| setup.services);
        let scrubbed = scrub.map_or(0.0, |scrub| scaled(scrub.objects, job.scale) as f64);
        self.clients(job.scale).as_secs_f64() * iops + scrubbed
    }

    fn before_runs(&self, _: u32) -> Result<(), InputError> {
        match (&self.place, self.setups.first()) {
            (Place::Host(place), _) => {
                loadline_testbed::check(&self.hosted(place, &Job::default()))
                    .map_err(|reason| InputError::new(format!("--on {}", place.disks), reason))
            }
            (Place::Ceph(place), Some(setup)) => on_ceph::check(&self.on_ceph(place, setup)),
            _ => Ok(()),
        }
    }

    fn run(&self, job: &Job, tick: OnProgress<'_>) -> Result<Option<RunRecord>, RunError> {
        run::run(self, job, tick)
    }

    fn drive(&self, records: &[&RunRecord]) -> DriveSummary {
        let facts = self.cluster_facts();
        if self.place != Place::Sim {
            return real_runs::drive_summary(&self.place, records, facts);
        }
        let service = &self.drive.service;
        let own = [
            ("Store window", self.drive.window.to_string()),
            ("Write of 4 KiB", service.per_request.to_string()),
            ("Read of an object", reads(&service.reads)),
            ("Transfer of 1 MiB", service.per_mib.to_string()),
            ("Worker time per item", self.drive.worker_time.to_string()),
            ("One-way delay", self.drive.link_delay.to_string()),
        ];
        let calibration = &self.drive.calibration;
        DriveSummary {
            name: self.drive.name.clone(),
            model: self.drive.model.clone(),
            calibration: format!(
                "Calibrated from {} IOPS of 4 KiB random writes at depth 64 ({}). Peak: {}.",
                calibration.baseline_iops, calibration.source, calibration.peak
            ),
            facts: facts.into_iter().chain(own.map(NamedValue::from)).collect(),
        }
    }

    fn fitted(&self) -> Vec<FittedFigure> {
        let (ReadService::Shared(read), Some(source), Place::Sim) =
            (self.drive.service.reads, &self.drive.calibration.reads, &self.place)
        else {
            return Vec::new();
        };
        let figure = |name: &str, value: String| FittedFigure {
            name: name.to_owned(),
            value,
            where_used: "every setup's scrub".to_owned(),
            source: source.clone(),
        };
        vec![
            figure("Latency of a scanned object, without its transfer", read.latency.to_string()),
            figure("What it takes from the writes, without its transfer", read.line.to_string()),
        ]
    }

    fn complete(&self, setups: &mut [SetupResult]) {
        for setup in setups.iter_mut().filter(|setup| has_services(setup)) {
            let count = SERVICES.iter().filter(|service| ran(service, setup)).count();
            setup.figures.put("services", count as f64);
        }
        put_share_of_baseline(setups, has_services);
    }

    fn judge(&self, setups: &mut [SetupResult], answers: &[(usize, Vec<&RunRecord>)]) {
        for (setup, (place, runs)) in setups.iter_mut().zip(answers) {
            let ran = SERVICES.into_iter().filter(|service| ran(service, setup));
            let ran: Vec<&str> = ran.collect();
            let terms = self.beside_terms(*place).filter(|_| !ran.is_empty());
            setup.beside = terms.and_then(|terms| terms.judge(runs, &ran));
        }
        let baseline = setups.iter().find(|setup| !has_services(setup));
        let Some(alone_iops) = baseline.and_then(|setup| setup.figure("client/iops")) else {
            return;
        };
        for (setup, (place, runs)) in setups.iter_mut().zip(answers) {
            if has_services(setup) {
                let ServicesCluster { osds, copies, .. } = self.cluster;
                let setup_of = &self.setups[*place].osds;
                let offered = OfferedRate::of([&self.load]);
                let terms = PromiseTerms { setup: setup_of, osds, copies, alone_iops, offered };
                setup.promise = terms.promise(runs).judge(runs);
            }
        }
    }

    fn expected(&self, setups: &[SetupResult]) -> Vec<Statement> {
        self.steps.times.deadline.map(|_| self.beside_statement(setups)).into_iter().collect()
    }

    fn warnings(&self, setups: &[SetupResult], records: &[&RunRecord]) -> Vec<String> {
        let mut warnings = real_runs::doubts(records);
        if let Place::Ceph(place) = &self.place {
            warnings.extend(on_ceph::warnings(place, &self.left_out));
        }
        let scale = self.steps.scale;
        if scale != 1.0 && self.place == Place::Sim {
            warnings.push(format!(
                "This is {scale} of the work and of the clients' time: rates, latencies and shares are comparable, \
                 times are not; leave out --quick and --set scale for all of it."
            ));
        }
        warnings
            .extend(SERVICES.into_iter().filter_map(|service| unended(service, setups, records)));
        warnings
    }

    fn in_lines(&self) -> Vec<(&'static str, String)> {
        let times = &self.steps.times;
        vec![
            ("drive", format!("{} ({})", self.drive.name, self.drive.model)),
            (
                "cluster",
                format!(
                    "{} OSDs, {} copies, {} groups in each pool ({})",
                    self.cluster.osds,
                    self.cluster.copies,
                    self.cluster.pgs,
                    placed(&self.cluster.placement)
                ),
            ),
            ("load", self.load.to_string()),
            (
                "steps",
                format!(
                    "clients write for {}; {} after their first op: {}{}",
                    times.clients,
                    times.begin,
                    self.services().join(", "),
                    times
                        .deadline
                        .map_or_else(String::new, |by| format!("; each is to be over in {by}"))
                ),
            ),
        ]
    }

    fn in_json(&self) -> Value {
        let objects = |objects: Option<u64>| objects.map_or(Value::Null, Value::from);
        let steps = &self.steps;
        json!({
            "osds": self.cluster.osds, "copies": self.cluster.copies,
            "clients_s": steps.times.clients.as_secs_f64(),
            "begin_s": steps.times.begin.as_secs_f64(),
            "deadline_s": steps.times.deadline.map(Span::as_secs_f64),
            "scrub_objects": objects(steps.scrub.map(|it| it.objects)),
            "clones": objects(steps.trim.map(|it| it.clones)),
            "removal_objects": objects(steps.removal.map(|it| it.objects)),
            "recovery_objects": objects(steps.recovery.map(|it| it.objects)),
        })
    }

    fn setup_in_json(&self, setup: usize) -> Value {
        let setup = &self.setups[setup];
        json!({
            "scheduler": setup.osds.configuration.traits[1].value, "services": setup.services,
        })
    }

    fn on_disks(&self, jobs: &[Job]) -> Option<String> {
        let first = jobs.first()?;
        let services =
            ("services", format!("{}; {} of it all", self.services().join(", "), self.steps.scale));
        let clients = format!("{}, for {}", self.load, self.clients(self.steps.scale));
        let runs: Vec<_> = jobs.iter().map(|job| &self.setups[job.setup].osds).collect();
        let place = match &self.place {
            Place::Sim => return None,
            Place::Host(place) => place,
            Place::Ceph(place) => {
                let spec = self.on_ceph(place, &self.setups[first.setup]);
                let (copies, pgs) = (spec.copies, spec.pgs);
                let pools =
                    format!("of {pgs} groups and {copies} copies, labelled and deleted again");
                let own = [("pools", pools), services, ("load", clients)];
                return Some(on_ceph::describe(&spec, &own, (&runs, &self.left_out)));
            }
        };
        let spec = self.hosted(place, first);
        let names: Vec<&str> = runs.iter().map(|setup| setup.name()).collect();
        let lines = [
            ("runs", format!("{}: {}", jobs.len(), names.join(", "))),
            ("disks", format!("{} ({} each, {} of them)", place.disks, spec.osd_size, spec.osds)),
            (
                "image",
                format!("{}, {} copies, written before the run", self.load.image, spec.copies),
            ),
            services,
            ("load", clients),
            ("clients", place.client.to_string()),
        ];
        Some(lines.map(|(name, value)| format!("{name:<10}{value}\n")).concat())
    }
}

/// Under which setups a service did not end, by every single run: their mean may round to nothing left.
fn unended(service: &str, setups: &[SetupResult], records: &[&RunRecord]) -> Option<String> {
    let of = |setup: &SetupResult| {
        let has =
            |run: &RunRecord, figure| run.counted.get(&format!("{service}/{figure}")).is_some();
        let runs = records.iter().filter(|run| run.setup == setup.name() && has(run, "objects"));
        let runs: Vec<&&RunRecord> = runs.collect();
        let (left, all) = (runs.iter().filter(|run| !has(run, "seconds")).count(), runs.len());
        (left > 0).then(|| match left == all {
            true => quoted(setup.name()),
            false => format!("{} (in {left} of {all} repeats)", quoted(setup.name())),
        })
    };
    let names: Vec<String> = setups.iter().filter_map(of).collect();
    let says = |names: &str| {
        format!(
            "The {service} did not end within the limit under {names}: its rate is that until then; raise `limit` to see its end."
        )
    };
    (!names.is_empty()).then(|| says(&names.join(", ")))
}

/// Why the tail of a setup is left undecided of which enough was seen.
fn why_open(name: &str, beside: &BesideResult) -> Option<String> {
    beside.is_kept()?;
    Some(match beside.is_tail_open() {
        true => format!(
            "{} stayed within its bar in {} of {} repeats: {ADD_REPEATS}",
            quoted(name),
            beside.repeats_within,
            beside.repeats
        ),
        false => format!("{}: {}", quoted(name), one_run_is_close()),
    })
}

/// What reads cost, in words.
fn reads(service: &ReadService) -> String {
    match service {
        ReadService::InLine => "in line with the writes".to_owned(),
        ReadService::Beside => "as a request, beside the writes".to_owned(),
        ReadService::Shared(read) => format!(
            "{} and {} for each MiB; takes {} and as much from the writes",
            read.latency, read.per_mib, read.line
        ),
    }
}

impl ServicesStudy {
    /// The latency goal in the bar of every setup: the longest of those under test.
    fn goal(&self) -> Span {
        let goals = self.setups.iter().filter_map(|setup| Some(setup.osds.options().pacing?.goal));
        goals.max().unwrap_or(Span::ZERO)
    }

    /// By what the clients of a setup are judged, where the study has a deadline. Setups without a goal stand beside those that have one.
    fn beside_terms(&self, place: usize) -> Option<BesideTerms> {
        Some(BesideTerms {
            judged: self.setups[place].osds.options().pacing.is_some(),
            goal: self.goal(),
            deadline: self.time(self.steps.times.deadline?, self.steps.scale),
            asked: OfferedRate::of([&self.load])?,
        })
    }

    /// What is expected of all setups that are judged. It names them alone: each has a sentence with its figures.
    fn beside_statement(&self, setups: &[SetupResult]) -> Statement {
        let (goal_ms, is_real) = (self.goal().as_secs_f64() * 1e3, self.place != Place::Sim);
        let judged = setups.iter().filter_map(|setup| {
            let beside = setup.beside.as_ref().filter(|beside| beside.judged)?;
            Some((setup.name(), beside, beside.verdict(is_real)))
        });
        let judged: Vec<(&str, &BesideResult, BesideVerdict)> = judged.collect();
        let of = |verdict| judged.iter().filter(move |(.., found)| *found == verdict);
        let is = |verdict| of(verdict).next().is_some();
        let told = |how: &str, verdict| {
            let names: Vec<String> = of(verdict).map(|(name, ..)| quoted(name)).collect();
            is(verdict).then(|| format!("{how} {}", names.join(", ")))
        };
        let all: Vec<String> = [
            told("under", BesideVerdict::Kept),
            told("not under", BesideVerdict::Broken),
            told("undecided under", BesideVerdict::Open),
        ]
        .into_iter()
        .flatten()
        .collect();
        // One that broke it decides, whatever the others may be.
        let is_decided = is(BesideVerdict::Broken) || !is(BesideVerdict::Open);
        let open = || of(BesideVerdict::Open);
        let unsure = open().filter_map(|(name, beside, _)| why_open(name, beside));
        let unseen = open().filter(|(_, beside, _)| beside.is_kept().is_none());
        let unseen: Vec<String> = unseen.map(|(name, ..)| quoted(name)).collect();
        let unseen = (!unseen.is_empty()).then(|| {
            format!(
                "fewer than {OPS_MIN} operations alone or beside a service under {}, which no percentile can be made of: raise the scale",
                unseen.join(", ")
            )
        });
        Statement {
            text: "Beside the services clients get what they ask for, their p99 stays within its bar, and every service is over by its \
                   deadline."
                .to_owned(),
            holds: (!judged.is_empty() && is_decided).then(|| !is(BesideVerdict::Broken)),
            detail: match judged.is_empty() {
                false => format!(
                    "{}; stated: at most twice that of alone, or that and twice the window's goal of {goal_ms} ms",
                    all.join(", ")
                ),
                true => "needs a setup whose window has a latency goal, with its services".to_owned(),
            },
            undecided: if is_decided { Vec::new() } else { unseen.into_iter().chain(unsure).collect() },
            ..Statement::default()
        }
    }

    /// What the services do, each in a few words.
    fn services(&self) -> Vec<String> {
        let steps = &self.steps;
        let scrub = steps
            .scrub
            .map(|it| format!("a deep scrub of {} objects of {}", it.objects, it.object_size));
        let trim = steps.trim.map(|it| {
            format!(
                "a snapshot of {} objects of {} goes, which keeps {} clones",
                it.objects, it.object_size, it.clones
            )
        });
        let removal = steps
            .removal
            .map(|it| format!("a pool of {} objects of {} goes", it.objects, it.object_size));
        let recovery = steps.recovery.map(|it| {
            format!(
                "osd.{} is back (with the clients) and has missed {} objects of {}",
                it.returning, it.objects, it.object_size
            )
        });
        [scrub, trim, removal, recovery].into_iter().flatten().collect()
    }

    fn cluster_facts(&self) -> Vec<NamedValue> {
        let cluster = &self.cluster;
        let facts = [
            ("OSDs", cluster.osds.to_string()),
            ("Copies", cluster.copies.to_string()),
            (
                "Placement groups",
                match self.place {
                    Place::Ceph(_) => format!("{} in each pool", cluster.pgs),
                    Place::Sim | Place::Host(_) => {
                        format!("{} in each pool, {}", cluster.pgs, placed(&cluster.placement))
                    }
                },
            ),
            ("Services, at scale 1", self.services().join("; ")),
            ("Clients", format!("{} for {}", self.load, self.clients(self.steps.scale))),
            ("Image of the clients", self.load.image.to_string()),
        ];
        facts.map(NamedValue::from).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Figures;
    use crate::result::Configuration;

    /// One object of a removal was left in one of three runs, which is none in the mean.
    #[test]
    fn a_service_that_did_not_end_in_one_run_is_told() {
        let setup = |name: &str| SetupResult {
            setup: Configuration { name: name.to_owned(), ..Configuration::default() },
            ..SetupResult::default()
        };
        let run = |name: &str, ended: bool| {
            let counted = Figures::default().with([("removal/objects", 900.0)]);
            let counted = if ended { counted.with([("removal/seconds", 7.0)]) } else { counted };
            RunRecord { setup: name.to_owned(), counted, ..RunRecord::default() }
        };
        let runs =
            [run("a", true), run("a", false), run("a", true), run("b", true), run("c", false)];
        let records: Vec<&RunRecord> = runs.iter().collect();
        let setups = ["a", "b", "c"].map(setup);
        let said = unended("removal", &setups, &records).expect("two are told of");
        assert!(said.contains(" under “a” (in 1 of 3 repeats), “c”: its rate"), "{said}");
        assert_eq!(unended("removal", &setups[1..2], &records), None);
        assert_eq!(unended("scrub", &setups, &records), None);
    }
}
