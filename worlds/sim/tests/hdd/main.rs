//! The mechanical hard disk: its error against the published figures, and what it promises.

mod closed_loop;
mod determinism;
mod files;
mod fit;
mod medium;
mod policies;
mod published;
mod swarm;
