//! Masks secrets in recorded arguments: values of names on the owner's list, and of properties that the
//! schema marks `writeOnly`.

use serde_json::Value;
use toolway_types::RawJson;

use crate::arguments::Arguments;
use crate::schema::SecretProperties;
use crate::secret_mask::REDACTED_TEXT;

/// The arguments with secrets masked.
pub(super) fn redact(arguments: &Arguments, marked: Option<&SecretProperties>, listed: &[String]) -> RawJson {
    if let Some(recorded) = arguments.recorded() {
        return recorded.clone();
    }
    if marked.is_some_and(SecretProperties::is_all_secret) {
        return RawJson::from(&Value::from(REDACTED_TEXT));
    }
    let secret = secret_name_matcher(marked, listed);
    if !has_matching_name(arguments.value(), &secret) {
        return arguments.raw().clone();
    }
    let mut value = arguments.value().clone();
    replace_values(&mut value, &secret);
    RawJson::from(&value)
}

/// True if messages must not quote these arguments.
pub(super) fn has_secrets(
    arguments: &Arguments,
    marked: Option<&SecretProperties>,
    listed: &[String],
) -> bool {
    marked.is_some() || has_matching_name(arguments.value(), &secret_name_matcher(None, listed))
}

fn secret_name_matcher<'a>(
    marked: Option<&'a SecretProperties>,
    listed: &'a [String],
) -> impl Fn(&str) -> bool {
    move |name| {
        listed.iter().any(|it| it.eq_ignore_ascii_case(name))
            || marked.is_some_and(|marked| marked.is_secret(name))
    }
}

fn has_matching_name(value: &Value, matches: &impl Fn(&str) -> bool) -> bool {
    match value {
        Value::Object(fields) => {
            fields.iter().any(|(name, inner)| matches(name) || has_matching_name(inner, matches))
        }
        Value::Array(items) => items.iter().any(|item| has_matching_name(item, matches)),
        _ => false,
    }
}

fn replace_values(value: &mut Value, matches: &impl Fn(&str) -> bool) {
    match value {
        Value::Object(fields) => {
            for (name, inner) in fields {
                if matches(name) {
                    *inner = Value::from(REDACTED_TEXT);
                } else {
                    replace_values(inner, matches);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| replace_values(item, matches)),
        _ => {}
    }
}
