//! The `loadline` command: what was typed, turned into what was meant, and handed to the lab.
//!
//! This is a composition root. Studies run in the simulated world (`loadline_sim`), which the lab
//! (`loadline_study`) builds from a study and a drive; the report (`loadline_report`) reads what came of it.

// They end the program where whoever reads has gone; `show` does not.
#![warn(clippy::print_stderr, clippy::print_stdout)]

mod cdl;
#[cfg(feature = "ceph")]
mod ceph;
mod cli;
mod command_line;
mod common_args;
mod doctor;
mod drive;
mod failure;
mod inspect;
mod interrupt;
#[cfg(feature = "kv")]
mod kv;
mod library;
mod node;
mod notify;
mod profile;
mod serve;
mod shell;
mod show;
mod soak;
mod store;
mod study;
mod timestamp;
mod tls;
mod typed;
mod writable;

use cli::CliCommand;
use std::process::ExitCode;

/// Buffers of 256 KiB to 4 MiB come and go with every request; this allocator keeps them, the C library's gives them back to
/// the kernel and takes them page by page again.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    interrupt::outlive_file_limits();
    let command = match typed::command() {
        Ok(command) => command,
        Err(code) => return code,
    };
    let outcome = match command {
        CliCommand::Serve(command) => serve::carry_out(*command),
        CliCommand::Status(args) => node::status(&args),
        CliCommand::Health(args) => node::health(&args),
        CliCommand::Osd(args) => node::osd(args),
        CliCommand::Pool(args) => node::pool(args),
        CliCommand::Pg(args) => node::pg(args),
        CliCommand::Scrub(args) => node::scrub(args),
        CliCommand::Repair(args) => node::repair(args),
        CliCommand::Inconsistent(args) => node::inconsistent(args),
        CliCommand::Image(args) => node::image(args),
        CliCommand::Config(args) => node::config(args),
        CliCommand::Dump(args) => node::dump(args),
        CliCommand::Why(args) => node::why(args),
        #[cfg(feature = "top")]
        CliCommand::Top(args) => node::top(&args),
        CliCommand::Metrics(args) => node::metrics(&args),
        CliCommand::Page(args) => node::page(&args),
        CliCommand::Tell(args) => node::tell(args),
        CliCommand::Stop(args) => node::stop(&args),
        CliCommand::Study(command) => study::carry_out(command),
        CliCommand::Profile(command) => profile::carry_out(command),
        CliCommand::Cdl(command) => cdl::carry_out(command),
        #[cfg(feature = "ceph")]
        CliCommand::Ceph(command) => ceph::carry_out(command),
        CliCommand::Drive(command) => drive::carry_out(command),
        CliCommand::Inspect(args) => inspect::carry_out(args),
        CliCommand::Store(command) => store::carry_out(command),
        #[cfg(feature = "kv")]
        CliCommand::Kv(command) => kv::carry_out(command),
        CliCommand::Soak(args) => soak::carry_out(&args),
        CliCommand::Doctor(args) => doctor::carry_out(&args),
        CliCommand::Completions(args) => shell::completions(&args),
        CliCommand::Man(args) => shell::man(&args),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(command_line::wants_json()),
    }
}
