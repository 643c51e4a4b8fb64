//! What wakes a loop: mail from other threads, signals, and the time.

use crate::server::{backends, new_loop};
use loadline_base::{Span, Time};
use loadline_host::{Loop, LoopEvent, Mailbox, Signal, outlives_its_terminal};
use std::process::Command;
use std::thread;

/// Four threads post a thousand letters each; all of them arrive, those of one thread in order.
#[test]
fn all_mail_arrives() {
    const LETTERS: u64 = 1000;
    for backend in backends() {
        let mut turns = new_loop::<(usize, u64)>(backend);
        let post = |thread: usize, mailbox: Mailbox<(usize, u64)>| {
            move || (0..LETTERS).for_each(|n| mailbox.post((thread, n)).expect("the loop is there"))
        };
        let threads: Vec<_> = (0..4).map(|n| thread::spawn(post(n, turns.mailbox()))).collect();
        let mut next = [0; 4];
        let mut happened = Vec::new();
        while next.iter().sum::<u64>() < 4 * LETTERS {
            turns.turn(None, &mut happened);
            for happening in happened.drain(..) {
                let LoopEvent::Mail((from, number)) = happening else { panic!("only mail comes") };
                assert_eq!(number, next[from]);
                next[from] += 1;
            }
        }
        for thread in threads {
            thread.join().expect("all letters were posted");
        }
        let mailbox = turns.mailbox();
        drop(turns);
        assert_eq!(mailbox.post((9, 9)), Err((9, 9)), "mail for nobody comes back");
    }
}

/// A turn ends at its time and not before; a time that has passed does not wait.
#[test]
fn a_turn_ends_when_its_time_has_come() {
    for backend in backends() {
        let mut turns = new_loop::<()>(backend);
        for wait in [Span::ZERO, Span::from_micros(300), Span::from_millis(30)] {
            let until = turns.now() + wait;
            let mut happened = Vec::new();
            turns.turn(Some(until), &mut happened);
            assert!(happened.is_empty() && turns.now() >= until);
        }
        turns.turn(Some(Time::ZERO), &mut Vec::new());
    }
}

/// All signals in one test, since they go to the whole process.
#[test]
fn signals_are_told_instead_of_fatal() {
    for backend in backends() {
        let mut turns = new_loop::<()>(backend);
        turns.watch_signals().expect("signals can be watched");
        turns.watch_signals().expect("twice is as good as once");
        for (name, signal) in [
            ("-TERM", Signal::Terminate),
            ("-INT", Signal::Interrupt),
            ("-HUP", Signal::HangUp),
            ("-TERM", Signal::Terminate),
        ] {
            // A test that `nohup` runs is not told.
            if signal == Signal::HangUp && outlives_its_terminal() {
                continue;
            }
            kill(name);
            assert_eq!(next_signal(&mut turns), signal);
        }
    }
}

fn kill(name: &str) {
    let process = std::process::id().to_string();
    let killed = Command::new("sh").args(["-c", "kill $0 $1", name, &process]).status();
    assert!(killed.expect("a shell").success());
}

fn next_signal(turns: &mut Loop<()>) -> Signal {
    let mut happened = Vec::new();
    turns.turn(None, &mut happened);
    match happened.as_slice() {
        [LoopEvent::Signal(signal)] => *signal,
        other => panic!("a signal comes, not {other:?}"),
    }
}
