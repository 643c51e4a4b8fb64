//! Pages on their way into the cache, and the ops that wait for them.

use super::PagedStore;
use super::memory::LoadUnderWay;
use super::op::{AwaitedBytes, BadPage, OpWork, RunningOp};
use super::requests::RequestPurpose;
use crate::paged::api::{Answer, Damage, IoDone, OpError, StoreDevice};
use crate::paged::contents::{LoadFault, Miss, READS};
use crate::paged::ids::PageNo;
use crate::paged::node;
use crate::paged::page;
use crate::paged::space;
use crate::paged::superblock::Superblock;
use crate::paged::tree::TreePages;
use crate::paged::wait::Wait;
use loadline_base::SlotId;
use loadline_device::ClassTag;

impl<T: Copy> PagedStore<T> {
    /// Reads what an op misses; it goes on when all of it is there.
    pub(super) fn load_for(&mut self, mut running: RunningOp<T>, misses: &[Miss]) {
        let pins = running.journey().pins.len();
        let wanted = pins + misses.len();
        let kept_for_others = self.memory.pinned as usize - pins;
        let beside_others = self.memory.room().pins_beside_others_max() as usize;
        if kept_for_others > 0 && kept_for_others + wanted > beside_others {
            return self.park(running, Wait::Frames, true);
        }
        let class = running.class;
        let mut begun = misses.to_vec();
        begun.retain(|miss| self.begin_load(*miss, class).is_some());
        if begun.is_empty() {
            return self.park(running, Wait::Frames, true);
        }
        running.wait = Wait::Pages;
        running.journey().left = begun.len() as u32;
        let slot = self.ops.suspend(running);
        for miss in begun {
            let load = self.memory.loads.get_mut(&miss.page()).expect("it was begun");
            load.waiters.push((slot, miss));
        }
    }

    /// Sees that a page is on its way. `None` if there is no frame for it.
    pub(super) fn begin_load(&mut self, miss: Miss, class: ClassTag) -> Option<PageNo> {
        let (number, raw) = (miss.page(), matches!(miss, Miss::Data(_)));
        match self.space.pages.begin_load(number, raw) {
            space::PageLoad::UnderWay => {}
            space::PageLoad::NoFrame => return None,
            space::PageLoad::Begin => {
                self.memory
                    .loads
                    .insert(number, LoadUnderWay { wanted: miss, waiters: Vec::new() });
                let page = self.superblock.layout.page;
                let place = (page.offset(number), page.bytes() as u64);
                self.metrics.totals.pages_read += 1;
                self.requests.read(RequestPurpose::Load(number), StoreDevice::Data, place, class);
            }
        }
        Some(number)
    }

    /// A page has come, or has not.
    pub(super) fn load_done(&mut self, number: PageNo, done: IoDone) {
        let load = self.memory.loads.remove(&number).expect("the load was begun");
        let bad = match Self::is_good(done.outcome) {
            true => {
                (!is_whole(load.wanted, &self.superblock, &done.data)).then_some(LoadFault::Damaged)
            }
            false => Some(LoadFault::Unreadable),
        };
        match bad {
            None => self.space.pages.loaded(number, &done.data),
            Some(bad) => {
                self.space.pages.load_failed(number);
                self.metrics.totals.pages_damaged += u64::from(bad == LoadFault::Damaged);
            }
        }
        let mut is_kept = false;
        let mut bytes = done.data;
        let mut waiters = load.waiters.into_iter();
        while let Some((slot, own)) = waiters.next() {
            match self.awaited_of(slot, load.wanted) {
                Some(awaited) if bad.is_none() => {
                    let is_last = waiters.len() == 0;
                    let of_page = if is_last { std::mem::take(&mut bytes) } else { bytes.clone() };
                    self.answer_with(slot, number, awaited.of(of_page));
                }
                _ => {
                    is_kept = true;
                    self.load_answered(slot, own, bad);
                }
            }
        }
        if let Some(restart) = &mut self.restart
            && restart.loaded(load.wanted, bad)
        {
            self.space.pages.pin(number);
        }
        if bad.is_none() {
            self.space.pages.unpin(number);
        }
        // A page that is kept for an op frees no frame. Two that want more than there are would wake each other with every page that comes. One that
        // has not come frees its frame, whoever waited for it; they ask for it again a few times only.
        if !is_kept || bad.is_some() {
            self.ops.note_change();
        }
    }

