//! Requests about OSDs.

use super::{Asked, Method, Request};
use crate::admin::api::{OsdCommand, OsdMove, Refusal};
use loadline_osd::{OsdId, OsdSet};

pub(super) fn request(command: &OsdCommand) -> Request {
    use Method::{Delete, Get, Post, Put};
    match command {
        OsdCommand::List => Request::plain(Get, &["osd"]),
        OsdCommand::Move(osd, step) => Request::plain(Put, &["osd", &number(*osd), step.name()]),
        OsdCommand::Add(asked) => Request::with(Post, &["osd"], asked),
        OsdCommand::Replace(osd, asked) => {
            Request::with(Post, &["osd", &number(*osd), "replace"], asked)
        }
        OsdCommand::Remove(osd) => Request::plain(Delete, &["osd", &number(*osd)]),
        OsdCommand::Bench(osd, asked) => {
            Request::with(Post, &["osd", &number(*osd), "bench"], asked)
        }
        OsdCommand::Queues(osd) => Request::plain(Get, &["osd", &number(*osd), "queues"]),
        OsdCommand::OkToStop(osds) => {
            let numbers: Vec<String> = osds.iter().map(|osd| number(*osd)).collect();
            Request::plain(Get, &["osd", &numbers.join(","), "ok-to-stop"])
        }
    }
}

pub(super) fn command(asked: &Asked<'_>, path: &[&str]) -> Result<OsdCommand, Refusal> {
    use Method::{Delete, Get, Post, Put};
    match (asked.method, path) {
        (Get, []) => asked.plain(OsdCommand::List),
        (Post, []) => asked.body().map(OsdCommand::Add),
        (Delete, [osd]) => asked.plain(OsdCommand::Remove(osd_of(osd)?)),
        (Get, [osd, "queues"]) => asked.plain(OsdCommand::Queues(osd_of(osd)?)),
        (Get, [osds, "ok-to-stop"]) => {
            let osds = osds.split(',').map(osd_of).collect::<Result<_, _>>()?;
            asked.plain(OsdCommand::OkToStop(osds))
        }
        (Post, [osd, "replace"]) => Ok(OsdCommand::Replace(osd_of(osd)?, asked.body()?)),
        (Post, [osd, "bench"]) => Ok(OsdCommand::Bench(osd_of(osd)?, asked.body()?)),
        (Put, [osd, step]) => {
            let step = OsdMove::ALL.into_iter().find(|known| known.name() == *step);
            let step = step.ok_or_else(|| asked.unknown())?;
            asked.plain(OsdCommand::Move(osd_of(osd)?, step))
        }
        _ => Err(asked.unknown()),
    }
}

fn number(osd: OsdId) -> String {
    osd.get().to_string()
}

fn osd_of(text: &str) -> Result<OsdId, Refusal> {
    let number = text.parse().ok().filter(|number| *number < OsdSet::OSDS_MAX);
    number.map(OsdId::new).ok_or_else(|| {
        Refusal::not_found(format!("there is no OSD `{text}`"))
            .wants(format!("a number from 0 to {}", OsdSet::OSDS_MAX - 1))
    })
}
