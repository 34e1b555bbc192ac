//! Limits for data from providers. Each is far above the needs of a normal app. Exceeding one is noted on the
//! provider or is the error of the call.

/// Maximum size of a reply's JSON, in bytes. Android itself transfers about 1 MB.
pub const REPLY_BYTES: usize = 4 << 20;
/// Maximum nesting of a list, a schema or a result.
pub const DEPTH: usize = 64;
/// Maximum number of tools of one provider; the first ones of its list are used.
pub const TOOLS: usize = 512;
/// Maximum size of the schema of a tool's arguments, in bytes.
pub const SCHEMA_BYTES: usize = 64 << 10;
/// Maximum length of a tool's description, in characters.
pub const DESCRIPTION: usize = 4_096;
/// Maximum length of other texts (names, messages, hints), in characters.
pub const TEXT: usize = 1_000;
/// Maximum number of parameters of a tool of an MCP dialect.
pub const INPUTS: usize = 256;
/// Maximum number of providers of one app.
pub const PROVIDERS_OF_ONE: usize = 16;
/// Maximum number of providers of all apps in a report to the gateway.
pub const PROVIDERS: usize = 1_024;
/// Maximum number of notes on one provider.
pub const NOTES: usize = 64;
/// Maximum number of scopes in a provider's information.
pub const SCOPES: usize = 64;
/// Maximum number of tools of all providers: the gateway's limit for one connection, minus some for the
/// phone's own tools.
pub const ALL_TOOLS: usize = 4_000;

/// Truncates a text to `most` characters, with a mark if it was longer.
pub(crate) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}
