//! Requests about settings.

use super::{Asked, Method, Request};
use crate::admin::api::{ConfigCommand, Level, Refusal, Who};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Value {
    value: String,
    #[serde(default)]
    level: Level,
}

/// A DELETE has no body, so the level stands in its query; the stored one needs no words.
const RUNTIME: &str = "level=runtime";

pub(super) fn request(command: &ConfigCommand) -> Request {
    match command {
        ConfigCommand::Show(None) => Request::plain(Method::Get, &["config"]),
        ConfigCommand::Show(Some(who)) => {
            Request::plain(Method::Get, &["config", &who.to_string()])
        }
        ConfigCommand::Get(who, option) => {
            Request::plain(Method::Get, &["config", &who.to_string(), option])
        }
        ConfigCommand::Set { who, option, value, level } => {
            let body = Value { value: value.clone(), level: *level };
            Request::with(Method::Put, &["config", &who.to_string(), option], &body)
        }
        ConfigCommand::Remove { who, option, level } => {
            let path = ["config", &who.to_string(), option];
            let mut request = Request::plain(Method::Delete, &path);
            if *level == Level::Runtime {
                request.target.push('?');
                request.target.push_str(RUNTIME);
            }
            request
        }
    }
}

pub(super) fn command(asked: &Asked<'_>, path: &[&str]) -> Result<ConfigCommand, Refusal> {
    use Method::{Delete, Get, Put};
    let query = asked.target.query().filter(|query| *query != super::MEANT);
    if query.is_some() && asked.method != Delete {
        return Err(Refusal::bad(format!("{} takes no query", asked.name())));
    }
    match (asked.method, path) {
        (Get, []) => asked.plain(ConfigCommand::Show(None)),
        (Get, [who]) => asked.plain(ConfigCommand::Show(Some(who_of(who)?))),
        (Get, [who, option]) => asked.plain(ConfigCommand::Get(who_of(who)?, (*option).into())),
        (Put, [who, option]) => {
            let Value { value, level } = asked.body()?;
            Ok(ConfigCommand::Set { who: who_of(who)?, option: (*option).into(), value, level })
        }
        (Delete, [who, option]) => {
            let level = level_of(query)?;
            asked.plain(ConfigCommand::Remove {
                who: who_of(who)?,
                option: (*option).into(),
                level,
            })
        }
        _ => Err(asked.unknown()),
    }
}

fn who_of(text: &str) -> Result<Who, Refusal> {
    text.parse().map_err(|_| {
        Refusal::not_found(format!("there is no section `{text}`"))
            .wants("`global`, `osd` or one OSD such as `osd.0`")
    })
}

fn level_of(query: Option<&str>) -> Result<Level, Refusal> {
    match query {
        None | Some("level=stored") => Ok(Level::Stored),
        Some(RUNTIME) => Ok(Level::Runtime),
        Some(other) => Err(Refusal::bad(format!("the query `{other}` is not understood"))
            .wants("`level=stored` or `level=runtime`")),
    }
}
