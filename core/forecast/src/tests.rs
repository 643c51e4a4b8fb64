//! The course of a recovery as data: what was left at each look, and what is told then.

use super::*;
use loadline_base::Rng;

/// Queue, left.
type Group = (u8, f64);

fn look(groups: &[Group], waits: bool) -> BTreeMap<usize, GroupLeft<u8>> {
    let group = |(from, left): &Group| GroupLeft { from: *from, to: None, left: *left, waits };
    let groups = groups.iter().map(group).enumerate();
    groups.filter(|(_, of)| of.left > 0.0).collect()
}

/// By two looks with ten seconds between them.
fn told(before: &[Group], now: &[Group], waits: bool) -> Option<TimeLeft> {
    let mut course = Forecast::default();
    course.note(Time::from_secs(0), look(before, waits));
    course.note(Time::from_secs(10), look(now, waits));
    course.time_left()
}

fn about(before: &[Group], now: &[Group], waits: bool) -> f64 {
    let told = told(before, now, waits).and_then(|told| told.about_s);
    (told.expect("enough has moved") * 10.0).round() / 10.0
}

#[test]
fn the_queue_that_takes_longest_decides() {
    // Both move 20 in 10 s, and the second has 380 left.
    assert_eq!(about(&[(1, 100.0), (2, 400.0)], &[(1, 80.0), (2, 380.0)], false), 190.0);
    // Groups of one queue share its pace, however it is divided among them.
    assert_eq!(about(&[(1, 100.0), (1, 400.0)], &[(1, 80.0), (1, 380.0)], false), 115.0);
    // One that is slow by itself keeps its pace, as far as it is known.
    let slow = about(&[(1, 4000.0), (2, 500.0)], &[(1, 3000.0), (2, 400.0)], false);
    assert!((31.5..=40.0).contains(&slow), "{slow}");
}

#[test]
fn a_copy_waits_for_the_busier_of_its_two_queues() {
    // Queue 9 receives from three that have little to do each. By who sends they were told as 30 s.
    let look = |moved: f64| {
        let group = |from: u8| {
            let left = 40.0 - moved;
            (from, GroupLeft { from, to: Some(9), left, waits: false })
        };
        (1..=3).map(group).collect::<BTreeMap<u8, _>>()
    };
    let mut course = Forecast::default();
    course.note(Time::from_secs(0), look(0.0));
    course.note(Time::from_secs(10), look(10.0));
    assert_eq!(course.time_left().and_then(|told| told.about_s), Some(30.0));
    // One sender is done, and its pace goes to the others: 60 at three a second.
    let mut left = look(10.0);
    left.remove(&1);
    course.note(Time::from_secs(20), left);
    let told = course.time_left().and_then(|told| told.about_s).unwrap();
    assert!((18.0..=22.0).contains(&told), "{told}");
}

#[test]
fn who_waits_for_a_slot_gets_the_pace_of_who_has_one() {
    assert_eq!(about(&[(1, 100.0), (2, 400.0)], &[(1, 80.0), (2, 400.0)], true), 240.0);
}

#[test]
fn a_queue_that_has_hardly_moved_has_the_pace_of_its_like() {
    let told = about(&[(1, 100.0), (2, 400.0)], &[(1, 80.0), (2, 399.0)], false);
    assert!((399.0 / 2.0..399.0 / 0.1).contains(&told), "{told}");
    // One with next to nothing left does not decide.
    let told = about(&[(1, 100.0), (2, 3.0)], &[(1, 80.0), (2, 3.0)], false);
    assert!((40.0..70.0).contains(&told), "{told}");
}

#[test]
fn a_group_that_has_come_has_moved_nothing_and_one_that_has_gone_all_it_had() {
    assert_eq!(about(&[(1, 100.0), (1, 0.0)], &[(1, 80.0), (1, 60.0)], false), 70.0);
    assert_eq!(about(&[(1, 100.0), (2, 20.0)], &[(1, 80.0), (2, 0.0)], false), 40.0);
}

