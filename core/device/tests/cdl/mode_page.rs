//! Mode pages against the byte tables of cdl.md 1.2 and 1.3.

use crate::sample::{BUSY, any_page, limit, with};
use loadline_device::cdl::{
    Column, Descriptor, DescriptorPage, ModePage, ModePageError, PageError, TimeoutPolicy, Unit,
};
use proptest::prelude::*;

#[test]
fn the_benchmarks_page_has_these_bytes() {
    let page = DescriptorPage::BENCHMARK_T2A.to_mode_page();
    assert_eq!(page.len(), 232);
    assert_eq!(page[..8], [0x4a, 0x07, 0x00, 0xe4, 0, 0, 0, 0xc0]);
    for (index, tens_of_ms) in [5, 10, 20, 30, 40, 50, 0].into_iter().enumerate() {
        let mut wanted = [0; 32];
        (wanted[0], wanted[11]) = (0x0a, tens_of_ms);
        assert_eq!(page[8 + 32 * index..][..32], wanted, "descriptor {}", index + 1);
    }
    assert_eq!(
        DescriptorPage::BENCHMARK_T2B.to_mode_page()[..8],
        [0x4a, 0x08, 0x00, 0xe4, 0, 0, 0, 0]
    );
}

#[test]
fn every_field_has_its_place() {
    let page = with(ModePage::T2B, 7, BUSY).to_mode_page();
    let mut wanted = [0; 32];
    wanted[0] = 0x0e;
    wanted[2..7].copy_from_slice(&[0x01, 0x02, 0x03, 0x04, 0xde]);
    wanted[10..12].copy_from_slice(&[0x05, 0x06]);
    wanted[14] = 0x02;
    assert_eq!(page[200..], wanted);
    let guideline = limit(0x1234, TimeoutPolicy::CompleteEarliest);
    let held = Descriptor { unit: Unit::HalfSecond, guideline, ..Descriptor::default() };
    let page = with(ModePage::B, 2, held).to_mode_page();
    let head = [0x4a, 0x04, 0x00, 0x20, 0, 0, 0, 0];
    let descriptors = [0, 0, 0, 0, 0xc0, 0, 0x12, 0x34];
    assert_eq!(page[..16], [head, descriptors].concat());
    assert_eq!((page.len(), page[16..].iter().all(|byte| *byte == 0)), (36, true));
}

#[test]
fn the_savable_bit_and_reserved_bits_are_not_looked_at() {
    let page = DescriptorPage::BENCHMARK_T2A;
    let mut bytes = page.to_mode_page();
    bytes[0] |= 0x80;
    bytes[4..7].fill(0xff);
    bytes[7] |= 0x0f;
    bytes[8] |= 0xf0;
    bytes[9] = 0xff;
    bytes[23] = 0xff;
    assert_eq!(DescriptorPage::from_mode_page(&bytes), Ok(page));
}

#[test]
fn what_is_no_page_is_refused() {
    let check = |change: &dyn Fn(&mut Vec<u8>), wanted: ModePageError| {
        let mut bytes = DescriptorPage::BENCHMARK_T2A.to_mode_page();
        change(&mut bytes);
        assert_eq!(DescriptorPage::from_mode_page(&bytes), Err(wanted));
    };
    check(&|bytes| bytes.clear(), ModePageError::Length { found: 0 });
    check(&|bytes| bytes.push(0), ModePageError::Length { found: 233 });
    check(&|bytes| bytes[0] = 0x0a, ModePageError::Code { found: [0x0a, 7] });
    check(&|bytes| bytes[1] = 5, ModePageError::Code { found: [0x4a, 5] });
    check(&|bytes| bytes[1] = 3, ModePageError::Length { found: 232 });
    check(&|bytes| bytes[3] = 0xe5, ModePageError::LengthField { found: 0xe5 });
    check(&|bytes| bytes[7] = 0xd0, ModePageError::Loss { code: 0xd });
    check(&|bytes| bytes[40] = 0x09, ModePageError::Unit { descriptor: 2, code: 9 });
    let column = Column::Guideline;
    check(&|bytes| bytes[214] = 3, ModePageError::Policy { descriptor: 7, column, code: 3 });
    let policy = TimeoutPolicy::AbortRecovery;
    let misplaced = PageError::Policy { descriptor: 1, column: Column::Inactive, policy };
    check(&|bytes| bytes[14] = 0xe0, ModePageError::Page(misplaced));
}

proptest! {
    #[test]
    fn a_page_comes_back_as_it_was(page in any_page()) {
        prop_assert_eq!(DescriptorPage::from_mode_page(&page.to_mode_page()), Ok(page));
    }
}
