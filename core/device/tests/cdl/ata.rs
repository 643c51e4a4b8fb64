//! The ATA log against the byte table of cdl.md 1.7.

use crate::sample::{any_page, limit, with};
use loadline_base::Span;
use loadline_device::cdl::{
    AtaDescriptor, AtaError, AtaLimits, AtaPlace, Column, Descriptor, DescriptorPage, ModePage,
    TimeoutPolicy, Unit,
};
use proptest::prelude::*;

const BUSY: AtaDescriptor = AtaDescriptor {
    inactive_us: 0x0102_0304,
    inactive_policy: TimeoutPolicy::CompleteUnavailable,
    active_us: 0x0506_0708,
    active_policy: TimeoutPolicy::Abort,
    guideline_us: 0x090a_0b0c,
    guideline_policy: TimeoutPolicy::ContinueNextLimit,
    selectors: [1, 4],
};

#[test]
fn every_field_has_its_place() {
    let mut limits = AtaLimits::default();
    (limits.reads[1], limits.writes[6]) = (BUSY, BUSY);
    let log = limits.to_log();
    let bytes = [0xf1, 0x0d, 0, 0, 8, 7, 6, 5, 4, 3, 2, 1, 1, 4, 0, 0, 0x0c, 0x0b, 0x0a, 0x09];
    assert_eq!(log[64 + 32..][..20], bytes);
    assert_eq!(log[288 + 6 * 32..][..20], bytes);
    let set = log.iter().filter(|byte| **byte != 0).count();
    assert_eq!(set, 2 * bytes.iter().filter(|byte| **byte != 0).count(), "and nothing else is set");
    assert_eq!(AtaLimits::from_log(&log), Ok(limits));
}

#[test]
fn the_benchmarks_pages_come_back_through_a_log() {
    let (reads, writes) = (DescriptorPage::BENCHMARK_T2A, DescriptorPage::BENCHMARK_T2B);
    let limits = AtaLimits::from_pages(&reads, &writes).unwrap();
    let guidelines = limits.reads.map(|descriptor| descriptor.guideline_us);
    assert_eq!(guidelines, [50_000, 100_000, 200_000, 300_000, 400_000, 500_000, 0]);
    assert_eq!(limits.to_log()[0], 0x0c);
    assert_eq!(AtaLimits::from_log(&limits.to_log()).unwrap().to_pages(), (reads, writes));
}

/// The translation of cdl.md 1.7 (SATL): rounded down to 10 ms, capped at 16 bits.
#[test]
fn times_that_a_page_cannot_hold_are_rounded_down_and_capped() {
    let check = |guideline_us: u32, time: u16| {
        let mut limits = AtaLimits::default();
        limits.reads[0].guideline_us = guideline_us;
        let (reads, _) = limits.to_pages();
        let first = reads.limits().descriptors[0];
        assert_eq!((first.unit, first.guideline.time), (Unit::TenMilliseconds, time));
    };
    check(9_999, 0);
    check(10_000, 1);
    check(655_359_999, 65_535);
    check(u32::MAX, 65_535);
}

#[test]
fn what_has_no_place_in_a_log_is_refused() {
    let check = |held: Descriptor, column, error: &dyn Fn(AtaPlace) -> AtaError| {
        let writes = with(ModePage::T2B, 4, held);
        let place = AtaPlace { set: ModePage::T2B, descriptor: 4, column };
        assert_eq!(
            AtaLimits::from_pages(&DescriptorPage::BENCHMARK_T2A, &writes),
            Err(error(place))
        );
    };
    let of = |unit, time| {
        let guideline = limit(time, TimeoutPolicy::CompleteEarliest);
        Descriptor { unit, guideline, ..Descriptor::default() }
    };
    check(of(Unit::HalfMicrosecond, 3), Column::Guideline, &|place| AtaError::Time { place });
    check(of(Unit::HalfSecond, 8_590), Column::Guideline, &|place| AtaError::Time { place });
    let active = limit(0, TimeoutPolicy::AbortRecovery);
    check(Descriptor { active, ..Descriptor::default() }, Column::Active, &|place| {
        AtaError::Policy { place, code: 0xe }
    });
    let swapped =
        AtaLimits::from_pages(&DescriptorPage::BENCHMARK_T2B, &DescriptorPage::BENCHMARK_T2A);
    let (found, wanted) = (ModePage::T2B, ModePage::T2A);
    assert_eq!(swapped, Err(AtaError::Page { found, wanted }));
}

#[test]
fn what_is_no_log_is_refused() {
    let check = |at: usize, byte: u8, wanted: AtaError| {
        let mut log = AtaLimits::default().to_log();
        log[at] = byte;
        assert_eq!(AtaLimits::from_log(&log), Err(wanted));
    };
    check(0, 0xd, AtaError::Loss { code: 0xd });
    let place = |set, descriptor, column| AtaPlace { set, descriptor, column };
    let active = place(ModePage::T2A, 1, Column::Active);
    check(64, 0xe0, AtaError::Policy { place: active, code: 0xe });
    let inactive = place(ModePage::T2B, 7, Column::Inactive);
    check(288 + 6 * 32 + 1, 0x1, AtaError::Policy { place: inactive, code: 1 });
    assert_eq!(AtaLimits::from_log(&[0; 511]), Err(AtaError::Length { found: 511 }));
}

#[test]
fn reserved_bits_are_not_looked_at() {
    let mut log = AtaLimits::default().to_log();
    (log[0], log[64 + 1], log[64 + 2]) = (0xfc, 0xf0, 0xff);
    let read = AtaLimits::from_log(&log).unwrap();
    assert_eq!((read.allowed_loss.code(), read.reads), (0xc, AtaLimits::default().reads));
}

proptest! {
    /// Whatever fits a log means the same times there.
    #[test]
    fn times_survive_the_way_into_a_log(page in any_page()) {
        let held = AtaLimits::from_pages(&page, &DescriptorPage::BENCHMARK_T2B);
        if let Ok(limits) = held {
            for (ata, scsi) in limits.reads.iter().zip(&page.limits().descriptors) {
                let span = |micros: u32| (micros > 0).then(|| Span::from_micros(micros.into()));
                prop_assert_eq!(span(ata.inactive_us), scsi.span(scsi.inactive));
                prop_assert_eq!(span(ata.active_us), scsi.span(scsi.active));
                prop_assert_eq!(span(ata.guideline_us), scsi.span(scsi.guideline));
            }
            prop_assert_eq!(AtaLimits::from_log(&limits.to_log()), Ok(limits));
        }
    }
}
