//! `kill -9` in a loop under load that knows what was acknowledged: nothing acknowledged may be lost, nothing that was read
//! after a restart may change by itself, and a restart takes seconds at most.

mod block;
mod campaign;
mod ledger;
mod load;

use crate::busy;
use campaign::{Campaign, Trouble};

/// A seed for rounds that nobody has seen yet: `LOADLINE_SEED=7 cargo test … kills`.
fn seed(otherwise: u64) -> u64 {
    let given = std::env::var("LOADLINE_SEED").ok();
    given.map_or(otherwise, |text| text.parse().expect("LOADLINE_SEED is a number"))
}

#[test]
fn five_kills_lose_nothing() {
    let mut campaign = Campaign::new(seed(1), &[]);
    campaign.rounds(5, &[Trouble::None]);
    campaign.close();
}

#[test]
fn kills_while_an_osd_is_away_lose_nothing() {
    let mut campaign = Campaign::new(seed(2), &[]);
    campaign.rounds(4, &[Trouble::Down, Trouble::Out]);
    campaign.each_osd_is_dispensable();
    campaign.close();
}

/// What is answered is kept by two log modes, what is flushed by all.
const MODES: [&str; 4] = ["fsync", "log-only", "background", "none"];

fn kills_in_each_log_mode(rounds: u64, troubles: &[Trouble]) {
    for (mode, number) in MODES.into_iter().zip(6..) {
        println!("{mode}");
        let mut campaign = Campaign::in_mode(seed(number), mode);
        campaign.rounds(rounds, troubles);
        campaign.close();
    }
}

#[test]
fn kills_lose_no_more_than_the_log_mode_says() {
    kills_in_each_log_mode(2, &[Trouble::None]);
}

#[test]
#[ignore = "a hundred rounds take minutes; `make soak` runs them"]
fn a_hundred_kills_lose_no_more_than_the_log_mode_says() {
    kills_in_each_log_mode(25, &[Trouble::None, Trouble::Down, Trouble::Out]);
}

#[test]
#[ignore = "a hundred rounds take minutes; `make soak` runs them"]
fn a_hundred_kills_lose_nothing() {
    let mut campaign = Campaign::new(seed(3), &[]);
    campaign.rounds(100, &[Trouble::None]);
    campaign.each_osd_is_dispensable();
    campaign.close();
}

#[test]
#[ignore = "a hundred rounds take minutes; `make soak` runs them"]
fn a_hundred_kills_among_failing_osds_lose_nothing() {
    let troubles = [Trouble::None, Trouble::Down, Trouble::Out, Trouble::Replace];
    let mut campaign = Campaign::new(seed(4), &[]);
    campaign.rounds(100, &troubles);
    campaign.each_osd_is_dispensable();
    campaign.close();
}

/// Short campaigns on a busy machine.
#[test]
#[ignore = "a hundred rounds take minutes; `make soak` runs them"]
fn a_hundred_kills_on_a_busy_machine_lose_nothing() {
    busy::beside(6, || {
        for number in 0..25 {
            let mut campaign = Campaign::new(seed(1_000) + number, &[]);
            campaign.rounds(4, &[Trouble::Down, Trouble::Out]);
            campaign.each_osd_is_dispensable();
            campaign.close();
        }
    });
}

#[test]
#[ignore = "a hundred rounds take minutes; `make soak` runs them"]
fn a_hundred_kills_without_io_uring_lose_nothing() {
    let mut campaign = Campaign::new(seed(5), &["--backend", "threads"]);
    campaign.rounds(100, &[Trouble::None]);
    campaign.close();
}
