//! Commands and what is answered, by the real clock where limits end them.

use crate::naive::Machine;
use crate::{Served, spec};
use loadline_base::Bytes;
use loadline_device::cdl::{AllowedLoss, DescriptorPage, Limits, ModePage, TimeoutPolicy, Unit};
use loadline_drive::{DriveContents, MediumFault};
use std::time::Instant;

/// A READ(16) or WRITE(16) of some blocks under a descriptor.
fn transfer(opcode: u8, block: u64, blocks: u32, descriptor: u8) -> [u8; 16] {
    let mut cdb = [0; 16];
    cdb[0] = opcode;
    cdb[1] = descriptor >> 2;
    cdb[2..10].copy_from_slice(&block.to_be_bytes());
    cdb[10..14].copy_from_slice(&blocks.to_be_bytes());
    cdb[14] = descriptor << 6;
    cdb
}

/// A READ(16) under a descriptor.
pub(crate) fn read(block: u64, blocks: u32, descriptor: u8) -> [u8; 16] {
    transfer(0x88, block, blocks, descriptor)
}

/// Uploads one descriptor of reads.
fn upload(machine: &mut Machine, set: impl FnOnce(&mut Limits)) {
    let mut limits =
        Limits { allowed_loss: AllowedLoss::from_code(0xc).unwrap(), ..Limits::default() };
    limits.descriptors[0].unit = Unit::TenMilliseconds;
    set(&mut limits);
    let page = DescriptorPage::new(ModePage::T2A, limits).unwrap();
    let parameters = [vec![0; 8], page.to_mode_page()].concat();
    let answer = machine.run(&[0x55, 0x10, 0, 0, 0, 0, 0, 0, 240, 0], &parameters, 0);
    assert_eq!((answer.status, answer.response), (0, 0));
}

#[test]
fn residuals_are_exact() {
    let served = Served::at_once(Vec::new(), DriveContents::Zeros);
    let mut machine = Machine::connect(served.socket());
    let inquiry = machine.run(&[0x12, 0, 0, 0, 36, 0], &[], 255);
    assert_eq!((inquiry.data.len(), inquiry.residual), (36, 219));
    let refused = machine.run(&[0x4d, 0, 0x19, 0x21, 0, 0, 0, 8, 0, 0], &[], 2048);
    assert_eq!((refused.status, refused.residual), (2, 2048));
    assert_eq!((refused.sense[2], refused.sense[12], refused.sense[13]), (5, 0x24, 0));
    let data = machine.run(&read(0, 8, 0), &[], 4096);
    assert_eq!((data.data, data.residual), (vec![0; 4096], 0));
}

/// `sg_raw /dev/sda 88 00 .. 00` once ended the drive: its model was asked where a transfer of nothing lies.
#[test]
fn a_transfer_of_no_blocks_is_good_and_nothing() {
    let served = Served::mechanical(Vec::new());
    let mut machine = Machine::connect(served.socket());
    for nothing in [read(0, 0, 0), transfer(0x8a, 0, 0, 0), read(spec().sectors, 0, 1)] {
        let answer = machine.run(&nothing, &[], 4096);
        assert_eq!((answer.status, answer.response, answer.residual), (0, 0, 4096));
    }
    assert_eq!(machine.run(&read(0, 8, 0), &[], 4096).status, 0);
    drop(machine);
    assert_eq!(served.end().counts.reads[0].commands, 1);
}

/// A WRITE of eight blocks that brought 512 bytes once wrote those and was GOOD, with a residual of 0.
#[test]
fn a_transfer_without_room_for_its_blocks_is_an_overrun() {
    const OVERRUN: u8 = 1;
    const FAILURE: u8 = 9;
    let folder = tempfile::tempdir().unwrap();
    let contents = DriveContents::open(&folder.path().join("disk"), Bytes::from_mib(64)).unwrap();
    let served = Served::at_once(Vec::new(), contents);
    let mut machine = Machine::connect(served.socket());
    for there in [0, 512, 4095] {
        let write = machine.run(&transfer(0x8a, 100, 8, 0), &vec![1; there], 0);
        assert_eq!((write.response, write.status, write.residual), (OVERRUN, 0, 0), "{there}");
        let read = machine.run(&read(100, 8, 0), &[], there as u32);
        assert_eq!((read.response, read.status), (OVERRUN, 0), "{there}");
        assert_eq!((read.data.len(), read.residual), (0, there as u32));
    }
    let broken = machine.run_broken(&transfer(0x8a, 100, 8, 0), &[1; 4096], 0);
    assert_eq!((broken.response, broken.status), (FAILURE, 0));
    let broken = machine.run_broken(&read(100, 8, 0), &[], 4096);
    assert_eq!((broken.response, broken.residual), (FAILURE, 4096));
    let whole = machine.run(&read(100, 8, 0), &[], 5000);
    assert_eq!((whole.data, whole.residual), (vec![0; 4096], 904), "nothing was written");
    drop(machine);
    let counts = served.end().counts;
    assert_eq!((counts.reads[0].commands, counts.writes[0].commands, counts.refused), (1, 0, 8));
}

