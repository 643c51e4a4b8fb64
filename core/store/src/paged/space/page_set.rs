//! A set of pages that are put in any order and taken in the order of their numbers, a few at a time.

/// Pages of a chunk: 512 bytes for 16 MiB of a device with pages of 4 KiB.
const CHUNK: u64 = 64 * 64;

/// A bit for each page, in chunks that are there where a page is. So nothing is to be sorted, and neighbours are one run whoever put them.
#[derive(Clone, Debug, Default)]
pub(super) struct PageSet {
    chunks: Vec<Option<Box<[u64; 64]>>>,
    count: u64,
    /// No page stands before this chunk.
    first: usize,
}

impl PageSet {
    /// How many pages are in it.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Puts neighbouring pages, none of which is in it.
    pub(super) fn put(&mut self, start: u64, count: u64) {
        let mut at = start;
        while at < start + count {
            let chunk = (at / CHUNK) as usize;
            if chunk >= self.chunks.len() {
                self.chunks.resize(chunk + 1, None);
            }
            let words = self.chunks[chunk].get_or_insert_with(|| Box::new([0; 64]));
            let (word, bit) = ((at % CHUNK / 64) as usize, at % 64);
            let bits = (64 - bit).min(start + count - at);
            let mask = (u64::MAX >> (64 - bits)) << bit;
            assert_eq!(words[word] & mask, 0, "a page is given back once");
            words[word] |= mask;
            at += bits;
        }
        let chunk = (start / CHUNK) as usize;
        self.first = if self.count == 0 { chunk } else { self.first.min(chunk) };
        self.count += count;
    }

    /// Takes the first pages that are neighbours, up to so many: where they begin, and how many.
    pub(super) fn take(&mut self, most: u64) -> Option<(u64, u64)> {
        let start = self.first_page()?;
        let run = (start..).take(most as usize).take_while(|page| self.remove(*page)).count();
        self.count -= run as u64;
        Some((start, run as u64))
    }

    /// The first page. Chunks in which there is none are let go.
    fn first_page(&mut self) -> Option<u64> {
        if self.count == 0 {
            self.chunks = Vec::new();
            return None;
        }
        loop {
            if let Some(page) = self.first_of(self.first) {
                return Some(page);
            }
            self.chunks[self.first] = None;
            self.first += 1;
        }
    }

    /// The first page of a chunk.
    fn first_of(&self, chunk: usize) -> Option<u64> {
        let words = self.chunks[chunk].as_ref()?;
        let word = words.iter().position(|word| *word != 0)?;
        let inside = word as u64 * 64 + u64::from(words[word].trailing_zeros());
        Some(chunk as u64 * CHUNK + inside)
    }

    fn remove(&mut self, page: u64) -> bool {
        let chunk = self.chunks.get_mut((page / CHUNK) as usize).and_then(Option::as_mut);
        let Some(words) = chunk else { return false };
        let word = &mut words[(page % CHUNK / 64) as usize];
        let was = *word;
        *word &= !(1 << (page % 64));
        *word != was
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_base::Rng;
    use std::collections::BTreeSet;

    #[test]
    fn pages_are_taken_in_their_order_as_runs() {
        let mut rng = Rng::new(1);
        let (mut set, mut plain) = (PageSet::default(), BTreeSet::new());
        for _ in 0..20_000 {
            let (start, count) = (rng.below(40_000), 1 + rng.below(3) * rng.below(200));
            if rng.below(3) > 0 && plain.range(start..start + count).next().is_none() {
                set.put(start, count);
                plain.extend(start..start + count);
            } else {
                let most = 1 + rng.below(300);
                let found = set.take(most);
                let expected = plain.first().map(|first| {
                    let run =
                        (*first..).take(most as usize).take_while(|page| plain.contains(page));
                    (*first, run.count() as u64)
                });
                assert_eq!(found, expected);
                let (start, count) = expected.unwrap_or_default();
                plain.retain(|page| !(start..start + count).contains(page));
            }
            assert_eq!(set.count(), plain.len() as u64);
        }
    }

    #[test]
    #[should_panic(expected = "a page is given back once")]
    fn a_page_is_put_once() {
        let mut set = PageSet::default();
        set.put(60, 10);
        set.put(69, 2);
    }
}
