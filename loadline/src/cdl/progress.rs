//! How far a benchmark has come: the script's lines, and below them a bar where somebody watches.

use crate::failure::Failure;
use crate::show;
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};
use loadline_study::Stopwatch;
use std::io::IsTerminal;
use std::time::Duration;

/// Steps of the bar.
const STEPS: u64 = 1000;

/// Where nobody watches a bar, this often a line says that it goes on.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Shows it: lines of the script on the standard output, the rest on the standard error.
pub(super) struct BenchProgress {
    runs: usize,
    told: usize,
    quiet: bool,
    bar: Option<ProgressBar>,
    began: Stopwatch,
    last_line: Stopwatch,
    /// What was done when the first news came: kept from an earlier run, so no measure of the speed.
    kept: Option<f64>,
}

impl BenchProgress {
    /// Of a benchmark of so many runs; a quiet one leaves the standard output alone.
    pub(super) fn new(runs: usize, quiet: bool) -> BenchProgress {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(Some(STEPS), ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template("{bar:40} {percent:>3} %  {msg}");
            bar.set_style(style.expect("the template is a constant that the bar accepts"));
            bar
        });
        let (began, last_line) = (Stopwatch::start(), Stopwatch::start());
        BenchProgress { runs, told: 0, quiet, bar, began, last_line, kept: None }
    }

    /// Prints lines.
    pub(super) fn lines(&self, text: &str) -> Result<(), Failure> {
        if self.quiet {
            return Ok(());
        }
        let print = || show::text(&format!("{text}\n"));
        self.bar.as_ref().map_or_else(print, |bar| bar.suspend(print))
    }

    /// Prints the line of a depth.
    pub(super) fn depth(&mut self, text: &str) -> Result<(), Failure> {
        self.told += 1;
        self.lines(text)
    }

    /// Shows the share that is done, 0 to 1.
    pub(super) fn done(&mut self, share: f64) {
        let kept = *self.kept.get_or_insert(share);
        let since = share - kept;
        let remaining = if since > 0.002 {
            let seconds = self.began.elapsed().as_secs_f64() * (1.0 - share) / since;
            format!("{:#} left", HumanDuration(Duration::from_secs_f64(seconds)))
        } else {
            "estimating".to_owned()
        };
        let message = format!("{} of {} runs, {remaining}", self.told, self.runs);
        match &self.bar {
            Some(bar) => {
                bar.set_position((share * STEPS as f64) as u64);
                bar.set_message(message);
            }
            None if self.last_line.elapsed() >= LINE_EVERY => {
                self.last_line = Stopwatch::start();
                show::note(&format!("{:3.0} %  {message}", share * 100.0));
            }
            None => {}
        }
    }

    /// Takes the bar away.
    pub(super) fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
