//! The version of CETP that a provider declares (CETP, section 2.5).

use crate::host::ManifestMetaData;
use crate::note::ProviderNotes;

/// The newest supported version.
pub(crate) const KNOWN: i64 = 1;

/// Reads the version, regardless of the type that the app's compiler chose. A missing version counts as 1; a
/// newer one is treated as version 1. Both are noted.
///
/// # Errors
/// A description of the problem if it is not a version.
pub(crate) fn read(version: Option<&ManifestMetaData>, notes: &mut ProviderNotes) -> Result<u32, String> {
    let number = match version {
        None => {
            notes.flag(None, "its protocol version is missing; 1 is assumed");
            return Ok(1);
        }
        Some(ManifestMetaData::Int(number)) => i64::from(*number),
        Some(ManifestMetaData::Float(number)) if number.fract() == 0.0 && number.abs() < 1e9 => {
            whole(*number)
        }
        Some(ManifestMetaData::Text(text)) => text.trim().parse().map_err(|_| {
            format!("its protocol version {:?} is not a number", crate::bounds::cut(text, 40))
        })?,
        Some(ManifestMetaData::Float(number)) => {
            return Err(format!("its protocol version {number} is not a whole number"));
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
        notes.flag(None, format!("its protocol version is {number}; Toolway uses version {KNOWN}"));
    }
    u32::try_from(number).map_err(|_| format!("its protocol version {number} does not exist"))
}

#[expect(clippy::cast_possible_truncation, reason = "the caller has looked at its size")]
fn whole(number: f32) -> i64 {
    number as i64
}

#[cfg(test)]
mod tests;
