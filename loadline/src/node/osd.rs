//! `loadline osd`

use super::args::{DiskArgs, OsdArgs, OsdSubcommand};
use super::{duration, size};
use crate::failure::Failure;
use crate::show;
use loadline_host::admin::api::{Added, Command, OkToStop, OsdAsked, OsdRow, Osds};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeSet;

pub(crate) fn carry_out(args: OsdArgs) -> Result<(), Failure> {
    let node = &args.node;
    if let Some((osd, step, force)) = args.command.step() {
        let command = Command::OsdMove { osd, step };
        return node.order_if(force, command, &format!("{osd} is {}", step.name()));
    }
    match args.command {
        OsdSubcommand::Add(disk) => {
            let path = disk.path.clone();
            node.show(&Command::OsdAdd { disk: asked(disk)? }, |added: &Added| {
                format!("osd.{} is made on {path}\n", added.osd)
            })
        }
        OsdSubcommand::Replace { osd, disk, force } => {
            let says = format!("{} begins anew on {}", osd.0, disk.path);
            let command = Command::OsdReplace { osd: osd.0, disk: asked(disk)? };
            node.order_if(force, command, &says)
        }
        OsdSubcommand::Remove(one) => {
            let says = format!("{} is removed", one.osd.0);
            node.order_if(one.force, Command::OsdRemove { osd: one.osd.0 }, &says)
        }
        OsdSubcommand::OkToStop { osds } => {
            let mut named = BTreeSet::new();
            if let Some(twice) = osds.iter().find(|osd| !named.insert(osd.0)) {
                return Err(Failure::Input(format!(
                    "{} stands there twice: name it once",
                    twice.0
                )));
            }
            let osds = osds.into_iter().map(|osd| osd.0).collect();
            let answer: Value = node.connect()?.ask(&Command::OsdOkToStop { osds })?;
            let found = OkToStop::deserialize(&answer)
                .map_err(|error| Failure::Environment(format!("the node's answer: {error}")))?;
            match node.json() {
                true => show::json(&answer)?,
                false => show::text(&in_words(&found))?,
            }
            if found.ok_to_stop { Ok(()) } else { Err(Failure::Said) }
        }
        _ => node.show(&Command::OsdList, |osds: &Osds| table(&osds.osds)),
    }
}

/// `osd.2 may stop: 12 PGs would have fewer copies`
fn in_words(found: &OkToStop) -> String {
    let osds: Vec<String> = found.osds.iter().map(|osd| format!("osd.{osd}")).collect();
    let osds = osds.join(", ");
    let count = |pgs: usize| if pgs == 1 { "1 PG".to_owned() } else { format!("{pgs} PGs") };
    if found.ok_to_stop {
        let fewer = count(found.num_ok_pgs);
        return format!("{osds} may stop: {fewer} would be served on with fewer copies\n");
    }
    let named = |what: &str, pgs: &[String]| match pgs.is_empty() {
        true => String::new(),
        false => format!("{} {what}: {}\n", count(pgs.len()), pgs.join(", ")),
    };
    let ended = named("would be served no more", &found.bad_become_inactive);
    let unknown = named("nobody serves now", &found.bad_already_inactive);
    format!("{osds} may not stop\n{ended}{unknown}")
}

/// The node has a working folder of its own, so it gets the whole path.
fn asked(disk: DiskArgs) -> Result<OsdAsked, Failure> {
    let whole = std::path::absolute(&disk.path)
        .map_err(|error| Failure::Input(format!("{}: {error}", disk.path)))?;
    let path = whole.to_str().expect("a typed text stays one").to_owned();
    let size_bytes = disk.size.map(|size| size.get());
    Ok(OsdAsked { path, size_bytes, overwrite: disk.overwrite })
}

/// The OSDs, one in each row, and below them why those that failed did.
pub(super) fn table(osds: &[OsdRow]) -> String {
    let rows: Vec<[String; 9]> = osds.iter().map(row).collect();
    let head = ["osd", "state", "used", "size", "IOPS", "PGs", "up since", "log, disk", "path"];
    let failures = osds.iter().filter_map(|osd| {
        let failure = osd.failure.as_ref()?;
        Some(format!("osd.{} failed: {failure}\n", osd.osd))
    });
    show::table(head, &[1, 7, 8], &rows) + &failures.collect::<String>()
}

fn row(osd: &OsdRow) -> [String; 9] {
    let state = [if osd.up { "up" } else { "down" }, if osd.is_in { "in" } else { "out" }];
    [
        format!("osd.{}", osd.osd),
        state.join(", "),
        size(osd.used_bytes),
        size(osd.size_bytes),
        osd.capacity_iops.map_or_else(|| "–".to_owned(), |iops| format!("{iops:.0}")),
        osd.pgs.to_string(),
        osd.uptime_ns.map_or_else(|| "–".to_owned(), duration),
        format!("{}, {}", osd.log_mode, osd.disk_mode),
        osd.path.clone(),
    ]
}
