//! Answers as bytes of HTTP/1.1.

use super::api::{AdminAnswer, AdminRefusal};

/// Leave to send a body.
pub(super) const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// An answer as it is sent; `closes` tells the client that the connection ends with it.
pub(super) fn encode(answer: &Result<AdminAnswer, AdminRefusal>, closes: bool) -> Vec<u8> {
    let (code, body) = match answer {
        Ok(answer) => (200, serde_json::to_vec(answer).expect("an answer is plain data")),
        Err(refusal) => (refusal.kind.code(), refusal.to_json()),
    };
    let mut bytes = format!(
        "HTTP/1.1 {code} {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n{}\r\n",
        reason(code),
        body.len() + 1,
        if closes { "Connection: close\r\n" } else { "" },
    )
    .into_bytes();
    bytes.extend_from_slice(&body);
    // Whoever asks with curl gets a whole line.
    bytes.push(b'\n');
    bytes
}

fn reason(code: u16) -> &'static str {
    match code {
        200 => "OK",
        400 => "Bad Request",
        404 => "Not Found",
        409 => "Conflict",
        _ => "Service Unavailable",
    }
}
