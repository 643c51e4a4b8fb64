//! Paths: segments with percent-encoding, and a query that only one kind of request has.

use crate::admin::api::AdminRefusal;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// What stands for itself in a segment: the unreserved characters of RFC 3986.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The path of these segments.
pub(super) fn encode(segments: &[String]) -> String {
    segments.iter().flat_map(|segment| ["/".into(), encode_segment(segment)]).collect()
}

/// `.` and `..` alone would be swallowed by whoever normalises paths, so their points are encoded.
fn encode_segment(segment: &str) -> String {
    match segment {
        "." | ".." => segment.replace('.', "%2E"),
        _ => utf8_percent_encode(segment, ENCODED).to_string(),
    }
}

/// A request's target, decoded.
pub(super) struct RequestTarget<'a> {
    path: &'a str,
    segments: Vec<String>,
    query: Option<&'a str>,
}

impl<'a> RequestTarget<'a> {
    pub(super) fn decode(target: &'a str) -> Result<RequestTarget<'a>, AdminRefusal> {
        let (path, query) = match target.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (target, None),
        };
        let inside = path.strip_prefix('/').ok_or_else(|| {
            AdminRefusal::bad(format!("`{path}` is no path")).wants("one such as /status")
        })?;
        let segments = inside.split('/').map(decode_segment).collect::<Result<_, _>>()?;
        Ok(RequestTarget { path, segments, query })
    }

    pub(super) fn segments(&self) -> Vec<&str> {
        self.segments.iter().map(String::as_str).collect()
    }

    /// The path as it came.
    pub(super) fn path(&self) -> &str {
        self.path
    }

    pub(super) fn query(&self) -> Option<&str> {
        self.query
    }
}

fn decode_segment(segment: &str) -> Result<String, AdminRefusal> {
    let refused = || {
        AdminRefusal::bad(format!("`{segment}` is no part of a path"))
            .wants("a name, percent-encoded UTF-8")
    };
    match percent_decode_str(segment).decode_utf8() {
        Ok(text) if text.is_empty() => {
            Err(AdminRefusal::bad("an empty name names nothing").wants("the name of what is meant"))
        }
        Ok(text) => Ok(text.into_owned()),
        _ => Err(refused()),
    }
}
