//! Requests as the wire has them, and the way from one to the command that it stands for. Which stands for which is said where the
//! commands are declared.

mod path;
pub(super) mod verbs;

use super::api::{AdminRefusal, Command};
use loadline_base::json_in_words;
use path::RequestTarget;
use serde::Serialize;
use serde::de::DeserializeOwned;
pub(super) use verbs::verbs;

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
pub(super) struct HttpRequest {
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

impl HttpRequest {
    pub(super) fn new(method: Method, path: &[String]) -> HttpRequest {
        HttpRequest { method, target: path::encode(path), body: Vec::new() }
    }

    /// The same with a body.
    pub(super) fn with(self, body: &impl Serialize) -> HttpRequest {
        HttpRequest { body: serde_json::to_vec(body).expect("a body is plain data"), ..self }
    }

    /// The same with an argument in its query, unless that is the usual one.
    pub(super) fn at(self, argument: Option<String>) -> HttpRequest {
        match argument {
            None => self,
            Some(query) => self.asking(&query),
        }
    }

    /// The same, its cost accepted.
    pub(super) fn meant(self) -> HttpRequest {
        self.asking(MEANT)
    }

    fn asking(self, query: &str) -> HttpRequest {
        HttpRequest { target: format!("{}?{query}", self.target), ..self }
    }
}

/// The query of a command that may cost what it costs.
const MEANT: &str = "yes=true";

/// What a command changes, as a request in one line; `None` if it only asks.
pub(crate) fn change(command: &Command) -> Option<String> {
    let HttpRequest { method, target, body } = command.request();
    let body = String::from_utf8(body).expect("a body is JSON");
    let line = format!("{} {target} {body}", method.name());
    (method != Method::Get).then(|| line.trim_end().to_owned())
}

/// The command that a request stands for.
///
/// # Errors
/// A [`AdminRefusal`] that names the request and what would be right.
pub(super) fn command(method: Method, target: &str, body: &[u8]) -> Result<Command, AdminRefusal> {
    let target = RequestTarget::decode(target)?;
    let asked = RoutedRequest { method, target: &target, body };
    let found = Command::of(&asked, &target.segments())?;
    Ok(if asked.is_meant() { found.meant() } else { found })
}

/// A request on its way to become a command.
pub(super) struct RoutedRequest<'a> {
    pub(super) method: Method,
    target: &'a RequestTarget<'a>,
    body: &'a [u8],
}

impl RoutedRequest<'_> {
    /// Whether its cost is accepted; what only asks has none.
    fn is_meant(&self) -> bool {
        self.method != Method::Get && self.target.query() == Some(MEANT)
    }

    /// The query, but for the one that every change may have.
    fn query(&self) -> Option<&str> {
        self.target.query().filter(|_| !self.is_meant())
    }

    pub(super) fn without_query(&self) -> Result<(), AdminRefusal> {
        let refusal = |_| Err(AdminRefusal::bad(format!("{} takes no query", self.target.path())));
        self.query().map_or(Ok(()), refusal)
    }

    pub(super) fn without_body(&self) -> Result<(), AdminRefusal> {
        match self.body {
            [] => Ok(()),
            _ => Err(AdminRefusal::bad(format!("{} takes no body", self.name()))),
        }
    }

    /// The body.
    fn body<B: DeserializeOwned>(&self) -> Result<B, AdminRefusal> {
        serde_json::from_slice(self.body).map_err(|error| {
            let reason = json_in_words(&error.to_string());
            AdminRefusal::bad(format!("the body of {} cannot be used: {reason}", self.name()))
                .wants("the JSON object that docs/admin.md gives for it")
        })
    }

    pub(super) fn unknown(&self) -> AdminRefusal {
        AdminRefusal::not_found(format!("there is no {}", self.name()))
            .wants("a request of docs/admin.md, such as GET /status")
    }

    fn name(&self) -> String {
        format!("{} {}", self.method.name(), self.target.path())
    }
}
