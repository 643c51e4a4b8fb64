//! `loadline scrub`, `repair` and `inconsistent`

use super::args::{
    InconsistentArgs, InconsistentSubcommand, RepairArgs, ScrubArgs, ScrubSubcommand, Scrubbed,
};
use super::reach::NodeArgs;
use super::{duration, size};
use crate::failure::Failure;
use crate::show;
use loadline_host::admin::api::{
    BadCopy, Command, ConfigChanged, ConfigRow, ConfigRows, InconsistentRow, InconsistentStates,
    RefusalKind, ScrubHow, ScrubRound, ScrubRow, Scrubbing, Scrubs, ValueAsked, ValueLevel, Who,
};
use loadline_host::admin::{Client, ClientError};

pub(crate) fn carry_out(args: ScrubArgs) -> Result<(), Failure> {
    match args.command {
        ScrubSubcommand::Start(what) => begin(&args.node, ScrubHow::Scrub, what),
        ScrubSubcommand::Deep(what) => begin(&args.node, ScrubHow::DeepScrub, what),
        ScrubSubcommand::Pause => pause(&args.node),
        ScrubSubcommand::Resume => resume(&args.node),
        ScrubSubcommand::Status => args.node.show(&Command::ScrubList, |scrubs: &Scrubs| {
            format!("{}\n{}\n", table(&scrubs.pgs), round(&scrubs.round))
        }),
    }
}

/// The flags under which the clock begins no scrub.
const FLAGS: [&str; 2] = ["noscrub", "nodeep-scrub"];

fn pause(node: &NodeArgs) -> Result<(), Failure> {
    let mut client = node.connect()?;
    for option in FLAGS.map(str::to_owned) {
        let to = ValueAsked { value: "true".into(), level: ValueLevel::Stored };
        let _: ConfigChanged = client.ask(&Command::ConfigSet { who: Who::Osds, option, to })?;
    }
    // What holds for everything gives way to what was set, and what one OSD has of its own does not.
    let own = |row: &ConfigRow| row.value == "false" && matches!(row.who.parse(), Ok(Who::Osd(_)));
    settle(
        node,
        client,
        own,
        "no scrub is begun by the clock until `loadline scrub resume`",
        "there the clock begins them until `loadline config rm` takes it away",
    )
}

fn resume(node: &NodeArgs) -> Result<(), Failure> {
    let mut client = node.connect()?;
    for option in FLAGS.map(str::to_owned) {
        let level = ValueLevel::Stored;
        let removed: Result<ConfigChanged, ClientError> =
            client.ask(&Command::ConfigRemove { who: Who::Osds, option, level });
        match removed {
            // It was not set, or somebody else has taken it away.
            Err(ClientError::Refused(refusal)) if refusal.kind == RefusalKind::NotFound => {}
            removed => drop(removed?),
        }
    }
    settle(
        node,
        client,
        |row| row.value == "true",
        "scrubs are begun by the clock again",
        "there the clock begins none until `loadline config rm` takes it away",
    )
}

/// Says what holds now, unless a flag that somebody has set elsewhere stands against it: then which, and what it does there.
fn settle(
    node: &NodeArgs,
    mut client: Client,
    is_against: impl Fn(&ConfigRow) -> bool,
    says: &str,
    there: &str,
) -> Result<(), Failure> {
    let set: ConfigRows = client.ask(&Command::ConfigDump)?;
    let flags = set.rows.iter().filter(|row| FLAGS.contains(&row.option.as_str()));
    let named = |row: &ConfigRow| {
        format!("{} is {} for {} ({})", row.option, row.value, row.who, row.origin)
    };
    let against: Vec<String> = flags.filter(|row| is_against(row)).map(named).collect();
    match (against.is_empty(), node.json()) {
        (false, _) => Err(Failure::Environment(format!("{}: {there}", against.join(", ")))),
        (true, true) => show::json(&serde_json::json!({})),
        (true, false) => show::text(&format!("{says}\n")),
    }
}

/// `loadline repair`
pub(crate) fn repair(args: RepairArgs) -> Result<(), Failure> {
    begin(&args.node, ScrubHow::Repair, args.what)
}

/// `loadline inconsistent`
pub(crate) fn inconsistent(args: InconsistentArgs) -> Result<(), Failure> {
    let InconsistentSubcommand::List { pg } = args.command;
    args.node.show(&Command::InconsistentList { pg }, found)
}

fn begin(node: &NodeArgs, how: ScrubHow, what: Scrubbed) -> Result<(), Failure> {
    node.show(&Command::Scrub { how, what: what.what }, |begun: &Scrubbing| {
        let Scrubbing { pgs, left_out } = begun;
        let all = match pgs.len() {
            1 => format!("{} of PG {} begins\n", how.name(), pgs[0]),
            count => format!("{} of {count} PGs begins\n", how.name()),
        };
        let names = left_out.join(", ");
        let rest = format!("left out, because nobody serves them now: {names}\n");
        if left_out.is_empty() { all } else { all + &rest }
    })
}

