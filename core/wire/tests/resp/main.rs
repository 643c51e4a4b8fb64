//! RESP as strangers may send it.

mod arbitrary;
mod feed;
