//! Reads a prompt from standard input.

use std::io::Read;

use crate::error::{CliError, CliResult, io_error_message};

/// Maximum size of a prompt in bytes.
const MAX_PROMPT: u64 = 1 << 20;

/// Reads standard input as text.
pub(crate) fn read_piped_stdin() -> CliResult<String> {
    let mut text = String::new();
    let read = std::io::stdin().lock().take(MAX_PROMPT + 1).read_to_string(&mut text);
    read.map_err(|error| {
        CliError::new(format!("cannot read the prompt: {}", io_error_message(&error)))
            .with_code("io")
            .with_hint("the prompt must be UTF-8 text")
    })?;
    if text.len() as u64 > MAX_PROMPT {
        return Err(CliError::new("the prompt is longer than 1 MiB").with_hint("shorten the prompt"));
    }
    Ok(text)
}
