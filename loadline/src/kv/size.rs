//! How large the file of a database is: what is asked for is the size of a new one, and of no other.

use crate::failure::Failure;
use loadline_base::Bytes;
use loadline_kv::{Db, DbOptions};

pub(super) fn size_if_new(asked: Option<Bytes>) -> Bytes {
    asked.unwrap_or(DbOptions::default().size)
}

/// Who asks for a size that a database has not would wait for room that never comes.
pub(super) fn check_size(db: &Db, asked: Option<Bytes>) -> Result<(), Failure> {
    let Some(asked) = asked else { return Ok(()) };
    let is = Bytes::new(db.statistics()?.file_bytes);
    if asked == is {
        return Ok(());
    }
    Err(Failure::Input(format!(
        "--size {asked:#}: the database has a file of {is} already; leave --size out, or give it a larger one with `loadline kv grow`"
    )))
}
