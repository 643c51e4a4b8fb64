//! Figures as data: what each is called, its unit, which way is better, its formula, and how it comes from what a run counted.
//! Tables, charts, claims, comparisons and files are made from a kind's list of them.

use loadline_testbed::{Latency, PERCENTILES};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A figure of one setup.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// Its name in files, groups first: `client/clat_ms/p99`.
    pub key: &'static str,
    /// The head of its column.
    pub name: &'static str,
    /// Its unit, below the head.
    pub unit: &'static str,
    /// Which way is better.
    pub better: Better,
    /// How it is computed, in words.
    pub formula: &'static str,
    /// How people read it.
    pub print: Print,
    /// Where it is shown.
    pub seen: ShownIn,
    /// Whether it grows with the amount of work, so that it is comparable at one scale only.
    pub grows: bool,
    /// Whether tables leave it out where no setup has it.
    pub optional: bool,
    /// Whether it is a share that tells regimes apart: where ours is far from the published one, other figures are not of the same thing.
    pub regime: bool,
    /// Whether only a run has it in which something ended: the mean of those that did says nothing of the others.
    pub ends: bool,
    source: FigureSource,
}

/// Which way a figure is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// The more the better.
    Up,
    /// The less the better.
    Down,
    /// Neither is.
    Neither,
}

/// How people read a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Print {
    /// The digits that matter.
    Plain,
    /// A share, as percent.
    Percent,
    /// A length of time in seconds.
    Seconds,
    /// A whole number.
    Count,
}

/// Where a figure is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShownIn {
    /// In the result table, and everywhere below.
    Table,
    /// On the page and in CSV files, and below.
    Page,
    /// In results and their JSON.
    Data,
}

#[derive(Clone, Copy, Debug)]
enum FigureSource {
    /// A run counts it.
    Counted,
    /// Computed from what a run counts; `None` where it has no meaning.
    Computed(fn(&Figures) -> Option<f64>),
    /// Of a setup among others, not of one run.
    Concluded,
    /// The same, and the worst that any of its runs saw, not their mean.
    Worst,
}

impl Figure {
    /// A figure that runs count and tables show.
    pub(crate) const fn new(
        key: &'static str,
        (name, unit): (&'static str, &'static str),
        better: Better,
        formula: &'static str,
    ) -> Figure {
        Figure {
            key,
            name,
            unit,
            better,
            formula,
            print: Print::Plain,
            seen: ShownIn::Table,
            grows: false,
            optional: false,
            regime: false,
            ends: false,
            source: FigureSource::Counted,
        }
    }

    /// A figure that only files hold.
    pub(crate) const fn data(key: &'static str, formula: &'static str) -> Figure {
        let figure = Figure::new(key, ("", ""), Better::Neither, formula);
        Figure { seen: ShownIn::Data, ..figure }
    }

    pub(crate) const fn computed(self, of: fn(&Figures) -> Option<f64>) -> Figure {
        Figure { source: FigureSource::Computed(of), ..self }
    }

    pub(crate) const fn concluded(self) -> Figure {
        Figure { source: FigureSource::Concluded, ..self }
    }

    pub(crate) const fn concluded_of_the_worst(self) -> Figure {
        Figure { source: FigureSource::Worst, ..self }
    }

    pub(crate) const fn printed(self, print: Print) -> Figure {
        Figure { print, ..self }
    }

    pub(crate) const fn telling_regimes(self) -> Figure {
        Figure { regime: true, ..self }
    }

    pub(crate) const fn hidden(self) -> Figure {
        Figure { seen: ShownIn::Data, ..self }
    }

    pub(crate) const fn on_page(self) -> Figure {
        Figure { seen: ShownIn::Page, ..self }
    }

    /// It is of a part that a study may leave out.
    pub(crate) const fn optional(self) -> Figure {
        Figure { optional: true, ..self }
    }

    pub(crate) const fn growing(self) -> Figure {
        Figure { grows: true, ..self }
    }

    /// It is of something that not every run sees the end of.
    pub(crate) const fn of_an_end(self) -> Figure {
        Figure { ends: true, ..self }
    }

    /// Its value in a run that counted these.
    pub(crate) fn of_run(&self, counted: &Figures) -> Option<f64> {
        match self.source {
            FigureSource::Counted => counted.get(self.key),
            FigureSource::Computed(of) => of(counted),
            FigureSource::Concluded | FigureSource::Worst => None,
        }
    }

    /// Whether a single run has it, as against a setup among others.
    pub fn is_of_runs(&self) -> bool {
        !matches!(self.source, FigureSource::Concluded | FigureSource::Worst)
    }

