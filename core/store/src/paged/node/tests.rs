//! Nodes against what they promise, and their check against damaged pages.

use super::*;
use crate::paged::edit::PageEdit;
use crate::paged::ids::PageNo;
use loadline_base::Rng;

fn filled(kind: PageKind, entries: &[(&[u8], &[u8])]) -> Vec<u8> {
    let mut page = vec![0xaa; 1024];
    PageEdit::Init { kind }.apply(PageNo(1), &mut page);
    for (&(key, value), at) in entries.iter().zip(0..) {
        PageEdit::Insert { at, key, value }.apply(PageNo(1), &mut page);
    }
    page
}

#[test]
fn heads_and_skips_do_not_disturb_the_order() {
    let keys: [&[u8]; 9] = [
        b"",
        b"a",
        b"ab",
        b"ab\0",
        b"ab\0\0\0\0",
        b"ab\0\0\0\0\0",
        b"abcdefgh",
        b"abcdefghi",
        b"b",
    ];
    // Every consecutive part of the keys has another skip; every key is looked for in each.
    for from in 0..keys.len() {
        for to in from..=keys.len() {
            let entries: Vec<(&[u8], &[u8])> =
                keys[from..to].iter().map(|&key| (key, key)).collect();
            let page = filled(PageKind::Leaf, &entries);
            assert_eq!(check(&page), Ok(()));
            let node = TreeNode::new(&page);
            for key in keys {
                let found = node.search(key).map(usize::from).map_err(usize::from);
                assert_eq!(found, keys[from..to].binary_search(&key), "{key:?} in {from}..{to}");
            }
        }
    }
}

#[test]
fn an_inner_node_routes_below_its_first_separator_to_the_first_child() {
    let (one, two, three) = (1_u64.to_le_bytes(), 2_u64.to_le_bytes(), 3_u64.to_le_bytes());
    let page = filled(PageKind::Inner, &[(b"", &one), (b"key5", &two), (b"key7", &three)]);
    assert_eq!(check(&page), Ok(()));
    let node = TreeNode::new(&page);
    let routes: [(&[u8], u64); 8] = [
        (b"", 1),
        (b"a", 1),
        (b"key", 1),
        (b"key4", 1),
        (b"key5", 2),
        (b"key6", 2),
        (b"key7", 3),
        (b"z", 3),
    ];
    for (key, child) in routes {
        assert_eq!(node.child(node.route(key)).page, PageNo(child), "{key:?}");
    }
}

#[test]
fn a_full_page_takes_a_cell_in_the_place_of_a_removed_one() {
    let mut page = filled(PageKind::Leaf, &[]);
    let mut rng = Rng::new(1);
    for number in 0..2000_u16 {
        let key = number.to_be_bytes();
        let value = vec![number as u8; 20 + rng.below(100) as usize];
        while TreeNode::new(&page).free() < entry_bytes(2, value.len()) {
            let at = rng.below(TreeNode::new(&page).count().into()) as u16;
            PageEdit::Remove { at }.apply(PageNo(1), &mut page);
        }
        let at = TreeNode::new(&page).count();
        PageEdit::Insert { at, key: &key, value: &value }.apply(PageNo(1), &mut page);
        assert_eq!(check(&page), Ok(()));
        assert_eq!(TreeNode::new(&page).value(at), value);
    }
}

#[test]
fn four_of_the_largest_cells_fit() {
    for bytes in [1024, 2048, 4096, 8192, 16384] {
        let size = PageSize::new(bytes).expect("allowed");
        let room = size.bytes() - HEADER;
        assert!(4 * entry_bytes(key_max(size), cell_max(size) - key_max(size)) <= room);
        assert!(4 * entry_bytes(key_max(size), CHILD) <= room);
    }
}

/// Each fault of a page is named. The page has two leaf cells of nine bytes; the second one begins at 1006.
#[test]
fn damage_is_found() {
    let whole = filled(PageKind::Leaf, &[(b"ka", b"one"), (b"kb", b"two")]);
    let slot = |at| HEADER + SLOT * at;
    let damages = [
        (4, 9, NodeFault::Kind),
        (COUNT + 1, 9, NodeFault::Header),
        (CELLS_START + 1, 9, NodeFault::Header),
        (slot(0) + 5, 9, NodeFault::Slot(0)),
        (slot(1) + 5, 0, NodeFault::Slot(1)),
        (slot(1) + 4, whole[slot(0) + 4], NodeFault::Cells),
        (GARBAGE, 1, NodeFault::Cells),
        (1006 + 5, b'a', NodeFault::Order(1)),
        (slot(0), 9, NodeFault::Head(0)),
        (SKIP, 3, NodeFault::Head(0)),
    ];
    for (at, byte, fault) in damages {
        let mut page = whole.clone();
        page[at] = byte;
        assert_eq!(check(&page), Err(fault), "byte {at}");
    }
    let inner = filled(PageKind::Inner, &[(b"", &[0; 8]), (b"kb", &[0; 8])]);
    let mut page = inner.clone();
    page[4] = PageKind::Leaf as u8;
    assert_eq!(check(&page), Err(NodeFault::Head(0)), "a leaf's first key has a part in the skip");
}

/// Random damage never makes `check` panic, nor a reader of what it lets pass.
#[test]
fn any_damage_is_survived() {
    let mut rng = Rng::new(2);
    let entries: Vec<[u8; 4]> = (0..50_u32).map(u32::to_be_bytes).collect();
    let entries: Vec<(&[u8], &[u8])> = entries.iter().map(|key| (&key[..], &key[..])).collect();
    let whole = filled(PageKind::Leaf, &entries);
    let mut passed = 0;
    for _ in 0..20_000 {
        let mut page = whole.clone();
        for _ in 0..=rng.below(3) {
            let end = if rng.below(2) == 0 { HEADER as u64 } else { 1024 };
            page[rng.below(end) as usize] = rng.next_u64() as u8;
        }
        if check(&page).is_ok() {
            passed += 1;
            let node = TreeNode::new(&page);
            for at in 0..node.count() {
                assert_eq!(node.search(node.key(at)), Ok(at));
            }
        }
    }
    assert!(passed > 100, "values and unused header bytes may change");
}
