//! How far the runs have come: a bar in a terminal, plain lines elsewhere.

use crate::show;
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};
use loadline_report::told;
use loadline_study::{
    Advance, Job, RunPurpose, RunRecord, SessionEvent, Stopwatch, Study, StudyKind,
};
use std::io::IsTerminal;
use std::time::Duration;

/// Steps of the bar.
const STEPS: u64 = 1000;

/// Where nobody watches a bar, a line says that it goes on: not more often than this,
const LINE_EVERY: Duration = Duration::from_secs(5);
/// and only after this share of the work, so that a long study does not fill a log.
const LINE_SHARE: f64 = 0.05;

/// Shows on the standard error how far the runs have come.
pub(super) struct StudyProgress {
    kind: StudyKind,
    names: Vec<String>,
    runs: usize,
    ended: usize,
    bar: Option<ProgressBar>,
    last_line: Stopwatch,
    /// How much was done when the last such line was written.
    last_done: f64,
}

impl StudyProgress {
    pub(super) fn new(study: &Study, runs: usize) -> StudyProgress {
        let names = study.setups.iter().map(|setup| setup.name.clone()).collect();
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(Some(STEPS), ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template("{bar:40} {percent:>3} %  {msg}");
            bar.set_style(style.expect("the template is a constant that the bar accepts"));
            bar
        });
        StudyProgress {
            kind: study.kind,
            names,
            runs,
            ended: 0,
            bar,
            last_line: Stopwatch::start(),
            last_done: 0.0,
        }
    }

    pub(super) fn show(&mut self, sight: &SessionEvent<'_>) {
        match sight {
            SessionEvent::Advanced(advance) => self.advanced(advance),
            SessionEvent::Finished(job, record) => self.finished(job, &in_short(self.kind, record)),
        }
    }

    fn advanced(&mut self, advance: &Advance) {
        let remaining =
            advance.remaining.map(|left| format!(", about {:#} left", HumanDuration(left)));
        let message =
            format!("{} of {} runs{}", self.ended, self.runs, remaining.unwrap_or_default());
        match &self.bar {
            Some(bar) => {
                bar.set_position((advance.done * STEPS as f64) as u64);
                bar.set_message(message);
            }
            None if self.last_line.elapsed() >= LINE_EVERY
                && advance.done >= self.last_done + LINE_SHARE =>
            {
                self.last_done = advance.done;
                self.line(&format!("{:3.0} %  {message}", advance.done * 100.0));
            }
            None => {}
        }
    }

    fn finished(&mut self, job: &Job, in_short: &str) {
        self.ended += 1;
        let line = format!("{}: {in_short}", self.name(job));
        match &self.bar {
            Some(bar) => bar.println(line),
            None => self.line(&line),
        }
    }

    fn line(&mut self, text: &str) {
        self.last_line = Stopwatch::start();
        show::note(text);
    }

    fn name(&self, job: &Job) -> String {
        let setup = &self.names[job.setup];
        match job.purpose {
            RunPurpose::Answer => format!("{setup}, seed {}", job.seed),
            RunPurpose::OtherReturns => format!("{setup}, another OSD returning"),
            RunPurpose::Placement(index) => format!("{setup}, other placement {}", index + 1),
        }
    }

    pub(super) fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// A run by the chief figures of its kind.
fn in_short(kind: StudyKind, record: &RunRecord) -> String {
    let text = |figure| told(figure, &record.counted);
    kind.chief().filter_map(text).collect::<Vec<_>>().join(", ")
}
