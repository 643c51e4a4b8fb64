//! What clients want against what else is wanted of the same disks: every setup a dot, the frontier through Loadline's own setups, or
//! through all where nobody else's are there, and who lies beyond it.

use crate::answer::{answer, goodness, is_better};
use crate::beside::is_met;
use crate::charts::{Chart, Drawing};
use crate::palette::looks;
use crate::repeats::interval;
use crate::sheet::{MARGIN, Sheet, Trade};
use crate::svg::{FrontierAxis, FrontierChart, FrontierPoint};
use crate::wrap::listed;
use loadline_study::{Better, Figure, SetupResult, StudyResult};

/// The preset whose setups the frontier goes through.
const OWN: &str = "loadline";

/// What a setup trades, more of each being better: the figure across, and the clients', which stands upright.
type Traded = (f64, f64);

/// The picture of the answer, where there is something to choose from.
pub(crate) fn answer_chart(result: &StudyResult) -> Option<Chart> {
    let trade = Sheet::of(result.kind).trade(result)?;
    trade_chart(result, trade, answer(result).chosen)
}

/// The kind's other trades, where at least two setups take part.
pub(crate) fn trade_charts(result: &StudyResult) -> Vec<Chart> {
    let sheet = Sheet::of(result.kind);
    let shown = sheet.trade(result).map(|trade| trade.id);
    let others = sheet.trades.iter().filter(|trade| Some(trade.id) != shown);
    others.filter_map(|trade| trade_chart(result, trade, None)).collect()
}

/// Which setups another is shown to beat in both figures, in the result's order. Who does not keep what is asked of it beats nobody.
pub(crate) fn beaten(result: &StudyResult) -> Vec<bool> {
    let trade = Sheet::of(result.kind).trade(result);
    let figures = trade.and_then(|trade| trade.figures(result.kind));
    let is_beaten = |setup: &SetupResult| {
        let beats = |(clients, beside): (&Figure, &Figure), other: &SetupResult| {
            is_better(clients, other, setup) && is_better(beside, other, setup)
        };
        let others = result.setups.iter().filter(|other| is_met(other) != Some(false));
        figures.is_some_and(|figures| others.into_iter().any(|other| beats(figures, other)))
    };
    result.setups.iter().map(is_beaten).collect()
}

fn traded((clients, beside): (&Figure, &Figure), setup: &SetupResult) -> Option<Traded> {
    Some((goodness(beside, setup)?, goodness(clients, setup)?))
}

/// What a measure of goodness stands for.
fn value(figure: &Figure, goodness: f64) -> f64 {
    match figure.better {
        Better::Down => 1.0 / goodness,
        Better::Up | Better::Neither => goodness,
    }
}

fn trade_chart(result: &StudyResult, trade: &Trade, chosen: Option<usize>) -> Option<Chart> {
    let (clients, beside) = trade.figures(result.kind)?;
    let pair = |setup: &SetupResult| traded((clients, beside), setup);
    let setups: Vec<_> = trade.setups(result).collect();
    let looks = looks(result);
    let ends = |figure: &Figure, setup: &SetupResult| {
        interval(figure, setup).map(|found| (found.low(), found.high()))
    };
    let point = |&(place, setup): &(usize, &SetupResult)| FrontierPoint {
        label: setup.name().to_owned(),
        look: looks[place],
        at: (setup.figure(beside.key).unwrap_or(0.0), setup.figure(clients.key).unwrap_or(0.0)),
        intervals: (ends(beside, setup), ends(clients, setup)),
        is_chosen: chosen == Some(place),
        is_broken: is_met(setup) == Some(false),
    };
    let points: Vec<FrontierPoint> = setups.iter().map(point).collect();
    // Nobody is to go by who did not keep what is asked.
    let kept = || setups.iter().filter(|(_, setup)| is_met(setup) != Some(false));
    let of = |is_own: bool| {
        let of = kept().filter(|(_, setup)| !is_own || setup.setup.preset == OWN);
        frontier(of.filter_map(|(_, setup)| pair(setup)).collect())
    };
    let (own, all) = (of(true), of(false));
    let is_own = own.len() > 1;
    let frontier = if is_own { own } else { all };
    let unended: Vec<String> = trade.unended(result).map(|setup| setup.name().to_owned()).collect();
    if points.is_empty() || points.len() + unended.len() < 2 {
        return None;
    }
    let weighed: Vec<(&str, Traded)> =
        kept().filter_map(|(_, setup)| Some((setup.name(), pair(setup)?))).collect();
    let axis = |figure: &Figure, unit| FrontierAxis { unit, falls: figure.better == Better::Down };
    Some(Chart {
        id: trade.id.to_owned(),
        title: trade.title.to_owned(),
        caption: [
            directions(trade, (clients, beside)),
            line_in_words(&frontier, &weighed, is_own),
            signs(&points),
            left_out(&unended),
        ]
        .concat()
        .trim_end()
        .to_owned(),
        preset: None,
        drawing: Drawing::Frontier(FrontierChart {
            title: trade.title.to_owned(),
            axes: (axis(beside, trade.beside.1), axis(clients, trade.clients.1)),
            frontier: frontier
                .iter()
                .map(|(x, y)| (value(beside, *x), value(clients, *y)))
                .collect(),
            points,
        }),
    })
}

