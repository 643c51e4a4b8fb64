//! `loadline status`, `osd`, `pool`, `pg`, `image`, `config`, `dump`, `tell` and `stop`: asking a running node.
//!
//! Each command is one request over the admin socket. What a node makes of its own configuration is in `config`.

mod args;
mod backup;
pub(crate) mod config;
mod dump;
mod image;
mod nbd;
mod osd;
mod page;
mod pg;
mod pool;
mod promises;
mod reach;
mod scrub;
mod settings;
mod status;
#[cfg(feature = "top")]
mod top;
mod why;

#[cfg(feature = "top")]
pub(crate) use args::TopArgs;
pub(crate) use args::{
    ConfigArgs, DumpArgs, ImageArgs, InconsistentArgs, OsdArg, OsdArgs, PageArgs, PgArgs, PoolArgs,
    RepairArgs, ScrubArgs, StatusArgs, SwitchArgs, TellArgs, WhyArgs,
};
pub(crate) use dump::{carry_out as dump, tell};
pub(crate) use image::carry_out as image;
pub(crate) use osd::carry_out as osd;
pub(crate) use page::{metrics, page};
pub(crate) use pg::carry_out as pg;
pub(crate) use pool::carry_out as pool;
pub(crate) use promises::profile;
pub(crate) use reach::NodeArgs;
pub(crate) use scrub::{carry_out as scrub, inconsistent, repair};
pub(crate) use settings::{carry_out as config, switch_profile};
pub(crate) use status::{health, status};
#[cfg(feature = "top")]
pub(crate) use top::carry_out as top;
pub(crate) use why::carry_out as why;

use crate::failure::Failure;
use loadline_base::{Bytes, Span};
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

/// A short length of time.
fn milliseconds(nanos: u64) -> String {
    format!("{:.3} ms", Span::from_nanos(nanos).as_millis_f64())
}

/// In nanoseconds; what is shown to the second says nothing of less.
const SECOND: u64 = 1_000_000_000;

/// A length of time to the second, in its two largest units.
fn duration(nanos: u64) -> String {
    let seconds = nanos / SECOND;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        3_600..86_400 => format!("{} h {} min", seconds / 3_600, seconds / 60 % 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds / 3_600 % 24),
    }
}
