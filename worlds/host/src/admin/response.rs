//! Answers as bytes of HTTP/1.1.

use super::api::{AdminAnswer, AdminRefusal};
use super::head::AnswerForm;
use super::page::PageFile;

/// The head of a stream of events, which ends with its connection.
pub(super) const STREAM: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n";

/// One event of a stream: a line of data.
pub(super) fn event(line: &str) -> Vec<u8> {
    format!("data: {line}\n\n").into_bytes()
}

/// A file of the page. Nothing that it shows comes from elsewhere, and nobody else shows it.
pub(super) fn file(file: &PageFile, closes: bool) -> Vec<u8> {
    let more = "Content-Security-Policy: default-src 'self'; img-src data:; frame-ancestors 'none'\r\n\
                X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n";
    page(200, file.content_type, more, file.bytes, closes)
}

/// Leave to send a body.
pub(super) const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// An answer as it is sent; `closes` tells the client that the connection ends with it.
pub(super) fn encode(
    answer: &Result<AdminAnswer, AdminRefusal>,
    form: AnswerForm,
    closes: bool,
) -> Vec<u8> {
    match (answer, form) {
        (Ok(AdminAnswer::Metrics(metrics)), AnswerForm::Text(form)) => {
            page(200, form.content_type(), "", metrics.text(form).as_bytes(), closes)
        }
        (Ok(answer), _) => {
            json(200, serde_json::to_vec(answer).expect("an answer is plain data"), closes)
        }
        (Err(refusal), _) => json(refusal.kind.code(), refusal.to_json(), closes),
    }
}

/// What is answered to what cannot be carried out.
pub(super) fn refuse(refusal: AdminRefusal, closes: bool) -> Vec<u8> {
    encode(&Err(refusal), AnswerForm::Json, closes)
}

fn json(code: u16, mut body: Vec<u8>, closes: bool) -> Vec<u8> {
    // Whoever asks with curl gets a whole line.
    body.push(b'\n');
    page(code, "application/json", "", &body, closes)
}

fn page(code: u16, content_type: &str, more: &str, body: &[u8], closes: bool) -> Vec<u8> {
    let mut bytes = format!(
        "HTTP/1.1 {code} {}\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n{more}{}\r\n",
        reason(code),
        body.len(),
        if closes { "Connection: close\r\n" } else { "" },
    )
    .into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

fn reason(code: u16) -> &'static str {
    match code {
        200 => "OK",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        409 => "Conflict",
        _ => "Service Unavailable",
    }
}
