//! All attacks, by role.

use super::attack::{Attack, AttackRole, AttackUnit, RepeatedMessage, StreamOpening};
use super::content as c;

use AttackUnit::{Bytes, Connections, Messages};
use RepeatedMessage::{NewConnection, Nothing, Numbered, Same};
use StreamOpening::{Plain, WebSocket};

const DEVICE: StreamOpening = WebSocket("/ws/device");
const CHAT: StreamOpening = WebSocket("/ws/chat");
const MCP: StreamOpening = WebSocket("/ws/mcp");

/// One connection that sends nothing. The attacks below name what is different.
const BASE: Attack = Attack {
    name: "",
    role: AttackRole::Anonymous,
    tokens: 1,
    connections: 1,
    opening: Plain,
    first: c::nothing,
    repeated: Nothing,
    reads: true,
    unit: Messages,
    floor: 1.0,
    short: 1,
};
const ANONYMOUS: Attack = BASE;
const OF_DEVICE: Attack = Attack { role: AttackRole::Device, opening: DEVICE, ..BASE };
const OF_CLIENT: Attack = Attack { role: AttackRole::Client, ..BASE };
const OF_COMPANION: Attack = Attack { role: AttackRole::Companion, opening: CHAT, ..BASE };

/// All attacks.
pub(super) const ATTACKS: &[Attack] = &[
    Attack {
        name: "idle connections",
        connections: 2000,
        unit: Connections,
        floor: 300.0,
        short: 1200,
        ..ANONYMOUS
    },
    Attack {
        name: "unfinished heads",
        connections: 2000,
        first: c::unfinished_head,
        unit: Connections,
        floor: 300.0,
        short: 1200,
        ..ANONYMOUS
    },
    Attack {
        name: "unfinished pairing bodies",
        connections: 1000,
        first: c::unfinished_pairing_body,
        unit: Connections,
        floor: 200.0,
        short: 500,
        ..ANONYMOUS
    },
    Attack {
        name: "wrong pairing codes",
        connections: 32,
        repeated: Numbered(c::wrong_code),
        unit: Messages,
        floor: 1000.0,
        short: 2000,
        ..ANONYMOUS
    },
    Attack {
        name: "wrong tokens and escapes in paths",
        connections: 32,
        repeated: Numbered(c::wrong_token),
        unit: Messages,
        floor: 1000.0,
        short: 2000,
        ..ANONYMOUS
    },
    Attack {
        name: "connections that come and go",
        connections: 64,
        repeated: NewConnection,
        unit: Connections,
        floor: 500.0,
        short: 1000,
        ..ANONYMOUS
    },
    Attack {
        name: "unfinished frames of one device",
        connections: 32,
        first: c::unfinished_frame,
        unit: Bytes,
        floor: 20e6,
        short: 300_000_000,
        ..OF_DEVICE
    },
    Attack {
        name: "unfinished frames of many devices",
        tokens: 16,
        connections: 128,
        first: c::half_frame,
        unit: Bytes,
        floor: 50e6,
        short: 600_000_000,
        ..OF_DEVICE
    },
    Attack {
        name: "empty fragments",
        connections: 8,
        first: c::fragmented_message,
        repeated: Same(c::empty_fragments),
        unit: Messages,
        floor: 50.0,
        short: 500,
        ..OF_DEVICE
    },
    Attack {
        name: "pings without reading",
        connections: 8,
        repeated: Same(c::pings),
        reads: false,
        unit: Messages,
        floor: 20.0,
        short: 300,
        ..OF_DEVICE
    },
    Attack {
        name: "small frames",
        connections: 8,
        first: c::connect,
        repeated: Same(c::small_progress),
        unit: Messages,
        floor: 50.0,
        short: 200,
        ..OF_DEVICE
    },
    Attack {
        name: "invalid frames",
        connections: 8,
        first: c::connect,
        repeated: Same(c::invalid_frames),
        unit: Messages,
        floor: 20.0,
        short: 100,
        ..OF_DEVICE
    },
    Attack {
        name: "results of no call, with escapes",
        connections: 8,
        first: c::connect,
        repeated: Same(c::unknown_results),
        unit: Messages,
        floor: 20.0,
        short: 100,
        ..OF_DEVICE
    },
    Attack {
        name: "large patterns",
        connections: 4,
        first: c::connect,
        repeated: Same(c::large_patterns),
        unit: Messages,
        floor: 2.0,
        short: 4,
        ..OF_DEVICE
    },
    Attack {
        name: "different patterns",
        tokens: 4,
        connections: 32,
        first: c::connect,
        repeated: Numbered(c::distinct_patterns),
        unit: Messages,
        floor: 5.0,
        short: 20,
        ..OF_DEVICE
    },
    Attack {
        name: "as many definitions as allowed",
        tokens: 8,
        connections: 64,
        first: c::many_tools,
        unit: Bytes,
        floor: 10e6,
        short: 200_000_000,
        ..OF_DEVICE
    },
    Attack {
        name: "own definitions without reading",
        tokens: 8,
        connections: 64,
        first: c::tools_of_a_megabyte,
        repeated: Same(c::list_own_tools),
        reads: false,
        unit: Messages,
        floor: 100.0,
        short: 500,
        ..OF_DEVICE
    },
    Attack {
        name: "definitions of many values",
        connections: 8,
        first: c::connect,
        repeated: Same(c::definitions_of_many_values),
        unit: Bytes,
        floor: 2e6,
        short: 10_000_000,
        ..OF_DEVICE
    },
    Attack {
        name: "results of many values",
        connections: 8,
        first: c::connect,
        repeated: Same(c::result_of_many_values),
        unit: Bytes,
        floor: 5e6,
        short: 10_000_000,
        ..OF_DEVICE
    },
    Attack {
        name: "results of many keys",
        connections: 8,
        first: c::connect,
        repeated: Same(c::result_of_many_keys),
        unit: Bytes,
        floor: 5e6,
        short: 10_000_000,
        ..OF_DEVICE
    },
    Attack {
        name: "unfinished bodies",
        tokens: 4,
        connections: 256,
        first: c::unfinished_body,
        unit: Bytes,
        floor: 50e6,
        short: 600_000_000,
        ..OF_CLIENT
    },
    Attack {
        name: "bodies of many values",
        connections: 16,
        repeated: Same(c::body_of_many_values),
        unit: Bytes,
        floor: 2e6,
        short: 10_000_000,
        ..OF_CLIENT
    },
    Attack {
        name: "bodies of many keys",
        connections: 16,
        repeated: Same(c::body_of_many_keys),
        unit: Bytes,
        floor: 2e6,
        short: 10_000_000,
        ..OF_CLIENT
    },
    Attack {
        name: "calls with idempotency keys",
        connections: 32,
        repeated: Numbered(c::call_with_key),
        unit: Messages,
        floor: 500.0,
        short: 1000,
        ..OF_CLIENT
    },
    Attack {
        name: "answers without reading",
        tokens: 4,
        connections: 512,
        first: c::large_answers,
        reads: false,
        unit: Connections,
        floor: 50.0,
        short: 256,
        ..OF_CLIENT
    },
    Attack {
        name: "small requests",
        connections: 16,
        repeated: Same(c::list_of_tools),
        unit: Messages,
        floor: 50.0,
        short: 100,
        ..OF_CLIENT
    },
    Attack {
        name: "event streams",
        tokens: 8,
        connections: 512,
        first: c::event_stream,
        unit: Connections,
        floor: 50.0,
        short: 400,
        ..OF_CLIENT
    },
    Attack {
        name: "small calls",
        connections: 8,
        opening: CHAT,
        first: c::connect,
        repeated: Numbered(c::small_calls),
        unit: Messages,
        floor: 1000.0,
        short: 2000,
        ..OF_CLIENT
    },
    Attack {
        name: "chat connections",
        tokens: 4,
        connections: 1000,
        opening: CHAT,
        first: c::connect,
        unit: Connections,
        floor: 50.0,
        short: 400,
        ..OF_CLIENT
    },
    Attack {
        name: "mcp sessions",
        connections: 16,
        repeated: Same(c::mcp_session),
        unit: Messages,
        floor: 100.0,
        short: 1200,
        ..OF_CLIENT
    },
    Attack {
        name: "mcp calls of many values",
        connections: 16,
        repeated: Same(c::mcp_call_of_many_values),
        unit: Bytes,
        floor: 2e6,
        short: 10_000_000,
        ..OF_CLIENT
    },
    Attack {
        name: "mcp lists without reading",
        tokens: 4,
        connections: 256,
        repeated: Same(c::mcp_list),
        reads: false,
        unit: Messages,
        floor: 500.0,
        short: 2000,
        ..OF_CLIENT
    },
    Attack {
        name: "unfinished mcp messages",
        tokens: 4,
        connections: 64,
        opening: MCP,
        first: c::unfinished_mcp_message,
        unit: Bytes,
        floor: 50e6,
        short: 600_000_000,
        ..OF_CLIENT
    },
    Attack {
        name: "turns of a silent model",
        tokens: 4,
        connections: 1000,
        first: c::chat_turn,
        unit: Connections,
        floor: 20.0,
        short: 400,
        ..OF_CLIENT
    },
    Attack {
        name: "completions of a silent model",
        tokens: 4,
        connections: 1000,
        first: c::openai_turn,
        unit: Connections,
        floor: 20.0,
        short: 400,
        ..OF_CLIENT
    },
    Attack {
        name: "large calls that never end",
        connections: 8,
        first: c::own_tool,
        repeated: Numbered(c::call_of_own_tool),
        reads: false,
        unit: Bytes,
        floor: 5e6,
        short: 400_000_000,
        ..OF_COMPANION
    },
    Attack {
        name: "calls of small objects that never end",
        connections: 8,
        first: c::own_tool,
        repeated: Numbered(c::own_call_of_small_objects),
        unit: Bytes,
        floor: 1e6,
        short: 10_000_000,
        ..OF_COMPANION
    },
    Attack {
        name: "calls of many values that never end",
        connections: 8,
        first: c::own_tool,
        repeated: Numbered(c::own_call_of_many_values),
        unit: Bytes,
        floor: 2e6,
        short: 30_000_000,
        ..OF_COMPANION
    },
];
