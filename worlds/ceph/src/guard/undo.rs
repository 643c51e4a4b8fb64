//! Everything of a journal is put back, as far as it is still as the run left it.

use crate::answers::{ConfigVersion, OsdMapDump};
use crate::connection::{CephConnection, CephError, CommandTarget, ask, tell};
use crate::guard::change::ClusterChange;
use crate::guard::error::GuardError;
use crate::guard::held::{APPLICATION, LOCK_KEY, holder, is_same, may_become, set_of, stored};
use crate::guard::hook::queue_of;
use crate::guard::journal::{ChangeState, JournalLine, RunJournal};
use serde_json::{Value, json};
use std::path::Path;

/// What an undo did.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct UndoReport {
    /// What was put back.
    pub undone: Vec<String>,
    /// What others have changed since the run began, and what therefore was left alone.
    pub foreign: Vec<String>,
    /// What could not be put back, and why.
    pub left: Vec<String>,
}

/// Puts back what a run has changed. It may be done any number of times, and by another process than the run's.
///
/// # Errors
/// [`GuardError`] if the journal cannot be used, or it is about another cluster.
pub fn undo(on: &dyn CephConnection, journal: &Path) -> Result<UndoReport, GuardError> {
    put_back(on, &mut RunJournal::open(journal)?)
}

/// What became of one change.
enum Became {
    Restored,
    AlreadyGone,
    Foreign(String),
    Left(String),
}

pub(super) fn put_back(
    on: &dyn CephConnection,
    journal: &mut RunJournal,
) -> Result<UndoReport, GuardError> {
    let mut report = UndoReport::default();
    let mut open: Vec<JournalLine> =
        journal.lines().iter().filter(|line| line.state != ChangeState::Undone).cloned().collect();
    if open.is_empty() {
        return Ok(report);
    }
    let status: crate::answers::ClusterStatus =
        ask(on, &CommandTarget::Monitor, &json!({"prefix": "status"}))?;
    if let Some(other) = open.iter().find(|line| line.fsid != status.fsid) {
        report.left.push(format!(
            "the journal is about the cluster {}, and this is {}",
            other.fsid, status.fsid
        ));
        return Ok(report);
    }
    if let Some(other) = holder(on)?.filter(|holder| !is_of(journal, holder)) {
        report.left.push(format!(
            "the run {other} holds the cluster, and may have set since what is to be put back: wait for it, or undo it first"
        ));
        return Ok(report);
    }
    // Backwards within a rank: of two values of one option the later goes first.
    open.sort_by_key(|line| (line.change.rank(), std::cmp::Reverse(line.seq)));
    let foreign = foreign_changes(on, journal).unwrap_or_else(|error| {
        vec![format!(
            "`config log` was not answered, which tells what others have changed ({error})"
        )]
    });
    let mut queue_is_left = false;
    for line in open {
        let words = line.change.in_words();
        let became = match &line.change {
            ClusterChange::Restarted { .. } if queue_is_left => Ok(Became::Left(
                "osd_op_queue is not put back, and it would begin with the same queue again"
                    .to_owned(),
            )),
            ClusterChange::Lock { .. } if !report.left.is_empty() => {
                Ok(Became::Left("it stays until everything else is put back".to_owned()))
            }
            _ => one(on, journal, &line),
        };
        let is_queue =
            matches!(&line.change, ClusterChange::Setting { name, .. } if name == "osd_op_queue");
        match became {
            Ok(Became::Left(why)) => {
                queue_is_left |= is_queue;
                report.left.push(format!("{words}: {why}"));
                continue;
            }
            // The next one may work; this one stays open for another undo.
            Err(error) => {
                queue_is_left |= is_queue;
                report.left.push(format!("{words}: {error}"));
                continue;
            }
            Ok(Became::Restored) => report.undone.push(words.clone()),
            Ok(Became::AlreadyGone) => {}
            Ok(Became::Foreign(what)) => report.foreign.push(what),
        }
        // What is put back stays so, noted or not; and with a full disk there is more to put back than to note.
        if let Err(error) = journal.undone(line.seq) {
            report
                .left
                .push(format!("{words}: it is put back, and that could not be noted: {error}"));
        }
    }
    report.foreign.extend(foreign);
    report.foreign.sort();
    report.foreign.dedup();
    Ok(report)
}

/// Whether a run is one of the journal's: a later one may go on with it.
fn is_of(journal: &RunJournal, holder: &str) -> bool {
    let is_its =
        |change: &ClusterChange| matches!(change, ClusterChange::Lock { run, .. } if run == holder);
    journal.lines().iter().any(|line| is_its(&line.change))
}

