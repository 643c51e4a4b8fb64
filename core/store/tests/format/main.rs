//! The disk format from outside: what the document says of it, what the checker says of stores, and parsers that are given
//! anything.

mod bad_sectors;
mod check;
mod cut_tails;
mod disk_format;
mod earlier_lives;
mod feed;
mod inspect;
mod lost_pages;
mod lost_writes;
mod order;
mod owed;
mod parsers;
mod placed;
mod restart_memory;
mod room;
mod sample;
mod shared_pages;
mod store;
mod together;
mod upgrade;
