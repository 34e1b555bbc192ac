use toolway_android::Bundle;
use toolway_android::host::{CallFailure, Declaration, Entry, MetaData};

use super::{declaration, owner, read};
use crate::codec::{Malformed, Reader, Writer};

fn written(write: impl FnOnce(&mut Writer) -> Result<(), Malformed>) -> Vec<u8> {
    let mut writer = Writer::default();
    write(&mut writer).unwrap();
    writer.into_bytes()
}

#[test]
fn each_failure_is_what_java_says_it_is() {
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
    assert_eq!(read(&[6], |_| Ok(())), Err(Malformed::Kind(6)));
    assert_eq!(read(&[], |_| Ok(())), Err(Malformed::Cut));
    assert_eq!(read(&[0, 0], |_| Ok(())), Err(Malformed::Rest));
}

/// The version is what the compiler of the manifest made of `android:value="1"`: an integer.
#[test]
fn a3_meta_data_keeps_the_type_that_the_manifest_gave_it() {
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
    let expected = Declaration {
        package: "com.example.finance".to_owned(),
        label: Some("Finance".to_owned()),
        certificate: None,
        component: "com.example.finance.ToolProviderService".to_owned(),
        exported: true,
        entry: Entry::CetpService {
            authority: Some(MetaData::Text("com.example.finance.tools".to_owned())),
            version: Some(MetaData::Int(1)),
        },
    };
    assert_eq!(declaration(&mut Reader::new(&answer)), Ok(expected));
}

#[test]
fn nobody_may_serve_an_authority_and_a_provider_may_give_nothing() {
    assert_eq!(read(&[0, 0], owner), Ok(Ok(None)));
    let bundle = |from: &mut Reader<'_>| Ok(if from.flag()? { Some(from.bundle()?) } else { None });
    assert_eq!(read(&[0, 0], bundle), Ok(Ok(None)));
    assert_eq!(read(&[0, 1, 0, 0, 0, 0], bundle), Ok(Ok(Some(Bundle::new()))));
}