fn one(
    on: &dyn CephConnection,
    journal: &mut RunJournal,
    line: &JournalLine,
) -> Result<Became, GuardError> {
    use CommandTarget::{Manager, Monitor};
    match &line.change {
        ClusterChange::Setting { who, name, value } => {
            let ours = OurOption { who, name, typed: value, became: line.became.as_deref() };
            Ok(put_option_back(on, ours, line.before.as_deref())?)
        }
        ClusterChange::Out { osd } => {
            let map: OsdMapDump = ask(on, &Monitor, &json!({"prefix": "osd dump"}))?;
            match map.osds.iter().find(|entry| entry.id == u64::from(*osd)) {
                Some(entry) if !entry.is_in => {
                    tell(on, &Monitor, &json!({"prefix": "osd in", "ids": [osd.to_string()]}))?;
                    Ok(Became::Restored)
                }
                _ => Ok(Became::AlreadyGone),
            }
        }
        // The map may still say that it is up.
        ClusterChange::Stopped { osd, hook, up_from } => {
            hook.bring_back(on, *osd, *up_from)?;
            Ok(Became::Restored)
        }
        // A process keeps the queue that it began with, whatever is stored.
        ClusterChange::Restarted { osd, hook, queue } => {
            if queue_of(on, *osd) == *queue {
                return Ok(Became::AlreadyGone);
            }
            hook.restart(on, *osd)?;
            let found = queue_of(on, *osd);
            // An earlier release noted none where the OSD had not answered.
            match found == *queue || queue.is_empty() {
                true => Ok(Became::Restored),
                false => Ok(Became::Left(format!(
                    "it began anew, and runs with {found}: see which osd_op_queue `ceph config dump` has for it"
                ))),
            }
        }
        ClusterChange::Pool { name, run, .. } => delete_pool(on, journal, line, (name, run)),
        ClusterChange::Flag { flag } => {
            let map: OsdMapDump = ask(on, &Monitor, &json!({"prefix": "osd dump"}))?;
            if set_of(&map, flag).is_empty() {
                return Ok(Became::AlreadyGone);
            }
            tell(on, &Monitor, &json!({"prefix": "osd unset", "key": flag}))?;
            Ok(Became::Restored)
        }
        ClusterChange::Balancer => {
            tell(on, &Manager, &json!({"prefix": "balancer on"}))?;
            let (who, name) = ("mgr", "mgr/balancer/active");
            // Switching it leaves a key behind, which was not there before.
            if line.before.is_none() && stored(on, who, name)?.is_some() {
                tell(on, &Monitor, &json!({"prefix": "config rm", "who": who, "name": name}))?;
            }
            Ok(Became::Restored)
        }
        ClusterChange::Lock { run, .. } => match holder(on)? {
            Some(found) if found == *run => {
                tell(on, &Monitor, &json!({"prefix": "config-key rm", "key": LOCK_KEY}))?;
                Ok(Became::Restored)
            }
            Some(other) => Ok(Became::Foreign(format!("the cluster is held by {other}"))),
            None => Ok(Became::AlreadyGone),
        },
    }
}

/// Deletes a pool of the run's ahead of everything else.
pub(super) fn remove_pool(
    on: &dyn CephConnection,
    journal: &mut RunJournal,
    name: &str,
) -> Result<(), GuardError> {
    let kept = |why: &str| GuardError::PoolKept { name: name.to_owned(), why: why.to_owned() };
    let is_it = |line: &&JournalLine| {
        let is_open = line.state != ChangeState::Undone;
        is_open && matches!(&line.change, ClusterChange::Pool { name: of, .. } if of == name)
    };
    let line = journal.lines().iter().rfind(is_it).cloned();
    let line = line.ok_or_else(|| kept("this run has not made it"))?;
    match one(on, journal, &line)? {
        Became::Restored => Ok(journal.undone(line.seq)?),
        Became::AlreadyGone => Err(kept("somebody else has deleted it")),
        Became::Foreign(why) | Became::Left(why) => Err(kept(&why)),
    }
}

/// An option that a run has set.
struct OurOption<'a> {
    who: &'a str,
    name: &'a str,
    typed: &'a str,
    /// What it became, if the cluster was asked.
    became: Option<&'a str>,
}

impl OurOption<'_> {
    fn is_it(&self, stored: &str) -> bool {
        match self.became {
            Some(became) => is_same(stored, became),
            None => may_become(self.typed, stored),
        }
    }
}

/// As it was, if it is still as the run set it.
fn put_option_back(
    on: &dyn CephConnection,
    ours: OurOption<'_>,
    before: Option<&str>,
) -> Result<Became, CephError> {
    let OurOption { who, name, .. } = ours;
    let now = stored(on, who, name)?;
    let is_as_before = match (now.as_deref(), before) {
        (Some(now), Some(before)) => is_same(now, before),
        (None, None) => true,
        _ => false,
    };
    if is_as_before {
        return Ok(Became::AlreadyGone);
    }
    // Under a built-in profile the cluster removes some keys by itself: then there is nothing of ours, and what was before is due.
    if let Some(now) = now.filter(|now| !ours.is_it(now)) {
        return Ok(Became::Foreign(format!("{name} at {who} was set to {now} by somebody else")));
    }
    let command = match before {
        Some(before) => json!({"prefix": "config set", "who": who, "name": name, "value": before}),
        None => json!({"prefix": "config rm", "who": who, "name": name}),
    };
    tell(on, &CommandTarget::Monitor, &command)?;
    Ok(Became::Restored)
}

