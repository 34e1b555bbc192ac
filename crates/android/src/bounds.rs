//! How much of a provider's words is taken. Each bound is far above what an honest app needs; passing one is
//! said on the provider's row, or is the call's error.

/// Longest JSON text of a reply, in bytes. Android itself passes about 1 MB.
pub const REPLY_BYTES: usize = 4 << 20;
/// Deepest nesting of a list, a schema or a result.
pub const DEPTH: usize = 64;
/// Most tools of one provider; the first ones of its list stand.
pub const TOOLS: usize = 512;
/// Longest schema of one tool's arguments, in bytes.
pub const SCHEMA_BYTES: usize = 64 << 10;
/// Longest description of a tool, in characters.
pub const DESCRIPTION: usize = 4_096;
/// Longest other text (a name, a message, a hint), in characters.
pub const TEXT: usize = 1_000;
/// Most parameters of one tool of an MCP dialect.
pub const INPUTS: usize = 256;
/// Most providers of one app.
pub const PROVIDERS_OF_ONE: usize = 16;
/// Most providers of all apps: what a gateway is told of.
pub const PROVIDERS: usize = 1_024;
/// Most notes on one provider.
pub const NOTES: usize = 64;
/// Most scopes of one provider's information.
pub const SCOPES: usize = 64;
/// Most tools of all providers together: what a gateway takes on one connection, less a few of the phone's own.
pub const ALL_TOOLS: usize = 4_000;

/// A text within a bound of characters, with a mark where it was cut.
pub(crate) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}
