//! How clients fared beside services that have a deadline, and the services beside them, in a sentence for each setup.

use loadline_draw::number::{duration, plain};
use loadline_study::{BesideResult, OPS_MIN, ServiceResult, SetupResult, StudyResult, quoted};

/// Whether all that is asked of a setup is so: what is promised, and beside services that have a deadline the clients' tail and the
/// services' ends. `None` where nothing is asked, or too little was seen to say it.
pub(crate) fn is_met(setup: &SetupResult) -> Option<bool> {
    let promise = setup.is_kept();
    match &setup.beside {
        None => promise,
        Some(beside) => match (promise, beside.is_kept()) {
            (Some(false), _) => Some(false),
            (_, of_beside) => of_beside,
        },
    }
}

/// Whether something is asked of a setup, and too little was seen to say whether it is so.
pub(crate) fn is_unseen(setup: &SetupResult) -> bool {
    setup.beside.is_some() && is_met(setup).is_none()
}

/// One sentence for each setup that tells of it; those that stand beside the judged come last.
pub(crate) fn beside_sentences(result: &StudyResult) -> impl Iterator<Item = String> {
    let told = |judged: bool| {
        let with = result.setups.iter().filter_map(|it| Some((it, it.beside.as_ref()?)));
        with.filter(move |(_, beside)| beside.judged == judged)
    };
    told(true).chain(told(false)).map(|(setup, beside)| sentence(setup, beside))
}

fn sentence(setup: &SetupResult, of: &BesideResult) -> String {
    let compared = if of.judged { "" } else { ", for comparison" };
    let names: Vec<String> = of.services.iter().map(|it| named(it).to_owned()).collect();
    let few = match of.is_alone_seen() {
        true => String::new(),
        false => format!(" by {} operations", of.alone_ops),
    };
    let verdict = match of.is_within_bar() {
        true => "kept".to_owned(),
        false if of.is_tail_open() => {
            format!(
                "kept in {} of {} repeats, of which this is the worst",
                of.repeats_within, of.repeats
            )
        }
        false => "NOT kept".to_owned(),
    };
    format!(
        "Under {}{compared}: p99 {} ms before the services{few} and at most {} ms during any of them ({}); the bar of {} ms {verdict}; {}; {}.",
        quoted(setup.name()),
        plain(of.alone_p99_ms),
        plain(of.p99_ms),
        names.join(", "),
        plain(of.bar_ms),
        asked(of),
        ends(of)
    )
}

/// Whether clients got what they asked for.
fn asked(of: &BesideResult) -> String {
    match &of.asked {
        None => "NOT a whole second was seen".to_owned(),
        Some(_) if of.has_what_it_asked() => "clients got what they asked for".to_owned(),
        Some(asked) => format!(
            "clients got LESS than the {} IOPS that they asked for in {} of {} s, {} in the worst",
            plain(asked.owed_iops),
            asked.seconds_short,
            asked.seconds,
            plain(asked.worst_iops)
        ),
    }
}

/// When each service was over, whether that was in time, and whether clients met it at all.
fn ends(of: &BesideResult) -> String {
    let told = |it: &ServiceResult| {
        let unseen = match it.is_seen() {
            true => "",
            false => ", too soon to be judged",
        };
        match it.seconds {
            Some(seconds) => format!("{} over in {}{unseen}", named(it), duration(seconds)),
            None => format!("{} not over", named(it)),
        }
    };
    let all: Vec<String> = of.services.iter().map(told).collect();
    let in_time = of.services.iter().all(|it| of.is_in_time(it));
    let deadline = duration(of.deadline_s);
    let met = if in_time { "met" } else { "MISSED" };
    let unseen = match of.is_seen() {
        true => String::new(),
        false => format!("; NOT judged by less than {OPS_MIN} operations"),
    };
    format!("{}: the deadline of {deadline} {met}{unseen}", all.join(", "))
}

