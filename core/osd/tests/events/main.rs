//! OSDs by events: a list of events in, a list of effects out.

mod backfill;
mod bench;
mod benchmark;
mod bounds;
mod classes;
mod damage;
mod device;
mod full;
mod gate;
mod log_order;
mod lost;
mod ops;
mod paced;
mod recovery;
mod removal;
mod scrub;
mod service;
mod snapshots;
mod terms;
mod told;
mod trim;
