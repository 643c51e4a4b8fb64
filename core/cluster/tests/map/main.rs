//! The durable form of the map: round trips, damage, size, and whatever bytes may come.

mod damage;
mod feed;
mod sample;
mod size;
