//! Compares Toolway's encoding with the frames in `testdata`, one per line: each is decoded and encoded to
//! the same bytes, so no field can be renamed, removed or reordered by accident.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking")]

use toolway_wire::{ClientMessage, FrameError, GatewayMessage};

const FROM_CLIENT: &str = include_str!("../testdata/from_client.jsonl");
const FROM_GATEWAY: &str = include_str!("../testdata/from_gateway.jsonl");

#[track_caller]
fn check<M: PartialEq + std::fmt::Debug>(
    frames: &str,
    types: &[&str],
    decode: fn(&str) -> Result<M, FrameError>,
    encode: fn(&M) -> String,
    kind: fn(&M) -> &'static str,
) {
    let mut seen = Vec::new();
    for frame in frames.lines() {
        let message = decode(frame).unwrap_or_else(|error| panic!("{frame}: {error}"));
        assert_eq!(encode(&message), frame);
        assert_eq!(decode(&encode(&message)).unwrap(), message);
        seen.push(kind(&message));
    }
    for kind in types {
        assert!(seen.contains(kind), "no golden frame of type {kind}");
    }
}

#[test]
fn frames_of_clients() {
    check(
        FROM_CLIENT,
        ClientMessage::TYPES,
        ClientMessage::decode,
        ClientMessage::encode,
        ClientMessage::kind,
    );
}

#[test]
fn frames_of_the_gateway() {
    check(
        FROM_GATEWAY,
        GatewayMessage::TYPES,
        GatewayMessage::decode,
        GatewayMessage::encode,
        GatewayMessage::kind,
    );
}