#[test]
fn nothing_that_moves_has_no_end_and_too_few_copies_tell_the_least_alone() {
    assert_eq!(told(&[(1, 100.0)], &[(1, 100.0)], false), None);
    assert_eq!(told(&[(1, 100.0)], &[(1, 110.0)], true), None);
    assert_eq!(told(&[], &[], false), None);
    let few = told(&[(1, 103.0)], &[(1, 100.0)], false).expect("something moves");
    assert_eq!(few.about_s, None);
    // Three in 10 s may be four times as many: at the plain pace it was told as 333 s at the least.
    assert!((100.0..150.0).contains(&few.least_s), "{few:?}");
}

#[test]
fn copies_that_are_sent_count_before_one_has_arrived() {
    let mut course = Forecast::default();
    let group = |(queue, left): (u8, f64)| {
        let to = Some(queue + 10);
        (queue, GroupLeft { from: queue, to, left, waits: false })
    };
    let left = || [(1, 50.0), (2, 30.0)].map(group).into_iter().collect::<BTreeMap<u8, _>>();
    course.note(Time::from_secs(0), left());
    course.note(Time::from_secs(10), left());
    assert_eq!(course.time_left(), None);
    course.note_sent(20.0);
    // Two a second through two queues, and through two more.
    assert_eq!(course.time_left().and_then(|told| told.about_s), Some(50.0));
}

#[test]
fn what_ended_before_is_another_recovery() {
    let mut course = Forecast::default();
    course.note(Time::from_secs(0), look(&[(1, 100.0)], false));
    course.note(Time::from_secs(10), look(&[(1, 10.0)], false));
    course.note(Time::from_secs(11), look(&[], false));
    assert_eq!(course.time_left(), None);
    course.note(Time::from_secs(100), look(&[(1, 50.0)], false));
    course.note(Time::from_secs(110), look(&[(1, 40.0)], false));
    assert_eq!(course.time_left().and_then(|told| told.about_s), Some(40.0));
}

/// How a recovery goes on: so many copies in each second, of which group.
struct Shape {
    groups: Vec<Group>,
    slots: Option<usize>,
    /// Copies per second that a queue moves in this second.
    pace: fn(second: u32, queue: u8, rng: &mut Rng) -> f64,
    /// Seconds that a group takes for itself before its first copy.
    between_s: u32,
}

/// What was left in each second until nothing was. A queue moves whole copies, each of a group that it has at random.
fn seconds(shape: &Shape) -> Vec<BTreeMap<usize, GroupLeft<u8>>> {
    let mut rng = Rng::new(7);
    let mut left: Vec<f64> = shape.groups.iter().map(|(_, copies)| *copies).collect();
    let mut begins: Vec<Option<u32>> = vec![None; left.len()];
    let mut begun = [0.0; 8].map(|_: f64| rng.below(100) as f64 / 100.0);
    let mut seconds = Vec::new();
    for second in 0..10_000 {
        let mut open: Vec<usize> = (0..left.len()).filter(|group| left[*group] > 0.0).collect();
        let slots = shape.slots.unwrap_or(open.len());
        let group = |at: &usize| {
            let waits = begins[*at].is_none() && shape.slots.is_some();
            let (from, left) = (shape.groups[*at].0, left[*at]);
            (*at, GroupLeft { from, to: None, left, waits })
        };
        seconds.push(open.iter().map(group).collect());
        if open.is_empty() {
            return seconds;
        }
        open.truncate(slots);
        for at in &open {
            begins[*at].get_or_insert(second + shape.between_s);
        }
        for (queue, begun) in (0..).zip(&mut begun) {
            let moves = |at: &usize| {
                let begins = begins[*at].is_some_and(|begins| begins <= second);
                shape.groups[*at].0 == queue && begins
            };
            let mut of_queue: Vec<usize> = open.iter().copied().filter(moves).collect();
            if !of_queue.is_empty() {
                *begun += (shape.pace)(second, queue, &mut rng);
            }
            while *begun >= 1.0 && !of_queue.is_empty() {
                let at = of_queue[rng.below(of_queue.len() as u64) as usize];
                *begun -= 1.0;
                left[at] -= 1.0;
                of_queue.retain(|at| left[*at] > 0.0);
            }
        }
    }
    panic!("it does not end");
}

