//! Recorded answers in the place of a cluster, with scenes in time: what was answered from which second on.

use crate::connection::{CephConnection, CephError, CommandAnswer, CommandTarget, prefix_of};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Answers by (target, command), each valid from a second on.
#[derive(Default)]
pub struct RecordedCluster {
    answers: BTreeMap<(CommandTarget, String), Vec<(u64, CommandAnswer)>>,
    second: AtomicU64,
    asked: Mutex<Vec<(CommandTarget, Value)>>,
    /// The time of day at second 0, since 1970.
    began_s: f64,
}

impl RecordedCluster {
    /// A folder of recorded answers with its `INDEX.tsv` (file, target, command, ...); of several answers to one command the
    /// files that begin with `scene` count.
    ///
    /// # Errors
    /// Why the folder cannot be used.
    pub fn read(folder: &Path, scene: &str) -> Result<RecordedCluster, String> {
        let index = folder.join("INDEX.tsv");
        let text = std::fs::read_to_string(&index)
            .map_err(|error| format!("{}: {error}", index.display()))?;
        let mut made = RecordedCluster::default();
        for line in text.lines().skip(1) {
            let mut fields = line.split('\t');
            let (Some(file), Some(target), Some(command)) =
                (fields.next(), fields.next(), fields.next())
            else {
                continue;
            };
            let (Some(target), true) = (target_of(target), file.starts_with(scene)) else {
                continue;
            };
            let command: Value =
                serde_json::from_str(command).map_err(|error| format!("{file}: {error}"))?;
            let output =
                std::fs::read(folder.join(file)).map_err(|error| format!("{file}: {error}"))?;
            made.put(0, target, &command, output);
        }
        Ok(made)
    }

    /// From this second on the command is answered so.
    pub fn put(&mut self, second: u64, target: CommandTarget, command: &Value, output: Vec<u8>) {
        let answer =
            CommandAnswer { output, took: Duration::from_millis(1), ..CommandAnswer::default() };
        let answers = self.answers.entry((target, sorted(command))).or_default();
        answers.retain(|(from, _)| *from != second);
        answers.push((second, answer));
        answers.sort_by_key(|(from, _)| *from);
    }

    /// The time of day at second 0, in seconds since 1970.
    pub fn begin_at(&mut self, began_s: f64) {
        self.began_s = began_s;
    }

    /// Time goes on to this second.
    pub fn at(&self, second: u64) {
        self.second.store(second, Ordering::Relaxed);
    }

    /// Every command that was asked, in order.
    pub fn asked(&self) -> Vec<(CommandTarget, Value)> {
        self.asked.lock().expect("nobody panics with it").clone()
    }
}

impl CephConnection for RecordedCluster {
    fn command(&self, target: &CommandTarget, command: &Value) -> Result<CommandAnswer, CephError> {
        self.asked.lock().expect("nobody panics with it").push((target.clone(), command.clone()));
        let second = self.second.load(Ordering::Relaxed);
        let answers = self.answers.get(&(target.clone(), sorted(command)));
        let last = answers.and_then(|all| all.iter().rfind(|(from, _)| *from <= second));
        last.map(|(_, answer)| answer.clone()).ok_or_else(|| CephError::Unanswered {
            target: target.clone(),
            prefix: prefix_of(command),
            reason: "it was not recorded".to_owned(),
        })
    }

    fn describe(&self) -> String {
        "recorded answers".to_owned()
    }

    /// Nobody waits: the scene goes on at once.
    fn pause(&self, span: Duration) {
        self.second.fetch_add(span.as_secs(), Ordering::Relaxed);
    }

    fn passed(&self) -> Duration {
        Duration::from_secs(self.second.load(Ordering::Relaxed))
    }

    fn time_of_day_s(&self) -> f64 {
        self.began_s + self.second.load(Ordering::Relaxed) as f64
    }
}

/// Equal commands are equal texts, in whatever order their keys were typed.
fn sorted(command: &Value) -> String {
    let fields: BTreeMap<String, Value> =
        command.as_object().cloned().unwrap_or_default().into_iter().collect();
    Value::Object(Map::from_iter(fields)).to_string()
}

fn target_of(text: &str) -> Option<CommandTarget> {
    match text {
        "mon" => Some(CommandTarget::Monitor),
        "mgr" => Some(CommandTarget::Manager),
        _ => match text.split_once(['.', ':'])? {
            ("osd", number) => number.parse().ok().map(CommandTarget::Osd),
            ("pg", pg) => Some(CommandTarget::Pg(pg.to_owned())),
            _ => None,
        },
    }
}
