//! `loadline ceph try`

use super::args::{CephTryArgs, JOURNAL};
use super::undo::in_words;
use crate::failure::Failure;
use crate::show;
use loadline_ceph::CephConnection;
use loadline_ceph::guard::{ClusterGuard, ClusterPlan, GuardError, plan};
use std::sync::Arc;

/// What is to be tried.
enum TriedChange<'a> {
    Option(&'a str, &'a str),
    Flag(&'a str),
}

pub(super) fn carry_out(args: &CephTryArgs) -> Result<(), Failure> {
    let journal = args.run.join(JOURNAL);
    if journal.exists() {
        let text = format!(
            "{} has a journal already: `loadline ceph undo` puts its changes back; name another --run",
            args.run.display()
        );
        return Err(Failure::Input(text));
    }
    let tried = args.change.iter().map(|text| match text.split_once('=') {
        None if !text.is_empty() => Ok(TriedChange::Flag(text)),
        Some((name, value)) if !name.is_empty() && !value.is_empty() => {
            Ok(TriedChange::Option(name, value))
        }
        _ => Err(Failure::Input(format!(
            "`{text}`: takes OPTION=VALUE, such as osd_max_backfills=4, or a flag, such as noscrub"
        ))),
    });
    let tried: Vec<TriedChange<'_>> = tried.collect::<Result<_, _>>()?;
    let connection: Arc<dyn CephConnection> = args.place.connect()?.into();
    let found = plan(&*connection, None)?;
    show::text(&told(&found))?;
    if args.yes_i_may_hurt_this_cluster.as_ref() != Some(&found.fsid) {
        let text = format!(
            "nothing was changed: say --yes-i-may-hurt-this-cluster={} to do it on this cluster",
            found.fsid
        );
        return Err(Failure::Input(text));
    }
    if !found.refusals.is_empty() {
        return Err(Failure::Environment("nothing was changed: see what is in the way".to_owned()));
    }
    let name = format!("{} {}", std::process::id(), args.run.display());
    let mut guard = ClusterGuard::begin(Arc::clone(&connection), &journal, &name)?;
    if let Err(error) = apply(&mut guard, &tried, &found.osds) {
        let report = guard.end()?;
        show::text(&in_words(&report))?;
        return Err(error.into());
    }
    show::text(&format!(
        "in force on {} OSDs; `loadline ceph undo {} --on {}` puts it back\n",
        found.osds.len(),
        args.run.display(),
        args.place.place()
    ))
}

fn apply(
    guard: &mut ClusterGuard,
    tried: &[TriedChange<'_>],
    osds: &[u32],
) -> Result<(), GuardError> {
    for change in tried {
        match change {
            TriedChange::Option(name, value) => {
                guard.set_option("osd", name, value)?;
                guard.in_force(osds, name, value)?;
            }
            TriedChange::Flag(flag) => guard.set_flag(flag)?,
        }
    }
    Ok(())
}

/// The cluster, and what is in the way.
fn told(found: &ClusterPlan) -> String {
    let mut text = String::new();
    for (name, value) in &found.facts {
        text += &format!("{name:<10}{value}\n");
    }
    for other in &found.others {
        text += &format!("{:<10}{other}\n", "others");
    }
    for refusal in &found.refusals {
        text += &format!("{:<10}{refusal}\n", "in the way");
    }
    text
}
