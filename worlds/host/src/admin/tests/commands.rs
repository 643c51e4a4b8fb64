//! Each command becomes a request, and the request becomes the command again.

use super::{asked, received};
use crate::admin::api::{
    BenchAsked, Command, ImageAsked, NameAsked, OsdAsked, OsdMove, PoolAsked, QosAsked, ScrubHow,
    SizeAsked, TracedOps, VERBS, ValueAsked, ValueLevel, WatchSeconds, Who,
};
use loadline_osd::OsdId;
use proptest::prelude::*;

fn check(command: &Command) {
    let (_, out) = received(&asked(command));
    let commands: Vec<&Command> = out.commands.iter().map(|(_, command)| command).collect();
    assert_eq!(commands, [command], "{}", String::from_utf8_lossy(&out.send));
}

fn osd_commands() -> Vec<Command> {
    let osd = OsdId::new(63);
    let disk = OsdAsked { path: "/srv/a disk".into(), size_bytes: None, overwrite: false };
    let sized = OsdAsked { size_bytes: Some(10 << 30), overwrite: true, ..disk.clone() };
    let bench = BenchAsked { total_bytes: Some(1), block_bytes: Some(2), store: true };
    let mut commands = vec![
        Command::OsdList,
        Command::OsdAdd { disk: disk.clone() },
        Command::OsdAdd { disk: sized.clone() },
        Command::OsdReplace { osd, disk },
        Command::OsdReplace { osd, disk: sized },
        Command::OsdRemove { osd },
        Command::OsdBench { osd, shape: BenchAsked::default() },
        Command::OsdBench { osd, shape: bench },
        Command::OsdQueues { osd: OsdId::new(0) },
        Command::OsdOkToStop { osds: vec![osd] },
        Command::OsdOkToStop { osds: vec![OsdId::new(2), OsdId::new(0)] },
    ];
    commands.extend(OsdMove::ALL.map(|step| Command::OsdMove { osd, step }));
    commands
}

fn pool_commands(name: &str) -> Vec<Command> {
    let plain = PoolAsked { name: name.into(), pgs: None, copies: None };
    let full = PoolAsked { pgs: Some(64), copies: Some(3), ..plain.clone() };
    vec![
        Command::PoolList,
        Command::PoolCreate { pool: plain },
        Command::PoolCreate { pool: full },
        Command::PoolRemove { pool: name.into() },
    ]
}

fn pg_commands(pg: &str) -> Vec<Command> {
    let pg = || pg.to_owned();
    let mut commands = vec![
        Command::PgListUnfound { pg: pg() },
        Command::PgMarkUnfoundLost { pg: pg() },
        Command::ScrubList,
        Command::InconsistentList { pg: pg() },
    ];
    commands.extend(ScrubHow::ALL.map(|how| Command::Scrub { how, what: pg() }));
    commands
}

fn why(image: String, seconds: u32, traced: u32) -> Command {
    let (seconds, traced) = (WatchSeconds::new(seconds).unwrap(), TracedOps::new(traced).unwrap());
    Command::ImageWhy { image, seconds, traced }
}

fn image_commands(name: &str, other: &str) -> Vec<Command> {
    let (image, snapshot) = (|| name.to_owned(), || other.to_owned());
    let to = || NameAsked { name: other.into() };
    let qos = QosAsked {
        reservation_iops: Some(0),
        limit_iops: Some(u32::MAX),
        burst_ns: Some(2_000_000_000),
        weight: Some(0.5),
    };
    let plain =
        ImageAsked { name: name.into(), pool: None, size_bytes: u64::MAX, object_bytes: None };
    let full =
        ImageAsked { pool: Some(other.into()), object_bytes: Some(1 << 20), ..plain.clone() };
    vec![
        Command::ImageList,
        Command::ImageInfo { image: image() },
        why(image(), 10, 0),
        why(image(), 3600, 1000),
        Command::ImageCreate { asked: plain },
        Command::ImageCreate { asked: full },
        Command::ImageResize { image: image(), to: SizeAsked { size_bytes: 0 } },
        Command::ImageQos { image: image(), to: QosAsked::default() },
        Command::ImageQos { image: image(), to: qos },
        Command::ImageRename { image: image(), to: to() },
        Command::ImageRemove { image: image() },
        Command::ImageRemoveOpen { image: image() },
        Command::ImageClone { image: image(), snapshot: snapshot(), to: to() },
        Command::SnapshotList { image: image() },
        Command::SnapshotCreate { image: image(), snapshot: snapshot() },
        Command::SnapshotRemove { image: image(), snapshot: snapshot() },
    ]
}

