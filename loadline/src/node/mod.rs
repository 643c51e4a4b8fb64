//! `loadline status`, `osd`, `pool`, `pg`, `image`, `config`, `dump`, `tell` and `stop`: asking a running node.
//!
//! Each command is one request over the admin socket. What a node makes of its own configuration is in `config`.

mod args;
pub(crate) mod config;
mod dump;
mod image;
mod osd;
mod pg;
mod pool;
mod reach;
mod settings;
mod status;

pub(crate) use args::{
    ConfigArgs, DumpArgs, ImageArgs, OsdArg, OsdArgs, PgArgs, PoolArgs, StatusArgs, SwitchArgs,
    TellArgs,
};
pub(crate) use dump::{carry_out as dump, tell};
pub(crate) use image::carry_out as image;
pub(crate) use osd::carry_out as osd;
pub(crate) use pg::carry_out as pg;
pub(crate) use pool::carry_out as pool;
pub(crate) use reach::NodeArgs;
pub(crate) use settings::{carry_out as config, switch_profile};
pub(crate) use status::{health, status};

use crate::failure::Failure;
use loadline_base::Bytes;
use loadline_host::admin::api::Command;

/// `loadline stop`
pub(crate) fn stop(args: &NodeArgs) -> Result<(), Failure> {
    args.order(&Command::Shutdown, "the node stops")
}

fn size(bytes: u64) -> String {
    Bytes::new(bytes).to_string()
}

/// Bytes per second, for people.
fn bandwidth(bytes_per_s: f64) -> String {
    format!("{}/s", Bytes::new(bytes_per_s.round() as u64))
}
