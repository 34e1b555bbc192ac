//! The phone's program `content`: its command lines and its output.
//!
//! Facts (`cmds/content/.../Content.java` of the platform): the exit code is always 0. An answer is `Result:
//! ` and the bundle (or `null`; up to Android 10 a null answer is a `NullPointerException` of the program
//! itself) on standard output. An exception is a line `Error while accessing provider:AUTHORITY` and a stack
//! trace on standard error. Invalid arguments print the usage and `[ERROR] …` on standard output. The
//! provider always gets a bundle, an empty one if nothing is passed. Up to Android 10, numbers were passed as
//! `long` and `double`, regardless of the requested type.

use super::printed_bundle;
use super::quoting::{ExtraEscaping, quote_word};
use crate::bundle::{Bundle, BundleValue};
use crate::host::{CallFailure, HostCall};

/// Reason why tools of the MCP dialects can't be called.
pub(super) const NO_MAPS: &str =
    "tools of the MCP dialects take a map, which adb can't pass; call them from an app";
/// Maximum length of a command line: the client limits a service's name to 64 KiB.
const MAX_LENGTH: usize = 60_000;

/// Returns true if the escaping of values matters for these extras.
pub(super) fn needs_escaping(call: &HostCall) -> bool {
    let texts = |(key, value): (&str, &BundleValue)| {
        let is_plain = matches!(value, BundleValue::Text(text) if ExtraEscaping::is_same_in_both(text));
        !(ExtraEscaping::is_same_in_both(key)
            && (is_plain || matches!(value, BundleValue::Boolean(_) | BundleValue::Null)))
    };
    call.extras.as_ref().is_some_and(|extras| extras.iter().any(texts))
}

/// Returns the command line for a call.
pub(super) fn command(call: &HostCall, user: u32, escaping: ExtraEscaping) -> Result<String, CallFailure> {
    let unsupported = |what: String| Err(CallFailure::Unsupported(what));
    if call.method.is_empty() || call.method.starts_with("--") {
        return unsupported(format!("adb can't pass the method {:?}", call.method));
    }
    let mut words = vec![
        "content".to_owned(),
        "call".to_owned(),
        "--uri".to_owned(),
        quote_word(&format!("content://{}", call.authority)),
    ];
    if user != 0 {
        words.extend(["--user".to_owned(), user.to_string()]);
    }
    words.extend(["--method".to_owned(), quote_word(&call.method)]);
    for (key, value) in call.extras.iter().flat_map(Bundle::iter) {
        let Some((kind, text)) = typed(key, value, escaping)? else { continue };
        let key = escaping.write(key);
        words.extend(["--extra".to_owned(), quote_word(&format!("{key}:{kind}:{}", escaping.write(&text)))]);
    }
    let command = words.join(" ");
    if command.contains('\0') {
        return unsupported("adb can't pass a NUL character".to_owned());
    }
    if command.len() > MAX_LENGTH {
        return Err(CallFailure::TooLarge(format!(
            "the arguments have {} bytes; adb can pass at most {MAX_LENGTH}",
            command.len()
        )));
    }
    Ok(command)
}

/// Returns the letter for a value's type and its text; `None` for a value that is omitted.
fn typed(
    key: &str,
    value: &BundleValue,
    escaping: ExtraEscaping,
) -> Result<Option<(char, String)>, CallFailure> {
    let number = |kind: char, text: String, is_widened: bool| match escaping {
        ExtraEscaping::Raw if is_widened => Err(CallFailure::Unsupported(format!(
            "{key} is {}, which the adb shell of Android 10 and older can't pass",
            value.type_name()
        ))),
        _ => Ok(Some((kind, text))),
    };
    match value {
        // A key without a value counts as absent.
        BundleValue::Null => Ok(None),
        BundleValue::Text(text) => Ok(Some(('s', text.clone()))),
        BundleValue::Boolean(is) => Ok(Some(('b', is.to_string()))),
        BundleValue::Int(it) => number('i', it.to_string(), true),
        BundleValue::Long(it) => number('l', it.to_string(), false),
        BundleValue::Float(it) => number('f', it.to_string(), true),
        BundleValue::Double(it) => number('d', it.to_string(), false),
        BundleValue::Map(_) => Err(CallFailure::Unsupported(format!(
            "{key} is a map, which adb can't pass; call tools of the MCP dialects from an app"
        ))),
        BundleValue::Texts(_) | BundleValue::Bundle(_) | BundleValue::Other(_) => {
            Err(CallFailure::Unsupported(format!("{key} is {}, which adb can't pass", value.type_name())))
        }
    }
}

