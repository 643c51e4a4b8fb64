//! The kinds of reads of a workload, what each is called, and how the names of its files end.

use super::data::DepthResult;
use super::ink::Ink;
use crate::figures::ReadFigures;
use loadline_device::{Priority, PriorityClass};
use std::fmt;

/// The reads of one priority, in every depth.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ReadGroup {
    pub(super) priority: Priority,
    /// The title of its block in `randread.csv`.
    pub(super) title: String,
    /// How the names of its files end.
    pub(super) plot_suffix: String,
    pub(super) csv_suffix: String,
    /// What a chart of it alone is of.
    pub(super) subtitle: String,
    /// What it is within a sentence.
    pub(super) spoken: String,
    pub(super) ink: Ink,
    /// Its limit, if it has one and it is known.
    pub(super) limit: Option<Guideline>,
}

/// A guideline as `cdladm` prints it: a number and its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Guideline {
    number: u64,
    unit: &'static str,
    nanos_per_unit: u64,
}

/// The units that `cdladm` prints.
const UNITS: [(&str, u64); 3] = [("ms", 1_000_000), ("us", 1_000), ("ns", 1)];

impl Guideline {
    /// Those of a text of descriptors, the first descriptor first; `None` for one without a guideline.
    pub(super) fn all_of(text: &str) -> Vec<Option<Guideline>> {
        let lines = text.lines().filter(|line| line.contains("    duration guideline       :"));
        lines.map(|line| Guideline::parse(line.split(':').nth(1)?)).collect()
    }

    fn parse(text: &str) -> Option<Guideline> {
        let (number, unit) = text.trim().split_once(' ')?;
        let (unit, nanos_per_unit) = UNITS.into_iter().find(|(known, _)| *known == unit)?;
        Some(Guideline { number: number.parse().ok()?, unit, nanos_per_unit })
    }

    /// The share of these reads that ended within it. Latencies are cut to whole milliseconds, so that of a limit which is not
    /// whole nothing is known.
    pub(super) fn share_within(&self, figures: &ReadFigures) -> Option<f64> {
        let ms = self.ms();
        let within = figures.counts.iter().filter(|(took, _)| (*took as f64) < ms);
        let within: u64 = within.map(|(_, reads)| reads).sum();
        (ms.fract() == 0.0 && figures.reads > 0).then(|| within as f64 / figures.reads as f64)
    }

    /// In milliseconds.
    pub(super) fn ms(&self) -> f64 {
        self.number as f64 * self.nanos_per_unit as f64 / 1e6
    }
}

impl fmt::Display for Guideline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.number, self.unit)
    }
}

impl ReadGroup {
    fn new(
        priority: Priority,
        [title, suffix, subtitle, spoken]: [&str; 4],
        ink: Ink,
    ) -> ReadGroup {
        ReadGroup {
            priority,
            title: title.to_owned(),
            plot_suffix: suffix.to_owned(),
            csv_suffix: suffix.to_owned(),
            subtitle: subtitle.to_owned(),
            spoken: spoken.to_owned(),
            ink,
            limit: None,
        }
    }

    /// The reads of a descriptor, called by its guideline where it is known.
    fn limited(descriptor: u8, limit: Option<Guideline>) -> ReadGroup {
        let priority = Priority::new(PriorityClass::BestEffort, 0).with_descriptor(descriptor);
        let Some(limit) = limit else {
            let names = [
                format!("Descriptor {descriptor} I/Os"),
                format!("_descriptor{descriptor}"),
                format!("I/Os of Descriptor {descriptor}"),
                format!("reads of descriptor {descriptor}"),
            ];
            return ReadGroup::new(priority, names.each_ref().map(String::as_str), Ink::Marked(0));
        };
        let Guideline { number, unit, .. } = limit;
        let names = [
            format!("{number}{unit} limit I/Os"),
            format!("_{number}{unit}"),
            format!("{limit} Limit I/Os"),
            format!("reads with a limit of {limit}"),
        ];
        let group = ReadGroup::new(priority, names.each_ref().map(String::as_str), Ink::Marked(0));
        // The script knows milliseconds only, and leaves them out of this name.
        let csv_suffix = if unit == "ms" { format!("_{number}") } else { names[1].clone() };
        ReadGroup { csv_suffix, limit: Some(limit), ..group }
    }

    /// Names the descriptor too, where another one has the same guideline.
    fn tell_apart(&mut self) {
        let descriptor = self.priority.descriptor();
        self.title += &format!(", descriptor {descriptor}");
        self.plot_suffix += &format!("_descriptor{descriptor}");
        self.csv_suffix += &format!("_descriptor{descriptor}");
        self.subtitle += &format!(", Descriptor {descriptor}");
        self.spoken += &format!(" (descriptor {descriptor})");
    }
}

