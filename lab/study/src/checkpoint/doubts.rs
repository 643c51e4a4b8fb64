//! Where the figures of a checkpoint study decide nothing, and why.

use super::study::CheckpointStudy;
use crate::place::Place;
use crate::result::{FigureDoubt, SetupResult};
use loadline_load::Arrivals;

/// Seconds of which the lowest is asked for: of one alone it is the median.
const SECONDS_LEAST: f64 = 10.0;

/// Puts in a median second. Of some thousand seconds the lowest lies about three and a half roots below the median by chance alone: a third of a
/// hundred, and half of fifty.
const PUTS_LEAST: f64 = 100.0;

/// The share of its rate that an open loop gets from a store that keeps it.
const RATE_LEAST: f64 = 0.99;

/// Why claims about a setup, or about one of its figures, are left undecided.
pub(super) fn doubts(study: &CheckpointStudy, setup: &SetupResult) -> Vec<FigureDoubt> {
    let lowest = Some("client/lowest_second_share".to_owned());
    let lowest = lowest_second(study, setup).map(|why| FigureDoubt { figure: lowest, why });
    let behind = behind_rate(study, setup).map(|why| FigureDoubt { figure: None, why });
    behind.into_iter().chain(lowest).collect()
}

/// Why the lowest second says nothing, if that is so.
fn lowest_second(study: &CheckpointStudy, setup: &SetupResult) -> Option<String> {
    let of = |key| setup.figure(key).unwrap_or(0.0);
    // What disturbs a real disk takes real seconds to show.
    let seconds = match study.place {
        Place::Sim => of("client/seconds"),
        Place::Host(_) => of("client/seconds").min(of("checkpoint/seconds")),
    };
    if seconds < SECONDS_LEAST {
        return Some(format!(
            "{seconds:.1} s were measured, and one of at least {SECONDS_LEAST} can be called the lowest: raise `periods`"
        ));
    }
    let puts = of("client/median_second") * study.stretch().as_secs_f64();
    (puts < PUTS_LEAST).then(|| {
        format!(
            "{puts:.0} puts in the median second of {:.1} leave the lowest one to chance: raise `scale`",
            study.stretch()
        )
    })
}

/// That an open loop did not get its rate, with what was left, if that is so.
pub(super) fn behind_rate(study: &CheckpointStudy, setup: &SetupResult) -> Option<String> {
    let rate = study.load.rate?;
    let of = |key| setup.figure(key).unwrap_or(0.0);
    // Three deviations of the number of arrivals.
    let chance = match study.load.arrivals {
        Arrivals::Fixed => 0.0,
        Arrivals::Poisson => 3.0 / (rate * of("checkpoint/seconds")).max(1.0).sqrt(),
    };
    let puts = of("client/puts_per_s");
    (puts < rate * (RATE_LEAST - chance)).then(|| {
        let (under_way, waited) = (of("client/under_way"), of("client/waited_max_ms"));
        format!(
            "{puts:.0} of {rate} puts/s were carried out, and {under_way:.0} were under way at the end, the oldest for {waited:.0} ms: lower `rate`"
        )
    })
}
