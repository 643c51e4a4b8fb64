//! `loadline ceph`: what an operator of a Ceph cluster can ask without changing anything on it; settings tried with a
//! way back, and that way.

mod args;
mod check;
mod facts;
mod status;
mod trial;
mod undo;

pub(crate) use args::CephCommand;

use crate::failure::Failure;

pub(crate) fn carry_out(command: CephCommand) -> Result<(), Failure> {
    match command {
        CephCommand::Status(args) => status::carry_out(&args),
        CephCommand::Check(args) => check::carry_out(&args),
        CephCommand::Facts(args) => facts::carry_out(&args),
        CephCommand::Try(args) => trial::carry_out(&args),
        CephCommand::Undo(args) => undo::carry_out(&args),
    }
}
