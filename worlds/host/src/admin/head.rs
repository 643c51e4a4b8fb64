//! The head of a request: what of HTTP/1.1 a session looks at.

use super::api::AdminRefusal;
use super::exposition::MetricsForm;
use super::route::Method;
use std::str;

/// Browsers and curl send about ten.
const HEADERS_MAX: usize = 64;

/// What may be under way and kept of one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SessionBounds {
    pub(super) head_bytes: usize,
    pub(super) body_bytes: usize,
    /// Requests that wait for their answers.
    pub(super) open: usize,
}

/// How an answer is sent that has more than one form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AnswerForm {
    Json,
    Text(MetricsForm),
}

impl AnswerForm {
    fn accepted(accept: &str) -> AnswerForm {
        match accept.contains("application/json") {
            true => AnswerForm::Json,
            false => AnswerForm::Text(MetricsForm::accepted(accept)),
        }
    }
}

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
    /// In which form it wants metrics.
    pub(super) form: AnswerForm,
    /// The host that it means; empty if it does not say.
    pub(super) host: String,
    /// The token that it has.
    pub(super) token: Option<String>,
    /// It comes from a browser, whoever has that ask.
    pub(super) is_a_browsers: bool,
}

impl HttpHead {
    /// Reads the head at the beginning of `bytes`, with its length; `None` while it is not whole.
    pub(super) fn parse(
        bytes: &[u8],
        bounds: SessionBounds,
    ) -> Result<Option<(HttpHead, usize)>, AdminRefusal> {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut request = httparse::Request::new(&mut headers);
        let malformed =
            |error| AdminRefusal::bad(format!("this is no request of HTTP/1.1: {error}"));
        match request.parse(bytes).map_err(malformed)? {
            httparse::Status::Complete(length) if length > bounds.head_bytes => {
                Err(too_large(bounds))
            }
            httparse::Status::Complete(length) => {
                Ok(Some((HttpHead::of(&request, bounds)?, length)))
            }
            httparse::Status::Partial => Ok(None),
        }
    }

    fn of(
        request: &httparse::Request<'_, '_>,
        bounds: SessionBounds,
    ) -> Result<HttpHead, AdminRefusal> {
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
            form: AnswerForm::Text(MetricsForm::Prometheus),
            host: String::new(),
            token: None,
            is_a_browsers: false,
        };
        let mut length = None;
        for header in request.headers.iter() {
            head.take(header, &mut length, bounds)?;
        }
        head.body_bytes = length.unwrap_or(0);
        Ok(head)
    }

    /// Looks at one header.
    fn take(
        &mut self,
        header: &httparse::Header<'_>,
        length: &mut Option<usize>,
        bounds: SessionBounds,
    ) -> Result<(), AdminRefusal> {
        let is = |name: &str| header.name.eq_ignore_ascii_case(name);
        let value = str::from_utf8(header.value).unwrap_or_default().trim();
        if is("content-length") {
            // Two lengths that differ would let two readers see two different requests.
            let read = length_of(value, bounds)?;
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
        } else if is("host") {
            self.host = value.to_owned();
        } else if is("authorization") {
            self.token = value.strip_prefix("Bearer ").map(|token| token.trim().to_owned());
        } else if is("accept") {
            self.form = AnswerForm::accepted(value);
        } else if is("origin") || is("sec-fetch-site") {
            self.is_a_browsers = true;
        } else if is("user-agent") {
            // Each of them says so, and no page can make it say anything else.
            self.is_a_browsers |= value.starts_with("Mozilla/");
        }
        Ok(())
    }
}

fn length_of(value: &str, bounds: SessionBounds) -> Result<usize, AdminRefusal> {
    let digits = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    match value.parse::<usize>() {
        Ok(length) if digits && length <= bounds.body_bytes => Ok(length),
        _ if digits => Err(AdminRefusal::bad("the body is too large")
            .wants(format!("at most {} bytes", bounds.body_bytes))),
        _ => Err(AdminRefusal::bad("Content-Length is no length").wants("a number of bytes")),
    }
}

/// What is said of a head that does not end in time.
pub(super) fn too_large(bounds: SessionBounds) -> AdminRefusal {
    let wanted = format!("at most {} bytes", bounds.head_bytes);
    AdminRefusal::bad("the head is too large").wants(wanted)
}
