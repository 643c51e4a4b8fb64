//! How the device holds the store's own pages that are at rest: what they were written as, and whether bytes from there are that.

use super::Pages;
use super::instant::clear_gap;
use crate::paged::ids::{CheckpointId, Child, PageNo, PageVersion};
use crate::paged::node;
use crate::paged::page::{self, PageKind, PageStamp};

impl Pages {
    /// Whether bytes that came from the device are a page as its parent means it, or of the free map as the last instant has left it.
    pub fn is_as_written(&self, wanted: Child, bytes: &[u8]) -> bool {
        match page::verify(bytes, self.sums.seed, wanted) {
            Ok(PageKind::FreeMap) => self.map_stamp(wanted.page) == Some(page::stamp(bytes)),
            Ok(_) => !self.layout().is_map(wanted.page) && node::check(bytes).is_ok(),
            Err(_) => false,
        }
    }

    /// A page that is [at home](Pages::is_at_home), as it was written there.
    pub fn as_written(&self, child: Child) -> Vec<u8> {
        let mut bytes = self.current(child.page).0.to_vec();
        // What format 1 has written was not changed since it was read.
        if let Some(id) = self.writer_of(child) {
            clear_gap(&mut bytes);
            page::seal(&mut bytes, self.sums.seed, id);
        }
        bytes
    }

    /// The checkpoint that wrote a page at home; `None` if format 1 has.
    fn writer_of(&self, child: Child) -> Option<CheckpointId> {
        match self.map_stamp(child.page) {
            Some(stamp) => stamp.writer(),
            None if child.version == PageVersion::UNKNOWN => None,
            None => Some(CheckpointId::last_of(child.version, self.coming)),
        }
    }

    /// Which writing of a page of the free map belongs to the last instant; `None` of other pages.
    fn map_stamp(&self, number: PageNo) -> Option<PageStamp> {
        let of_map = || self.sums.map[(number.0 - self.layout().map_first.0) as usize];
        self.layout().is_map(number).then(of_map)
    }
}
