//! How much an item is to a worker, where workers' time costs something.

use loadline_base::Bytes;
use loadline_qos::Work;

/// What a worker has to do with an item, for a world in which that takes a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ItemSize {
    /// Which kind of work it is.
    pub work: Work,
    /// The data that comes with it; none with what only goes on with data that came earlier.
    pub payload: Bytes,
    /// Whether it only goes on with what an earlier item has begun.
    pub goes_on: bool,
}
