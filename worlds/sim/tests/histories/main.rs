//! Whole clusters in virtual time: random histories, stories of bugs, and rates that one bound decides.

mod rates;
mod regressions;
mod swarm;
mod world;
