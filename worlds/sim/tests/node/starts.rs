//! Starts without end: what each takes of the numbers that a map has.

use crate::judge::{Judged, is_whole};
use loadline_store::paged::LogMode;

const STARTS: u32 = 40;
/// Six placement groups begin an interval together and may end their recovery one by one; each change of the map is one more.
const EPOCHS_OF_A_START: u32 = 24;

/// Each owner left room for the epochs that the one before it might have begun, 65,536 of them: the 65,536th start of a node
/// found no number left, and its data was out of reach.
#[test]
fn a_start_takes_few_epochs() {
    let mut judged = Judged::new(5, LogMode::Fsync, 0);
    let settled = |judged: &mut Judged| {
        let settled = judged.node().wait_until(is_whole);
        assert!(settled, "it heals");
        judged.node().cluster().map().epoch()
    };
    let before = settled(&mut judged);
    let mut after = before;
    for _ in 0..STARTS {
        (0..4).for_each(|_| judged.issue());
        judged.steps(3);
        judged.crash(None);
        after = settled(&mut judged);
    }
    let each = (after - before) / STARTS;
    println!("{each} epochs each, enough for {} starts", u32::MAX / each);
    assert!(each <= EPOCHS_OF_A_START, "{each} epochs each");
    judged.settle_and_check();
}
