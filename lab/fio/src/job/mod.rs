//! Job files: sections of options, read as the load that they describe.
//!
//! Of fio's options those are known that say what is sent when, and those that make no difference to a load. Any other is
//! refused by name and line: a job whose options were ignored would be another job.

mod option;
mod units;

#[cfg(test)]
mod tests;

pub use units::size as parse_size;

use option::JobOptions;
use std::fmt;
use std::time::Duration;

/// One job of a file, with what `[global]` says before it.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadJob {
    /// Its section.
    pub name: String,
    /// The line of the section.
    pub line: usize,
    /// Whether addresses are drawn at random (`rw=rand...`) or follow each other.
    pub random: bool,
    /// Share of reads, 0 to 1 (`rw`, `rwmixread`, `rwmixwrite`).
    pub reads: f64,
    /// Block sizes in bytes, each with its share in percent (`bs`, `bssplit`); together 100.
    pub blocks: Vec<(u64, u32)>,
    /// Operations in flight of each of its processes (`iodepth`).
    pub iodepth: u32,
    /// Operations per second of each (`rate_iops`); without it the next one follows the last.
    pub rate_iops: Option<f64>,
    /// Whether operations at a rate come independently of each other (`rate_process=poisson`).
    pub poisson: bool,
    /// Its processes (`numjobs`).
    pub numjobs: u32,
    /// How long it is measured (`runtime`).
    pub runtime: Option<Duration>,
    /// How long it runs before (`ramp_time`).
    pub ramp_time: Option<Duration>,
    /// How much of the target it uses (`size`).
    pub size: Option<JobSize>,
}

/// A job's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobSize {
    /// In bytes.
    Bytes(u64),
    /// In percent of the target.
    Percent(u32),
}

/// A job file that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub problem: JobProblem,
}

/// What is wrong with a line of a job file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobProblem {
    /// An option before any section.
    OutsideSection,
    /// A section's head without its end.
    OpenSection,
    /// The file has no job.
    NoJob,
    /// No option that is known here has this name.
    Unknown {
        /// As it is spelled in the file.
        option: String,
    },
    /// fio's option would make another load than can be made here.
    Unsupported {
        /// As it is spelled in the file.
        option: String,
        /// What to do instead.
        instead: &'static str,
    },
    /// The value is none of the option's.
    Value {
        /// As it is spelled in the file.
        option: String,
        /// What was given.
        value: String,
        /// What would be right, as a noun phrase.
        wanted: &'static str,
    },
}

/// The jobs of a file, in its order.
///
/// # Errors
/// [`JobError`] with the first line that cannot be used.
pub fn parse_jobs(text: &str) -> Result<Vec<LoadJob>, JobError> {
    let mut global = JobOptions::default();
    let mut jobs: Vec<(String, usize, JobOptions)> = Vec::new();
    let mut section = JobSection::None;
    for (number, line) in text.lines().enumerate() {
        let at = |problem| JobError { line: number + 1, problem };
        let line = line.trim();
        if line.is_empty() || line.starts_with([';', '#']) {
            continue;
        }
        if let Some(head) = line.strip_prefix('[') {
            let Some((name, _)) = head.split_once(']') else {
                return Err(at(JobProblem::OpenSection));
            };
            section = match name.trim() {
                "global" => JobSection::Global,
                name => {
                    jobs.push((name.to_owned(), number + 1, global.clone()));
                    JobSection::Job
                }
            };
            continue;
        }
        // A comment may stand behind an option, as fio has it.
        let line = line.split([';', '#']).next().unwrap_or(line).trim_end();
        let (option, value) = match line.split_once('=') {
            Some((option, value)) => (option.trim(), Some(value.trim())),
            None => (line, None),
        };
        let options = match section {
            JobSection::None => return Err(at(JobProblem::OutsideSection)),
            JobSection::Global => &mut global,
            JobSection::Job => &mut jobs.last_mut().expect("its section was opened").2,
        };
        options.take(option, value).map_err(at)?;
    }
    if jobs.is_empty() {
        return Err(JobError { line: text.lines().count().max(1), problem: JobProblem::NoJob });
    }
    jobs.into_iter()
        .map(|(name, line, options)| {
            options.job(name, line).map_err(|problem| JobError { line, problem })
        })
        .collect()
}

/// What the present line belongs to.
enum JobSection {
    None,
    Global,
    Job,
}

impl fmt::Display for JobProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JobProblem::OutsideSection => f.write_str(
                "an option stands before any section: begin with `[global]` or a job's name",
            ),
            JobProblem::OpenSection => f.write_str("a section is named as in `[reader]`"),
            JobProblem::NoJob => {
                f.write_str("there is no job: give it a section with a name, as `[reader]`")
            }
            JobProblem::Unknown { option } => {
                write!(f, "there is no option `{option}` that a load could follow: leave it out")
            }
            JobProblem::Unsupported { option, instead } => {
                write!(f, "`{option}` cannot be followed here: {instead}")
            }
            JobProblem::Value { option, value, wanted } => {
                write!(f, "`{option}` cannot be `{value}`: it takes {wanted}")
            }
        }
    }
}
