//! Images against two models: disks that follow the words of the views and jobs, and plain copies of what was written.

mod disks;
mod histories;
