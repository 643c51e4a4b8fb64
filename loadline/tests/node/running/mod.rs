//! Every command against a node that runs: what it does, and what it refuses.

mod clients;
mod devices;
mod disks;
mod node;
mod pools_and_images;
mod settings;
mod states;