/// Deletes a pool that has the run's label, and no other.
fn delete_pool(
    on: &dyn CephConnection,
    journal: &mut RunJournal,
    line: &JournalLine,
    (name, run): (&str, &str),
) -> Result<Became, GuardError> {
    let map: OsdMapDump = ask(on, &CommandTarget::Monitor, &json!({"prefix": "osd dump"}))?;
    let Some(pool) = map.pools.iter().find(|pool| pool.pool_name == name) else {
        return Ok(Became::AlreadyGone);
    };
    let label = pool.application_metadata.get(APPLICATION).and_then(|notes| notes.get("run"));
    // A run that died between making its pool and labelling it: the name has the run in it, was free before, and nobody uses it.
    let died_before_the_label = label.is_none()
        && line.state == ChangeState::Intent
        && name.contains(run)
        && pool.application_metadata.keys().all(|key| key == APPLICATION)
        && is_empty(on, name)?;
    if label.is_none_or(|label| label != run) && !died_before_the_label {
        return Ok(Became::Left(
            "it has not this run's label; delete it by hand if it is nobody's".to_owned(),
        ));
    }
    let (who, option) = ("mon", "mon_allow_pool_delete");
    let before = stored(on, who, option)?;
    let allow = ClusterChange::Setting {
        who: who.to_owned(),
        name: option.to_owned(),
        value: "true".to_owned(),
    };
    let allow = JournalLine::intent(&line.fsid, on.time_of_day_s(), allow, before.clone());
    let seq = journal.intend(allow)?;
    let set = json!({"prefix": "config set", "who": who, "name": option, "value": "true"});
    tell(on, &CommandTarget::Monitor, &set)?;
    // The monitors take it up within a moment.
    let delete = json!({
        "prefix": "osd pool delete", "pool": name, "pool2": name, "yes_i_really_really_mean_it": true,
    });
    let mut deleted = Ok(Vec::new());
    for _ in 0..20 {
        deleted = tell(on, &CommandTarget::Monitor, &delete);
        if deleted.is_ok() {
            break;
        }
        on.pause(std::time::Duration::from_millis(100));
    }
    let ours = OurOption { who, name: option, typed: "true", became: None };
    put_option_back(on, ours, before.as_deref())?;
    journal.undone(seq)?;
    deleted?;
    Ok(Became::Restored)
}

/// Whether a pool has no object, as far as the cluster has told.
fn is_empty(on: &dyn CephConnection, name: &str) -> Result<bool, CephError> {
    let all: Value = ask(on, &CommandTarget::Monitor, &json!({"prefix": "df"}))?;
    let pools = all["pools"].as_array().into_iter().flatten();
    let found = pools.filter(|pool| pool["name"] == name).map(|pool| &pool["stats"]["objects"]);
    Ok(found.map(Value::as_u64).all(|objects| objects == Some(0)))
}

/// What the log of the configuration has from the run's first version on that no line of the journal asked for.
fn foreign_changes(
    on: &dyn CephConnection,
    journal: &RunJournal,
) -> Result<Vec<String>, CephError> {
    let first = journal.lines().iter().find_map(|line| match line.change {
        ClusterChange::Lock { version, .. } => Some(version),
        _ => None,
    });
    let Some(first) = first else { return Ok(Vec::new()) };
    let log: Vec<ConfigVersion> =
        ask(on, &CommandTarget::Monitor, &json!({"prefix": "config log", "num": 500}))?;
    let ours = |changed: &str| {
        journal.lines().iter().any(|line| match &line.change {
            ClusterChange::Setting { who, name, .. } => changed == format!("{who}/{name}"),
            ClusterChange::Balancer => changed == "mgr/mgr/balancer/active",
            _ => false,
        })
    };
    let later = log.iter().filter(|version| version.version > first);
    let changes = later.flat_map(|version| &version.changes);
    // An OSD that starts stores what it has measured of itself; deleting a pool opens and closes its own door.
    let own = |name: &str| {
        name.contains("osd_mclock_max_capacity_iops") || name == "mon/mon_allow_pool_delete"
    };
    let foreign = changes.filter(|change| !ours(&change.name) && !own(&change.name));
    let told = |value: &Option<String>| value.clone().unwrap_or_else(|| "nothing".to_owned());
    Ok(foreign
        .map(|change| {
            let now: Value = change.new_value.clone().map_or(Value::Null, Value::from);
            format!(
                "{} went from {} to {} by somebody else's hand, and stays",
                change.name,
                told(&change.previous_value),
                now.as_str().unwrap_or("nothing")
            )
        })
        .collect())
}
