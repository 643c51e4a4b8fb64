//! What a group promises, and not before the device has it.

use super::*;
use crate::paged::log::{LogWrite, RING, RecordKind};

const NOW: Time = Time::ZERO;

fn log() -> Log {
    Log::resume(RING, Lsn(0), Lsn(0), 0, Vec::new())
}

fn group(mode: LogMode) -> CommitGroups {
    let settings = GroupSettings {
        mode,
        flush_interval: Span::from_millis(2000),
        sync_interval: Span::from_millis(500),
        gather_max: Span::from_micros(200),
    };
    CommitGroups::new(settings, Lsn(0), Lsn(0))
}

fn commit(log: &mut Log, group: &mut CommitGroups) {
    let position = log.append(RecordKind::Transaction, &[1; 100]);
    group.committed(NOW, position);
}

fn finish(log: &mut Log, write: Option<LogWrite>) {
    let LogWrite { position, data, .. } = write.expect("something is appended");
    log.write_done(position, data);
}

/// What the device has not answered is not written, and what lies behind it does not count before it does.
#[test]
fn only_what_is_answered_without_a_gap_is_written() {
    let mut log = log();
    let mut writes = Vec::new();
    while writes.len() < 2 {
        log.append(RecordKind::Transaction, &[1; 3000]);
        writes.extend(log.next_full_write());
    }
    let (second, first) = (writes.pop(), writes.pop());
    let begins = second.as_ref().map(|second| second.position).expect("there are two");
    assert_eq!(log.written(), Lsn(0));
    finish(&mut log, second);
    assert_eq!(log.written(), Lsn(0), "the first is under way");
    finish(&mut log, first);
    assert!(begins < log.written() && log.written() < log.head(), "the rest is yet to go");
}

/// A flush makes durable what the device had answered when it began. What is appended or written later may be in the device's
/// cache: an answer in mode `fsync`, or to a sync in any, would be a promise that a power cut breaks.
#[test]
fn a_flush_covers_what_was_written_when_it_began_and_no_more() {
    for mode in [LogMode::Fsync, LogMode::LogOnly] {
        let (mut log, mut group) = (log(), group(mode));
        commit(&mut log, &mut group);
        group.demand_commits();
        assert!(group.wants_write(&log) && !group.wants_flush(&log), "nothing is written yet");
        let first = log.next_last_write();
        assert!(!group.wants_flush(&log), "it is under way");
        finish(&mut log, first);
        assert!(group.wants_flush(&log));
        let before = log.written();
        commit(&mut log, &mut group);
        group.flush_began(NOW, &log);
        let second = log.next_last_write();
        finish(&mut log, second);
        assert_eq!((before < log.written(), group.flushed()), (true, Lsn(0)));
        group.flush_done(NOW);
        assert_eq!(group.flushed(), before);
        group.demand_commits();
        assert!(group.wants_flush(&log), "the second is yet to be flushed");

        // Nobody who waits for durability is answered before a record on the device says so.
        group.proof_appended(log.append(RecordKind::Durable, &before.0.to_le_bytes()));
        group.look_for_proof(NOW, &log);
        assert_eq!(group.proven(), Lsn(0));
        let proof = log.next_last_write();
        group.look_for_proof(NOW, &log);
        assert_eq!(group.proven(), Lsn(0), "its write is under way");
        finish(&mut log, proof);
        group.look_for_proof(NOW, &log);
        assert_eq!(group.proven(), before);
        let promised = if mode == LogMode::Fsync { before } else { log.written() };
        assert_eq!(group.answered(mode, &log), promised);
    }
}

/// A transaction that goes in steps is committed when the log is durable beyond its record already, or is about to be. A time at which
/// that was to be flushed, and at which nothing could be done, let the store ask for the time again without end.
#[test]
fn what_is_durable_when_it_is_committed_is_due_at_no_time() {
    for mode in [LogMode::LogOnly, LogMode::Background] {
        for is_flushing in [false, true] {
            let (mut log, mut group) = (log(), group(mode));
            let record = log.append(RecordKind::Transaction, &[1; 100]);
            let behind = log.append(RecordKind::Edits, &[2; 100]);
            group.demand(behind);
            let write = log.next_last_write();
            finish(&mut log, write);
            group.flush_began(NOW, &log);
            if is_flushing {
                group.committed(NOW, record);
                group.flush_done(NOW);
            } else {
                group.flush_done(NOW);
                group.committed(NOW, record);
            }
            assert_eq!(group.last_commit(), behind, "{mode:?}: what comes behind is demanded too");
            assert_eq!(group.deadline(&log), None, "{mode:?} {is_flushing}");
        }
    }
}
