//! References to variables in the files of other programs: the program fills them in when it starts the server, so they
//! are not the value itself.
//!
//! | form | programs |
//! |---|---|
//! | `${input:key}`, `${env:KEY}`, `${KEY}`, `${KEY:-default}` | VS Code, Cursor, Claude Code |
//! | `{env:KEY}`, `{file:path}` | opencode |
//! | `$KEY`, `$env:KEY` | Gemini CLI, PowerShell |
//! | `%KEY%` | programs on Windows |

/// Shortest name between percent signs. Shorter ones may be percent-encoded bytes: `%E4%B8`.
const MIN_PERCENT_NAME: usize = 3;

/// Finds a reference in braces, which no shell and no server understands.
pub(super) fn braced_reference(text: &str) -> Option<&str> {
    ["${", "{env:", "{file:"].into_iter().filter_map(|open| between(text, open, "}")).next()
}

/// Finds a reference of any form in a value.
pub(super) fn reference(text: &str) -> Option<&str> {
    braced_reference(text).or_else(|| dollar_reference(text)).or_else(|| percent_reference(text))
}

fn between<'t>(text: &'t str, open: &str, close: &str) -> Option<&'t str> {
    let start = text.find(open)?;
    let length = text.get(start..)?.find(close)?;
    text.get(start..start + length + close.len())
}

/// Finds `$KEY` or `$env:KEY`, at the start or after a space: `Bearer $KEY`. Elsewhere the dollar sign is part of a
/// password. So is one before a single word in lower case.
fn dollar_reference(text: &str) -> Option<&str> {
    text.split_whitespace().find(|word| {
        let Some(name) = word.strip_prefix('$') else { return false };
        match name.get(..4) {
            Some(scheme) if scheme.eq_ignore_ascii_case("env:") => name.get(4..).is_some_and(is_name),
            _ => is_name(name) && (name.contains('_') || !name.contains(|c: char| c.is_ascii_lowercase())),
        }
    })
}

/// Finds `%KEY%`.
fn percent_reference(text: &str) -> Option<&str> {
    let marks: Vec<usize> = text.match_indices('%').map(|(at, _)| at).collect();
    marks.windows(2).find_map(|pair| {
        let [open, close] = pair else { return None };
        let name = text.get(open + 1..*close)?;
        (name.len() >= MIN_PERCENT_NAME && is_name(name)).then(|| text.get(*open..=*close))?
    })
}

/// True for a name of a variable.
fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests;
