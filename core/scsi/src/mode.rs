//! The mode pages of a disk: what they hold now, after the next start, and from the maker; what a host may change.

use crate::cdb::{ModeForm, PageControl, SensedPages};
use crate::fields::{put, u16_at};
use crate::identity::DiskIdentity;
use crate::sense::SenseCode;
use loadline_device::cdl::{DESCRIPTORS, DescriptorPage, Limits, ModePage, T2_PAGE_BYTES};

/// The sets of descriptors that a disk holds: of reads (T2A) and of writes (T2B).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LimitPages {
    pub(crate) reads: DescriptorPage,
    pub(crate) writes: DescriptorPage,
}

impl LimitPages {
    /// No descriptor limits anything.
    pub(crate) fn none() -> LimitPages {
        let empty = |kind| DescriptorPage::new(kind, Limits::default());
        let valid = "a page holds descriptors that limit nothing";
        LimitPages {
            reads: empty(ModePage::T2A).expect(valid),
            writes: empty(ModePage::T2B).expect(valid),
        }
    }
}

/// The mode pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ModePages {
    write_cache: bool,
    /// `None` for a disk without duration limits.
    limits: Option<KeptLimits>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct KeptLimits {
    current: LimitPages,
    saved: LimitPages,
}

/// A page in the list that MODE SENSE with all pages gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PageName {
    Caching,
    Control,
    Limits(ModePage),
}

impl PageName {
    const ALL: [PageName; 4] = [
        PageName::Caching,
        PageName::Control,
        PageName::Limits(ModePage::T2A),
        PageName::Limits(ModePage::T2B),
    ];

    /// Page code and subpage code.
    fn codes(self) -> (u8, u8) {
        match self {
            PageName::Caching => (0x08, 0x00),
            PageName::Control => (0x0a, 0x00),
            PageName::Limits(page) => (0x0a, page.subpage()),
        }
    }

    /// Whether MODE SENSE with these codes gives it: 3Fh stands for all pages, FFh for all subpages.
    fn is_asked(self, page: u8, subpage: u8) -> bool {
        let (own, own_subpage) = self.codes();
        let page_fits = page == 0x3f || page == own;
        page_fits && (subpage == 0xff || subpage == own_subpage)
    }
}

/// The page can be saved (PS).
const SAVEABLE: u8 = 0x80;

/// The disk knows DPO and FUA, as its kind must; the device-specific parameter of a mode header says so.
const DPO_AND_FUA: u8 = 0x10;

impl ModePages {
    pub(crate) fn new(write_cache: bool, duration_limits: bool) -> ModePages {
        let none = LimitPages::none();
        let limits = duration_limits.then_some(KeptLimits { current: none, saved: none });
        ModePages { write_cache, limits }
    }

    /// The descriptors in force.
    pub(crate) fn limits(&self) -> Option<LimitPages> {
        self.limits.map(|kept| kept.current)
    }

    /// Puts other descriptors in force; with `save` they are there after the next start, too.
    pub(crate) fn set_limits(&mut self, pages: LimitPages, save: bool) {
        let kept = self.limits.as_mut().expect("only a disk with duration limits takes any");
        kept.current = pages;
        if save {
            kept.saved = pages;
        }
    }

    /// What was saved is in force, as after a start.
    pub(crate) fn restore(&mut self) {
        if let Some(kept) = &mut self.limits {
            kept.current = kept.saved;
        }
    }

    /// The values of a page; `None` if there is none of these codes.
    pub(crate) fn values(&self, page: u8, subpage: u8, control: PageControl) -> Option<Vec<u8>> {
        let named = PageName::ALL.into_iter().find(|name| name.codes() == (page, subpage))?;
        self.page(named, control)
    }

    fn page(&self, name: PageName, control: PageControl) -> Option<Vec<u8>> {
        match name {
            PageName::Caching => Some(caching(self.write_cache, control)),
            PageName::Control => Some(control_page(control)),
            PageName::Limits(page) => self.limits.map(|kept| kept.page(page, control)),
        }
    }

