//! Metrics as families of samples, and the two texts in which monitoring systems read them: Prometheus' own and OpenMetrics.
//!
//! A family's name has its unit and no suffix; the texts differ in where `_total` stands, and in the end mark. Nothing here knows what
//! is measured.

use serde::Serialize;
use std::borrow::Cow;
use std::fmt::Write;

/// Metrics, in the order in which they are told.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Exposition {
    families: Vec<MetricFamily>,
}

/// What the samples of a family are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum MetricKind {
    /// It goes up and down.
    Gauge,
    /// It only grows, until the node starts anew.
    Counter,
    /// Counts of durations below bounds.
    Histogram,
    /// How many durations there were, and their sum.
    Summary,
    /// Facts, as labels.
    Info,
}

/// All samples of one name.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MetricFamily {
    name: &'static str,
    kind: MetricKind,
    help: &'static str,
    samples: Vec<MetricSample>,
}

/// A label.
pub(crate) type Label = (&'static str, Cow<'static, str>);

/// One value.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct MetricSample {
    /// What follows the family's name: `_bucket`, `_sum` or `_count`, or nothing.
    suffix: &'static str,
    labels: Vec<Label>,
    value: f64,
}

/// A text of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricsForm {
    /// Prometheus' text format 0.0.4.
    Prometheus,
    /// OpenMetrics 1.0.0.
    OpenMetrics,
}

impl MetricsForm {
    /// The one that a client accepts, by its header.
    pub(super) fn accepted(accept: &str) -> MetricsForm {
        match accept.contains("application/openmetrics-text") {
            true => MetricsForm::OpenMetrics,
            false => MetricsForm::Prometheus,
        }
    }

    /// Its content type.
    pub(super) const fn content_type(self) -> &'static str {
        match self {
            MetricsForm::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            MetricsForm::OpenMetrics => {
                "application/openmetrics-text; version=1.0.0; charset=utf-8"
            }
        }
    }
}

impl Exposition {
    /// Begins a family; what follows belongs to it. `name` has no suffix such as `_total`.
    pub fn family(
        &mut self,
        kind: MetricKind,
        name: &'static str,
        help: &'static str,
    ) -> &mut MetricFamily {
        self.families.push(MetricFamily { name, kind, help, samples: Vec::new() });
        self.families.last_mut().expect("it was added")
    }

    /// As text.
    pub fn text(&self, form: MetricsForm) -> String {
        let mut text = String::new();
        for family in self.families.iter().filter(|family| !family.samples.is_empty()) {
            family.write(form, &mut text);
        }
        if form == MetricsForm::OpenMetrics {
            text.push_str("# EOF\n");
        }
        text
    }
}

impl MetricFamily {
    /// One more value of a gauge, a counter or an info.
    pub fn value(&mut self, labels: Vec<Label>, value: f64) {
        self.samples.push(MetricSample { suffix: "", labels, value });
    }

    /// A number of durations and their sum in seconds.
    pub fn summary(&mut self, labels: Vec<Label>, count: u64, sum: f64) {
        self.samples.push(MetricSample { suffix: "_sum", labels: labels.clone(), value: sum });
        self.samples.push(MetricSample { suffix: "_count", labels, value: count as f64 });
    }

    /// The same with how many lie below each bound, in seconds and ascending.
    pub fn histogram(&mut self, labels: Vec<Label>, below: &[(f64, u64)], count: u64, sum: f64) {
        let bounds = below.iter().map(|(bound, count)| (bound.to_string(), *count));
        for (bound, count) in bounds.chain([("+Inf".to_owned(), count)]) {
            let mut labels = labels.clone();
            labels.push(("le", bound.into()));
            self.samples.push(MetricSample { suffix: "_bucket", labels, value: count as f64 });
        }
        self.summary(labels, count, sum);
    }

    fn write(&self, form: MetricsForm, text: &mut String) {
        let is_open = form == MetricsForm::OpenMetrics;
        let suffix = match self.kind {
            MetricKind::Counter => "_total",
            MetricKind::Info => "_info",
            _ => "",
        };
        let kind = match self.kind {
            MetricKind::Gauge => "gauge",
            MetricKind::Counter => "counter",
            MetricKind::Histogram => "histogram",
            MetricKind::Summary => "summary",
            MetricKind::Info if is_open => "info",
            MetricKind::Info => "gauge",
        };
        let name = self.name;
        // OpenMetrics names the family, Prometheus its samples.
        let family = if is_open { name.to_owned() } else { format!("{name}{suffix}") };
        let help = escaped(self.help);
        let _ = writeln!(text, "# HELP {family} {help}\n# TYPE {family} {kind}");
        for sample in &self.samples {
            let _ = write!(text, "{name}{suffix}{}", sample.suffix);
            let mut before = '{';
            for (label, value) in &sample.labels {
                let _ = write!(text, "{before}{label}=\"{}\"", escaped(value));
                before = ',';
            }
            let end = if sample.labels.is_empty() { "" } else { "}" };
            let _ = writeln!(text, "{end} {}", sample.value);
        }
    }
}

/// Text inside a help line or a label's quotes.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(form: MetricsForm, expected: &str) {
        let mut metrics = Exposition::default();
        let ops = metrics.family(MetricKind::Counter, "loadline_ops", "Ops.");
        ops.value(vec![("image", "a\"b\\c\nd".into()), ("op", "read".into())], 3.0);
        let seconds = metrics.family(MetricKind::Histogram, "loadline_op_seconds", "Time.");
        seconds.histogram(vec![("class", "client".into())], &[(0.5, 1), (1.0, 2)], 4, 7.25);
        metrics
            .family(MetricKind::Info, "loadline_build", "Facts.")
            .value(vec![("v", "1".into())], 1.0);
        metrics.family(MetricKind::Gauge, "loadline_none", "Nothing is told of it.");
        assert_eq!(metrics.text(form), expected);
    }

    #[test]
    fn both_texts_are_as_their_readers_want_them() {
        let samples = "loadline_ops_total{image=\"a\\\"b\\\\c\\nd\",op=\"read\"} 3\n\
             # HELP loadline_op_seconds Time.\n# TYPE loadline_op_seconds histogram\n\
             loadline_op_seconds_bucket{class=\"client\",le=\"0.5\"} 1\n\
             loadline_op_seconds_bucket{class=\"client\",le=\"1\"} 2\n\
             loadline_op_seconds_bucket{class=\"client\",le=\"+Inf\"} 4\n\
             loadline_op_seconds_sum{class=\"client\"} 7.25\nloadline_op_seconds_count{class=\"client\"} 4\n";
        check(
            MetricsForm::Prometheus,
            &format!(
                "# HELP loadline_ops_total Ops.\n# TYPE loadline_ops_total counter\n{samples}\
                 # HELP loadline_build_info Facts.\n# TYPE loadline_build_info gauge\nloadline_build_info{{v=\"1\"}} 1\n"
            ),
        );
        check(
            MetricsForm::OpenMetrics,
            &format!(
                "# HELP loadline_ops Ops.\n# TYPE loadline_ops counter\n{samples}\
                 # HELP loadline_build Facts.\n# TYPE loadline_build info\nloadline_build_info{{v=\"1\"}} 1\n# EOF\n"
            ),
        );
    }
}
