//! What one transaction did to pages, for the log: `log` protection writes it down beside the transaction.

use crate::paged::edit::PageEdit;
use crate::paged::ids::PageNo;

/// Collects edits. Pages that a transaction changes for the first time since the instant are noted by number, because their
/// whole image will be logged; edits of all others are logged one by one.
#[derive(Clone, Debug, Default)]
pub struct Journal {
    on: bool,
    first_changed: Vec<PageNo>,
    edits: Vec<u8>,
}

impl Journal {
    /// Collects from now on, or no longer.
    pub fn set(&mut self, on: bool) {
        self.on = on;
        self.clear();
    }

    /// Whether it collects.
    pub fn is_on(&self) -> bool {
        self.on
    }

    /// A page is changed for the first time since the instant.
    pub fn first_change(&mut self, page: PageNo) {
        if self.on {
            self.first_changed.push(page);
        }
    }

    /// A page is changed.
    pub fn edit(&mut self, page: PageNo, edit: &PageEdit<'_>) {
        // The image of a page that was clean before this transaction is taken after its last edit.
        if self.on && !self.first_changed.contains(&page) {
            self.edits.extend_from_slice(&page.0.to_le_bytes());
            edit.encode(&mut self.edits);
        }
    }

    /// Pages whose image is to be logged.
    pub fn first_changed(&self) -> &[PageNo] {
        &self.first_changed
    }

    /// Edits as they stand in the log.
    pub fn edits(&self) -> &[u8] {
        &self.edits
    }

    /// Forgets what was collected.
    pub fn clear(&mut self) {
        self.first_changed.clear();
        self.edits.clear();
    }
}
