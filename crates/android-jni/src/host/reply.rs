//! Decodes Java's answers: a failure of the system, or the requested value.

#[cfg(test)]
mod tests;

use toolway_android::BundleValue;
use toolway_android::host::{
    AuthorityOwner, CallFailure, DeclarationEntry, ManifestMetaData, ProviderDeclaration,
};

use crate::codec::{CodecError, CodecReader};

/// First byte of an answer.
mod outcome {
    pub(super) const DONE: u8 = 0;
    pub(super) const SECURITY: u8 = 1;
    pub(super) const UNKNOWN_AUTHORITY: u8 = 2;
    pub(super) const DIED: u8 = 3;
    pub(super) const TOO_LARGE: u8 = 4;
    pub(super) const THREW: u8 = 5;
}

/// Decodes an answer: the failure of the system, or the value that `read` decodes.
pub(super) fn read<T>(
    answer: &[u8],
    read: impl FnOnce(&mut CodecReader<'_>) -> Result<T, CodecError>,
) -> Result<Result<T, CallFailure>, CodecError> {
    let mut reader = CodecReader::new(answer);
    let outcome = match reader.byte()? {
        outcome::DONE => Ok(read(&mut reader)?),
        outcome::SECURITY => Err(CallFailure::Security(reader.text()?)),
        outcome::UNKNOWN_AUTHORITY => Err(CallFailure::UnknownAuthority(reader.text()?)),
        outcome::DIED => Err(CallFailure::Died(reader.text()?)),
        outcome::TOO_LARGE => Err(CallFailure::TooLarge(reader.text()?)),
        outcome::THREW => Err(CallFailure::Threw { class: reader.text()?, message: reader.text()? }),
        other => return Err(CodecError::UnknownKind(other)),
    };
    reader.end()?;
    Ok(outcome)
}

/// Decodes the owner of an authority, if it has one.
pub(super) fn owner(from: &mut CodecReader<'_>) -> Result<Option<AuthorityOwner>, CodecError> {
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

/// Decodes an entry of a manifest.
pub(super) fn declaration(from: &mut CodecReader<'_>) -> Result<ProviderDeclaration, CodecError> {
    Ok(ProviderDeclaration {
        package: from.text()?,
        label: from.text_or_none()?,
        certificate: from.text_or_none()?,
        component: from.text()?,
        exported: from.flag()?,
        entry: entry(from)?,
    })
}

fn entry(from: &mut CodecReader<'_>) -> Result<DeclarationEntry, CodecError> {
    Ok(match from.byte()? {
        0 => DeclarationEntry::CetpService { authority: meta_data(from)?, version: meta_data(from)? },
        1 => DeclarationEntry::McpMimeType { authorities: from.text()? },
        2 => DeclarationEntry::McpAction { authorities: from.text()? },
        other => return Err(CodecError::UnknownKind(other)),
    })
}

fn meta_data(from: &mut CodecReader<'_>) -> Result<Option<ManifestMetaData>, CodecError> {
    Ok(Some(match from.plain_value()? {
        BundleValue::Null => return Ok(None),
        BundleValue::Text(it) => ManifestMetaData::Text(it),
        BundleValue::Int(it) => ManifestMetaData::Int(it),
        BundleValue::Float(it) => ManifestMetaData::Float(it),
        BundleValue::Boolean(it) => ManifestMetaData::Boolean(it),
        other => ManifestMetaData::Other(other.type_name().to_owned()),
    }))
}
