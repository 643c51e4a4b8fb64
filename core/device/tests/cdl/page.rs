//! What a page can hold, what speaks against it, and how it is shown.

use crate::sample::{BUSY, limit, with};
use loadline_base::Span;
use loadline_device::cdl::{
    AllowedLoss, Column, Descriptor, DescriptorPage, DriveBounds, Limits, ModePage, PageError,
    TimeFinding, TimeFindingKind, TimeoutPolicy, Unit,
};

fn of_first(descriptor: Descriptor) -> Limits {
    let mut limits = Limits::default();
    limits.descriptors[0] = descriptor;
    limits
}

/// The table of cdl.md 1.4, row by row.
#[test]
fn each_policy_has_its_columns() {
    let check = |policy: TimeoutPolicy, code: u8, columns: &[Column]| {
        assert_eq!((policy.code(), TimeoutPolicy::from_code(code)), (code, Some(policy)));
        for column in [Column::Inactive, Column::Active, Column::Guideline] {
            assert_eq!(column.allows(policy), columns.contains(&column), "{policy} at {column}");
        }
    };
    use Column::{Active, Guideline, Inactive};
    check(TimeoutPolicy::CompleteEarliest, 0x0, &[Inactive, Active, Guideline]);
    check(TimeoutPolicy::ContinueNextLimit, 0x1, &[Guideline]);
    check(TimeoutPolicy::ContinueNoLimit, 0x2, &[Guideline]);
    check(TimeoutPolicy::CompleteUnavailable, 0xd, &[Inactive, Active, Guideline]);
    check(TimeoutPolicy::AbortRecovery, 0xe, &[Active]);
    check(TimeoutPolicy::Abort, 0xf, &[Inactive, Active, Guideline]);
    let known: Vec<u8> =
        (0..=255).filter(|code| TimeoutPolicy::from_code(*code).is_some()).collect();
    assert_eq!(known, [0x0, 0x1, 0x2, 0xd, 0xe, 0xf]);
    let units: Vec<u8> = (0..=255).filter(|code| Unit::from_code(*code).is_some()).collect();
    assert_eq!(units, [0x0, 0x6, 0x8, 0xa, 0xe]);
}

#[test]
fn a_page_refuses_what_it_cannot_hold() {
    let check = |kind: ModePage, limits: Limits, wanted: PageError| {
        assert_eq!(DescriptorPage::new(kind, limits), Err(wanted));
    };
    let policy = TimeoutPolicy::ContinueNextLimit;
    let inactive = Descriptor { inactive: limit(1, policy), ..Descriptor::default() };
    check(
        ModePage::T2A,
        of_first(inactive),
        PageError::Policy { descriptor: 1, column: Column::Inactive, policy },
    );
    let loss = AllowedLoss::from_code(0xc).unwrap();
    check(ModePage::T2B, Limits { allowed_loss: loss, ..Limits::default() }, PageError::Loss);
    let not_simple = PageError::NotSimple { descriptor: 1 };
    check(ModePage::A, of_first(BUSY), not_simple);
    let half = Descriptor { unit: Unit::HalfMicrosecond, ..Descriptor::default() };
    check(ModePage::B, of_first(half), not_simple);
    let guideline = limit(5, TimeoutPolicy::Abort);
    check(ModePage::B, of_first(Descriptor { guideline, ..Descriptor::default() }), not_simple);
}