fn config_commands(option: &str) -> Vec<Command> {
    let mut commands = vec![Command::ConfigDump];
    for who in [Who::Global, Who::Osds, Who::Osd(OsdId::new(7))] {
        let option = || option.to_owned();
        commands.push(Command::ConfigShow { who });
        commands.push(Command::ConfigGet { who, option: option() });
        for level in [ValueLevel::Stored, ValueLevel::Runtime] {
            let to = ValueAsked { value: "1 \"x\"".to_owned(), level };
            commands.push(Command::ConfigRemove { who, option: option(), level });
            commands.push(Command::ConfigSet { who, option: option(), to });
        }
    }
    commands
}

/// Every command; `name` and `other` stand wherever a name may.
pub(super) fn every_command(name: &str, other: &str) -> Vec<Command> {
    let mut commands = vec![
        Command::Status,
        Command::NodePlaces,
        Command::Profile,
        Command::Metrics,
        Command::Live,
        Command::Ops,
        Command::OpHistory,
        Command::Shutdown,
    ];
    commands.extend(osd_commands());
    commands.extend(pool_commands(name));
    commands.extend(pg_commands(name));
    commands.extend(image_commands(name, other));
    commands.extend(config_commands(name));
    let meant = commands.iter().filter(|command| may_be_meant(command)).cloned();
    let meant: Vec<Command> = meant.map(Command::meant).collect();
    commands.extend(meant);
    commands
}

/// What changes something may be said to be meant; a run-time value that is taken away has a query of its own.
fn may_be_meant(command: &Command) -> bool {
    let takes_away = matches!(command, Command::ConfigRemove { level: ValueLevel::Runtime, .. });
    crate::admin::change(command).is_some() && !takes_away
}

#[test]
fn every_command_comes_back() {
    every_command("vol0", "monday").iter().for_each(check);
}

/// Names that mean something in paths, queries and escapes.
#[test]
fn names_are_not_taken_for_syntax() {
    for name in ["snapshot", "..", ".", "a/b", "a?level=runtime", "100%", "%2F", "ä b", "#"] {
        every_command(name, "size").iter().for_each(check);
        every_command("x", name).iter().for_each(check);
    }
}

proptest! {
    #[test]
    fn any_names_come_back(name in ".{1,64}", other in ".{1,64}") {
        every_command(&name, &other).iter().for_each(check);
    }
}

/// The table of requests in `docs/admin.md` is what the verbs declare.
#[test]
fn the_documentation_has_the_table_of_verbs() {
    let row = |[request, body, answer, typed, help]: &[&str; 5]| {
        format!("| `{request}` | {body} | {answer} | `{typed}` |{help} |\n")
    };
    let table: String = VERBS.iter().map(row).collect();
    let page = include_str!("../../../../../docs/admin.md");
    assert!(page.contains(&format!("|---|---|---|---|---|\n{table}\n")), "it should be\n{table}");
}

/// Every field of a body is named by its verb, and every verb has an example here.
#[test]
fn the_verbs_name_the_fields_of_their_bodies() {
    let commands = every_command("vol0", "monday");
    for [request, fields, ..] in VERBS {
        let (method, path) = request.split_once(' ').unwrap();
        let path: Vec<&str> = path.split('?').next().unwrap().split('/').collect();
        let is_of = |target: &str| {
            let parts: Vec<&str> = target.split('?').next().unwrap().split('/').collect();
            let fits = |(part, shown): (&&str, &&str)| part == shown || shown.starts_with('{');
            parts.len() == path.len() && parts.iter().zip(&path).all(fits)
        };
        let requests = commands.iter().map(Command::request);
        let own: Vec<_> =
            requests.filter(|one| one.method.name() == method && is_of(&one.target)).collect();
        assert!(!own.is_empty(), "no example of {request}");
        let bodies = own.iter().filter(|one| !one.body.is_empty());
        let keys = bodies.flat_map(|one| {
            let body: serde_json::Map<String, serde_json::Value> =
                serde_json::from_slice(&one.body).unwrap();
            body.into_iter().map(|(key, _)| key).collect::<Vec<_>>()
        });
        let sent: std::collections::BTreeSet<String> = keys.collect();
        let named = fields.split(['`', ' ', '[', ']']).filter(|word| !word.is_empty());
        assert_eq!(sent, named.map(str::to_owned).collect(), "{request}");
    }
}
