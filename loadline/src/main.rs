//! The `loadline` command: what was typed, turned into what was meant, and handed to the lab.
//!
//! This is a composition root. Studies run in the simulated world (`loadline_sim`), which the lab
//! (`loadline_study`) builds from a study and a drive; the report (`loadline_report`) reads what came of it.

mod cdl;
mod cli;
mod doctor;
mod drive;
mod failure;
mod inspect;
mod interrupt;
mod node;
mod profile;
mod serve;
mod show;
mod soak;
mod store;
mod study;

use clap::Parser;
use cli::{Cli, Command};
use std::process::ExitCode;

/// Buffers of 256 KiB to 4 MiB come and go with every request; this allocator keeps them, the C library's gives them back to
/// the kernel and takes them page by page again.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Serve(command) => serve::carry_out(command),
        Command::Status(args) => node::status(&args),
        Command::Health(args) => node::health(&args),
        Command::Osd(args) => node::osd(args),
        Command::Pool(args) => node::pool(args),
        Command::Pg(args) => node::pg(args),
        Command::Image(args) => node::image(args),
        Command::Config(args) => node::config(args),
        Command::Dump(args) => node::dump(args),
        Command::Tell(args) => node::tell(args),
        Command::Stop(args) => node::stop(&args),
        Command::Study(command) => study::carry_out(command),
        Command::Profile(command) => profile::carry_out(command),
        Command::Cdl(command) => cdl::carry_out(command),
        Command::Drive(command) => drive::carry_out(command),
        Command::Inspect(args) => inspect::carry_out(args),
        Command::Store(command) => store::carry_out(command),
        Command::Soak(args) => soak::carry_out(&args),
        Command::Doctor(args) => doctor::carry_out(&args),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