/// A drive that takes 20 ms to 10 s, on a host that waits 1 s.
#[test]
fn times_outside_the_drives_are_found() {
    let bounds = DriveBounds {
        minimum: Span::from_millis(20),
        maximum: Span::from_secs(10),
        command_timeout: Span::from_secs(1),
    };
    let check = |inactive, guideline, wanted: &[(Column, TimeFindingKind)]| {
        let unit = Unit::TenMilliseconds;
        let held = Descriptor { unit, inactive, guideline, ..Descriptor::default() };
        let found = with(ModePage::T2A, 3, held).findings(&bounds);
        let wanted: Vec<TimeFinding> = wanted
            .iter()
            .map(|(column, kind)| TimeFinding { descriptor: 3, column: *column, kind: *kind })
            .collect();
        assert_eq!(found, wanted, "{held:?}");
    };
    use TimeFindingKind::{AboveMaximum, AboveTimeout, BelowMinimum};
    let soft = |time| limit(time, TimeoutPolicy::CompleteEarliest);
    let hard = |time| limit(time, TimeoutPolicy::Abort);
    check(soft(0), soft(2), &[]);
    check(soft(1), hard(100), &[(Column::Inactive, BelowMinimum)]);
    check(
        hard(1_000),
        soft(101),
        &[(Column::Inactive, AboveTimeout), (Column::Guideline, AboveTimeout)],
    );
    check(hard(1_001), soft(0), &[(Column::Inactive, AboveMaximum)]);
    check(
        soft(1_001),
        hard(1_001),
        &[(Column::Inactive, AboveTimeout), (Column::Guideline, AboveTimeout)],
    );
    assert!(!DescriptorPage::BENCHMARK_T2A.guidelines_idle());
    assert!(with(ModePage::T2A, 1, BUSY).guidelines_idle(), "nothing may be lost for them");
    assert!(!with(ModePage::T2B, 1, BUSY).guidelines_idle(), "only page T2A says what may be lost");
}

/// The guidelines of cdl.md 3.5.
#[test]
fn the_benchmarks_pages_hold_its_limits() {
    for page in [DescriptorPage::BENCHMARK_T2A, DescriptorPage::BENCHMARK_T2B] {
        let millis = |index| {
            let held = page.limits().of(index)?;
            assert_eq!((held.span(held.inactive), held.span(held.active)), (None, None));
            held.span(held.guideline).map(|span| span.nanos() / 1_000_000)
        };
        let wanted = [50, 100, 200, 300, 400, 500].map(Some);
        assert_eq!([1, 2, 3, 4, 5, 6].map(millis), wanted, "{}", page.kind());
        assert_eq!((millis(0), millis(7), millis(8)), (None, None, None));
    }
    assert_eq!(DescriptorPage::BENCHMARK_T2A.limits().allowed_loss.percent(), 20.0);
}

/// The lines that cdl.md 3.8 gives of `cdladm show`, with its rounding of times.
#[test]
fn a_page_is_shown_as_cdladm_shows_it() {
    let shown = with(ModePage::T2A, 2, BUSY).to_string();
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines[0], "  perf_vs_duration_guideline : 0%");
    assert_eq!(
        lines[1..5],
        [
            "  Descriptor 1:",
            "    max inactive time        : no limit",
            "    max active time          : no limit",
            "    duration guideline       : no limit",
        ]
    );
    assert_eq!(
        lines[5..12],
        [
            "  Descriptor 2:",
            "    max inactive time        : 129000 ms",
            "    max inactive policy      : complete-unavailable",
            "    max active time          : 386000 ms",
            "    max active policy        : abort-recovery",
            "    duration guideline       : 643000 ms",
            "    duration guideline policy: continue-no-limit",
        ]
    );
    let check = |unit, time, wanted: &str| {
        let guideline = limit(time, TimeoutPolicy::CompleteEarliest);
        let held = Descriptor { unit, guideline, ..Descriptor::default() };
        let shown = with(ModePage::T2B, 1, held).to_string();
        let line = shown.lines().nth(3).unwrap();
        assert_eq!(line, format!("    duration guideline       : {wanted}"));
    };
    check(Unit::HalfMicrosecond, 1, "500 ns");
    check(Unit::HalfMicrosecond, 2, "1000 ns");
    check(Unit::HalfMicrosecond, 4, "2 us");
    check(Unit::Microsecond, 1_999, "1 ms");
    check(Unit::TenMilliseconds, 5, "50 ms");
    check(Unit::None, 5, "no limit");
    let losses: Vec<String> = AllowedLoss::all().map(|loss| loss.to_string()).collect();
    let wanted = "0 0.5 1.0 1.5 2.0 2.5 3 4 5 8 10 15 20";
    assert_eq!(losses.join(" "), wanted);
    let guideline = limit(7, TimeoutPolicy::CompleteEarliest);
    let simple = Descriptor { unit: Unit::Microsecond, guideline, ..Descriptor::default() };
    let shown = with(ModePage::A, 1, simple).to_string();
    assert!(shown.starts_with("  Descriptor 1:\n    duration guideline: 7 us\n  Descriptor 2:\n"));
}
