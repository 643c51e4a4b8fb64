//! A node on simulated disks through its worst days: OSDs go and come, disks are replaced, the process is killed and the
//! power is cut, at random. A naive model judges that nothing acknowledged is lost.

mod brim;
mod by_hand;
mod damage;
mod flushes;
mod full;
mod given_up;
mod heal;
mod images;
mod judge;
mod lies;
mod lost;
mod puts;
mod regressions;
mod removal;
mod rest;
mod scrub;
mod scrub_schedule;
mod starts;
mod swarm;
mod threads;
mod troubled;
