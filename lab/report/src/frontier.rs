//! What clients keep against how fast recovery goes: the frontier through Loadline's own setups, and who lies beyond it.

use crate::charts::{Chart, Drawing};
use crate::palette::looks;
use crate::svg::{FrontierChart, FrontierPoint};
use loadline_draw::number::percent;
use loadline_study::{SetupResult, StudyResult};

/// What recovery wants, and what clients want.
const OBJECTS_PER_S: &str = "recovery/objects_per_s";
const IOPS: &str = "client/iops";
/// The preset whose setups the frontier goes through.
const OWN: &str = "loadline";
/// Who lies beyond it by more lies beyond it; less is within what another seed moves a setup by.
const MARGIN: f64 = 0.05;

/// What a setup trades: objects per second, and clients' IOPS.
type Traded = (f64, f64);

/// The chart, where at least two of Loadline's setups recovered something; its caption names who lies beyond.
pub(crate) fn frontier_chart(result: &StudyResult) -> Option<Chart> {
    let pair = |setup: &SetupResult| Some((setup.figure(OBJECTS_PER_S)?, setup.figure(IOPS)?));
    let points: Vec<FrontierPoint> = result
        .setups
        .iter()
        .zip(looks(result))
        .filter_map(|(setup, look)| {
            let at = pair(setup)?;
            Some(FrontierPoint { label: setup.name().to_owned(), look, at })
        })
        .collect();
    let own = result.setups.iter().filter(|setup| setup.setup.preset == OWN).filter_map(pair);
    let frontier = frontier(own.collect());
    if frontier.len() < 2 {
        return None;
    }
    let title = "Clients' throughput against recovery's speed";
    Some(Chart {
        id: "frontier".to_owned(),
        title: title.to_owned(),
        caption: caption(&frontier, &points),
        drawing: Drawing::Frontier(FrontierChart {
            title: title.to_owned(),
            units: ("objects recovered per second", "clients' IOPS"),
            frontier,
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

fn caption(frontier: &[Traded], points: &[FrontierPoint]) -> String {
    let far = |point: &FrontierPoint| {
        let share = beyond(frontier, point.at);
        (share > MARGIN).then(|| format!("{} lies {} beyond it", point.label, percent(share)))
    };
    let far: Vec<String> = points.iter().filter_map(far).collect();
    let found = match far.is_empty() {
        true => format!("No setup lies more than {:.0} % beyond it.", 100.0 * MARGIN),
        false => format!("{}.", far.join(", ")),
    };
    format!(
        "Each dot is a setup; further up clients keep more, further right recovery is faster. The line is the frontier through Loadline's own setups. {found}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_study::{Configuration, Figures};

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

    #[test]
    fn one_setup_makes_no_frontier() {
        let setup = |place: f64| SetupResult {
            setup: Configuration { preset: OWN.into(), ..Default::default() },
            figures: Figures::default()
                .with([(OBJECTS_PER_S, 10.0 * place), (IOPS, 100.0 / place)]),
            ..Default::default()
        };
        let of =
            |setups: &[SetupResult]| StudyResult { setups: setups.into(), ..Default::default() };
        assert!(frontier_chart(&of(&[setup(1.0)])).is_none());
        assert!(frontier_chart(&of(&[setup(1.0), setup(2.0)])).is_some());
    }

    #[test]
    fn who_lies_beyond_is_named() {
        let looks =
            looks(&StudyResult { setups: vec![SetupResult::default()], ..Default::default() });
        let point = |label: &str, at| FrontierPoint { label: label.to_owned(), look: looks[0], at };
        let near = [point("a", (52.0, 20_800.0)), point("b", (10.0, 10.0))];
        let check = |points: &[FrontierPoint], end: &str| {
            let caption = caption(&OURS, points).replace('\u{a0}', " ");
            assert!(caption.ends_with(end), "{caption}");
        };
        check(&near, "No setup lies more than 5 % beyond it.");
        let far = [point("a", (60.0, 24_000.0)), point("b", (10.0, 10.0))];
        check(&far, " a lies 20 % beyond it.");
    }
}
