//! Which node is meant, and how it is asked.

use crate::failure::Failure;
use crate::show;
use clap::Args;
use loadline_host::admin::api::{Command, Done, NodePlaces};
use loadline_host::admin::{Client, ClientError};
use loadline_study::hint;
use serde::de::DeserializeOwned;
use std::env;
use std::path::PathBuf;

/// Where a node lives unless somebody says otherwise.
const DIR: &str = "loadline";

#[derive(Debug, Args)]
pub(crate) struct NodeArgs {
    /// The node's folder; by default $LOADLINE_DIR, or ./loadline
    #[arg(long, global = true, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// The node's admin socket; by default admin.sock in its folder
    #[arg(long, global = true, value_name = "PATH", conflicts_with = "dir")]
    socket: Option<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long, global = true)]
    json: bool,
}

/// The folder of the node that is meant when nothing is said.
pub(crate) fn default_dir() -> PathBuf {
    let said = env::var_os("LOADLINE_DIR").filter(|dir| !dir.is_empty());
    said.map_or_else(|| DIR.into(), PathBuf::from)
}

impl NodeArgs {
    pub(super) fn connect(&self) -> Result<Client, Failure> {
        Ok(Client::connect(&self.admin())?)
    }

    /// Where its admin socket is.
    fn admin(&self) -> PathBuf {
        let in_folder = || self.dir.clone().unwrap_or_else(default_dir).join("admin.sock");
        self.socket.clone().unwrap_or_else(in_folder)
    }

    /// One of the places at which the node is met beside its admin socket, as seen from here; `None` if it has none.
    pub(super) fn place(
        &self,
        of: impl FnOnce(NodePlaces) -> Option<String>,
    ) -> Result<Option<PathBuf>, Failure> {
        let told: NodePlaces = self.connect()?.ask(&Command::NodePlaces)?;
        Ok(of(told).map(|path| self.admin().with_file_name(path)))
    }

    /// Whether it was said which node is meant.
    pub(crate) fn is_named(&self) -> bool {
        self.dir.is_some() || self.socket.is_some()
    }

    /// Whether a program reads the output.
    pub(crate) fn json(&self) -> bool {
        self.json
    }

    /// Asks, and shows the answer: as it came, or as `text` puts it.
    pub(super) fn show<A: DeserializeOwned>(
        &self,
        command: &Command,
        text: impl FnOnce(&A) -> String,
    ) -> Result<(), Failure> {
        self.show_next(&mut self.connect()?, command, text)
    }

    /// The same over a connection that there is.
    pub(super) fn show_next<A: DeserializeOwned>(
        &self,
        client: &mut Client,
        command: &Command,
        text: impl FnOnce(&A) -> String,
    ) -> Result<(), Failure> {
        match self.json {
            true => show::json(&client.ask(command)?),
            false => show::text(&text(&client.ask(command)?)),
        }
    }

    /// Asks for something to be done, and says that it is.
    pub(super) fn order(&self, command: &Command, says: &str) -> Result<(), Failure> {
        self.show(command, |Done {}| format!("{says}\n"))
    }

    /// The same for what may cost something: without `meant` the node says what.
    pub(super) fn order_if(
        &self,
        meant: bool,
        command: Command,
        says: &str,
    ) -> Result<(), Failure> {
        self.order(&if meant { command.meant() } else { command }, says)
    }
}

/// What a node refuses of a name, with the one of these that was probably meant.
pub(super) fn meant<'a>(
    failure: Failure,
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Failure {
    match failure {
        Failure::Input(says) => Failure::Input(says + &hint(name, known)),
        failure => failure,
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Failure {
        Failure::refused(error.kind(), error.to_string())
    }
}
