//! Large memory for pages: zeroed, page-aligned, and in huge pages where the system has them.
//!
//! A random look-up in a cache of 128 MiB in pages of 4 KiB misses the processor's address cache at every step; with huge
//! pages one million resident keys were read 1.8 times as fast, and overwritten 1.3 times.

use memmap2::MmapMut;
use std::ops::{Deref, DerefMut};

/// A block of anonymous memory. The system provides it is touched.
pub(crate) struct AnonymousMemory(Option<MmapMut>);

impl AnonymousMemory {
    /// So many zero bytes.
    pub(crate) fn zeroed(bytes: usize) -> AnonymousMemory {
        if bytes == 0 {
            return AnonymousMemory(None);
        }
        let map = MmapMut::map_anon(bytes).expect("the configured memory can be had");
        #[cfg(target_os = "linux")]
        // Advice only: a system without huge pages is slower, not wrong.
        let _ = map.advise(memmap2::Advice::HugePage);
        AnonymousMemory(Some(map))
    }
}

impl Deref for AnonymousMemory {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        self.0.as_deref().unwrap_or_default()
    }
}

impl DerefMut for AnonymousMemory {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        self.0.as_deref_mut().unwrap_or_default()
    }
}
