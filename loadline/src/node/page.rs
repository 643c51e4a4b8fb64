//! `loadline metrics` and `loadline page`: what a monitoring system and a browser take of a running node.

use super::args::PageArgs;
use super::reach::NodeArgs;
use crate::failure::Failure;
use crate::show;
use loadline_host::admin::api::Command;
use serde_json::Value;

/// `loadline metrics`
pub(crate) fn metrics(args: &NodeArgs) -> Result<(), Failure> {
    let mut client = args.connect()?;
    match args.json() {
        true => show::json(&client.ask::<Value>(&Command::Metrics)?),
        false => show::text(&client.ask_text(&Command::Metrics)?),
    }
}

/// `loadline page`: the address with the token, for whoever may read the node's folder.
pub(crate) fn page(args: &PageArgs) -> Result<(), Failure> {
    let none = || {
        Failure::Environment(
            "this one has no page; a node has a page if it is started with `--page 127.0.0.1:7480`"
                .to_owned(),
        )
    };
    let path = args.node.place(|told| told.page)?.ok_or_else(none)?;
    let text =
        std::fs::read_to_string(&path).map_err(|error| Failure::unreadable(&path, &error))?;
    let found: Option<Value> = serde_json::from_str(&text).ok();
    let part = |name: &str| found.as_ref()?.get(name)?.as_str().map(str::to_owned);
    let (Some(url), Some(token)) = (part("url"), part("token")) else {
        return Err(Failure::Environment(format!(
            "{}: is not what a node writes there",
            path.display()
        )));
    };
    match args.node.json() {
        true => show::json(&serde_json::json!({ "url": url, "token": token })),
        false => show::text(&format!("{url}#token={token}\n")),
    }
}