/// The pairs that no other one has more of both of, from the most IOPS to the most objects.
fn frontier(mut own: Vec<Traded>) -> Vec<Traded> {
    own.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1)));
    let mut kept: Vec<Traded> = Vec::new();
    for pair in own {
        if kept.last().is_none_or(|last| pair.1 > last.1) {
            kept.push(pair);
        }
    }
    kept.reverse();
    kept
}

/// By what share both figures of a setup exceed what the frontier has in the same proportion; negative inside it.
fn beyond(frontier: &[Traded], (x, y): Traded) -> f64 {
    let (first, last) = (frontier[0], frontier[frontier.len() - 1]);
    // Left of its first point the frontier is level, and right of its last one it falls straight down.
    let level = first.1 / y;
    if level * x <= first.0 {
        return 1.0 / level - 1.0;
    }
    for pair in frontier.windows(2) {
        let ((x0, y0), (x1, y1)) = (pair[0], pair[1]);
        // The way from the origin through the setup meets the line through both points at this part of it.
        let met = (x0 * (y1 - y0) - y0 * (x1 - x0)) / (x * (y1 - y0) - y * (x1 - x0));
        if (x0..=x1).contains(&(met * x)) {
            return 1.0 / met - 1.0;
        }
    }
    x / last.0 - 1.0
}

/// Where better lies.
fn directions(trade: &Trade, (clients, beside): (&Figure, &Figure)) -> String {
    let up = if clients.better == Better::Down { "lower" } else { "higher" };
    let across = if beside.better == Better::Down { "left" } else { "right" };
    format!("Each dot is a setup: {up} is better for clients, {} to the {across}. ", trade.towards)
}

/// What the line is, and who does better than it says.
fn line_in_words(frontier: &[Traded], points: &[(&str, Traded)], is_own: bool) -> String {
    match (frontier.is_empty(), is_own) {
        (true, _) => return String::new(),
        (false, false) => return "The line joins those that no other beats in both. ".to_owned(),
        (false, true) => {}
    }
    let is_beyond = |of: &&(&str, Traded)| beyond(frontier, of.1) > MARGIN;
    let better: Vec<String> =
        points.iter().filter(is_beyond).map(|(label, _)| (*label).to_owned()).collect();
    let better = match better.is_empty() {
        true => String::new(),
        false => format!("Better than the line: {}. ", listed(&better)),
    };
    format!("The line joins the best of Loadline's own setups. {better}")
}

/// What rings, crosses and whiskers stand for, as far as they are there.
fn signs(points: &[FrontierPoint]) -> String {
    let has = |is: fn(&FrontierPoint) -> bool, text| if points.iter().any(is) { text } else { "" };
    [
        has(|point| point.is_chosen, "The ring marks the recommended one. "),
        has(|point| point.is_broken, "A crossed-out dot did not keep what is asked of it. "),
        has(|point| point.intervals.1.is_some(), "Whiskers are 95 % intervals over the repeats. "),
    ]
    .concat()
}