    /// What MODE SENSE answers.
    pub(crate) fn sense(
        &self,
        form: ModeForm,
        asked: SensedPages,
        identity: &DiskIdentity,
    ) -> Result<Vec<u8>, SenseCode> {
        let pages: Vec<u8> = PageName::ALL
            .into_iter()
            .filter(|name| name.is_asked(asked.page, asked.subpage))
            .filter_map(|name| self.page(name, asked.control))
            .flatten()
            .collect();
        if pages.is_empty() {
            return Err(SenseCode::CDB_FIELD);
        }
        let descriptor =
            if asked.block_descriptor { block_descriptor(identity).to_vec() } else { Vec::new() };
        Ok(with_header(form, &descriptor, &pages))
    }
}

impl KeptLimits {
    fn page(&self, page: ModePage, control: PageControl) -> Vec<u8> {
        let set = match control {
            PageControl::Changeable => return changeable_limits(page),
            PageControl::Current => self.current,
            PageControl::Saved => self.saved,
            PageControl::Default => LimitPages::none(),
        };
        let set = if page.is_of_writes() { set.writes } else { set.reads };
        let mut bytes = set.to_mode_page();
        bytes[0] |= SAVEABLE;
        bytes
    }
}

/// A one for each bit of a T2 page that may be changed.
fn changeable_limits(page: ModePage) -> Vec<u8> {
    let mut bytes = vec![0; T2_PAGE_BYTES];
    put(&mut bytes, 0, &[SAVEABLE | 0x4a, page.subpage(), 0x00, 0xe4]);
    bytes[7] = if page == ModePage::T2A { 0xf0 } else { 0 };
    for descriptor in bytes[8..].chunks_exact_mut(32).take(DESCRIPTORS) {
        descriptor[0] = 0x0f;
        descriptor[2..7].fill(0xff);
        descriptor[10..12].fill(0xff);
        descriptor[14] = 0x0f;
    }
    bytes
}

/// Page 08h: whether writes are cached (WCE). Nothing of it can be changed.
fn caching(write_cache: bool, control: PageControl) -> Vec<u8> {
    let mut bytes = vec![0; 20];
    put(&mut bytes, 0, &[0x08, 0x12]);
    if control != PageControl::Changeable {
        bytes[2] = u8::from(write_cache) << 2;
    }
    bytes
}

/// Page 0Ah: commands may be reordered as the disk likes (queue algorithm modifier 1). Nothing of it can be changed.
fn control_page(control: PageControl) -> Vec<u8> {
    let mut bytes = vec![0; 12];
    put(&mut bytes, 0, &[0x0a, 0x0a]);
    if control != PageControl::Changeable {
        bytes[3] = 0x10;
    }
    bytes
}

/// A short block descriptor: the number of blocks, all ones if it is too large, and their length.
fn block_descriptor(identity: &DiskIdentity) -> [u8; 8] {
    let mut bytes = [0; 8];
    let blocks = u32::try_from(identity.blocks).unwrap_or(u32::MAX);
    put(&mut bytes, 0, &blocks.to_be_bytes());
    put(&mut bytes, 5, &[0x00, 0x02, 0x00]);
    bytes
}

fn with_header(form: ModeForm, descriptor: &[u8], pages: &[u8]) -> Vec<u8> {
    let mut header = match form {
        ModeForm::Six => vec![0, 0, DPO_AND_FUA, descriptor.len() as u8],
        ModeForm::Ten => vec![0, 0, 0, DPO_AND_FUA, 0, 0, 0, descriptor.len() as u8],
    };
    let total = header.len() + descriptor.len() + pages.len();
    match form {
        // All pages with all subpages are longer than the short form can say.
        ModeForm::Six => header[0] = u8::try_from(total - 1).unwrap_or(u8::MAX),
        ModeForm::Ten => put(&mut header, 0, &(total as u16 - 2).to_be_bytes()),
    }
    [&header, descriptor, pages].concat()
}

/// Bytes of a page by its head, as it announces them; `None` if there is not even a head.
pub(crate) fn page_bytes(head: &[u8]) -> Option<usize> {
    let with_subpage = head.first()? & 0x40 != 0;
    if with_subpage {
        (head.len() >= 4).then(|| 4 + usize::from(u16_at(head, 2)))
    } else {
        head.get(1).map(|length| 2 + usize::from(*length))
    }
}
