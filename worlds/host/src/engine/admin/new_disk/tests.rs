//! OSDs that come up, or do not, while more than one of those who bring them up is at work: an operator, another one, the node by itself.

use super::*;
use crate::ConnId;
use crate::admin::api::{Command, Done, OsdMove};
use crate::admin::{Client, HttpRequestId};
use crate::engine::{DiskSpec, EngineConfig};
use loadline_base::{Bytes, Time};
use loadline_cluster::Cluster;
use loadline_cluster::settings::{LevelTarget, Scope, SettingsChange};
use std::num::NonZeroUsize;
use tempfile::TempDir;

const OSDS: u32 = 3;
const FIRST: OsdId = OsdId::new(1);
/// Those that are added to it.
const MIDDLE: OsdId = OsdId::new(OSDS);
const LAST: OsdId = OsdId::new(OSDS + 1);

/// A node in this process that turns when it is told to.
struct Turned {
    engine: Engine,
    folder: TempDir,
    asked: u32,
}

impl Turned {
    fn new(loops: usize) -> Turned {
        let folder = tempfile::tempdir().unwrap();
        let engine = Engine::start(config(folder.path(), loops)).unwrap();
        let mut node = Turned { engine, folder, asked: 0 };
        // Who goes before all hold the map may take with it what lets it change.
        node.until(|engine| engine.host.node.cluster().is_map_everywhere());
        node
    }

    fn until(&mut self, ready: impl Fn(&Engine) -> bool) {
        self.engine.run_until(ready).unwrap();
    }

    /// A command of somebody who has gone when it is answered.
    fn ticket(&mut self) -> Ticket {
        self.asked += 1;
        Ticket { conn: ConnId::numbered(self.asked), request: HttpRequestId::default() }
    }

    fn brings_up(&mut self, osd: OsdId) {
        let ticket = self.ticket();
        let begun = self.engine.osd_move(ticket, osd, OsdMove::Up);
        assert!(matches!(begun, Ok(CommandOutcome::Later)), "{begun:?}");
    }

    fn removes(&mut self, osd: OsdId) {
        let removed = self.engine.osd_remove(osd);
        assert!(matches!(removed, Ok(CommandOutcome::WhenKept(_))), "{removed:?}");
    }

    fn replaces(&mut self, osd: OsdId, disk: &Path) {
        let ticket = self.ticket();
        let begun = self.engine.osd_replace(ticket, osd, asked(disk));
        assert!(matches!(begun, Ok(CommandOutcome::Later)), "{begun:?}");
    }

    fn takes_down(&mut self, osd: OsdId) {
        let ticket = self.ticket();
        self.engine.osd_move(ticket, osd, OsdMove::Down).unwrap();
        self.until(|engine| engine.host.is_at_rest(osd));
    }
}

/// A node that has had two OSDs more, of which the first is removed and the last is down and out.
fn with_two_gone(loops: usize) -> Turned {
    let mut node = Turned::new(loops);
    for osd in [MIDDLE, LAST] {
        let path = node.folder.path().join(format!("osd.{}", osd.get()));
        let asked = asked(&path);
        let ticket = node.ticket();
        node.engine.osd_add(ticket, asked).unwrap();
        node.until(|engine| engine.admin.joining.is_empty());
        let ticket = node.ticket();
        node.engine.osd_move(ticket, osd, OsdMove::Out).unwrap();
        let settled = |cluster: &Cluster| cluster.is_clean() && cluster.is_map_everywhere();
        node.until(|engine| settled(engine.host.node.cluster()));
        node.takes_down(osd);
    }
    node.removes(MIDDLE);
    node
}

fn asked(path: &Path) -> OsdAsked {
    let path = path.to_str().unwrap().to_owned();
    OsdAsked { path, size_bytes: Some(64 << 20), overwrite: false }
}

fn config(folder: &Path, loops: usize) -> EngineConfig {
    let (size, cache) = (Bytes::from_mib(64), Bytes::from_mib(8));
    let disk = |osd| DiskSpec { path: folder.join(format!("osd.{osd}")), size: Some(size) };
    // What is known is not measured.
    let settings = SettingsChange::default().and_set(
        LevelTarget::Stored(Scope::Osds),
        "osd_mclock_max_capacity_iops_ssd",
        "20000",
    );
    let disks = (0..OSDS).map(disk).collect();
    EngineConfig {
        loops: NonZeroUsize::new(loops).unwrap(),
        pgs: Some(8),
        settings,
        ..EngineConfig::inside(folder.join("admin.sock"), disks, cache)
    }
}

/// An `osd up` for an OSD that the node was bringing up by itself had its disk opened once more: the restart began anew under itself, or the node
/// was no more when the OSD was up. On another loop that stayed to be done for as long as the OSD ran.
#[test]
fn an_osd_that_comes_up_by_itself_may_be_told_to() {
    for loops in [1, 2] {
        let mut node = Turned::new(loops);
        node.takes_down(FIRST);
        node.engine.host.open_at_path(FIRST);
        node.until(|engine| engine.host.node.cluster().is_opening_disk(FIRST));
        node.brings_up(FIRST);
        node.until(|engine| engine.admin.joining.is_empty());
        assert!(node.engine.host.node.cluster().map().osds()[FIRST].up);
        assert!(!node.engine.host.is_coming_up(FIRST), "it is to come up once more");
        assert_eq!(node.engine.host.disks.openings, 1);
        node.engine.host.open_at_path(FIRST);
        assert_eq!(node.engine.host.disks.openings, 1, "it runs");
    }
}

