//! One disk's data: objects in collections, and the window through which work reaches the device.
//!
//! [`DirectStore`] keeps metadata only and turns one object write into one device request. It is for studies
//! on *calibrated* drives, whose service times already contain a whole OSD's overhead.
//!
//! This crate may not know placement groups, replicas or other OSDs, nor who waits for a commit: a caller's
//! token goes in and comes back out.

mod direct;
mod objects;
pub mod paged;
mod window;

pub use direct::{Access, Completion, DirectStore, RequestId, Submission};
pub use objects::{CollectionId, ObjectMeta, ObjectNo, Objects, Version};
pub use window::{Window, WindowBounds};
