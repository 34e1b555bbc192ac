//! The version of CETP that a provider declares (CETP, section 2.5).

use crate::host::ManifestMetaData;
use crate::note::ProviderNotes;

/// The newest supported version.
pub(crate) const KNOWN: i64 = 1;

/// Reads the version, regardless of the type that the app's compiler chose. The leading number counts: `1.1` and
/// `v1` are version 1. A missing version counts as 1; a newer one is treated as version 1. Everything but a plain
/// number is noted.
///
/// # Errors
/// A description of the problem if it has no leading number, or one that is no version.
pub(crate) fn read(version: Option<&ManifestMetaData>, notes: &mut ProviderNotes) -> Result<u32, String> {
    let number = match version {
        None => {
            notes.flag(None, "its protocol version is missing; 1 is assumed");
            return Ok(1);
        }
        Some(ManifestMetaData::Int(number)) => i64::from(*number),
        // The compiler turns 1.1 into a float.
        Some(ManifestMetaData::Float(number)) if number.is_finite() && number.abs() < 1e9 => {
            let leading = whole(number.trunc());
            if number.fract() != 0.0 {
                flag_rest(&number.to_string(), leading, notes);
            }
            leading
        }
        Some(ManifestMetaData::Text(text)) => {
            let text = text.trim();
            let written = crate::bounds::cut(text, 40);
            let (leading, is_plain) = leading_number(text)
                .ok_or_else(|| format!("its protocol version {written:?} is not a number"))?;
            if !is_plain {
                flag_rest(&format!("{written:?}"), leading, notes);
            }
            leading
        }
        Some(ManifestMetaData::Float(number)) => {
            return Err(format!("its protocol version {number} is not a number"));
        }
        Some(ManifestMetaData::Boolean(value)) => {
            return Err(format!("its protocol version {value} is not a number"));
        }
        Some(ManifestMetaData::Other(what)) => {
            return Err(format!("its protocol version is not a number ({})", crate::bounds::cut(what, 100)));
        }
    };
    if number < 1 {
        return Err(format!("its protocol version {number} does not exist"));
    }
    if number > KNOWN {
        notes.flag(None, format!("it has protocol version {number}; Toolway uses version {KNOWN}"));
    }
    u32::try_from(number).map_err(|_| format!("its protocol version {number} does not exist"))
}

fn flag_rest(written: &str, leading: i64, notes: &mut ProviderNotes) {
    notes.flag(None, format!("its protocol version {written} is not a whole number; {leading} is used"));
}

/// Returns the number at the start of a text, after an optional `v` or `version`, and true if there is nothing
/// else.
fn leading_number(text: &str) -> Option<(i64, bool)> {
    let without = ["version", "v"].iter().find_map(|word| {
        let head = text.get(..word.len())?;
        head.eq_ignore_ascii_case(word).then(|| text.get(word.len()..).unwrap_or_default().trim_start())
    });
    let number = without.unwrap_or(text);
    let digits = number.strip_prefix('-').unwrap_or(number);
    let after = digits.trim_start_matches(|c: char| c.is_ascii_digit());
    let leading = number.get(..number.len() - after.len())?.parse().ok()?;
    Some((leading, without.is_none() && after.is_empty()))
}

#[expect(clippy::cast_possible_truncation, reason = "the caller has looked at its size")]
fn whole(number: f32) -> i64 {
    number as i64
}

#[cfg(test)]
mod tests;