/// Its disk is being opened, and it is taken down again: then it stays down, and what the thread has opened is closed.
#[test]
fn an_osd_that_is_taken_down_before_it_is_up_stays_down() {
    let mut node = Turned::new(1);
    node.takes_down(FIRST);
    node.brings_up(FIRST);
    node.takes_down(FIRST);
    node.until(|engine| engine.admin.joining.is_empty());
    assert!(!node.engine.host.is_coming_up(FIRST));
    assert_eq!(node.engine.host.why_down(FIRST), None, "nobody took its disk");
    // The first thread's lock is waited for.
    node.brings_up(FIRST);
    node.until(|engine| engine.admin.joining.is_empty());
    assert!(node.engine.host.node.cluster().map().osds()[FIRST].up);
}

/// The second who waited for the same OSD was looked up by its number when that was nobody's any more, and the node was no more.
#[test]
fn whoever_waits_for_an_osd_that_cannot_be_added_hears_of_it() {
    for loops in [1, 2] {
        let mut node = Turned::new(loops);
        node.takes_down(FIRST);
        let copy = node.folder.path().join("copy");
        std::fs::copy(node.folder.path().join("osd.1"), &copy).unwrap();
        let path = copy.to_str().unwrap().to_owned();
        let ticket = node.ticket();
        let asked = OsdAsked { path, size_bytes: None, overwrite: false };
        let begun = node.engine.osd_add(ticket, asked);
        assert!(matches!(begun, Ok(CommandOutcome::Later)), "{begun:?}");
        let added = OsdId::new(OSDS);
        node.until(|engine| engine.host.disks.of.len() as u32 > OSDS);
        node.brings_up(added);
        node.until(|engine| engine.admin.joining.is_empty());
        assert_eq!(node.engine.host.disks.of.len() as u32, OSDS, "it is none");
    }
}

/// The number of an OSD that was removed was to be given again, and was the last one when the one behind it went: it was nobody's any more, and the node was no
/// more at the next word about it.
#[test]
fn a_number_that_is_being_given_again_stays_when_those_behind_it_go() {
    for loops in [1, 2] {
        let mut node = with_two_gone(loops);
        let disk = node.folder.path().join("another");
        node.replaces(MIDDLE, &disk);
        node.until(|engine| engine.host.node.cluster().is_opening_disk(MIDDLE));
        node.removes(LAST);
        node.until(|engine| engine.admin.joining.is_empty());
        let map = node.engine.host.node.cluster().map();
        assert!(map.osds()[MIDDLE].up && !map.is_removed(MIDDLE));
        assert_eq!(map.osds().len() as u32, OSDS + 1);
        assert_eq!(node.engine.host.disks.of.len() as u32, OSDS + 1);
    }
}

/// And it goes with them if its OSD does not come up.
#[test]
fn a_number_that_could_not_be_given_again_goes_with_those_behind_it() {
    for loops in [1, 2] {
        let mut node = with_two_gone(loops);
        let copy = node.folder.path().join("copy");
        std::fs::copy(node.folder.path().join("osd.4"), &copy).unwrap();
        node.replaces(MIDDLE, &copy);
        node.until(|engine| engine.host.node.cluster().is_opening_disk(MIDDLE));
        node.removes(LAST);
        node.until(|engine| engine.admin.joining.is_empty());
        assert_eq!(node.engine.host.node.cluster().map().osds().len() as u32, OSDS);
        assert_eq!(node.engine.host.disks.of.len() as u32, OSDS);
        // It is given anew.
        let ticket = node.ticket();
        node.engine.osd_add(ticket, asked(&node.folder.path().join("new"))).unwrap();
        node.until(|engine| engine.admin.joining.is_empty());
        assert!(node.engine.host.node.cluster().map().osds()[MIDDLE].up);
    }
}

/// Whoever asked for work with a disk that answers nothing waited for as long as the node ran.
#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "who asks waits for the answer in a thread of its own"
)]
fn work_without_an_end_in_sight_is_told_of_and_goes_on() {
    let mut node = Turned::new(1);
    node.takes_down(FIRST);
    let socket = node.folder.path().join("admin.sock");
    let asks = std::thread::spawn(move || {
        let up = Command::OsdMove { osd: FIRST, step: OsdMove::Up };
        Client::connect(&socket).unwrap().ask::<Done>(&up)
    });
    node.until(|engine| !engine.admin.begun.is_empty());
    assert!(node.engine.admin.begun[0].until > node.engine.host.now);
    node.engine.admin.begun[0].until = Time::ZERO;
    node.until(|_| asks.is_finished());
    let refused = asks.join().unwrap().expect_err("it takes longer").to_string();
    assert!(refused.starts_with("it was begun, and has not ended within 600 s"), "{refused}");
    node.until(|engine| engine.admin.joining.is_empty());
    assert!(node.engine.host.node.cluster().map().osds()[FIRST].up);
    assert!(node.engine.admin.waiting.is_empty(), "it has its answer");
}

/// Whoever changes something waits until a quorum of the disks has the map that tells of it, which may be never.
#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "who asks waits for the answer in a thread of its own"
)]
fn a_change_that_no_quorum_keeps_is_told_of_in_time() {
    let mut node = Turned::new(1);
    let socket = node.folder.path().join("admin.sock");
    let asks = std::thread::spawn(move || {
        let out = Command::OsdMove { osd: FIRST, step: OsdMove::Out };
        Client::connect(&socket).unwrap().ask::<Done>(&out)
    });
    node.until(|engine| !engine.admin.waiting.is_empty());
    assert!(node.engine.admin.waiting[0].until > node.engine.host.now);
    node.engine.admin.waiting[0].until = Time::ZERO;
    node.engine.admin_settle();
    node.until(|_| asks.is_finished());
    let refused = asks.join().unwrap().expect_err("it is not kept yet").to_string();
    assert!(refused.starts_with("it is done, and no map that tells of it"), "{refused}");
}
