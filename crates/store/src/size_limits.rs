//! Limits on the size of conversations.

/// Maximum size of a message, its parts and its text together (32 MiB).
pub const MAX_MESSAGE_BYTES: usize = 32 << 20;
/// Maximum size of all messages of a session (1 GiB).
pub const MAX_SESSION_BYTES: u64 = 1 << 30;
/// Length of a message's text that a search scans; later text is not found (64 KiB).
pub const MAX_SEARCHED_BYTES: usize = 64 << 10;
