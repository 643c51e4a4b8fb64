//! Every command against a node that runs: what it does, and what it refuses.

mod changes;
mod clients;
mod devices;
mod disks;
mod left_out;
mod node;
mod pools_and_images;
mod scrub;
mod settings;
mod states;
