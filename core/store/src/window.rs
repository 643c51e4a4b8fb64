//! The window: what the store lets in at a time, so that the rest waits where a scheduler has a say.

use loadline_base::Bytes;

/// How much may be in flight in a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowBounds {
    /// Payload bytes (`bluestore_throttle_bytes`; the study: 256 KiB on NVMe, 40 MiB on HDD).
    pub bytes: Bytes,
    /// Writes.
    pub ops: u32,
}

/// A throttle over payload bytes and ops.
///
/// A write larger than the bound may enter whenever what is in flight is within the bound; otherwise it could
/// never enter at all (qos.md 13.3b). So one 4 MiB push at a time passes a window of 256 KiB.
#[derive(Clone, Debug)]
pub struct Window {
    bounds: WindowBounds,
    bytes: Bytes,
    ops: u32,
}

impl Window {
    /// An empty window.
    pub fn new(bounds: WindowBounds) -> Window {
        Window { bounds, bytes: Bytes::ZERO, ops: 0 }
    }

    /// What it lets in.
    pub fn bounds(&self) -> WindowBounds {
        self.bounds
    }

    /// Changes what it lets in from now on.
    pub fn set_bounds(&mut self, bounds: WindowBounds) {
        self.bounds = bounds;
    }

    /// Whether a write of `length` may enter now.
    #[inline]
    pub fn admits(&self, length: Bytes) -> bool {
        let bytes_admit = if length >= self.bounds.bytes {
            self.bytes <= self.bounds.bytes
        } else {
            self.bytes + length <= self.bounds.bytes
        };
        bytes_admit && self.ops < self.bounds.ops
    }

    /// Counts a write in.
    pub fn enter(&mut self, length: Bytes) {
        self.bytes += length;
        self.ops += 1;
    }

    /// Counts a write out.
    #[inline]
    pub fn leave(&mut self, length: Bytes) {
        assert!(self.ops > 0 && self.bytes >= length, "only what entered the window can leave it");
        self.bytes = self.bytes - length;
        self.ops -= 1;
    }

    /// What is in flight.
    pub fn in_flight(&self) -> (Bytes, u32) {
        (self.bytes, self.ops)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_large_write_at_a_time_and_small_ones_up_to_the_bound() {
        let push = Bytes::from_mib(4);
        let small = Bytes::from_kib(4);
        let mut window = Window::new(WindowBounds { bytes: Bytes::from_kib(256), ops: u32::MAX });
        for _ in 0..64 {
            assert!(window.admits(small));
            window.enter(small);
        }
        assert!(!window.admits(small));
        assert!(window.admits(push), "what is in flight is within the bound");
        window.enter(push);
        assert!(!window.admits(push));
        window.leave(push);
        window.leave(small);
        assert!(window.admits(small));
    }
}
