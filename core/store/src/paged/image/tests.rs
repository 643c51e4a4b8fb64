//! Images of real nodes, of object data and of noise, in every form.

use super::*;
use crate::paged::ids::PageNo;
use crate::paged::page::{self, PageKind};
use loadline_base::Rng;
use proptest::prelude::*;

const SETTINGS: [Compression; 6] = [
    Compression::None,
    Compression::SkipGarbage,
    Compression::Snappy,
    Compression::Lz4,
    Compression::Zstd(3),
    Compression::Zstd(-5),
];

/// A leaf whose gap begins behind `slots` bytes and ends before `cells` bytes of compressible cells.
fn leaf(count: u16, cells: usize) -> Vec<u8> {
    let mut page = vec![0; 4096];
    page::init(&mut page, PageKind::Leaf, PageNo(9));
    page[6..8].copy_from_slice(&count.to_le_bytes());
    page[16..18].copy_from_slice(&((4096 - cells) as u16).to_le_bytes());
    let slots = TreeNode::new(&page).gap().start;
    page[HEADER..slots].fill(1);
    (4096 - cells..4096).for_each(|at| page[at] = (at % 100) as u8);
    page
}

fn noise(length: usize) -> Vec<u8> {
    let mut rng = Rng::new(1);
    (0..length).map(|_| rng.next_u64() as u8).collect()
}

/// The form and the stored length of `page`, whose image gives it back.
fn there_and_back(setting: Compression, page: &[u8], content: Content) -> (ImageForm, usize) {
    let mut stored = b"before".to_vec();
    let form = Compressor::new(setting).compress(page, content, &mut stored);
    assert_eq!(&stored[..6], b"before");
    let mut back = vec![0xee; page.len()];
    let restored = Restorer::new().restore(&stored[6..], form, &mut back);
    assert_eq!((restored, back == page), (Ok(()), true), "{setting} of {content:?}");
    assert_eq!(ImageForm::from_byte(form.byte()), Some(form));
    (form, stored.len() - 6)
}

#[test]
fn each_setting_gives_nodes_and_data_back() {
    for setting in SETTINGS {
        for page in [leaf(50, 2000), leaf(0, 0), noise(4096), noise(1024), vec![3; 16384]] {
            there_and_back(setting, &page, Content::Data);
        }
        there_and_back(setting, &leaf(50, 2000), Content::Headed);
        there_and_back(setting, &leaf(0, 0), Content::Headed);
    }
}

#[test]
fn a_gap_is_left_out_and_a_codec_is_kept_only_if_it_saves() {
    let page = leaf(50, 2000);
    let compact = 4096 - TreeNode::new(&page).gap().len();
    let plain = |compacted| ImageForm { codec: None, compacted };
    let check = |setting, page: &[u8], content, form, length| {
        assert_eq!(there_and_back(setting, page, content), (form, length), "{setting}");
    };
    check(Compression::None, &page, Content::Headed, plain(false), 4096);
    check(Compression::SkipGarbage, &page, Content::Headed, plain(true), compact);
    check(Compression::SkipGarbage, &page, Content::Data, plain(false), 4096);
    for setting in &SETTINGS[2..] {
        check(*setting, &noise(4096), Content::Data, ImageForm::RAW, 4096);
        let (form, length) = there_and_back(*setting, &page, Content::Headed);
        assert!(
            form.codec.is_some() && form.compacted && length < compact / 2,
            "{setting}: {length}"
        );
    }
}

#[test]
fn the_map_of_free_pages_has_no_gap() {
    let mut page = noise(4096);
    page[4] = PageKind::FreeMap as u8;
    assert_eq!(
        there_and_back(Compression::SkipGarbage, &page, Content::Headed),
        (ImageForm::RAW, 4096)
    );
}

#[test]
fn words_are_read_and_printed() {
    let check = |text: &str, wanted| assert_eq!(text.parse(), Ok(wanted));
    for setting in SETTINGS {
        check(&setting.to_string(), setting);
    }
    check("zstd", Compression::Zstd(3));
    check("zstd:7", Compression::Zstd(7));
    for wrong in ["", "zip", "zstd:", "zstd:23", "zstd:-200000", "lz4:1"] {
        assert!(wrong.parse::<Compression>().is_err(), "{wrong}");
    }
}

proptest! {
    /// Whatever stands on the disk, restoring ends with a page or a fault.
    #[test]
    fn no_bytes_harm_a_restorer(
        stored in prop::collection::vec(any::<u8>(), 0..200),
        head in prop::option::of(0..6000usize),
        form in any::<u8>(),
    ) {
        let Some(form) = ImageForm::from_byte(form & 0x13) else { return Ok(()) };
        // Mostly a header that passes for a leaf, or its beginning, so that the sizes in it are met.
        let mut bytes = head.map_or(Vec::new(), |length| leaf(3, 50)[..length.min(4096)].to_vec());
        bytes.extend_from_slice(&stored);
        let mut page = vec![0; 4096];
        let mut restorer = Restorer::new();
        for bytes in [&bytes, &stored] {
            let _ = restorer.restore(bytes, form, &mut page);
        }
    }

    /// One damaged byte in a header that passes for a leaf's: the sizes in it lie, and are not believed.
    #[test]
    fn a_damaged_header_is_not_believed(at in 4..32usize, byte in any::<u8>()) {
        let page = leaf(50, 2000);
        let mut stored = Vec::new();
        let form = Compressor::new(Compression::SkipGarbage).compress(&page, Content::Headed, &mut stored);
        let (count, cells) = (stored[6..8].to_vec(), stored[16..18].to_vec());
        stored[at] = byte;
        let restored = Restorer::new().restore(&stored, form, &mut vec![0; 4096]);
        let same_sizes = stored[6..8] == count && stored[16..18] == cells;
        if !same_sizes {
            prop_assert_eq!(restored, Err(ImageFault::Length));
        }
    }
}
