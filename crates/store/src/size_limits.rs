//! Limits on the size of conversations.

/// Most bytes of one message, its parts and its text together (32 MiB).
pub const MAX_MESSAGE_BYTES: usize = 32 << 20;
/// Most bytes of all messages of one session (1 GiB).
pub const MAX_SESSION_BYTES: u64 = 1 << 30;
/// Most bytes of a message's text that a search looks through; what comes after is not found (64 KiB).
pub const MAX_SEARCHED_BYTES: usize = 64 << 10;
