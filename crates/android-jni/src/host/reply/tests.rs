use toolway_android::Bundle;
use toolway_android::host::{CallFailure, DeclarationEntry, ManifestMetaData, ProviderDeclaration};

use super::{declaration, owner, read};
use crate::codec::{CodecError, CodecReader, CodecWriter};

fn written(write: impl FnOnce(&mut CodecWriter) -> Result<(), CodecError>) -> Vec<u8> {
    let mut writer = CodecWriter::default();
    write(&mut writer).unwrap();
    writer.into_bytes()
}

#[test]
fn each_failure_is_decoded() {
    let failure = |kind: u8, texts: &[&str]| {
        let answer = written(|to| {
            to.byte(kind);
            texts.iter().try_for_each(|text| to.text(text))
        });
        read(&answer, |_| Ok(())).unwrap().unwrap_err()
    };
    let said = "what it said".to_owned();
    assert_eq!(failure(1, &["what it said"]), CallFailure::Security(said.clone()));
    assert_eq!(failure(2, &["what it said"]), CallFailure::UnknownAuthority(said.clone()));
    assert_eq!(failure(3, &["what it said"]), CallFailure::Died(said.clone()));
    assert_eq!(failure(4, &["what it said"]), CallFailure::TooLarge(said.clone()));
    assert_eq!(
        failure(5, &["java.lang.IllegalStateException", "what it said"]),
        CallFailure::Threw { class: "java.lang.IllegalStateException".to_owned(), message: said }
    );
    assert_eq!(read(&[6], |_| Ok(())), Err(CodecError::UnknownKind(6)));
    assert_eq!(read(&[], |_| Ok(())), Err(CodecError::Truncated));
    assert_eq!(read(&[0, 0], |_| Ok(())), Err(CodecError::TrailingBytes));
}

/// The version is an integer, the type that the manifest's compiler chooses for `android:value="1"`.
#[test]
fn meta_data_from_java_keeps_its_manifest_type_a3() {
    let answer = written(|to| {
        to.text("com.example.finance")?;
        to.text_or_none(Some("Finance"))?;
        to.text_or_none(None)?;
        to.text("com.example.finance.ToolProviderService")?;
        to.byte(1);
        to.byte(0);
        to.byte(6);
        to.text("com.example.finance.tools")?;
        to.byte(2);
        to.int(1);
        Ok(())
    });
    let expected = ProviderDeclaration {
        package: "com.example.finance".to_owned(),
        label: Some("Finance".to_owned()),
        certificate: None,
        component: "com.example.finance.ToolProviderService".to_owned(),
        exported: true,
        entry: DeclarationEntry::CetpService {
            authority: Some(ManifestMetaData::Text("com.example.finance.tools".to_owned())),
            version: Some(ManifestMetaData::Int(1)),
        },
    };
    assert_eq!(declaration(&mut CodecReader::new(&answer)), Ok(expected));
}

#[test]
fn an_unknown_authority_and_a_missing_bundle_are_decoded() {
    assert_eq!(read(&[0, 0], owner), Ok(Ok(None)));
    let bundle = |from: &mut CodecReader<'_>| Ok(if from.flag()? { Some(from.bundle()?) } else { None });
    assert_eq!(read(&[0, 0], bundle), Ok(Ok(None)));
    assert_eq!(read(&[0, 1, 0, 0, 0, 0], bundle), Ok(Ok(Some(Bundle::new()))));
}
