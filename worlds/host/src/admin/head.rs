//! The head of a request: what of HTTP/1.1 a session looks at.

use super::api::AdminRefusal;
use super::route::Method;
use std::str;

/// The largest head, request line and headers together.
pub(super) const HEAD_BYTES_MAX: usize = 64 << 10;
/// The largest body.
pub(super) const BODY_BYTES_MAX: usize = 1 << 20;
/// Browsers and curl send about ten.
const HEADERS_MAX: usize = 64;

/// A head that can be used.
#[derive(Debug)]
pub(super) struct HttpHead {
    pub(super) method: Method,
    pub(super) target: String,
    /// How many bytes follow as the body.
    pub(super) body_bytes: usize,
    /// The connection ends after the answer.
    pub(super) closes: bool,
    /// The client waits for leave to send the body.
    pub(super) expects_leave: bool,
}

impl HttpHead {
    /// Reads the head at the beginning of `bytes`, with its length; `None` while it is not whole.
    pub(super) fn parse(bytes: &[u8]) -> Result<Option<(HttpHead, usize)>, AdminRefusal> {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut request = httparse::Request::new(&mut headers);
        let malformed =
            |error| AdminRefusal::bad(format!("this is no request of HTTP/1.1: {error}"));
        match request.parse(bytes).map_err(malformed)? {
            httparse::Status::Complete(length) if length > HEAD_BYTES_MAX => Err(too_large()),
            httparse::Status::Complete(length) => Ok(Some((HttpHead::of(&request)?, length))),
            httparse::Status::Partial => Ok(None),
        }
    }

    fn of(request: &httparse::Request<'_, '_>) -> Result<HttpHead, AdminRefusal> {
        let name = request.method.unwrap_or_default();
        let method = Method::from_name(name).ok_or_else(|| {
            AdminRefusal::bad(format!("there is no method {name}"))
                .wants("GET, PUT, POST or DELETE")
        })?;
        let mut head = HttpHead {
            method,
            target: request.path.unwrap_or_default().to_owned(),
            body_bytes: 0,
            closes: request.version == Some(0),
            expects_leave: false,
        };
        let mut length = None;
        for header in request.headers.iter() {
            head.take(header, &mut length)?;
        }
        head.body_bytes = length.unwrap_or(0);
        Ok(head)
    }

    /// Looks at one header.
    fn take(
        &mut self,
        header: &httparse::Header<'_>,
        length: &mut Option<usize>,
    ) -> Result<(), AdminRefusal> {
        let is = |name: &str| header.name.eq_ignore_ascii_case(name);
        let value = str::from_utf8(header.value).unwrap_or_default().trim();
        if is("content-length") {
            // Two lengths that differ would let two readers see two different requests.
            let read = length_of(value)?;
            if length.replace(read).is_some_and(|earlier| earlier != read) {
                return Err(AdminRefusal::bad("two headers Content-Length differ"));
            }
        } else if is("transfer-encoding") {
            return Err(AdminRefusal::bad("a transfer encoding is not understood")
                .wants("a body with Content-Length"));
        } else if is("connection") {
            self.closes |= value.split(',').any(|word| word.trim().eq_ignore_ascii_case("close"));
        } else if is("expect") {
            self.expects_leave = value.eq_ignore_ascii_case("100-continue");
        }
        Ok(())
    }
}

fn length_of(value: &str) -> Result<usize, AdminRefusal> {
    let digits = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    match value.parse::<usize>() {
        Ok(length) if digits && length <= BODY_BYTES_MAX => Ok(length),
        _ if digits => Err(AdminRefusal::bad("the body is too large")
            .wants(format!("at most {BODY_BYTES_MAX} bytes"))),
        _ => Err(AdminRefusal::bad("Content-Length is no length").wants("a number of bytes")),
    }
}

/// What is said of a head that does not end in time.
pub(super) fn too_large() -> AdminRefusal {
    AdminRefusal::bad("the head is too large").wants(format!("at most {HEAD_BYTES_MAX} bytes"))
}