/// Who has no dot.
fn left_out(unended: &[String]) -> String {
    match unended.is_empty() {
        true => String::new(),
        false => format!("No end was seen under {}, so no dot is there. ", listed(unended)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_study::{Configuration, Figures, PromiseResult, StudyKind};

    const OURS: [Traded; 3] = [(50.0, 20_000.0), (90.0, 17_000.0), (120.0, 15_000.0)];

    #[test]
    fn a_frontier_leaves_out_whom_another_setup_beats_in_both() {
        let all = [OURS[2], (80.0, 16_000.0), OURS[0], OURS[1], (90.0, 16_500.0)];
        assert_eq!(frontier(all.to_vec()), OURS);
    }

    /// By the same share in both figures, wherever the way to a setup crosses the frontier.
    #[test]
    fn how_far_a_setup_lies_beyond_is_a_share_of_both_figures() {
        let check = |(x, y): Traded| {
            for by in [0.5, 1.0, 1.1, 2.0] {
                let found = beyond(&OURS, (x * by, y * by));
                assert!((found - (by - 1.0)).abs() < 1e-9, "({x}, {y}) by {by}: {found}");
            }
        };
        // Left of the first point, on each of the three, between two, and below the last.
        check((10.0, 20_000.0));
        OURS.into_iter().for_each(check);
        check((70.0, 18_500.0));
        check((120.0, 400.0));
    }

    fn setup(place: f64) -> SetupResult {
        let (ms, seconds) = ("client/clat_ms/p99", "recovery/seconds");
        SetupResult {
            setup: Configuration { preset: OWN.into(), ..Default::default() },
            figures: Figures::default().with([(seconds, 100.0 / place), (ms, 10.0 * place)]),
            ..Default::default()
        }
    }

    #[test]
    fn one_setup_makes_no_picture() {
        let of =
            |setups: &[SetupResult]| StudyResult { setups: setups.into(), ..Default::default() };
        assert!(answer_chart(&of(&[setup(1.0)])).is_none());
        assert_eq!(trade_charts(&of(&[setup(1.0)])).len(), 0);
        assert!(answer_chart(&of(&[setup(1.0), setup(2.0)])).is_some());
    }

    /// The frontier went through the one that missed its deadline, and the recommended dot was off the line.
    #[test]
    fn who_did_not_keep_what_is_asked_is_crossed_out_and_on_no_line() {
        let with = |mut setup: SetupResult, seconds_short| {
            setup.promise = Some(PromiseResult { share: 0.5, seconds_short, ..Default::default() });
            setup
        };
        let setups = vec![with(setup(4.0), 9), with(setup(1.0), 0), with(setup(2.0), 0)];
        let mut best = with(setup(0.5), 3);
        best.figures.put("recovery/seconds", 10.0);
        let result = StudyResult { setups: [setups, vec![best]].concat(), ..Default::default() };
        let chart = answer_chart(&result).unwrap();
        let Drawing::Frontier(drawn) = &chart.drawing else { panic!("it is a frontier") };
        assert_eq!(drawn.frontier, [(100.0, 10.0), (50.0, 20.0)]);
        let chosen: Vec<(f64, f64)> =
            drawn.points.iter().filter(|of| of.is_chosen).map(|of| of.at).collect();
        assert!(!chosen.is_empty() && chosen.iter().all(|at| drawn.frontier.contains(at)));
        assert_eq!(chart.svg(900.0).matches("class=\"cross\"").count(), 4);
        assert!(!chart.caption.contains("Better than the line"), "{}", chart.caption);
    }

    /// On a phone no dot said that it is the recommended one.
    #[test]
    fn the_recommended_dot_says_so_at_every_width() {
        let result = StudyResult { setups: vec![setup(1.0), setup(2.0)], ..Default::default() };
        let chart = answer_chart(&result).unwrap();
        for width in [350.0, 900.0] {
            assert_eq!(chart.svg(width).matches("recommended</text>").count(), 1, "{width}");
        }
    }

    /// A scrub that ended under one setup of three had no picture.
    #[test]
    fn who_saw_no_end_is_named_and_the_others_are_drawn() {
        let of = |name: &str, seconds: Option<f64>| {
            let figures = [("client/clat_ms/p99", 5.0), ("scrub/objects_per_s", 9.0)];
            let mut figures = Figures::default().with(figures);
            if let Some(seconds) = seconds {
                figures.put("scrub/seconds", seconds);
            }
            let setup = Configuration { name: name.into(), ..Default::default() };
            SetupResult { setup, figures, ..Default::default() }
        };
        let drawn = |setups: &[SetupResult]| {
            let kind = StudyKind::Services;
            answer_chart(&StudyResult { kind, setups: setups.into(), ..Default::default() })
        };
        let chart = drawn(&[of("a", Some(9.0)), of("b", None), of("c", None)]).unwrap();
        assert_eq!(chart.id, "latency-against-scrub");
        assert!(chart.caption.ends_with("No end was seen under b and c, so no dot is there."));
        let Drawing::Frontier(FrontierChart { points, .. }) = chart.drawing else { panic!() };
        assert_eq!(points.len(), 1);
        assert!(drawn(&[of("a", None), of("b", None)]).is_none());
        assert!(drawn(&[of("a", Some(9.0))]).is_none());
    }

    /// The second is no worse for clients than the first, the third worse in both by more than chance; what beats the fourth breaks its promise.
    #[test]
    fn who_is_beaten_in_both_figures_is_known() {
        let with = |mut setup: SetupResult, seconds, is_kept| {
            setup.figures.put("recovery/seconds", seconds);
            let seconds_short = if is_kept { 0 } else { 1 };
            let share = 0.5;
            setup.promise = Some(PromiseResult { share, seconds_short, ..Default::default() });
            setup
        };
        let setups = vec![
            with(setup(1.0), 100.0, true),
            with(setup(1.0), 101.0, true),
            with(setup(1.1), 110.0, true),
            with(setup(2.0), 50.0, true),
            with(setup(1.8), 40.0, false),
        ];
        let result = StudyResult { setups, ..Default::default() };
        assert_eq!(beaten(&result), [false, false, true, false, false]);
    }

    #[test]
    fn who_does_better_than_the_line_is_named() {
        let check = |at: Traded, end: &str| {
            let words = line_in_words(&OURS, &[("a", at), ("b", (10.0, 10.0))], true);
            assert!(words.ends_with(end), "{words}");
        };
        check((52.0, 20_800.0), "own setups. ");
        check((60.0, 24_000.0), " Better than the line: a. ");
    }
}