/// A service in running text.
pub(crate) fn named(service: &ServiceResult) -> &str {
    match service.service.as_str() {
        "scrub" => "the deep scrub",
        "trim" => "the trim",
        "removal" => "the removal",
        other => other,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use loadline_study::{Configuration, PromiseResult};

    pub(crate) fn service(service: &str, seconds: Option<f64>, ops: u64) -> ServiceResult {
        ServiceResult { service: service.to_owned(), seconds, p99_ms: 2.0, ops }
    }

    pub(crate) fn good() -> BesideResult {
        BesideResult {
            judged: true,
            alone_p99_ms: 0.5,
            alone_ops: 5000,
            p99_ms: 2.0,
            bar_ms: 2.5,
            repeats_within: 1,
            repeats: 1,
            goal_ms: 1.0,
            deadline_s: 60.0,
            asked: Some(PromiseResult {
                share: 1.0,
                owed_iops: 1000.0,
                kept_from_iops: 860.0,
                seconds: 40,
                worst_iops: 900.0,
                ..PromiseResult::default()
            }),
            services: vec![service("scrub", Some(42.0), 42_000), service("trim", Some(9.0), 9_000)],
        }
    }

    fn check(beside: BesideResult, wanted: &str) {
        let setup = Configuration { name: "x".to_owned(), ..Configuration::default() };
        let setup = SetupResult { setup, beside: Some(beside), ..SetupResult::default() };
        let result = StudyResult { setups: vec![setup], ..StudyResult::default() };
        let told: Vec<String> = beside_sentences(&result).collect();
        assert_eq!(told.join("").replace('\u{a0}', " "), wanted);
    }

    #[test]
    fn a_sentence_says_tails_bar_deadline_and_what_clients_got() {
        check(
            good(),
            "Under “x”: p99 0.500 ms before the services and at most 2.00 ms during any of them (the deep scrub, the trim); the bar of 2.50 ms kept; clients got what they asked \
             for; the deep scrub over in 42.0 s, the trim over in 9.00 s: the deadline of 1 min 0 s met.",
        );
        check(
            BesideResult { alone_ops: 999, ..good() },
            "Under “x”: p99 0.500 ms before the services by 999 operations and at most 2.00 ms during any of them (the deep scrub, the trim); the bar of 2.50 ms kept; clients \
             got what they asked for; the deep scrub over in 42.0 s, the trim over in 9.00 s: the deadline of 1 min 0 s met; NOT judged by less \
             than 1000 operations.",
        );
        let asked =
            good().asked.map(|asked| PromiseResult { seconds_short: 3, worst_iops: 12.0, ..asked });
        let services = vec![service("scrub", None, 40_000), service("trim", Some(0.1), 100)];
        check(
            BesideResult { judged: false, p99_ms: 31.0, asked, services, ..good() },
            "Under “x”, for comparison: p99 0.500 ms before the services and at most 31.0 ms during any of them (the deep scrub, the trim); the bar of 2.50 ms NOT kept; clients \
             got LESS than the 1,000 IOPS that they asked for in 3 of 40 s, 12.0 in the worst; the deep scrub not over, the trim over in \
             0.100 s, too soon to be judged: the deadline of 1 min 0 s MISSED; NOT judged by less than 1000 operations.",
        );
    }

    #[test]
    fn repeats_that_disagree_are_counted() {
        check(
            BesideResult { p99_ms: 2.6, repeats_within: 2, repeats: 3, ..good() },
            "Under “x”: p99 0.500 ms before the services and at most 2.60 ms during any of them (the deep scrub, the trim); the bar of 2.50 ms kept in 2 of 3 repeats, of which \
             this is the worst; clients got what they asked for; the deep scrub over in 42.0 s, the trim over in 9.00 s: the deadline of 1 min 0 \
             s met.",
        );
    }

    #[test]
    fn what_is_asked_is_met_by_who_keeps_promises_tail_and_deadline() {
        let with = |beside, seconds_short: Option<u64>| {
            let promise = |short| PromiseResult {
                share: 1.0,
                seconds: 9,
                seconds_short: short,
                ..PromiseResult::default()
            };
            is_met(&SetupResult {
                beside,
                promise: seconds_short.map(promise),
                ..SetupResult::default()
            })
        };
        let late = BesideResult { deadline_s: 10.0, ..good() };
        let unseen = BesideResult { alone_ops: 9, ..good() };
        assert_eq!(
            [with(Some(unseen.clone()), Some(0)), with(Some(unseen), Some(1))],
            [None, Some(false)]
        );
        assert_eq!(with(None, None), None);
        assert_eq!([with(Some(good()), None), with(Some(good()), Some(0))], [Some(true); 2]);
        assert_eq!([with(Some(late), Some(0)), with(Some(good()), Some(1))], [Some(false); 2]);
    }
}
