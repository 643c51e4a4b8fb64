//! Whether memory has room for what simulated disks hold.

use loadline_base::Bytes;

/// Whether so many runs at a time, each of which holds so much, have room; where nobody tells how much is free, they are let try.
///
/// # Errors
/// Why not, as a sentence.
pub(crate) fn check_memory(
    each: Bytes,
    at_a_time: u32,
    available: Option<Bytes>,
) -> Result<(), String> {
    let needed = Bytes::new(each.get().saturating_mul(u64::from(at_a_time)));
    match available.filter(|free| *free < needed) {
        None => Ok(()),
        Some(free) => Err(format!(
            "simulated disks hold every byte in memory: {at_a_time} runs at a time need {needed}, and {free} are free; take a smaller --set scale, or fewer --jobs"
        )),
    }
}