    /// Whether it is the worst that was seen in any run: what is said of it is shown by that one, whatever the others were.
    pub(crate) fn is_worst(&self) -> bool {
        matches!(self.source, FigureSource::Worst)
    }

    /// Name and unit in one.
    pub fn label(&self) -> String {
        format!("{} {}", self.name, self.unit)
    }
}

/// Values by the keys of their figures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Figures(BTreeMap<String, f64>);

impl Figures {
    /// The value under a key.
    pub fn get(&self, key: &str) -> Option<f64> {
        self.0.get(key).copied()
    }

    /// Sets a value.
    pub fn put(&mut self, key: &str, value: f64) {
        self.0.insert(key.to_owned(), value);
    }

    /// The same with these values.
    #[must_use]
    pub fn with<const N: usize>(mut self, values: [(&str, f64); N]) -> Figures {
        for (key, value) in values {
            self.put(key, value);
        }
        self
    }

    /// Sets all statistics of a latency under a group such as `client/clat_ms`; none where nothing has ended: nobody waits for less time than for
    /// what never comes.
    pub(crate) fn put_latency(&mut self, group: &str, of: &Latency) {
        if of.is_of_nothing() {
            return;
        }
        self.put(&format!("{group}/mean"), of.mean_ms);
        for ((name, _), value) in PERCENTILES.into_iter().zip(of.percentiles_ms) {
            self.put(&format!("{group}/{name}"), value);
        }
        self.put(&format!("{group}/max"), of.max_ms);
    }

    /// `over` of each of these figures in every run that has it; of an end that some run did not see, none.
    pub(crate) fn over(
        figures: &[Figure],
        runs: &[Figures],
        over: fn(&[f64]) -> Option<f64>,
    ) -> Figures {
        let of = |figure: &Figure| {
            let values: Vec<f64> = runs.iter().filter_map(|run| run.get(figure.key)).collect();
            let value = over(&values).filter(|_| !figure.ends || values.len() == runs.len())?;
            let whole = figure.print == Print::Count;
            Some((figure.key.to_owned(), if whole { value.round() } else { value }))
        };
        Figures(figures.iter().filter_map(of).collect())
    }

    /// These figures of a run that counted `counted`.
    pub(crate) fn of_run(figures: &[Figure], counted: &Figures) -> Figures {
        let of = |figure: &Figure| Some((figure.key.to_owned(), figure.of_run(counted)?));
        Figures(figures.iter().filter_map(of).collect())
    }
}

/// Those figures of a setup that were published, by their keys.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PublishedFigures(pub(crate) BTreeMap<String, PublishedFigure>);

/// A number somebody printed; in a file either `11209` or `{ value = 18000, mark = "just over" }`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PublishedFigure {
    /// The number to compare with.
    pub value: f64,
    /// The source's own words around it, where it was not printed as a plain number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<String>,
}

/// A course over time that somebody drew, as points.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PublishedCurve {
    /// The column of our series that it stands beside.
    pub column: String,
    /// How it was found, e.g. `read off the curve`.
    pub mark: String,
    /// Seconds and values.
    pub points: Vec<(f64, f64)>,
}

impl PublishedFigures {
    /// A figure by its key.
    pub fn get(&self, key: &str) -> Option<&PublishedFigure> {
        self.0.get(key)
    }

    /// Whether nothing was published.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Without those that this says no to.
    pub(crate) fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        self.0.retain(|key, _| keep(key));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::StudyKind;
    use loadline_stats::mean;

    #[test]
    fn over_runs_a_count_stays_whole_and_who_lacks_a_figure_is_left_out() {
        let run = |objects: f64| Figures::default().with([("recovery/objects", objects)]);
        let runs = [run(10.0).with([("client/iops", 4.5)]), run(11.0)];
        let found = Figures::over(StudyKind::Recovery.figures(), &runs, mean);
        let wanted = Figures::default().with([("recovery/objects", 11.0), ("client/iops", 4.5)]);
        assert_eq!(found, wanted);
    }

    /// One removal of three ended, within 3,540 s, and that was the time that removals took.
    #[test]
    fn the_time_of_those_that_ended_is_not_that_of_all() {
        let run = |objects: f64| Figures::default().with([("removal/objects_per_s", objects)]);
        let ended = |run: Figures| run.with([("removal/seconds", 3540.0)]);
        let over = |runs: &[Figures]| {
            let found = Figures::over(StudyKind::Services.figures(), runs, mean);
            (found.get("removal/seconds"), found.get("removal/objects_per_s"))
        };
        assert_eq!(over(&[ended(run(9.0)), run(3.0), run(3.0)]), (None, Some(5.0)));
        assert_eq!(over(&[ended(run(9.0)), ended(run(3.0))]), (Some(3540.0), Some(6.0)));
    }
}
