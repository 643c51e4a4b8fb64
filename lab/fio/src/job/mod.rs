//! Job files: sections of options, read as the load that they describe.
//!
//! Of fio's options those are known that say what is sent when, and those that make no difference to a load. Any other is
//! refused by name and line: a job whose options were ignored would be another job.

mod load_job;
mod option;
mod problem;
mod units;

#[cfg(test)]
mod tests;

pub use load_job::{JobSize, LoadJob};
pub use problem::JobProblem;
pub use units::size as parse_size;

use option::JobOptions;

/// A job file that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub problem: JobProblem,
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
