//! What of `loadline ceph` can be typed.

use crate::failure::Failure;
use clap::{Args, Subcommand, ValueEnum};
use loadline_ceph::guard::{GuardError, JournalError};
use loadline_ceph::{CephConnection, CephError, CephPlace, ConnectBy};
use std::path::PathBuf;

/// How long a cluster is watched unless somebody says otherwise, in seconds.
pub(super) const WATCHED_S: u64 = 5;

/// The journal's name in a run's folder.
pub(super) const JOURNAL: &str = "ceph-journal.jsonl";

#[derive(Debug, Subcommand)]
pub(crate) enum CephCommand {
    /// What is going on, in terms of service: limits in force, who waits for what, how long until recovery, scrubs and trimming end
    Status(CephLookArgs),
    /// The known traps, each with its remedy; exit code 3 if something is not as its operator believes, 4 if it is dangerous
    Check(CephLookArgs),
    /// Everything that advice and simulation need, without the names of hosts and pools
    Facts(CephFactsArgs),
    /// Try settings on a cluster with a way back: what may be in the way, and with the cluster's fsid the settings themselves
    Try(CephTryArgs),
    /// Put back what a run changed and did not put back: a killed one, or one that lost its cluster
    Undo(CephUndoArgs),
}

/// Which cluster, and by which way.
#[derive(Debug, Args)]
pub(crate) struct CephPlaceArgs {
    /// The cluster, by its configuration file: ceph:/etc/ceph/ceph.conf
    #[arg(long, value_name = "ceph:CONF")]
    on: CephPlace,
    /// The user; its key is looked for where the configuration says
    #[arg(long, default_value = "client.admin", value_name = "USER", value_parser = user)]
    name: String,
    /// The way: librados where it is installed and else the `ceph` program, or one of them alone
    #[arg(long, value_enum, default_value = "either")]
    by: CephWayArg,
}

fn user(text: &str) -> Result<String, &'static str> {
    let is_whole =
        text.split_once('.').is_some_and(|(kind, id)| !kind.is_empty() && !id.is_empty());
    is_whole.then(|| text.to_owned()).ok_or("expected a user with its kind, such as `client.admin`")
}

/// By which way a cluster is asked.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum CephWayArg {
    Either,
    Librados,
    Program,
}

impl From<CephWayArg> for ConnectBy {
    fn from(way: CephWayArg) -> ConnectBy {
        match way {
            CephWayArg::Either => ConnectBy::Either,
            CephWayArg::Librados => ConnectBy::Librados,
            CephWayArg::Program => ConnectBy::Program,
        }
    }
}

impl CephPlaceArgs {
    /// The cluster that is meant.
    pub(super) fn place(&self) -> CephPlace {
        CephPlace { user: self.name.clone(), by: self.by.into(), ..self.on.clone() }
    }

    pub(super) fn connect(&self) -> Result<Box<dyn CephConnection>, Failure> {
        Ok(self.place().connect()?)
    }
}

#[derive(Debug, Args)]
pub(crate) struct CephLookArgs {
    #[command(flatten)]
    pub(super) place: CephPlaceArgs,
    /// How long to watch before telling, in seconds; 5 unless said otherwise, and for `status` up to 30 while few copies of a recovery have moved
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=600))]
    pub(super) seconds: Option<u64>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CephFactsArgs {
    #[command(flatten)]
    pub(super) place: CephPlaceArgs,
    /// The file that is written
    #[arg(long, value_name = "FILE")]
    pub(super) out: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct CephTryArgs {
    /// Options of every OSD (osd_mclock_profile=balanced), or flags of the cluster (noscrub)
    #[arg(required = true, value_name = "OPTION=VALUE|FLAG")]
    pub(super) change: Vec<String>,
    #[command(flatten)]
    pub(super) place: CephPlaceArgs,
    /// Where the journal goes, from which `ceph undo` puts all of it back
    #[arg(long, value_name = "FOLDER")]
    pub(super) run: PathBuf,
    /// The cluster's fsid, as the plan shows it; without it nothing is changed
    #[arg(long, value_name = "FSID")]
    pub(super) yes_i_may_hurt_this_cluster: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct CephUndoArgs {
    /// The run's folder, or its journal
    pub(super) run: PathBuf,
    #[command(flatten)]
    pub(super) place: CephPlaceArgs,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(super) json: bool,
}

impl From<GuardError> for Failure {
    fn from(error: GuardError) -> Failure {
        match error {
            GuardError::Cluster(error) => error.into(),
            GuardError::RunJournal(JournalError::File { error: ref why, .. }) => {
                Failure::refused(why.kind(), error.to_string())
            }
            _ => Failure::Environment(error.to_string()),
        }
    }
}

impl From<CephError> for Failure {
    fn from(error: CephError) -> Failure {
        match error {
            CephError::Conf { conf, error } => Failure::unreadable(&conf, &error),
            _ => Failure::Environment(error.to_string()),
        }
    }
}