/// How many of the looks from the tenth second on tell within a quarter, or 5 s, of what it then took, how many tell no more than it took as
/// the least, within as much, and how many there were.
fn right(shape: &Shape) -> (usize, usize, usize) {
    let seconds = seconds(shape);
    let end = seconds.len() - 1;
    assert!(end > 60, "a minute at least, and it took {end} s");
    let mut course = Forecast::default();
    let (mut right, mut at_least, mut looks) = (0, 0, 0);
    for (second, left) in seconds.into_iter().enumerate() {
        course.note(Time::from_secs(second as u64), left);
        if second < 10 || second >= end {
            continue;
        }
        let took = (end - second) as f64;
        let told = course.time_left();
        let about = told.and_then(|told| told.about_s).unwrap_or(f64::INFINITY);
        looks += 1;
        right += usize::from((about - took).abs() <= (0.25 * took).max(5.0));
        let least = told.map_or(0.0, |told| told.least_s);
        at_least += usize::from(least <= (1.25 * took).max(took + 5.0));
    }
    (right, at_least, looks)
}

fn check(name: &str, share: f64, shape: &Shape) {
    let (right, at_least, looks) = right(shape);
    assert!(right as f64 >= share * looks as f64, "{name}: {right} of {looks} looks are right");
    assert_eq!(at_least, looks, "{name}: the least is no bound");
}

fn groups(number: usize, copies: impl Fn(usize) -> f64) -> Vec<Group> {
    (0..number).map(|at| ((at % 8) as u8, copies(at))).collect()
}

#[test]
fn a_steady_recovery_is_told_from_the_tenth_second_on() {
    let shape = Shape {
        groups: groups(32, |at| 10.0 + (at % 5) as f64 * 5.0),
        slots: None,
        pace: |_, _, _| 0.8,
        between_s: 0,
    };
    check("steady", 1.0, &shape);
}

/// One group after the other, each with its time for itself, and the small ones last: by copies alone the last third was told too short.
#[test]
fn slots_that_come_in_waves_are_told_by_groups_and_copies() {
    let shape = Shape {
        groups: groups(40, |at| if at < 20 { 9.0 } else { 4.0 }),
        slots: Some(1),
        pace: |_, _, _| 6.0,
        between_s: 1,
    };
    check("waves", 0.75, &shape);
}

/// Some queues have four times as much to do, and go on alone.
#[test]
fn a_slow_tail_is_told_from_the_tenth_second_on() {
    let shape = Shape {
        groups: groups(32, |at| if at % 8 == 3 { 24.0 } else { 6.0 }),
        slots: None,
        pace: |_, _, rng| if rng.below(2) == 0 { 0.3 } else { 0.7 },
        between_s: 0,
    };
    check("tail", 0.95, &shape);
}

/// Each queue brings a copy in seven seconds: in a window of five a third of them had none.
#[test]
fn few_large_objects_are_told_from_the_tenth_second_on() {
    let shape = Shape {
        groups: groups(24, |at| 3.0 + (at % 3) as f64),
        slots: None,
        pace: |_, _, _| 1.0 / 7.0,
        between_s: 0,
    };
    check("few", 0.85, &shape);
}

/// Nobody knows that a recovery will go twice as fast from its middle on; once it does, that is told before it ends. Over all that was seen
/// since its beginning, alike, it was told in its last quarter half as long again as it took.
#[test]
fn a_pace_that_changes_is_followed() {
    let shape = Shape {
        groups: groups(32, |_| 60.0),
        slots: None,
        pace: |second, _, _| if second < 80 { 1.0 } else { 2.0 },
        between_s: 0,
    };
    let seconds = seconds(&shape);
    let end = seconds.len() - 1;
    let mut course = Forecast::default();
    for (second, left) in seconds.into_iter().enumerate() {
        course.note(Time::from_secs(second as u64), left);
        let took = (end - second) as f64;
        let about = course.time_left().and_then(|told| told.about_s).unwrap_or(0.0);
        if second > 80 && took < 0.25 * end as f64 {
            assert!((about - took).abs() <= (0.3 * took).max(5.0), "{second}: {about} and {took}");
        }
    }
}