/// `3 of 64 PGs are due for a deep scrub, 1200 objects left at 20.0 objects/s, done in about 60 s, late in 5.2 d`
pub(super) fn round(round: &ScrubRound) -> String {
    let ScrubRound { pgs, pgs_left, states_left, states_per_s, .. } = round;
    if *pgs == 0 {
        return "no PG is served, so none is due for a deep scrub".to_owned();
    }
    if *pgs_left == 0 {
        let within = duration(round.interval_ns);
        let next = round.due_in_ns.map(|due| format!(", the next one is due in {}", duration(due)));
        let next = next.unwrap_or_default();
        return format!(
            "no PG of {pgs} is due for a deep scrub, which each gets every {within}{next}"
        );
    }
    let ends = match round.ends_in_ns {
        Some(ends) => format!(", done in about {}", duration(ends)),
        None => String::new(),
    };
    let late = match round.late_in_ns {
        Some(0) => ", late".to_owned(),
        Some(late) => format!(", late in {}", duration(late)),
        None => String::new(),
    };
    let wants = round.wants.as_ref().map(|wants| format!("; {wants}")).unwrap_or_default();
    format!(
        "{pgs_left} of {pgs} PGs are due for a deep scrub, {states_left} objects left at {states_per_s:.1} objects/s{ends}{late}{wants}"
    )
}

const NONE: &str = "–";

fn table(pgs: &[ScrubRow]) -> String {
    let ago = |at: Option<u64>| at.map_or_else(|| NONE.to_owned(), |at| duration(at) + " ago");
    let row = |row: &ScrubRow| {
        let state = match (&row.under_way, row.runs) {
            (None, _) => match &row.held_back {
                Some(why) => format!("due, held back: {why}"),
                None => NONE.to_owned(),
            },
            (Some(kind), false) => match row.rests_ns {
                Some(rests) => {
                    format!(
                        "{kind}, {} objects, rests for {}",
                        row.objects_scrubbed,
                        duration(rests)
                    )
                }
                None => format!("{kind}, waits"),
            },
            (Some(kind), true) => format!("{kind}, {} objects", row.objects_scrubbed),
        };
        [
            row.pg.clone(),
            state,
            ago(row.last_ns),
            ago(row.last_deep_ns),
            row.last_ns.map_or_else(|| NONE.to_owned(), |_| duration(row.duration_ns)),
            format!("{}", row.shallow_errors + row.deep_errors),
        ]
    };
    let rows: Vec<[String; 6]> = pgs.iter().map(row).collect();
    show::table(["PG", "now", "last", "last deep", "took", "errors"], &[1], &rows)
}

/// Of no copy.
const NONE_COUNTS: &str = "none";

fn copies(osds: &[u32]) -> String {
    let names: Vec<String> = osds.iter().map(|osd| format!("osd.{osd}")).collect();
    if names.is_empty() { NONE_COUNTS.to_owned() } else { names.join(" ") }
}

fn found(found: &InconsistentStates) -> String {
    let InconsistentStates { inconsistent, states, .. } = found;
    if states.is_empty() {
        return "nothing\n".to_owned();
    }
    let bad = |copy: &BadCopy| format!("osd.{}: {}", copy.osd, copy.errors.join(" "));
    let row = |row: &InconsistentRow| {
        let snapshot = row.snapshot.map_or_else(String::new, |label| format!(" at {label}"));
        [
            format!("{:#x}{snapshot}", row.object),
            row.image.clone().unwrap_or_else(|| NONE.to_owned()),
            row.offset_bytes.map_or_else(|| NONE.to_owned(), size),
            row.selected_osd.map_or_else(|| NONE_COUNTS.to_owned(), |osd| format!("osd.{osd}")),
            row.as_recorded.as_ref().map_or_else(|| NONE.to_owned(), |osds| copies(osds)),
            row.bad.iter().map(bad).collect::<Vec<_>>().join(", "),
        ]
    };
    let rows: Vec<[String; 6]> = states.iter().map(row).collect();
    let head = ["object", "image", "begins at", "good copy", "as recorded", "bad copies"];
    let table = show::table(head, &[1, 3, 4, 5], &rows);
    match *inconsistent - states.len() as u64 {
        0 => table,
        more => format!("{table}and {more} more\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// "No PG of 0 is due for a deep scrub, of one each 0 s": before anything is served, no interval is known.
    #[test]
    fn what_is_not_due_is_told_by_what_is_served() {
        let said = |pgs| {
            let (interval_ns, due_in_ns) = (7 * 86_400_000_000_000, Some(3_600_000_000_000));
            round(&ScrubRound { pgs, interval_ns, due_in_ns, ..ScrubRound::default() })
        };
        assert_eq!(said(0), "no PG is served, so none is due for a deep scrub");
        let some = "no PG of 64 is due for a deep scrub, which each gets every ";
        assert!(said(64).starts_with(some), "{}", said(64));
    }
}
