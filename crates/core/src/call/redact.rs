//! Keeps secrets out of what is recorded of a call's arguments: values of names on the owner's list and of
//! properties that the schema marks `writeOnly`.

use serde_json::Value;
use toolway_types::RawJson;

use crate::arguments::Arguments;
use crate::schema::Secrets;

/// What stands in a record in the place of a secret.
const REDACTED: &str = "[redacted]";

/// The arguments as they may be recorded.
pub(super) fn redacted(arguments: &Arguments, marked: Option<&Secrets>, listed: &[String]) -> RawJson {
    if marked.is_some_and(Secrets::all) {
        return RawJson::from(&Value::from(REDACTED));
    }
    let secret = secret(marked, listed);
    if !any_name(arguments.value(), &secret) {
        return arguments.raw().clone();
    }
    let mut value = arguments.value().clone();
    replace(&mut value, &secret);
    RawJson::from(&value)
}

/// Whether what is said of these arguments must not quote them.
pub(super) fn has_secrets(arguments: &Arguments, marked: Option<&Secrets>, listed: &[String]) -> bool {
    marked.is_some() || any_name(arguments.value(), &secret(None, listed))
}

fn secret<'a>(marked: Option<&'a Secrets>, listed: &'a [String]) -> impl Fn(&str) -> bool {
    move |name| {
        listed.iter().any(|it| it.eq_ignore_ascii_case(name)) || marked.is_some_and(|marked| marked.has(name))
    }
}

fn any_name(value: &Value, matches: &impl Fn(&str) -> bool) -> bool {
    match value {
        Value::Object(fields) => fields.iter().any(|(name, inner)| matches(name) || any_name(inner, matches)),
        Value::Array(items) => items.iter().any(|item| any_name(item, matches)),
        _ => false,
    }
}

fn replace(value: &mut Value, matches: &impl Fn(&str) -> bool) {
    match value {
        Value::Object(fields) => {
            for (name, inner) in fields {
                if matches(name) {
                    *inner = Value::from(REDACTED);
                } else {
                    replace(inner, matches);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, matches)),
        _ => {}
    }
}
