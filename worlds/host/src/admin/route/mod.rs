//! Which request stands for which command. Each noun's file holds both directions; `docs/admin.md` has the table for
//! readers.

mod config;
mod image;
mod osd;
mod path;
mod pool;

use super::api::{Command, Refusal};
use path::Target;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The methods in use: GET asks, PUT and DELETE may be repeated, POST makes something new or starts something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    Get,
    Put,
    Post,
    Delete,
}

/// A request without its headers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) method: Method,
    /// Path and query, percent-encoded.
    pub(super) target: String,
    /// JSON, or nothing.
    pub(super) body: Vec<u8>,
}

impl Method {
    const ALL: [Method; 4] = [Method::Get, Method::Put, Method::Post, Method::Delete];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Put => "PUT",
            Method::Post => "POST",
            Method::Delete => "DELETE",
        }
    }

    pub(super) fn from_name(name: &str) -> Option<Method> {
        Method::ALL.into_iter().find(|method| method.name() == name)
    }
}

impl Request {
    /// A request that its path says all of.
    fn plain(method: Method, path: &[&str]) -> Request {
        Request { method, target: path::encode(path), body: Vec::new() }
    }

    /// A request with a body.
    fn with(method: Method, path: &[&str], body: &impl Serialize) -> Request {
        let body = serde_json::to_vec(body).expect("a body is plain data");
        Request { method, target: path::encode(path), body }
    }
}

/// The query of a command that may cost what it costs.
const MEANT: &str = "yes=true";

/// The request that stands for a command.
pub(super) fn request(command: &Command) -> Request {
    match command {
        Command::Status => Request::plain(Method::Get, &["status"]),
        Command::Osd(command) => osd::request(command),
        Command::Pool(command) => pool::request(command),
        Command::Image(command) => image::request(command),
        Command::Config(command) => config::request(command),
        Command::Ops => Request::plain(Method::Get, &["ops"]),
        Command::OpHistory => Request::plain(Method::Get, &["ops", "history"]),
        Command::Shutdown => Request::plain(Method::Post, &["shutdown"]),
        Command::Meant(command) => {
            let request = request(command);
            Request { target: format!("{}?{MEANT}", request.target), ..request }
        }
    }
}

/// What a command changes, as a request in one line; `None` if it only asks.
pub(crate) fn change(command: &Command) -> Option<String> {
    let Request { method, target, body } = request(command);
    let body = String::from_utf8(body).expect("a body is JSON");
    let line = format!("{} {target} {body}", method.name());
    (method != Method::Get).then(|| line.trim_end().to_owned())
}

/// The command that a request stands for.
///
/// # Errors
/// A [`Refusal`] that names the request and what would be right.
pub(super) fn command(method: Method, target: &str, body: &[u8]) -> Result<Command, Refusal> {
    let target = Target::decode(target)?;
    let path = target.segments();
    let asked = Asked { method, target: &target, body };
    let found = match (method, &path[..]) {
        (Method::Get, ["status"]) => asked.plain(Command::Status),
        (Method::Get, ["ops"]) => asked.plain(Command::Ops),
        (Method::Get, ["ops", "history"]) => asked.plain(Command::OpHistory),
        (Method::Post, ["shutdown"]) => asked.plain(Command::Shutdown),
        (_, ["osd", rest @ ..]) => osd::command(&asked, rest).map(Command::Osd),
        (_, ["pool", rest @ ..]) => pool::command(&asked, rest).map(Command::Pool),
        (_, ["image", rest @ ..]) => image::command(&asked, rest).map(Command::Image),
        (_, ["config", rest @ ..]) => config::command(&asked, rest).map(Command::Config),
        _ => Err(asked.unknown()),
    }?;
    match target.query() {
        Some(MEANT) if method != Method::Get => Ok(found.meant()),
        Some(_) if !matches!(found, Command::Config(_)) => {
            Err(Refusal::bad(format!("{} takes no query", target.path())))
        }
        _ => Ok(found),
    }
}

/// A request on its way to become a command.
struct Asked<'a> {
    method: Method,
    target: &'a Target<'a>,
    body: &'a [u8],
}

impl Asked<'_> {
    /// The command, if the request has no body, as it should.
    fn plain<C>(&self, command: C) -> Result<C, Refusal> {
        match self.body {
            [] => Ok(command),
            _ => Err(Refusal::bad(format!("{} takes no body", self.name()))),
        }
    }

    /// The body.
    fn body<B: DeserializeOwned>(&self) -> Result<B, Refusal> {
        serde_json::from_slice(self.body).map_err(|error| {
            Refusal::bad(format!("the body of {} cannot be used: {error}", self.name()))
                .wants("the JSON object that docs/admin.md gives for it")
        })
    }

    fn unknown(&self) -> Refusal {
        Refusal::not_found(format!("there is no {}", self.name()))
            .wants("a request of docs/admin.md, such as GET /status")
    }

    fn name(&self) -> String {
        format!("{} {}", self.method.name(), self.target.path())
    }
}