#[test]
fn what_was_written_is_read_by_the_next_machine() {
    let folder = tempfile::tempdir().unwrap();
    let contents = DriveContents::open(&folder.path().join("disk"), Bytes::from_mib(64)).unwrap();
    let served = Served::at_once(Vec::new(), contents);
    let mut machine = Machine::connect(served.socket());
    let bytes: Vec<u8> = (0..1024u32).map(|n| n as u8).collect();
    let answer = machine.run(&transfer(0x8a, 100, 2, 0), &bytes, 0);
    assert_eq!((answer.status, answer.residual), (0, 0));
    drop(machine);
    let mut machine = Machine::connect(served.socket());
    assert_eq!(machine.run(&read(100, 2, 0), &[], 1024).data, bytes);
    drop(machine);
    let counts = served.end().counts;
    assert_eq!((counts.reads[0].commands, counts.writes[0].bytes, counts.sessions), (1, 1024, 2));
}

/// What a file of another drive is, nobody knows.
#[test]
fn a_file_of_another_size_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("disk");
    DriveContents::open(&path, Bytes::from_mib(64)).unwrap();
    let error = DriveContents::open(&path, Bytes::from_mib(65)).unwrap_err().to_string();
    assert!(error.contains("64 MiB") && error.contains("65 MiB"), "{error}");
}

/// Thirty-two reads all over the disk take 0.2 s; with a guideline of 20 ms and a policy that ends them most are not begun,
/// and one may be under way. Each ends at that time, and not when the arm is free.
#[test]
fn a_limit_ends_a_command_at_its_instant() {
    let check = |policy, status, wanted: &[[u8; 3]]| {
        let served = Served::mechanical(Vec::new());
        let mut machine = Machine::connect(served.socket());
        upload(&mut machine, |limits| {
            let guideline = &mut limits.descriptors[0].guideline;
            (guideline.time, guideline.policy) = (2, policy);
        });
        let stride = spec().sectors / 32;
        let reads: Vec<_> = (0..32).map(|index| read(index * 7 % 32 * stride, 8, 1)).collect();
        #[expect(clippy::disallowed_methods, reason = "limits are kept by the real clock")]
        let begun = Instant::now();
        machine.commands(&reads);
        let answers = machine.answers(32);
        assert!(begun.elapsed().as_millis() >= 20, "{:?}", begun.elapsed());
        let ended: Vec<_> = answers.iter().filter(|answer| !answer.sense.is_empty()).collect();
        assert!(ended.len() > 20, "{} of 32", ended.len());
        for answer in &ended {
            assert_eq!((answer.status, answer.response, answer.residual), (status, 0, 4096));
            let sense = [answer.sense[2], answer.sense[12], answer.sense[13]];
            assert!(wanted.contains(&sense), "{sense:02x?}");
            assert!(answer.data.is_empty());
        }
        drop(machine);
        let counts = served.end().counts.reads[1];
        assert_eq!((counts.commands, counts.ended), (32, ended.len() as u64));
    };
    check(TimeoutPolicy::Abort, 2, &[[0xb, 0x2e, 0x01], [0xb, 0x2e, 0x02]]);
    check(TimeoutPolicy::CompleteUnavailable, 0, &[[0xf, 0x55, 0x0a]]);
}

#[test]
fn a_policy_that_ends_nothing_is_silent() {
    for policy in [
        TimeoutPolicy::CompleteEarliest,
        TimeoutPolicy::ContinueNextLimit,
        TimeoutPolicy::ContinueNoLimit,
    ] {
        let served = Served::mechanical(Vec::new());
        let mut machine = Machine::connect(served.socket());
        upload(&mut machine, |limits| {
            let guideline = &mut limits.descriptors[0].guideline;
            (guideline.time, guideline.policy) = (2, policy);
        });
        let stride = spec().sectors / 16;
        let reads: Vec<_> = (0..16).map(|index| read(index * stride, 8, 1)).collect();
        machine.commands(&reads);
        assert!(
            machine.answers(16).iter().all(|answer| answer.status == 0 && answer.sense.is_empty())
        );
        drop(machine);
        let counts = served.end().counts.reads[1];
        assert_eq!((counts.met + counts.missed, counts.ended), (16, 0));
        assert!(counts.missed > 0, "sixteen reads take more than 20 ms");
    }
}

