//! Every command against a node that runs: what it does, and what it refuses.

mod again;
mod browser;
mod changes;
mod clients;
mod devices;
mod disks;
mod flips;
mod http;
mod left_out;
mod loops;
mod monitoring;
mod node;
mod page;
mod places;
mod pools_and_images;
mod scrub;
mod settings;
mod states;
