//! What a run leaves on a cluster for others to know it by, and what is asked of a cluster before it is changed.

use crate::answers::StoredOption;
use crate::connection::{CephConnection, CephError, CommandTarget, ask};
use serde_json::json;

/// The key under which a run says that it is there.
pub const LOCK_KEY: &str = "loadline/run";

/// The application that our pools are labelled with.
pub const APPLICATION: &str = "loadline";

/// Who holds the cluster, if anybody does.
pub(crate) fn holder(on: &dyn CephConnection) -> Result<Option<String>, CephError> {
    let command = json!({"prefix": "config-key get", "key": LOCK_KEY});
    let answer = on.command(&CommandTarget::Monitor, &command)?;
    let text = String::from_utf8_lossy(&answer.output).trim().to_owned();
    Ok((answer.code == 0 && !text.is_empty()).then_some(text))
}

/// What is stored of an option in just this section.
pub(crate) fn stored(
    on: &dyn CephConnection,
    who: &str,
    name: &str,
) -> Result<Option<String>, CephError> {
    let all: Vec<StoredOption> =
        ask(on, &CommandTarget::Monitor, &json!({"prefix": "config dump"}))?;
    let mut found = all.into_iter().filter(|stored| stored.name == name && stored.who() == who);
    Ok(found.next().map(|stored| stored.value))
}

/// The same value, however it is printed.
pub(crate) fn is_same(a: &str, b: &str) -> bool {
    match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(a), Ok(b)) => (a - b).abs() <= 1e-5 * a.abs().max(b.abs()).max(1.0),
        _ => a == b,
    }
}