/// An active time with policy Eh ends a read only while the drive tries again.
#[test]
fn recovery_is_ended_by_an_active_time() {
    let slow = MediumFault::Slow { blocks: 0..8, turns: 100 };
    let served = Served::mechanical(vec![slow]);
    let mut machine = Machine::connect(served.socket());
    upload(&mut machine, |limits| {
        let active = &mut limits.descriptors[0].active;
        (active.time, active.policy) = (5, TimeoutPolicy::AbortRecovery);
    });
    let answer = machine.run(&read(0, 8, 1), &[], 4096);
    assert_eq!([answer.sense[2], answer.sense[12], answer.sense[13]], [0xb, 0x2e, 0x03]);
    assert_eq!(machine.run(&read(1_000_000, 8, 1), &[], 4096).status, 0);
}

#[test]
fn a_command_without_an_answer_can_be_aborted() {
    let served = Served::at_once(vec![MediumFault::Silent(0..8)], DriveContents::Zeros);
    let mut machine = Machine::connect(served.socket());
    let silent = machine.command(&read(0, 8, 0), &[], 4096);
    let other = machine.run(&read(8, 8, 0), &[], 4096);
    assert_eq!(other.status, 0, "the others go on");
    assert_eq!(machine.task_function(6, silent), 10, "a query finds it");
    assert_eq!(machine.task_function(0, silent), 0);
    let aborted = machine.answers(1).remove(0);
    assert_eq!((aborted.slot, aborted.response), (silent, 2));
    assert_eq!(machine.task_function(6, silent), 0, "it is no more");
    machine.command(&read(0, 8, 0), &[], 4096);
    assert_eq!(machine.task_function(5, 0), 0, "a reset ends them all");
    assert_eq!(machine.answers(1)[0].response, 4);
    drop(machine);
    let counts = served.end().counts;
    assert_eq!((counts.reads[0].aborted, counts.task_functions), (2, 4));
}

/// Blocks that cannot be read fail after all retries; once they are written they can be.
#[test]
fn an_unreadable_block_is_a_medium_error_until_it_is_written() {
    let served = Served::mechanical(vec![MediumFault::Unreadable(0..8)]);
    let mut machine = Machine::connect(served.socket());
    // The drive of the model tries for seven seconds; a limit need not.
    upload(&mut machine, |limits| {
        let active = &mut limits.descriptors[0].active;
        (active.time, active.policy) = (5, TimeoutPolicy::Abort);
    });
    let answer = machine.run(&read(0, 8, 1), &[], 4096);
    assert_eq!([answer.sense[2], answer.sense[12], answer.sense[13]], [0xb, 0x2e, 0x03]);
    assert_eq!(machine.run(&transfer(0x8a, 0, 8, 0), &[0; 4096], 0).status, 0);
    assert_eq!(machine.run(&read(0, 8, 1), &[], 4096).status, 0);
}

/// A machine that goes in the middle takes nothing with it.
#[test]
fn a_machine_may_go_at_any_time() {
    let served = Served::mechanical(Vec::new());
    for _ in 0..3 {
        let mut machine = Machine::connect(served.socket());
        for index in 0..32 {
            machine.command(&read(index * 1_000_000, 8, 0), &[], 4096);
        }
        machine.answers(1);
    }
    let mut machine = Machine::connect(served.socket());
    assert_eq!(machine.run(&read(0, 8, 0), &[], 4096).status, 0);
    drop(machine);
    let statistics = served.end();
    assert_eq!(statistics.counts.sessions, 4);
    assert!(statistics.counts.reads[0].aborted > 0);
}

/// A file that takes no writes: the host was told that a sector cannot be read, and looks for its data elsewhere.
#[test]
fn a_write_that_the_file_refuses_is_a_write_error() {
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().set_len(64 << 20).unwrap();
    let contents = DriveContents::File(std::fs::File::open(file.path()).unwrap());
    let served = Served::at_once(Vec::new(), contents);
    let mut machine = Machine::connect(served.socket());
    let written = machine.run(&transfer(0x8a, 8, 8, 0), &[1; 4096], 0);
    assert_eq!((written.response, written.status), (0, 2));
    assert_eq!((written.sense[2], written.sense[12], written.sense[13]), (3, 0x0c, 0));
    assert_eq!(machine.run(&read(8, 8, 0), &[], 4096).status, 0);
}
