//! Small writes whose pages go beside the log: where there are plenty of free pages they are written once, to fresh places, before their turn; else the log
//! holds them, as it holds everything small.

use crate::sample::{Disks, Sample, object};
use loadline_base::{Bytes, Rng};
use loadline_device::{ClassTag, Outcome};
use loadline_store::Version;
use loadline_store::paged::api::pattern;
use loadline_store::paged::{
    Answer, Ask, Edit, IoDone, LogMode, Op, OpError, OpLane, Options, Payload, Protection,
};

const PAGE: u64 = 4096;
/// Pages of the object that is written, three quarters of what the device has.
const PAGES: u64 = 1200;

fn options(log_mode: LogMode) -> Options {
    let placed_write = Bytes::new(PAGE);
    Options { log_mode, placed_write, ..Sample::options(Protection::Checkpoint) }
}

fn open(disks: Disks, log_mode: LogMode) -> Sample {
    Sample::begin_with(disks, options(log_mode)).opened()
}

fn write(seed: u64, page: u64, pages: u64) -> Vec<Edit> {
    let data = Payload::Pattern { seed, offset: 0, length: pages * PAGE };
    vec![Edit::Write { object: object(2), offset: page * PAGE, data, version: Version(seed) }]
}

fn in_lane(sample: &mut Sample, token: u64, edits: Vec<Edit>) {
    let lane = Some(OpLane(1));
    sample.submit_op(Op { ask: Ask::Transaction(edits), lane, class: ClassTag(1), token });
}

/// Asks for updates side by side and waits until all have ended.
fn together(sample: &mut Sample, all: impl IntoIterator<Item = Vec<Edit>>) {
    let mut count = 0;
    for edits in all {
        sample.submit(Ask::Transaction(edits));
        count += 1;
    }
    while sample.out.completions.len() < count {
        sample.step();
    }
    let ended = sample.out.completions.drain(..);
    ended.for_each(|done| assert_eq!(done.result, Ok(Answer::Done)));
}

/// An update that is under way, beside which others are not alone.
fn keep_busy(sample: &mut Sample) {
    let put = Edit::Put { key: b"key".into(), value: b"value".into() };
    in_lane(sample, 1, vec![put]);
}

fn page_of(sample: &mut Sample, page: u64) -> Vec<u8> {
    let read = Ask::Read { object: object(2), offset: page * PAGE, length: PAGE };
    match sample.answer(read) {
        Ok(Answer::Bytes(Some(bytes))) => bytes,
        other => panic!("page {page}: {other:?}"),
    }
}

/// Bytes of all writes to the devices so far are what this counts; the object is there whole before.
fn filled(log_mode: LogMode) -> Sample {
    let mut sample = open(Disks::formatted(Protection::Checkpoint, false), log_mode);
    for first in (0..PAGES).step_by(60) {
        sample.ask(Ask::Transaction(write(1, first, 60)));
    }
    sample.settle();
    sample
}

#[test]
fn overwrites_of_a_page_are_written_once_and_found_after_a_restart() {
    let mut sample = filled(LogMode::Fsync);
    let mut rng = Rng::new(3);
    let mut seeds: Vec<u64> = vec![1; PAGES as usize];
    for first in (2..2002).step_by(20) {
        let mut pages: Vec<u64> = (0..20).map(|_| rng.below(PAGES)).collect();
        pages.sort_unstable();
        pages.dedup();
        pages.iter().zip(first..).for_each(|(page, seed)| seeds[*page as usize] = seed);
        together(&mut sample, pages.iter().zip(first..).map(|(page, seed)| write(seed, *page, 1)));
    }
    let totals = sample.store.metrics().totals;
    assert!(totals.own_small > 1500, "{} of 2000 went beside the log", totals.own_small);
    let mut again = open(sample.disks.clone(), LogMode::Fsync);
    for sample in [&mut sample, &mut again] {
        for page in 0..PAGES {
            let seed = seeds[page as usize];
            // The first ones were written sixty pages at a time.
            let (seed, at) = if seed == 1 { (1, page % 60) } else { (seed, 0) };
            assert!(page_of(sample, page) == pattern(seed, at * PAGE, PAGE), "page {page}");
        }
    }
}

/// What is answered at once, or promised by a checkpoint alone, would wait for a device; and what is alone for two requests, one after the other.
#[test]
fn what_would_wait_longer_goes_through_the_log() {
    for (log_mode, is_placed) in [
        (LogMode::Fsync, true),
        (LogMode::LogOnly, true),
        (LogMode::Background, false),
        (LogMode::None, false),
    ] {
        let mut sample = open(Disks::formatted(Protection::Checkpoint, false), log_mode);
        together(&mut sample, [write(2, 4, 1), write(2, 5, 1)]);
        let placed = sample.store.metrics().totals.own_small;
        assert_eq!(placed, u64::from(is_placed), "{log_mode}");
        assert_eq!(page_of(&mut sample, 5), pattern(2, 0, PAGE));
    }
}

/// A part of a page, and a disk that is nearly full: nothing is lacking, and nothing waits for a checkpoint.
#[test]
fn ragged_writes_and_those_on_a_full_device_go_through_the_log() {
    let mut sample = filled(LogMode::Fsync);
    let ragged = Edit::Write {
        object: object(2),
        offset: 100,
        data: Payload::Pattern { seed: 9, offset: 0, length: PAGE },
        version: Version(9),
    };
    together(&mut sample, [write(8, 5, 8), vec![ragged]]);
    assert_eq!(sample.store.metrics().totals.own_small, 0);
    let mut page = PAGES;
    while sample.store.space().pages.allocator.free() > sample.store.kept_pages() + 64 {
        sample.ask(Ask::Transaction(write(1, page, 8)));
        page += 8;
        sample.settle();
    }
    let (before, checkpoints) =
        (sample.store.metrics().totals.own_small, sample.store.metrics().totals.checkpoints);
    together(&mut sample, (10..110).map(|seed| write(seed, seed, 1)));
    let totals = sample.store.metrics().totals;
    assert_eq!((totals.own_small, totals.checkpoints), (before, checkpoints));
    assert_eq!(page_of(&mut sample, 40), pattern(40, 0, PAGE));
}

