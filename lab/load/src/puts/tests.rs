//! Keys, values and what is counted of puts.

use super::*;
use crate::pace::Arrivals;

#[test]
fn values_have_about_a_hundred_bytes_and_a_name() {
    let check = |text: &str| {
        let form: ValueForm = text.parse().expect("there is such a form");
        assert_eq!(form.to_string(), text);
        let mut rng = Rng::new(3);
        let lengths = (0..5_000u64).map(|key| {
            let mut bytes = Vec::new();
            form.value(key * 1_000, &mut rng, &mut bytes);
            bytes.len()
        });
        let lengths: Vec<usize> = lengths.collect();
        let mean = lengths.iter().sum::<usize>() as f64 / lengths.len() as f64;
        assert!((75.0..125.0).contains(&mean), "{text} have {mean} bytes on average");
        assert!(lengths.iter().all(|length| (60..150).contains(length)), "{text}");
    };
    ["accounts", "orders", "rows", "sessions", "mixed"].into_iter().for_each(check);
    assert_eq!("novels".parse::<ValueForm>(), Err(UnknownForm));
}

#[test]
fn a_fill_puts_each_key_once_and_ends() {
    let mut load = PutLoad::new(ValueForm::Mixed, 1);
    load.fill(KeyOrder::Ascending { count: 100, range: 1000 });
    load.start(Time::ZERO, &mut Vec::new());
    let mut due = load.puts();
    assert_eq!(due.len(), FILL_DEPTH as usize);
    let mut keys = Vec::new();
    while let Some((_, put)) = due.pop() {
        keys.push(u64::from_be_bytes(put.key.as_slice().try_into().expect("eight bytes")));
        load.put_ended(Time::from_secs(1), &PutEnd { token: put.token, is_kept: true });
        due.append(&mut load.puts());
    }
    keys.sort_unstable();
    assert_eq!(keys, (0..100).map(|key| key * 10).collect::<Vec<_>>());
    assert!(load.is_filled());
}

/// Two seconds of half a second each, with one and two puts, and a third that failed and counts nowhere else.
#[test]
fn seconds_have_the_length_that_the_study_gives_them() {
    let mut load = PutLoad::new(ValueForm::Mixed, 1);
    load.fill(KeyOrder::Ascending { count: 4, range: 4 });
    let (second, stretch) = (Span::from_millis(500), Span::from_millis(250));
    load.measure_from(Time::from_secs(10), PutClock { second, stretch });
    let mut end = |at_ms: u64, is_kept| {
        let at = Time::from_secs(10) + Span::from_millis(at_ms);
        let start = at - Span::from_millis(1);
        load.issue(start);
        let token = start.nanos();
        load.put_ended(at, &PutEnd { token, is_kept });
    };
    end(100, true);
    end(600, true);
    end(700, false);
    end(900, true);
    let seen = load.record(Time::from_secs(11));
    assert_eq!(seen.seconds.iter().map(|second| second.count).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(seen.stretches, [1, 0, 1, 1]);
    assert_eq!(seen.gap_max, Span::from_millis(500));
    assert_eq!((seen.failed, seen.puts_per_s(), seen.latency.mean_ns()), (1, 3.0, 1e6));
}

/// A put of a transaction is three records, has one end, and failed if one of them did.
#[test]
fn a_transactional_put_ends_with_the_last_of_its_three_records() {
    let mut load = PutLoad::new(ValueForm::Accounts, 1);
    let spec = PutSpec {
        depth: Some(2),
        rate: None,
        arrivals: Arrivals::Fixed,
        values: ValueForm::Accounts,
    };
    load.overwrite(&spec, 100, PutKind::Transactional);
    load.measure_from(Time::ZERO, PutClock::by(Span::from_secs(1)));
    load.start(Time::ZERO, &mut Vec::new());
    let due = load.puts();
    let lengths: Vec<usize> = due.iter().map(|(_, put)| put.key.len()).collect();
    assert_eq!(lengths, [4, 8, 4, 4, 8, 4]);
    assert_eq!(due[0].1.key, due[2].1.key, "both states of one transaction have one place");
    assert_ne!(due[0].1.key, due[3].1.key);
    assert_eq!((due[0].1.value[0], due[2].1.value[0]), (b'p', b'c'));
    for (at, (_, put)) in due.iter().enumerate() {
        let now = Time::ZERO + Span::from_millis(at as u64);
        load.put_ended(now, &PutEnd { token: put.token, is_kept: at != 4 });
    }
    let seen = load.record(Time::from_secs(1));
    assert_eq!((seen.latency.count(), seen.failed), (1, 1));
    assert_eq!(load.puts().len(), 6, "two more have begun");
}

/// A schedule goes on whatever a store does: what is under way when the window closes counted nowhere, so that a store which fell ever further
/// behind showed the latencies of its first puts.
#[test]
fn puts_under_way_at_the_end_are_counted_with_their_age() {
    let check = |depth: &str, under_way: u64| {
        let spec: PutSpec = toml::from_str(&format!("rate = 100.0\narrivals = 'fixed'\n{depth}"))
            .expect("there is such a load");
        let mut load = PutLoad::new(ValueForm::Accounts, 1);
        load.overwrite(&spec, 100, PutKind::Atomic);
        load.measure_from(Time::ZERO, PutClock::by(Span::from_secs(1)));
        load.start(Time::ZERO, &mut Vec::new());
        load.woke(Time::from_secs(1), &mut Vec::new());
        let due = load.puts();
        let first = due.first().expect("it has begun").1.token;
        let end = PutEnd { token: first, is_kept: true };
        load.put_ended(Time::from_secs(1), &end);
        let seen = load.record(Time::from_secs(1));
        assert_eq!((seen.latency.count(), seen.under_way), (1, under_way), "{depth}");
        // The second put of a hundred in a second.
        assert!(seen.waited_max > Span::from_millis(950), "{depth}: {}", seen.waited_max);
    };
    check("", 99);
    check("depth = 5", 5);
}
