//! How long a recovery goes on, by looks at what its groups have left, from its first look on.
//!
//! A [`Forecast`] is of one recovery: it is shown what is left, look by look, and keeps of that what queues and groups have done with their time. What was seen
//! long ago counts less ([`FadingPace`]): at half the time since the beginning half as much, so that the window grows with the recovery, and follows
//! it. It may not know what a group, a queue or a copy is, nor who looks, nor what time it is.

mod forecast;
mod pace;

pub use forecast::{Forecast, GroupLeft, TimeLeft};
pub use pace::FadingPace;