/// The kinds of reads that some depth has.
pub(super) fn groups(
    workload: &str,
    depths: &[DepthResult],
    guidelines: &[Option<Guideline>],
) -> Vec<ReadGroup> {
    let has = |group: &ReadGroup| depths.iter().any(|depth| depth.of(group).is_some());
    let mut found: Vec<ReadGroup> = all(workload, guidelines).into_iter().filter(has).collect();
    let names: Vec<String> = found.iter().map(|group| group.plot_suffix.clone()).collect();
    let is_shared = |name: &String| names.iter().filter(|other| *other == name).count() > 1;
    found.iter_mut().filter(|group| is_shared(&group.plot_suffix)).for_each(ReadGroup::tell_apart);
    let marked = found.iter_mut().filter(|group| matches!(group.ink, Ink::Marked(_)));
    for (n, group) in marked.enumerate() {
        group.ink = Ink::Marked(n);
    }
    found
}

/// The kinds of reads that a workload may have.
fn all(workload: &str, guidelines: &[Option<Guideline>]) -> Vec<ReadGroup> {
    let plain = Priority::default();
    match workload {
        "baseline" => vec![ReadGroup::new(plain, ["Baseline", "", "", "reads"], Ink::Baseline)],
        "ncqprio" => {
            let high = Priority::new(PriorityClass::RealTime, 0);
            let low = ["Low priority I/Os", "_lopri", "Low Priority I/Os", "reads of low priority"];
            let names =
                ["High Priority I/Os", "_hipri", "High Priority I/Os", "reads of high priority"];
            vec![
                ReadGroup::new(plain, low, Ink::Plain),
                ReadGroup::new(high, names, Ink::Marked(0)),
            ]
        }
        _ => {
            let names = ["No limit I/Os", "_nolimit", "No Limit I/Os", "reads without a limit"];
            let limit =
                |descriptor: u8| guidelines.get(usize::from(descriptor) - 1).copied().flatten();
            let limited =
                (1..=7).map(|descriptor| ReadGroup::limited(descriptor, limit(descriptor)));
            [ReadGroup::new(plain, names, Ink::Plain)].into_iter().chain(limited).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::ReadFigures;

    /// Each group's plot, table, title and place in a sentence, of a depth that has reads of all descriptors given.
    fn check(descriptors: &[u8], text: &str, wanted: &[[&str; 4]]) {
        let figures = |descriptor: &u8| ReadFigures {
            priority: Priority::new(PriorityClass::BestEffort, 0).with_descriptor(*descriptor),
            ..ReadFigures::default()
        };
        let figures = descriptors.iter().map(figures).collect();
        let depths = [DepthResult { depth: 1, total: 1.0, rate: 1.0, figures }];
        let found = groups("cdlmulti", &depths, &Guideline::all_of(text));
        let names: Vec<[&str; 4]> = found
            .iter()
            .map(|group| [&group.plot_suffix, &group.csv_suffix, &group.title, &group.spoken])
            .map(|names| names.map(String::as_str))
            .collect();
        assert_eq!(names, wanted);
    }

    fn guidelines(all: [&str; 7]) -> String {
        all.map(|text| format!("    duration guideline       : {text}\n")).concat()
    }

    #[test]
    fn limits_are_named_with_their_unit() {
        let text = guidelines(["50 ms", "500 us", "750 ns", "no limit", "9 weeks", "x ms", "7 ms"]);
        check(
            &[1, 2, 3, 4, 5],
            &text,
            &[
                ["_50ms", "_50", "50ms limit I/Os", "reads with a limit of 50 ms"],
                ["_500us", "_500us", "500us limit I/Os", "reads with a limit of 500 us"],
                ["_750ns", "_750ns", "750ns limit I/Os", "reads with a limit of 750 ns"],
                ["_descriptor4", "_descriptor4", "Descriptor 4 I/Os", "reads of descriptor 4"],
                ["_descriptor5", "_descriptor5", "Descriptor 5 I/Os", "reads of descriptor 5"],
            ],
        );
        let ms: Vec<f64> = Guideline::all_of(&text).into_iter().flatten().map(|g| g.ms()).collect();
        assert_eq!(ms, [50.0, 0.5, 0.000_75, 7.0]);
    }

    /// Two descriptors of one guideline wrote one file after the other under one name, and the second was left.
    #[test]
    fn equal_guidelines_are_told_apart_by_their_descriptors() {
        let text = guidelines(["50 ms", "50 ms", "50 us", "50 ms", "0 ms", "0 ms", "0 ms"]);
        let first = ["_50ms_descriptor1", "_50_descriptor1", "50ms limit I/Os, descriptor 1"];
        let second = ["_50ms_descriptor2", "_50_descriptor2", "50ms limit I/Os, descriptor 2"];
        let spoken = |n: u8| format!("reads with a limit of 50 ms (descriptor {n})");
        let (one, two) = (spoken(1), spoken(2));
        check(
            &[1, 2, 3],
            &text,
            &[
                [first[0], first[1], first[2], &one],
                [second[0], second[1], second[2], &two],
                ["_50us", "_50us", "50us limit I/Os", "reads with a limit of 50 us"],
            ],
        );
        let alone = ["_50ms", "_50", "50ms limit I/Os", "reads with a limit of 50 ms"];
        check(&[4], &text, &[alone]);
    }
}
