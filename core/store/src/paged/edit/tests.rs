//! Edits round-trip, refuse what does not fit, and never panic on bytes of a disk.

use super::*;
use proptest::prelude::*;

/// An edit with its bytes on the heap, so that a strategy can make it.
#[derive(Clone, Debug)]
struct Owned(Vec<u8>);

fn encoded(edit: PageEdit<'_>) -> Owned {
    let mut bytes = Vec::new();
    edit.encode(&mut bytes);
    Owned(bytes)
}

fn edits() -> impl Strategy<Value = Owned> {
    let kind = prop_oneof![
        6 => Just(PageKind::Leaf),
        3 => Just(PageKind::Inner),
        1 => Just(PageKind::FreeMap)
    ];
    let at = || prop_oneof![9 => 0..8_u16, 1 => any::<u16>()];
    let key = || proptest::collection::vec(0..4_u8, 0..6);
    let value = || {
        prop_oneof![
            proptest::collection::vec(any::<u8>(), 8),
            proptest::collection::vec(any::<u8>(), 0..400)
        ]
    };
    prop_oneof![
        1 => kind.prop_map(|kind| encoded(PageEdit::Init { kind })),
        1 => Just(encoded(PageEdit::InitRaw)),
        20 => (at(), key(), value()).prop_map(|(at, key, value)| {
            encoded(PageEdit::Insert { at, key: &key, value: &value })
        }),
        5 => (at(), value()).prop_map(|(at, value)| {
            encoded(PageEdit::Replace { at, value: &value })
        }),
        3 => (at(), any::<u8>(), value()).prop_map(|(at, offset, bytes)| {
            encoded(PageEdit::Patch { at, offset: offset.into(), bytes: &bytes })
        }),
        3 => at().prop_map(|at| encoded(PageEdit::Remove { at })),
        2 => at().prop_map(|from| encoded(PageEdit::Truncate { from })),
        2 => (any::<u16>(), any::<u16>(), any::<bool>()).prop_map(|(first, count, used)| {
            encoded(PageEdit::Bits { first: first.into(), count: count.into(), used })
        }),
        2 => (any::<u16>(), value()).prop_map(|(offset, data)| {
            encoded(PageEdit::Bytes { offset: offset.into(), data: &data })
        }),
    ]
}

/// Applies what fits. A node is sound after each edit.
fn apply_all(page: &mut [u8], mut bytes: &[u8]) -> usize {
    let mut applied = 0;
    while let Some((edit, rest)) = PageEdit::decode(bytes) {
        // Raw bytes written over a node may say anything; the store never does so.
        let is_raw = matches!(edit, PageEdit::Bytes { .. } | PageEdit::InitRaw);
        if edit.fits(page) && !(is_raw && TreeNode::of(page).is_some()) {
            edit.apply(PageNo(1), page);
            assert!(TreeNode::of(page).is_none() || node::check(page) == Ok(()), "after {edit:?}");
            applied += 1;
        }
        bytes = rest;
    }
    applied
}

proptest! {
    #[test]
    fn what_fits_leaves_a_sound_page(edits in proptest::collection::vec(edits(), 1..120)) {
        let mut page = vec![0; 1024];
        PageEdit::Init { kind: PageKind::Leaf }.apply(PageNo(1), &mut page);
        for Owned(bytes) in edits {
            apply_all(&mut page, &bytes);
        }
    }

    #[test]
    fn decoding_is_the_inverse_of_encoding(Owned(bytes) in edits(), cut in any::<usize>()) {
        let (edit, rest) = PageEdit::decode(&bytes).expect("it was encoded");
        prop_assert!(rest.is_empty());
        prop_assert_eq!(encoded(edit).0, bytes.clone());
        prop_assert_eq!(PageEdit::decode(&bytes[..cut % bytes.len()]), None);
    }

    #[test]
    fn any_bytes_are_refused_or_applied(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        let mut page = vec![0; 1024];
        PageEdit::Init { kind: PageKind::Leaf }.apply(PageNo(1), &mut page);
        apply_all(&mut page, &bytes);
    }
}

#[test]
fn small_edits_cost_few_bytes() {
    let lengths = [
        (PageEdit::Replace { at: 5, value: &[0; 100] }, 103),
        (PageEdit::Insert { at: 5, key: &[0; 8], value: &[0; 100] }, 112),
        (PageEdit::Patch { at: 300, offset: 8, bytes: &[0; 8] }, 13),
        (PageEdit::Bits { first: 1000, count: 1, used: true }, 4),
    ];
    for (edit, length) in lengths {
        assert_eq!(encoded(edit).0.len(), length, "{edit:?}");
    }
}

#[test]
fn bits_change_where_they_are_and_nowhere_else() {
    let mut page = vec![0; 1024];
    page::init(&mut page, PageKind::FreeMap, PageNo(1));
    let bits = (1024 - HEADER as u32) * 8;
    for (first, count) in [(0, 1), (3, 10), (7, 1), (8, 16), (bits - 9, 9), (5, 0)] {
        let before = page.clone();
        let edit = |used| PageEdit::Bits { first, count, used };
        edit(true).apply(PageNo(1), &mut page);
        for bit in 0..bits {
            let is_set = page[HEADER + bit as usize / 8] >> (bit % 8) & 1 == 1;
            assert_eq!(is_set, (first..first + count).contains(&bit), "bit {bit}");
        }
        edit(false).apply(PageNo(1), &mut page);
        assert_eq!(page, before);
    }
    let too_far = PageEdit::Bits { first: bits - 8, count: 9, used: true };
    assert!(!too_far.fits(&page));
}
