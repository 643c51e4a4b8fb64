//! Any bytes as requests, with what must hold afterwards; also the body of the fuzz target `resp_requests`.

use loadline_wire::resp::{RespFault, RespLimits, RespReader, RespReply, RespRequest, RespVersion};

const LIMITS: RespLimits = RespLimits { string_bytes: 100, request_bytes: 300, strings: 8 };
/// Bytes of a typed line at most, which a reader keeps until it is whole.
const LINE_BYTES_MAX: usize = 64 << 10;

/// A connection's bytes behind the first, in pieces of as many bytes as that says.
pub(crate) fn connection(bytes: &[u8]) {
    let [piece, sent @ ..] = bytes else { return };
    let piece = usize::from(*piece) + 1;
    let understood = read(sent, piece);
    assert_eq!(understood, read(sent, sent.len().max(1)));
    let (requests, _) = understood;
    pass_over(sent, piece);
    // Each request is one again when it is sent as a client library would.
    for request in &requests {
        assert!(request.len() >= 1 && request.bytes() >= request.len());
        let strings: Vec<RespReply> = request.iter().map(RespReply::bulk).collect();
        let mut again = Vec::new();
        RespReply::Array(strings).encode(RespVersion::Two, &mut again);
        let is_within = request.len() <= LIMITS.strings
            && request.bytes() <= LIMITS.request_bytes
            && request.iter().all(|string| string.len() <= LIMITS.string_bytes);
        if is_within {
            assert_eq!(read(&again, piece), (vec![request.clone()], None));
        }
    }
}

/// The requests up to the first fault, and that.
fn read(sent: &[u8], piece: usize) -> (Vec<RespRequest>, Option<RespFault>) {
    let mut reader = RespReader::new(LIMITS);
    let mut requests = Vec::new();
    for part in sent.chunks(piece) {
        reader.push(part);
        loop {
            match reader.next_request() {
                Ok(Some(request)) => requests.push(request),
                Ok(None) => break,
                Err(fault) => return (requests, Some(fault)),
            }
        }
        reader.rest();
        let most = LINE_BYTES_MAX + LIMITS.request_bytes + LIMITS.strings * size_of::<usize>();
        assert!(reader.held() <= most && reader.unread() <= reader.held());
    }
    (requests, None)
}

/// Nothing is kept of requests that are passed over as soon as they have begun.
fn pass_over(sent: &[u8], piece: usize) {
    let mut reader = RespReader::new(LIMITS);
    for part in sent.chunks(piece) {
        reader.push(part);
        loop {
            match reader.next_request() {
                Ok(Some(request)) => assert!(request.len() >= 1),
                Ok(None) => break,
                Err(_) => return,
            }
        }
        if let Some(coming) = reader.coming() {
            assert!((1..=LIMITS.strings).contains(&coming.strings));
            assert!(coming.to_come <= coming.strings);
            assert!(coming.bytes <= LIMITS.request_bytes + LIMITS.strings * size_of::<usize>());
        }
        reader.skip();
        assert!(reader.coming().is_none() && reader.held() == reader.input());
        reader.rest();
    }
}
