//! One disk's data.
//!
//! [`paged`] is the real thing: keys and objects in pages, with a log and checkpoints, safe against a power cut at any
//! moment. [`DirectStore`] keeps metadata only and turns one object write into one device request. It is for studies
//! on *calibrated* drives, whose service times already contain a whole OSD's overhead. What the paged store owes is in [`contract`].
//!
//! This crate may not know placement groups, replicas or other OSDs, nor who waits for a commit: a caller's
//! token goes in and comes back out.

pub mod contract;
mod direct;
mod objects;
pub mod paged;
mod window;

pub use direct::{AccessCompletion, DirectAccess, DirectStore, RequestId, Submission};
pub use objects::{CollectionId, ObjectFilling, ObjectMeta, ObjectNo, Objects, Version};
pub use window::{Window, WindowBounds};
