//! Of what a sheet consists.

use loadline_study::{Figure, Figures, Series, SetupResult, StudyKind, StudyResult};

pub(crate) use loadline_study::MARGIN;

/// What a report shows of a kind.
pub(crate) struct Sheet {
    /// In the order of the page.
    pub(crate) charts: &'static [PlannedChart],
    /// Columns of the courses that CSV files hold, in their order.
    pub(crate) columns: &'static [&'static str],
    /// The figure that only setups with background work have; the first without it is the baseline.
    pub(crate) background: Option<&'static str>,
    /// What is weighed against each other. The first that tells setups apart is the answer's.
    pub(crate) trades: &'static [Trade],
    /// Why it is so, in sentences.
    pub(crate) sentences: fn(&StudyResult) -> Vec<String>,
    /// A card for each setup that deserves one.
    pub(crate) verdicts: fn(&StudyResult) -> Vec<Verdict>,
}

/// Two things that are wanted of the same disks, and cannot both be had: what clients want, and what else is.
pub(crate) struct Trade {
    /// Name of its chart's file, without the ending.
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    /// The figure that clients go by, and the words at its axis.
    pub(crate) clients: (&'static str, &'static str),
    /// Of which part of the clients' time that is, where something else is said of another part.
    pub(crate) over: &'static str,
    /// The figure that the other goes by, and the words at its axis.
    pub(crate) beside: (&'static str, &'static str),
    /// The other figure's unit in running text, where it is not that of tables.
    pub(crate) beside_unit: &'static str,
    /// What comes before the other figure in a sentence: "recovery takes".
    pub(crate) tells: &'static str,
    /// What more of it, and less of it, is called.
    pub(crate) more: &'static str,
    pub(crate) less: &'static str,
    /// "3 times as long": its last word.
    pub(crate) as_much: &'static str,
    /// "nobody is shown to recover sooner", its last two parts.
    pub(crate) to: &'static str,
    pub(crate) better: &'static str,
    /// What more of the other's good is called, at its end of the axis: "faster recovery".
    pub(crate) towards: &'static str,
    /// For whom the best in the other figure is: "For a short recovery".
    pub(crate) for_beside: &'static str,
}

impl Trade {
    /// The clients' figure and the other, where the kind has both.
    pub(crate) fn figures(&self, kind: StudyKind) -> Option<(&'static Figure, &'static Figure)> {
        Some((kind.figure(self.clients.0)?, kind.figure(self.beside.0)?))
    }

    /// The setups that have both figures, with their places.
    pub(crate) fn setups<'a>(
        &self,
        result: &'a StudyResult,
    ) -> impl Iterator<Item = (usize, &'a SetupResult)> {
        let has = |key| move |(_, setup): &(usize, &SetupResult)| setup.figure(key).is_some();
        let setups = result.setups.iter().enumerate();
        setups.filter(has(self.clients.0)).filter(has(self.beside.0))
    }

    /// The setups that had not seen the end when their time was over, of which the other figure is the time.
    pub(crate) fn unended<'a>(
        &'a self,
        result: &'a StudyResult,
    ) -> impl Iterator<Item = &'a SetupResult> {
        result.setups.iter().filter(|setup| self.is_unended(setup))
    }

    /// Whether a setup is one of them.
    pub(crate) fn is_unended(&self, setup: &SetupResult) -> bool {
        let (clients, beside) = (self.clients.0, self.beside.0);
        // What has begun has a rate, whether it ends or not.
        let rate = beside.rsplit_once('/').map(|(group, _)| format!("{group}/objects_per_s"));
        let has = |key: &str| setup.figure(key).is_some();
        has(clients) && !has(beside) && rate.is_some_and(|rate| has(&rate))
    }

    /// Whether some setups saw the end and some did not.
    fn ends_for_some(&self, result: &StudyResult) -> bool {
        self.setups(result).next().is_some() && self.unended(result).next().is_some()
    }

    /// Whether setups differ in the other figure at all.
    fn tells_apart(&self, result: &StudyResult) -> bool {
        let values = || self.setups(result).filter_map(|(_, setup)| setup.figure(self.beside.0));
        let (least, most) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
        values().count() > 1 && least > 0.0 && most > least * (1.0 + MARGIN)
    }
}

/// A setup's answer in a few words.
#[derive(Default)]
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
    /// Whether another setup is shown to be better for clients and beside them, where that is looked at.
    pub(crate) is_beaten: bool,
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
    /// What the answer weighs; `None` where there is nothing to choose from.
    pub(crate) fn trade(&self, result: &StudyResult) -> Option<&'static Trade> {
        let first =
            |is: fn(&Trade, &StudyResult) -> bool| self.trades.iter().find(|it| is(it, result));
        first(Trade::tells_apart).or_else(|| first(Trade::ends_for_some))
    }

    /// Whether a setup has background work beside its clients.
    pub(crate) fn has_background(&self, setup: &SetupResult) -> bool {
        self.background.is_none_or(|figure| setup.figure(figure).is_some())
    }

    /// The setup that shows clients alone.
    pub(crate) fn baseline<'a>(&self, result: &'a StudyResult) -> Option<&'a SetupResult> {
        result.setups.iter().find(|setup| !self.has_background(setup))
    }
}
