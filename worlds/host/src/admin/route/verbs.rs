//! How a verb is declared, and what follows from it: the variant of [`Command`](crate::admin::api::Command), the request that
//! stands for it, the way back, and its row in `docs/admin.md`.

use super::RoutedRequest;
use crate::admin::api::{
    AdminRefusal, OsdMove, ScrubHow, TracedOps, ValueLevel, WatchSeconds, Who,
};
use loadline_osd::{OsdId, OsdSet};
use serde::de::DeserializeOwned;

/// Declares verbs. Each is `Name { arguments }: Method [path] ? query <= body "its fields" -> Reply, "in words", "typed";` with its help
/// above. A path is made of words and of arguments; the query and the body are one argument each.
macro_rules! verbs {
    ($(
        $(#[doc = $help:literal])+
        $verb:ident $({ $($arg:ident: $type:ty),+ })?: $method:ident [$($segment:tt)+] $(? $query:ident)?
            $(<= $body:ident $fields:literal)? -> $reply:ident, $words:literal, $typed:literal;
    )+) => {
        /// What can be asked of a running node.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Command {
            $(
                $(#[doc = $help])+
                #[doc = concat!("Answered by [`", stringify!($reply), "`](super::", stringify!($reply), ").")]
                $verb $({ $(#[allow(missing_docs, reason = "the verb says it")] $arg: $type),+ })?,
            )+
            /// One of the others, whose cost is known and accepted: what destroys data or ends service is refused without.
            Meant(Box<Command>),
        }

        impl Command {
            /// The request that stands for it.
            pub(in crate::admin) fn request(&self) -> $crate::admin::route::HttpRequest {
                use $crate::admin::route::{HttpRequest, Method, verbs::{InQuery, Segment}};
                match self {
                    $(Command::$verb $({ $($arg),+ })? => {
                        HttpRequest::new(Method::$method, &[$(verbs!(@text $segment)),+]) $(.at($query.query()))? $(.with($body))?
                    })+
                    Command::Meant(command) => command.request().meant(),
                }
            }

            /// The command that a request stands for.
            pub(in crate::admin) fn of(
                asked: &$crate::admin::route::RoutedRequest<'_>,
                path: &[&str],
            ) -> Result<Command, $crate::admin::api::AdminRefusal> {
                use $crate::admin::route::{Method, verbs::{InBody, Query, Read}};
                match (asked.method, path) {
                    $((Method::$method, [$(verbs!(@pattern $segment)),+]) => {
                        verbs!(@query asked $($query)?);
                        verbs!(@body asked $($body)?);
                        $(let $query = Query;)?
                        $(let $body = InBody;)?
                        $($(let $arg: $type = Read::read($arg, asked)?;)+)?
                        Ok(Command::$verb $({ $($arg),+ })?)
                    })+
                    _ => Err(asked.unknown()),
                }
            }
        }

        /// Each verb as readers see it: request, body, answer, what is typed, help.
        #[cfg(test)]
        pub(in crate::admin) const VERBS: &[[&str; 5]] = &[$([
            concat!(verbs!(@method $method), " " $(, "/", verbs!(@shown $segment))+ $(, "?", stringify!($query))?),
            concat!($($fields)?),
            $words,
            $typed,
            concat!($($help),+),
        ]),+];
    };
    (@text $word:literal) => { $word.to_owned() };
    (@text $arg:ident) => { $arg.text() };
    (@pattern $word:literal) => { $word };
    (@pattern $arg:ident) => { $arg };
    (@shown $word:literal) => { $word };
    (@shown $arg:ident) => { concat!("{", stringify!($arg), "}") };
    (@method Get) => { "GET" };
    (@method Put) => { "PUT" };
    (@method Post) => { "POST" };
    (@method Delete) => { "DELETE" };
    (@query $asked:ident $query:ident) => {};
    (@query $asked:ident) => { $asked.without_query()? };
    (@body $asked:ident $body:ident) => {};
    (@body $asked:ident) => { $asked.without_body()? };
}
pub(in crate::admin) use verbs;

/// An argument that is a part of the path.
pub(in crate::admin) trait Segment {
    fn text(&self) -> String;
}

/// An argument that is the query.
pub(in crate::admin) trait InQuery {
    /// `name=value`; what goes without saying has none.
    fn query(&self) -> Option<String>;
}

/// An argument from where it stands in a request.
pub(in crate::admin) trait Read<Source>: Sized {
    fn read(source: Source, asked: &RoutedRequest<'_>) -> Result<Self, AdminRefusal>;
}

/// It is the body.
pub(in crate::admin) struct InBody;

/// It is the query.
pub(in crate::admin) struct Query;

impl<T: DeserializeOwned> Read<InBody> for T {
    fn read(_: InBody, asked: &RoutedRequest<'_>) -> Result<T, AdminRefusal> {
        asked.body()
    }
}

/// The query of what concerns the running OSD alone.
const LEVEL_QUERY: &str = "level=runtime";

impl InQuery for ValueLevel {
    fn query(&self) -> Option<String> {
        (*self == ValueLevel::Runtime).then(|| LEVEL_QUERY.to_owned())
    }
}

/// A DELETE has no body, so the level stands in its query; the stored one needs no words.
impl Read<Query> for ValueLevel {
    fn read(_: Query, asked: &RoutedRequest<'_>) -> Result<ValueLevel, AdminRefusal> {
        match asked.query() {
            None | Some("level=stored") => Ok(ValueLevel::Stored),
            Some(LEVEL_QUERY) => Ok(ValueLevel::Runtime),
            Some(other) => Err(AdminRefusal::bad(format!("the query `{other}` is not understood"))
                .wants("`level=stored` or `level=runtime`")),
        }
    }
}

impl InQuery for TracedOps {
    fn query(&self) -> Option<String> {
        (self.get() > 0).then(|| format!("traced={}", self.get()))
    }
}

impl Read<Query> for TracedOps {
    fn read(_: Query, asked: &RoutedRequest<'_>) -> Result<TracedOps, AdminRefusal> {
        let Some(query) = asked.query() else { return Ok(TracedOps::default()) };
        let ops = query.strip_prefix("traced=").and_then(|number| number.parse().ok());
        ops.and_then(TracedOps::new).ok_or_else(|| {
            AdminRefusal::bad(format!("the query `{query}` is not understood"))
                .wants(format!("`traced=` and a number of ops up to {}", TracedOps::MAX))
        })
    }
}

impl Segment for String {
    fn text(&self) -> String {
        self.clone()
    }
}

impl Read<&&str> for String {
    fn read(text: &&str, _: &RoutedRequest<'_>) -> Result<String, AdminRefusal> {
        Ok((*text).to_owned())
    }
}

impl Segment for OsdId {
    fn text(&self) -> String {
        self.get().to_string()
    }
}

impl Read<&&str> for OsdId {
    fn read(text: &&str, _: &RoutedRequest<'_>) -> Result<OsdId, AdminRefusal> {
        let number = text.parse().ok().filter(|number| *number < OsdSet::OSDS_MAX);
        number.map(OsdId::new).ok_or_else(|| {
            AdminRefusal::not_found(format!("there is no OSD `{text}`"))
                .wants(format!("a number from 0 to {}", OsdSet::OSDS_MAX - 1))
        })
    }
}

impl Segment for Vec<OsdId> {
    fn text(&self) -> String {
        self.iter().map(Segment::text).collect::<Vec<_>>().join(",")
    }
}

impl Read<&&str> for Vec<OsdId> {
    fn read(text: &&str, asked: &RoutedRequest<'_>) -> Result<Vec<OsdId>, AdminRefusal> {
        text.split(',').map(|one| OsdId::read(&one, asked)).collect()
    }
}

impl Segment for WatchSeconds {
    fn text(&self) -> String {
        self.get().to_string()
    }
}

impl Read<&&str> for WatchSeconds {
    fn read(text: &&str, _: &RoutedRequest<'_>) -> Result<WatchSeconds, AdminRefusal> {
        let seconds = text.parse().ok().and_then(WatchSeconds::new);
        seconds.ok_or_else(|| {
            AdminRefusal::bad(format!("nobody watches for `{text}` seconds"))
                .wants(format!("a whole number of seconds from 1 to {}", WatchSeconds::MAX))
        })
    }
}

impl Segment for OsdMove {
    fn text(&self) -> String {
        self.name().to_owned()
    }
}

impl Read<&&str> for OsdMove {
    fn read(text: &&str, asked: &RoutedRequest<'_>) -> Result<OsdMove, AdminRefusal> {
        let known = OsdMove::ALL.into_iter().find(|known| known.name() == *text);
        known.ok_or_else(|| asked.unknown())
    }
}

impl Segment for ScrubHow {
    fn text(&self) -> String {
        self.name().to_owned()
    }
}

impl Read<&&str> for ScrubHow {
    fn read(text: &&str, asked: &RoutedRequest<'_>) -> Result<ScrubHow, AdminRefusal> {
        let known = ScrubHow::ALL.into_iter().find(|known| known.name() == *text);
        known.ok_or_else(|| asked.unknown())
    }
}

impl Segment for Who {
    fn text(&self) -> String {
        self.to_string()
    }
}

impl Read<&&str> for Who {
    fn read(text: &&str, _: &RoutedRequest<'_>) -> Result<Who, AdminRefusal> {
        text.parse().map_err(|_| {
            AdminRefusal::not_found(format!("there is no section `{text}`"))
                .wants("`global`, `osd` or one OSD such as `osd.0`")
        })
    }
}
