//! A study as it is meant: everything looked up, checked and ready to run. What a kind has of its own is its script.

use crate::claim::Claim;
use crate::input::{InputError, Source, unknown};
use crate::inputs::Inputs;
use crate::job::Job;
use crate::kind::StudyKind;
use crate::place::Place;
use crate::published::PublishedSet;
use crate::record::RunRecord;
use crate::result::Configuration;
use crate::script::{OnProgress, RunError, Script};
use crate::sets::{Sets, choose, read_sets};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use toml::Spanned;

/// A question with the setups that answer it.
#[derive(Debug)]
pub struct Study {
    /// Which steps it takes.
    pub kind: StudyKind,
    /// Its name: the file's, without folder and ending.
    pub name: String,
    /// One line for the top of a page.
    pub title: String,
    /// What it answers.
    pub question: String,
    /// Name of the drive.
    pub drive: String,
    /// What the clients do, in words.
    pub load: String,
    /// Share of the published amount of work.
    pub scale: f64,
    /// What is compared, in the study's order.
    pub setups: Vec<Configuration>,
    /// Names for groups of setups.
    pub sets: Sets,
    /// What somebody else measured, with the same load on the same system.
    pub published: Option<PublishedSet>,
    /// What was asked for that published figures do not stand beside.
    pub departs: Vec<String>,
    /// What must hold of the result.
    pub expectations: Vec<Claim>,
    /// Where it runs.
    pub place: Place,
    pub(crate) script: Box<dyn Script>,
}

/// What every study file says, whatever its kind.
pub(crate) struct StudyQuestion {
    pub(crate) title: String,
    pub(crate) question: String,
    pub(crate) load: String,
    pub(crate) scale: f64,
    /// What was asked for that makes another load or system of the published ones.
    pub(crate) departs: Vec<String>,
    pub(crate) setups: Vec<Configuration>,
    pub(crate) sets: BTreeMap<String, Vec<Spanned<String>>>,
    pub(crate) expectations: Vec<Spanned<Claim>>,
}

impl Study {
    /// The study of a kind that asks this and takes these steps.
    pub(crate) fn of(
        inputs: &Inputs,
        asked: StudyQuestion,
        script: impl Script + 'static,
    ) -> Result<Study, InputError> {
        let (kind, source) = (inputs.kind()?, &inputs.study);
        // It stands in lines of a terminal, which control characters would end or change.
        if asked.title.chars().any(char::is_control) {
            let reason = "`title` must be one line of text without control characters";
            return Err(source.error_in("title", reason));
        }
        let names: Vec<&str> = asked.setups.iter().map(|setup| setup.name.as_str()).collect();
        let published = match &inputs.published {
            // What somebody wrote into the file is refused all the same.
            Some(published) => PublishedSet::read(published, kind)?
                .into_iter()
                .find(|set| set.study == source.name),
            None => None,
        };
        let departs = if published.is_some() { asked.departs } else { Vec::new() };
        let published = published.filter(|_| departs.is_empty());
        Ok(Study {
            kind,
            name: source.name.clone(),
            drive: inputs.drive.name.clone(),
            sets: read_sets(&asked.sets, source, &names)?,
            expectations: read_expectations(asked.expectations, (source, kind), &names)?,
            title: asked.title,
            question: asked.question,
            load: asked.load,
            scale: asked.scale,
            setups: asked.setups,
            published,
            departs,
            place: inputs.place.clone(),
            script: Box::new(script),
        })
    }

    /// The setups that a choice names: a set, or setups separated by commas. In the study's order.
    ///
    /// # Errors
    /// [`InputError`] for a name that is neither.
    pub fn choose(&self, choice: &str) -> Result<Vec<usize>, InputError> {
        let names: Vec<&str> = self.setups.iter().map(|setup| setup.name.as_str()).collect();
        choose(choice, &names, &self.sets)
    }

    /// Refuses, before anything is written, what this machine does not let these runs do, so many of them at a time.
    ///
    /// # Errors
    /// [`InputError`] naming what was typed.
    pub fn before_runs(&self, workers: u32, jobs: &[Job]) -> Result<(), InputError> {
        self.script.before_runs(workers.min(jobs.len() as u32))
    }

    /// Makes a run; `None` if `tick` ended it.
    ///
    /// # Errors
    /// [`RunError`] if it comes to no result.
    pub(crate) fn run(
        &self,
        job: &Job,
        tick: OnProgress<'_>,
    ) -> Result<Option<RunRecord>, RunError> {
        self.script.run(job, tick)
    }

    /// What the study is, in lines of a name and a text.
    pub fn in_lines(&self) -> Vec<(&'static str, String)> {
        self.script.in_lines()
    }

    /// What would be done with real disks, if it runs on any.
    pub fn on_disks(&self, jobs: &[Job]) -> Option<String> {
        self.script.on_disks(jobs)
    }

    /// What the study is, for programs.
    pub fn in_json(&self) -> Value {
        let setup = |(place, setup): (usize, &Configuration)| {
            let traits = setup.traits.iter().map(|of| (of.name.clone(), json!(of.value)));
            let common = json!({
                "name": setup.name, "about": setup.about, "preset": setup.preset, "profile": setup.profile,
                "traits": traits.collect::<Map<_, _>>(), "settings": setup.settings,
            });
            merged(common, self.script.setup_in_json(place))
        };
        let setups: Vec<Value> = self.setups.iter().enumerate().map(setup).collect();
        let sets = self.sets.iter().map(|(name, setups)| (name.clone(), json!(setups)));
        let common = json!({
            "name": self.name, "kind": self.kind, "title": self.title, "question": self.question,
            "drive": self.drive, "load": self.load, "setups": setups,
            "sets": sets.collect::<Map<_, _>>(),
            "expects": self.expectations.iter().map(|claim| &claim.text).collect::<Vec<_>>(),
        });
        merged(common, self.script.in_json())
    }
}

/// Both objects in one.
fn merged(mut into: Value, more: Value) -> Value {
    if let (Value::Object(into), Value::Object(more)) = (&mut into, more) {
        into.extend(more);
    }
    into
}

/// The expectations of a file, each complete and about known setups.
fn read_expectations(
    expectations: Vec<Spanned<Claim>>,
    (source, kind): (&Source, StudyKind),
    setups: &[&str],
) -> Result<Vec<Claim>, InputError> {
    let read = |claim: Spanned<Claim>| {
        let (at, claim) = (claim.span().start, claim.into_inner());
        claim.check(kind).map_err(|problem| source.error_at(at, problem))?;
        if let Some(name) = claim.setups().find(|name| !setups.contains(&name.as_str())) {
            return Err(source.error_at(at, unknown("setup", name, setups.iter().copied())));
        }
        Ok(claim)
    };
    expectations.into_iter().map(read).collect()
}
