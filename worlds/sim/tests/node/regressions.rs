//! Seeds that once failed, each with its story.

use crate::swarm::history;

/// A disk was open and its OSD not yet up, because the others were still restarting: the answers to its log's writes were
/// dropped, and everything that came later waited for them.
#[test]
fn an_open_disk_is_heard_before_its_osd_is_up() {
    history(10);
}

/// Two OSDs in turn forgot a map that was being written, by crashing. The rest were no quorum, nobody wrote it again, and
/// no change of the map ever counted.
#[test]
fn a_map_that_a_disk_has_forgotten_is_written_again() {
    history(4);
}

/// The node died right after a pool was made: nobody had asked for the map to be written, and the pool was gone although
/// every change was said to be kept.
#[test]
fn a_new_pool_is_part_of_what_must_be_kept() {
    history(1351);
}