    /// What of this page a read awaits, where it needs nothing else. One that knows the page with another checksum has seen another state of the store.
    fn awaited_of(&mut self, slot: SlotId, wanted: Miss) -> Option<AwaitedBytes> {
        let journey = self.ops.suspended(slot).journey.as_ref()?;
        journey.awaited.filter(|awaited| match wanted {
            Miss::Data(read) => (read.number, read.sum) == (awaited.page.number, awaited.page.sum),
            Miss::Structure(_) => false,
        })
    }

    /// The bytes that a read awaits have come, and are its answer. The page counts as used by it.
    fn answer_with(&mut self, slot: SlotId, page: PageNo, bytes: Vec<u8>) {
        self.space.pages.next_op();
        self.space.pages.page(page);
        let mut running = self.ops.release(slot);
        running.goes_on(self.now);
        self.finish(running, Ok(Answer::Bytes(Some(bytes))));
    }

    fn load_answered(&mut self, slot: SlotId, wanted: Miss, bad: Option<LoadFault>) {
        let page_bytes = self.superblock.layout.page.bytes() as u64;
        let number = wanted.page();
        let running = self.ops.suspended(slot);
        let rereads = matches!(running.work, OpWork::Rereading(_));
        let journey = running.journey();
        journey.left -= 1;
        let left = journey.left;
        match bad {
            None => {
                journey.pins.push(number);
                self.space.pages.pin(number);
                self.memory.pinned += 1;
            }
            Some(bad) => {
                journey.retries += 1;
                let is_over = journey.retries >= READS;
                if is_over && rereads {
                    journey.retries = 0;
                } else if is_over {
                    let is_damaged = bad == LoadFault::Damaged;
                    journey.failed = Some(match bad {
                        LoadFault::Damaged => OpError::Damaged(damage(wanted, page_bytes)),
                        LoadFault::Unreadable => OpError::Unreadable,
                    });
                    if let Miss::Data(page) = wanted {
                        journey.bad_pages.push(BadPage { page, is_damaged });
                    }
                }
                if let OpWork::Rereading(reading) = &mut running.work
                    && is_over
                {
                    reading.lose(number);
                }
            }
        }
        if left == 0 {
            self.ops.resume(slot);
        }
    }

    /// Lets go the pages that were kept for an op, which those that wait may need.
    pub(super) fn release_pins(&mut self, running: &mut RunningOp<T>) {
        if self.let_pins_go(running) > 0 {
            self.ops.note_change();
        }
    }

    /// Lets go the pages that were kept for an op. Answers how many.
    pub(super) fn let_pins_go(&mut self, running: &mut RunningOp<T>) -> usize {
        let pins = running.journey.as_mut().map(|journey| std::mem::take(&mut journey.pins));
        let pins = pins.unwrap_or_default();
        pins.iter().for_each(|page| self.space.pages.unpin(*page));
        self.memory.pinned -= pins.len() as u32;
        pins.len()
    }
}

/// Whether a page is whole and the one that was asked for, as its parent or its extent knows it.
fn is_whole(wanted: Miss, superblock: &Superblock, bytes: &[u8]) -> bool {
    match wanted {
        Miss::Data(data) => crc32c::crc32c(bytes) == data.sum,
        Miss::Structure(child) => match page::verify(bytes, superblock.seed(), child) {
            Ok(page::PageKind::FreeMap) => true,
            Ok(_) => node::check(bytes).is_ok(),
            Err(_) => false,
        },
    }
}

/// What a damaged page held.
fn damage(wanted: Miss, page: u64) -> Damage {
    match wanted {
        Miss::Data(data) => Damage::Object(data.object, data.index * page..(data.index + 1) * page),
        Miss::Structure(child) => Damage::Structure(child.page),
    }
}
