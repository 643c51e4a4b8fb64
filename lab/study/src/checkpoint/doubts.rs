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

/// Checkpoints of which a mean is one, and beside which a rate is not that of a moment between two of them.
const CHECKPOINTS_LEAST: f64 = 3.0;

/// Why claims about a setup, or about one of its figures, are left undecided.
pub(super) fn doubts(study: &CheckpointStudy, setup: &SetupResult) -> Vec<FigureDoubt> {
    let lowest = Some("client/lowest_second_share".to_owned());
    let lowest = lowest_second(study, setup).map(|why| FigureDoubt { figure: lowest, why });
    let of_all = [behind_rate(study, setup), refused(setup), few_checkpoints(setup)];
    let of_all = of_all.into_iter().flatten().map(|why| FigureDoubt { figure: None, why });
    of_all.chain(lowest).collect()
}

/// That the store did not take every put, if that is so.
fn refused(setup: &SetupResult) -> Option<String> {
    let failed = setup.figure("client/failed").unwrap_or(0.0).ceil();
    (failed > 0.0).then(|| format!("{failed} puts ended with an error: give the store more room"))
}

/// That chance decides how much of the window is of checkpoints, if that is so.
fn few_checkpoints(setup: &SetupResult) -> Option<String> {
    let ended = setup.figure("checkpoint/checkpoints").unwrap_or(0.0);
    (ended < CHECKPOINTS_LEAST).then(|| {
        format!("fewer than {CHECKPOINTS_LEAST} checkpoints ended in the window: raise `periods`")
    })
}

/// Why the lowest second says nothing, if that is so.
fn lowest_second(study: &CheckpointStudy, setup: &SetupResult) -> Option<String> {
    let of = |key| setup.figure(key).unwrap_or(0.0);
    // What disturbs a real disk takes real seconds to show.
    let seconds = match study.place {
        Place::Sim => of("client/seconds"),
        Place::Host(_) | Place::Ceph(_) => of("client/seconds").min(of("checkpoint/seconds")),
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
fn behind_rate(study: &CheckpointStudy, setup: &SetupResult) -> Option<String> {
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

#[cfg(test)]
mod tests {
    use crate::figure::Figures;
    use crate::library::Library;
    use crate::result::SetupResult;
    use crate::study::Study;

    /// Claims about checkpoints were decided by one of them, and claims about puts by a store that refused them.
    #[test]
    fn few_checkpoints_and_refused_puts_decide_nothing() {
        let inputs = Library::built_in().inputs("checkpoint-full-speed", Vec::new());
        let study = Study::new(&inputs.expect("there is such a study")).expect("it is sound");
        let check = |ended: f64, failed: f64, wanted: &[&str]| {
            let figures = Figures::default().with([
                ("client/seconds", 180.0),
                ("client/median_second", 1e6),
                ("checkpoint/checkpoints", ended),
                ("client/failed", failed),
            ]);
            let mut setups = [SetupResult { figures, ..SetupResult::default() }];
            study.script.complete(&mut setups);
            let found = setups[0].doubts.iter().inspect(|doubt| assert_eq!(doubt.figure, None));
            assert_eq!(found.map(|doubt| doubt.why.as_str()).collect::<Vec<_>>(), wanted);
        };
        let few = "fewer than 3 checkpoints ended in the window: raise `periods`";
        check(3.0, 0.0, &[]);
        check(2.7, 0.0, &[few]);
        check(0.0, 0.0, &[few]);
        // A third of one is one in three repeats.
        check(3.0, 0.3, &["1 puts ended with an error: give the store more room"]);
        check(1.0, 40.0, &["40 puts ended with an error: give the store more room", few]);
    }
}
