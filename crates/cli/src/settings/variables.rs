//! `TOOLWAY_A__B`: the setting `a.b`. A variable set to nothing counts as not set.

use std::ffi::{OsStr, OsString};

use super::key::Key;
use super::{Entry, Known, Origin, Wrong, check, text};
use crate::environment::PREFIX;

/// Reads all of them.
pub(super) fn read(
    variables: &[(OsString, OsString)],
    known: &Known,
    set: &mut Vec<Entry>,
    wrong: &mut Vec<Wrong>,
    ignored: &mut Vec<Wrong>,
) {
    for (name, value) in variables.iter().filter(|(_, value)| !value.is_empty()) {
        let Some(name) = name.to_str() else { continue };
        let Some(rest) = name.strip_prefix(PREFIX) else { continue };
        let origin = Origin::Variable(name.to_owned());
        let key = Key::parse(&rest.to_ascii_lowercase().replace("__", "."));
        if let Some(one) = unknown(&key, rest, known, &origin) {
            // Some systems hand programs variables of their own, named after a service that is called toolway
            // (TOOLWAY_SERVICE_HOST): only what looks like a misspelt setting is refused.
            let looks_meant = rest.contains("__") || one.hint.contains(check::MEANT);
            if looks_meant {
                wrong.push(one)
            } else {
                ignored.push(one)
            }
            continue;
        }
        match OsStr::to_str(value) {
            Some(value) => text::spread(&key, text::value(&key, value), &origin, set),
            None => wrong.push(Wrong::new(origin, "its value is not UTF-8", "set it to text in UTF-8")),
        }
    }
}

/// What to say of a name that is no setting.
fn unknown(key: &Key, rest: &str, known: &Known, origin: &Origin) -> Option<Wrong> {
    let mut one = check::unknown(key, known, origin)?;
    one.what = format!("there is no setting {key}");
    // The hint names settings as the file does; here they are wanted as variables.
    if let Some(meant) = one.hint.strip_prefix(check::MEANT) {
        let name = meant.trim_end_matches('?').to_ascii_uppercase().replace('.', "__");
        one.hint = format!("{}{PREFIX}{name}?", check::MEANT);
    } else {
        one.hint = format!("remove it if it was meant for this program; {PREFIX}{rest} sets nothing");
    }
    Some(one)
}
