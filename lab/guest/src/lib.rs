//! A real Linux kernel as a guest of this machine, in user mode, without images, networks or privileges of its own.
//!
//! [`GuestRoot`] is what it boots from: packages of Debian, fetched and unpacked once. [`run`] boots it with a drive that
//! listens on a socket, runs one command in it, and ends it in time whatever happens: the guest lives in its own process
//! group and its own space of process numbers, and when its first process goes, all go. This crate may not know drives,
//! models or benchmarks; a drive is a socket here, and a process that may go.

mod console;
mod init;
mod root;
mod run;

pub use root::{GuestRoot, RootError};
pub use run::{GuestEnd, GuestError, GuestOrder, GuestScript, GuestWatch, run};