/// Overwrites take free pages, which come back with a checkpoint only. One is made before they are gone.
#[test]
fn a_checkpoint_gives_pages_back_before_small_writes_lack_them() {
    let mut sample = filled(LogMode::Fsync);
    let free = sample.store.space().pages.allocator.free();
    let before = sample.store.metrics().totals.checkpoints;
    for first in (0..5 * free).step_by(10) {
        together(&mut sample, (first..first + 10).map(|seed| write(seed, seed % PAGES, 1)));
    }
    let totals = sample.store.metrics().totals;
    let checkpoints = totals.checkpoints - before;
    assert!(checkpoints > 5, "{checkpoints} checkpoints");
    assert!(totals.own_small >= 5 * free / 10 * 9, "{} went beside the log", totals.own_small);
}

/// A checkpoint frees a page for each write since the one before, which all came back in the event that ended it: for a million of them, ops waited for 70 ms and
/// more. Now others have their turn in between, and no other checkpoint begins before all are back.
#[test]
fn what_a_checkpoint_frees_comes_back_a_few_runs_at_a_time() {
    const RUNS_PER_TURN: u64 = 256;
    let mut sample = filled(LogMode::Fsync);
    let page = (0..PAGES / 2).map(|at| 2 * at);
    together(&mut sample, page.zip(2..).map(|(page, seed)| write(seed, page, 1)));
    sample.submit(Ask::Checkpoint);
    let free = |sample: &Sample| sample.store.space().pages.allocator.free();
    let (mut before, mut most, mut turns) = (free(&sample), 0, 0);
    while sample.store.space().pages.allocator.returning() > 0 {
        sample.step();
        let now = free(&sample);
        most = most.max(now.saturating_sub(before));
        turns += u32::from(now > before);
        before = now;
    }
    assert!(most > 0 && most <= RUNS_PER_TURN && turns > 1, "{most} pages at once");
}

/// The data of what stands behind others of its lane does not wait for them. It counts in its turn, whoever's is on the device first.
#[test]
fn own_data_goes_ahead_and_counts_in_its_turn() {
    let mut sample = filled(LogMode::Fsync);
    keep_busy(&mut sample);
    for token in 2..6 {
        in_lane(&mut sample, token, write(token, 7, 1));
    }
    let pages = sample.out.io.iter().filter(|io| io.request.length == Bytes::new(PAGE));
    assert_eq!(pages.count(), 4, "all at once");
    assert_eq!(sample.store.metrics().totals.own_ahead, 3);
    sample.out.io.reverse();
    let ended = sample.run_dry();
    assert!(ended.values().all(|result| *result == Ok(Answer::Done)), "{ended:?}");
    assert_eq!(page_of(&mut sample, 7), pattern(5, 0, PAGE));
    let mut again = open(sample.disks.clone(), LogMode::Fsync);
    assert_eq!(page_of(&mut again, 7), pattern(5, 0, PAGE));
}

/// One whose data could not be written fails in its turn, and its page is free again; the others of its lane are carried out.
#[test]
fn own_data_that_is_not_written_fails_its_op_alone() {
    let mut sample = filled(LogMode::Fsync);
    let before = sample.free_or_returning();
    keep_busy(&mut sample);
    for token in 2..5 {
        in_lane(&mut sample, token, write(token, token, 1));
    }
    let second = sample.out.io.iter().position(|io| io.data == pattern(3, 0, PAGE));
    let io = sample.out.io.remove(second.expect("its data is on its way"));
    let done = IoDone { id: io.id, outcome: Outcome::Failed, data: io.data };
    sample.fail(done);
    let ended = sample.run_dry();
    assert_eq!(ended[&2], Ok(Answer::Done));
    assert_eq!(ended[&3], Err(OpError::Unwritable));
    assert_eq!(ended[&4], Ok(Answer::Done));
    assert_eq!(page_of(&mut sample, 3), pattern(1, 3 * PAGE, PAGE));
    assert_eq!(sample.free_or_returning(), before);
}

/// A read found its page by two more looks at the tree when the device had given it, and by looking anew could find another page there, which was then read as
/// well. What it has seen is what it answers: it was under way when the object changed.
#[test]
fn a_read_answers_what_its_page_brings_though_the_object_has_changed_since() {
    let mut sample = open(filled(LogMode::Fsync).disks, LogMode::Fsync);
    // The way to the page is in memory, and the page is not.
    page_of(&mut sample, 7);
    let before = sample.store.metrics().totals.pages_read;
    sample.submit(Ask::Read { object: object(2), offset: 6 * PAGE + 100, length: 500 });
    let io = sample.out.io.pop().expect("the page is asked for");
    let old = pattern(1, 6 * PAGE + 100, 500);
    together(&mut sample, [write(3, 9, 1), write(2, 6, 1)]);
    sample.out.io.push(io);
    while sample.out.completions.is_empty() {
        sample.step();
    }
    let ended = sample.out.completions.pop().expect("it has ended");
    assert_eq!(ended.result, Ok(Answer::Bytes(Some(old))));
    assert_eq!(sample.store.metrics().totals.pages_read, before + 1, "no other page was read");
    assert_eq!(page_of(&mut sample, 6), pattern(2, 0, PAGE), "whoever comes now sees the change");
}
