//! The free map: how much is free, and in which runs.

use super::{InspectTrouble, Inspector, Part, ShownValue};
use crate::paged::ids::{Child, PageNo};
use crate::paged::layout::bits_per_map_page;
use crate::paged::page::{self, HEADER};

/// Runs that are shown.
const RUNS_SHOWN: usize = 16;

impl Inspector<'_> {
    /// Used and free pages, the pages of the map, and the longest free runs.
    pub fn free_map(&self) -> Result<Vec<Part>, InspectTrouble> {
        let layout = &self.superblock.layout;
        let per_page = bits_per_map_page(layout.page);
        let mut rows = Vec::new();
        let mut runs: Vec<(u64, u64)> = Vec::new();
        let mut free = 0;
        for at in 0..layout.map_pages {
            let number = layout.map_first.plus(at);
            let bytes = self.page_bytes(number)?;
            let wanted = Child::of_any_version(number);
            page::verify(&bytes, self.superblock.seed(), wanted)
                .map_err(|fault| InspectTrouble::Page(number, fault))?;
            let first = layout.pages_first.0 + at * per_page;
            let count = per_page.min(layout.pages().end.0.saturating_sub(first));
            let is_free = |bit: &u64| bytes[HEADER + (bit / 8) as usize] >> (bit % 8) & 1 == 0;
            let mut here: u64 = 0;
            for page in (0..count).filter(is_free).map(|bit| first + bit) {
                here += 1;
                match runs.last_mut() {
                    Some((start, count)) if *start + *count == page => *count += 1,
                    _ => runs.push((page, 1)),
                }
            }
            rows.push(vec![number.0.into(), first.into(), (count - here).into(), here.into()]);
            free += here;
        }
        let facts: Vec<(_, ShownValue)> = vec![
            ("pages", layout.pages_count.into()),
            ("used", (layout.pages_count - free).into()),
            ("free", free.into()),
            ("free runs", (runs.len() as u64).into()),
        ];
        let pages =
            Part::table("pages of the map", &["page", "speaks from", "used", "free"], rows, 0);
        Ok(vec![Part::facts("free map", facts), pages, longest(runs)])
    }
}

fn longest(mut runs: Vec<(u64, u64)>) -> Part {
    runs.sort_unstable_by_key(|(first, count)| (u64::MAX - count, *first));
    let more = runs.len().saturating_sub(RUNS_SHOWN) as u64;
    let row = |(first, count): &(u64, u64)| -> Vec<ShownValue> {
        vec![PageNo(*first).0.into(), (*count).into()]
    };
    let rows = runs.iter().take(RUNS_SHOWN).map(row).collect();
    Part::table("longest free runs", &["first page", "pages"], rows, more)
}
