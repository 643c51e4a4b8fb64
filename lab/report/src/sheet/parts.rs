//! Of what a sheet consists.

use loadline_study::{Figures, Series, SetupResult, StudyResult};

/// What a report shows of a kind.
pub(crate) struct Sheet {
    /// In the order of the page.
    pub(crate) charts: &'static [PlannedChart],
    /// Columns of the courses that CSV files hold, in their order.
    pub(crate) columns: &'static [&'static str],
    /// The figure that only setups with background work have; the first without it is the baseline.
    pub(crate) background: Option<&'static str>,
    /// The page's first sentences.
    pub(crate) sentences: fn(&StudyResult) -> Vec<String>,
    /// A card for each setup that deserves one.
    pub(crate) verdicts: fn(&StudyResult) -> Vec<Verdict>,
}

/// A setup's answer in a few words.
pub(crate) struct Verdict {
    pub(crate) setup: usize,
    pub(crate) name: String,
    /// What the clients keep.
    pub(crate) keeps: String,
    /// What they keep of what.
    pub(crate) of: String,
    pub(crate) latency: String,
    pub(crate) recovery: String,
    pub(crate) wait: String,
    /// Whether what was promised was kept, in words.
    pub(crate) promise: String,
}

/// A chart to be made of whatever setups have data for it.
pub(crate) enum PlannedChart {
    /// A bar for each setup.
    Bars { id: &'static str, title: &'static str, figure: &'static str, note: &'static str },
    /// Rows from the median to the 99.9th percentile of the clients' latency.
    Percentiles { id: &'static str, title: &'static str, note: &'static str },
    /// Of what a total is made, a row for each setup.
    Stacks {
        id: &'static str,
        title: &'static str,
        caption: &'static str,
        unit: &'static str,
        parts: &'static [(&'static str, FigurePart)],
    },
    /// A line over time for each setup.
    Course(Course),
}

/// A part of a total, where a setup has it.
pub(crate) type FigurePart = fn(&Figures) -> Option<f64>;

/// A chart over time: which column of the series, and how it is drawn.
pub(crate) struct Course {
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    pub(crate) caption: &'static str,
    pub(crate) log: bool,
    pub(crate) steps: bool,
    pub(crate) values: fn(&Series) -> Vec<Option<f64>>,
    /// The column that published curves of this course name; empty where it is made of several.
    pub(crate) column: &'static str,
}

impl Sheet {
    /// Whether a setup has background work beside its clients.
    pub(crate) fn has_background(&self, setup: &SetupResult) -> bool {
        self.background.is_none_or(|figure| setup.figure(figure).is_some())
    }

    /// The setup that shows clients alone.
    pub(crate) fn baseline<'a>(&self, result: &'a StudyResult) -> Option<&'a SetupResult> {
        result.setups.iter().find(|setup| !self.has_background(setup))
    }
}
