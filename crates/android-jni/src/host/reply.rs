//! What Java's answers say: a failure of the system, or what was asked for.

#[cfg(test)]
mod tests;

use toolway_android::Value;
use toolway_android::host::{AuthorityOwner, CallFailure, Declaration, Entry, MetaData};

use crate::codec::{Malformed, Reader};

/// How an answer begins.
mod outcome {
    pub(super) const DONE: u8 = 0;
    pub(super) const SECURITY: u8 = 1;
    pub(super) const UNKNOWN_AUTHORITY: u8 = 2;
    pub(super) const DIED: u8 = 3;
    pub(super) const TOO_LARGE: u8 = 4;
    pub(super) const THREW: u8 = 5;
}

/// An answer: what the system failed with, or what `read` reads of the rest.
pub(super) fn read<T>(
    answer: &[u8],
    read: impl FnOnce(&mut Reader<'_>) -> Result<T, Malformed>,
) -> Result<Result<T, CallFailure>, Malformed> {
    let mut reader = Reader::new(answer);
    let outcome = match reader.byte()? {
        outcome::DONE => Ok(read(&mut reader)?),
        outcome::SECURITY => Err(CallFailure::Security(reader.text()?)),
        outcome::UNKNOWN_AUTHORITY => Err(CallFailure::UnknownAuthority(reader.text()?)),
        outcome::DIED => Err(CallFailure::Died(reader.text()?)),
        outcome::TOO_LARGE => Err(CallFailure::TooLarge(reader.text()?)),
        outcome::THREW => Err(CallFailure::Threw { class: reader.text()?, message: reader.text()? }),
        other => return Err(Malformed::Kind(other)),
    };
    reader.end()?;
    Ok(outcome)
}

/// Who serves an authority, if anybody does.
pub(super) fn owner(from: &mut Reader<'_>) -> Result<Option<AuthorityOwner>, Malformed> {
    if !from.flag()? {
        return Ok(None);
    }
    Ok(Some(AuthorityOwner {
        package: from.text()?,
        class: from.text()?,
        exported: from.flag()?,
        read_permission: from.text_or_none()?,
        write_permission: from.text_or_none()?,
    }))
}

/// One entry of a manifest.
pub(super) fn declaration(from: &mut Reader<'_>) -> Result<Declaration, Malformed> {
    Ok(Declaration {
        package: from.text()?,
        label: from.text_or_none()?,
        certificate: from.text_or_none()?,
        component: from.text()?,
        exported: from.flag()?,
        entry: entry(from)?,
    })
}

fn entry(from: &mut Reader<'_>) -> Result<Entry, Malformed> {
    Ok(match from.byte()? {
        0 => Entry::CetpService { authority: meta_data(from)?, version: meta_data(from)? },
        1 => Entry::McpMimeType { authorities: from.text()? },
        2 => Entry::McpAction { authorities: from.text()? },
        other => return Err(Malformed::Kind(other)),
    })
}

fn meta_data(from: &mut Reader<'_>) -> Result<Option<MetaData>, Malformed> {
    Ok(Some(match from.plain_value()? {
        Value::Null => return Ok(None),
        Value::Text(it) => MetaData::Text(it),
        Value::Int(it) => MetaData::Int(it),
        Value::Float(it) => MetaData::Float(it),
        Value::Boolean(it) => MetaData::Boolean(it),
        other => MetaData::Other(other.type_name().to_owned()),
    }))
}
