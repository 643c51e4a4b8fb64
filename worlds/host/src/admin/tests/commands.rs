//! Each command becomes a request, and the request becomes the command again.

use super::{asked, received};
use crate::admin::api::{
    BenchAsked, Command, ConfigCommand, ImageAsked, ImageCommand, Level, OsdAsked, OsdCommand,
    OsdMove, PoolAsked, PoolCommand, SnapshotName, Who,
};
use loadline_osd::OsdId;
use proptest::prelude::*;

fn check(command: &Command) {
    let (_, out) = received(&asked(command));
    let commands: Vec<&Command> = out.commands.iter().map(|(_, command)| command).collect();
    assert_eq!(commands, [command], "{}", String::from_utf8_lossy(&out.send));
}

fn osd_commands() -> Vec<OsdCommand> {
    let osd = OsdId::new(63);
    let disk = OsdAsked { path: "/srv/a disk".into(), size_bytes: None };
    let sized = OsdAsked { size_bytes: Some(10 << 30), ..disk.clone() };
    let bench = BenchAsked { total_bytes: Some(1), block_bytes: Some(2), store: true };
    let mut commands = vec![
        OsdCommand::List,
        OsdCommand::Add(disk.clone()),
        OsdCommand::Add(sized),
        OsdCommand::Replace(osd, disk),
        OsdCommand::Remove(osd),
        OsdCommand::Bench(osd, BenchAsked::default()),
        OsdCommand::Bench(osd, bench),
        OsdCommand::Queues(OsdId::new(0)),
        OsdCommand::OkToStop(vec![osd]),
        OsdCommand::OkToStop(vec![OsdId::new(2), OsdId::new(0)]),
    ];
    commands.extend(OsdMove::ALL.map(|step| OsdCommand::Move(osd, step)));
    commands
}

fn pool_commands(name: &str) -> Vec<PoolCommand> {
    let plain = PoolAsked { name: name.into(), pgs: None, copies: None };
    let full = PoolAsked { pgs: Some(64), copies: Some(3), ..plain.clone() };
    vec![
        PoolCommand::List,
        PoolCommand::Create(plain),
        PoolCommand::Create(full),
        PoolCommand::Remove(name.into()),
    ]
}

fn image_commands(name: &str, other: &str) -> Vec<ImageCommand> {
    let snapshot = || SnapshotName { image: name.into(), snapshot: other.into() };
    let plain =
        ImageAsked { name: name.into(), pool: None, size_bytes: u64::MAX, object_bytes: None };
    let full =
        ImageAsked { pool: Some(other.into()), object_bytes: Some(1 << 20), ..plain.clone() };
    vec![
        ImageCommand::List,
        ImageCommand::Info(name.into()),
        ImageCommand::Create(plain),
        ImageCommand::Create(full),
        ImageCommand::Resize(name.into(), 0),
        ImageCommand::Rename { image: name.into(), name: other.into() },
        ImageCommand::Remove(name.into()),
        ImageCommand::Clone { from: snapshot(), name: other.into() },
        ImageCommand::Snapshots(name.into()),
        ImageCommand::Snapshot(snapshot()),
        ImageCommand::RemoveSnapshot(snapshot()),
    ]
}

fn config_commands(option: &str) -> Vec<ConfigCommand> {
    let mut commands = vec![ConfigCommand::Show(None)];
    for who in [Who::Global, Who::Osds, Who::Osd(OsdId::new(7))] {
        commands.push(ConfigCommand::Show(Some(who)));
        commands.push(ConfigCommand::Get(who, option.into()));
        for level in [Level::Stored, Level::Runtime] {
            let (option, value) = (option.to_owned(), "1 \"x\"".to_owned());
            commands.push(ConfigCommand::Remove { who, option: option.clone(), level });
            commands.push(ConfigCommand::Set { who, option, value, level });
        }
    }
    commands
}

/// Every command; `name` and `other` stand wherever a name may.
pub(super) fn every_command(name: &str, other: &str) -> Vec<Command> {
    let mut commands = vec![Command::Status, Command::Ops, Command::OpHistory, Command::Shutdown];
    commands.extend(osd_commands().into_iter().map(Command::Osd));
    commands.extend(pool_commands(name).into_iter().map(Command::Pool));
    commands.extend(image_commands(name, other).into_iter().map(Command::Image));
    commands.extend(config_commands(name).into_iter().map(Command::Config));
    let meant = commands.iter().filter(|command| may_be_meant(command)).cloned();
    let meant: Vec<Command> = meant.map(Command::meant).collect();
    commands.extend(meant);
    commands
}

/// What changes something may be said to be meant; a run-time value that is taken away has a query of its own.
fn may_be_meant(command: &Command) -> bool {
    let takes_away = |command: &ConfigCommand| {
        matches!(command, ConfigCommand::Remove { level: Level::Runtime, .. })
    };
    let is_change = crate::admin::change(command).is_some();
    is_change && !matches!(command, Command::Config(config) if takes_away(config))
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
