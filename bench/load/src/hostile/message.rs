//! Bytes on the wire: WebSocket frames and HTTP requests, complete or not.

/// First byte of a complete text frame (RFC 6455, section 5.2).
const TEXT: u8 = 0x81;
/// First byte of a text frame that others follow.
const TEXT_START: u8 = 0x01;
/// First byte of a frame that continues a message.
const CONTINUATION: u8 = 0x00;
/// First byte of a ping.
const PING: u8 = 0x89;

/// A WebSocket text frame.
pub(super) fn text_frame(text: &str) -> Vec<u8> {
    frame(TEXT, text.len(), text.as_bytes())
}

/// A text frame that announces `announced` bytes and has fewer.
pub(super) fn unfinished_frame(announced: usize, text: &[u8]) -> Vec<u8> {
    frame(TEXT, announced, text)
}

/// The first frame of a message in several frames.
pub(super) fn first_fragment(text: &str) -> Vec<u8> {
    frame(TEXT_START, text.len(), text.as_bytes())
}

/// A frame of a message in several frames that is not the last one.
pub(super) fn fragment(text: &str) -> Vec<u8> {
    frame(CONTINUATION, text.len(), text.as_bytes())
}

/// A ping with a payload of at most 125 bytes.
pub(super) fn ping(payload: &str) -> Vec<u8> {
    frame(PING, payload.len(), payload.as_bytes())
}

/// A frame with a mask of zeros, which leaves the payload as it is.
fn frame(first: u8, announced: usize, payload: &[u8]) -> Vec<u8> {
    const MASKED: u8 = 0x80;
    let mut frame = Vec::with_capacity(payload.len() + 14);
    frame.push(first);
    if let Ok(short @ 0..=125) = u8::try_from(announced) {
        frame.push(MASKED | short);
    } else if let Ok(medium) = u16::try_from(announced) {
        frame.push(MASKED | 126);
        frame.extend_from_slice(&medium.to_be_bytes());
    } else {
        frame.push(MASKED | 127);
        frame.extend_from_slice(&(announced as u64).to_be_bytes());
    }
    frame.extend_from_slice(&[0; 4]);
    frame.extend_from_slice(payload);
    frame
}

/// The request that opens a WebSocket with version 2 of the protocol.
pub(super) fn upgrade_request(authority: &str, path: &str, token: &str) -> Vec<u8> {
    let protocol = toolway_wire::SUBPROTOCOL_V2;
    let head = format!(
        "GET {path} HTTP/1.1\r\nHost: {authority}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
         Sec-WebSocket-Protocol: {protocol}\r\nAuthorization: Bearer {token}\r\n\r\n"
    );
    head.into_bytes()
}

/// An HTTP request with a JSON body, or the start of one: the body may be shorter than `announced`.
pub(super) fn request(method: &str, path: &str, headers: &str, announced: usize, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\n{headers}Content-Type: application/json\r\n\
         Content-Length: {announced}\r\n\r\n"
    );
    let mut bytes = head.into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_have_the_three_forms_of_a_length() {
        assert_eq!(text_frame("hi"), [0x81, 0x82, 0, 0, 0, 0, b'h', b'i']);
        assert_eq!(unfinished_frame(300, b"x"), [0x81, 0xfe, 1, 44, 0, 0, 0, 0, b'x']);
        assert_eq!(unfinished_frame(65_536, b""), [0x81, 0xff, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
    }
}