/// Parses a call's output. `method` determines the keys of an answer.
pub(super) fn parse_output(stdout: &str, stderr: &str, method: &str) -> Result<Option<Bundle>, CallFailure> {
    if let Some(result) = strip_line_prefix(stdout, "Result: ") {
        let result = result.strip_suffix('\n').unwrap_or(result);
        let result = result.strip_suffix('\r').unwrap_or(result);
        if result == "null" {
            return Ok(None);
        }
        return printed_bundle::parse_bundle(result, method).map(Some).ok_or_else(|| malformed(result));
    }
    if let Some(trace) = strip_line_prefix(stderr, "Error while accessing provider:") {
        return parse_stack_trace(trace.split_once('\n').map_or("", |(_, trace)| trace));
    }
    if let Some(error) = strip_line_prefix(stdout, "[ERROR] ") {
        return Err(CallFailure::Unsupported(format!(
            "the phone's `content` program rejects this call: {}",
            first_line(error)
        )));
    }
    let said = [stderr, stdout].map(first_line).into_iter().find(|line| !line.is_empty());
    Err(CallFailure::Threw {
        class: "content".to_owned(),
        message: said.unwrap_or("no answer and no error was printed").to_owned(),
    })
}

fn malformed(result: &str) -> CallFailure {
    let start: String = result.chars().take(80).collect();
    CallFailure::Threw { class: "content".to_owned(), message: format!("a malformed answer: {start}") }
}

/// Returns the rest of the line that starts with `start`.
fn strip_line_prefix<'t>(text: &'t str, start: &str) -> Option<&'t str> {
    let mut rest = text;
    loop {
        if let Some(found) = rest.strip_prefix(start) {
            return Some(found);
        }
        rest = rest.split_once('\n')?.1;
    }
}

fn first_line(text: &str) -> &str {
    text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default()
}

/// Parses a stack trace: `class: message`, then lines that start with a tab and `at`.
fn parse_stack_trace(trace: &str) -> Result<Option<Bundle>, CallFailure> {
    let (head, stack) = trace.split_once("\n\tat ").unwrap_or((trace.trim_end(), ""));
    let (class, message) = head.split_once(": ").unwrap_or((head.trim(), ""));
    let message = message.trim_end().to_owned();
    let said = |instead: &str| if message.is_empty() { instead.to_owned() } else { message.clone() };
    match class {
        "java.lang.SecurityException" => Err(CallFailure::Security(said("the phone rejects this caller"))),
        "java.lang.IllegalStateException" if message.starts_with("Could not find provider: ") => {
            Err(CallFailure::UnknownAuthority(message))
        }
        // Thrown by the program itself for a null answer.
        "java.lang.NullPointerException"
            if stack.starts_with("com.android.commands.content.Content$CallCommand.") =>
        {
            Ok(None)
        }
        "android.os.DeadObjectException" => {
            Err(CallFailure::Died(said("the app's process died during the call")))
        }
        "android.os.TransactionTooLargeException" => {
            Err(CallFailure::TooLarge(said("the arguments or the answer were too large")))
        }
        class => Err(CallFailure::Threw { class: class.to_owned(), message }),
    }
}

#[cfg(test)]
mod tests;
