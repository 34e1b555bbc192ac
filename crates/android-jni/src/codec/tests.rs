use proptest::prelude::*;
use toolway_android::{Bundle, BundleValue};

use super::{CodecError, CodecReader, CodecWriter, MAX_NESTED};

fn written(bundle: &Bundle) -> Vec<u8> {
    let mut writer = CodecWriter::default();
    writer.bundle(bundle).unwrap();
    writer.into_bytes()
}

fn read(bytes: &[u8]) -> Result<Bundle, CodecError> {
    let mut reader = CodecReader::new(bytes);
    let bundle = reader.bundle()?;
    reader.end()?;
    Ok(bundle)
}

/// Checks the bytes that `dev.toolway.host.WriterTest` expects from Java for the same bundle.
#[test]
fn the_bytes_equal_those_of_java() {
    let bundle = Bundle::new()
        .with("data", "ä")
        .with("int", 258)
        .with("list", BundleValue::Texts(vec!["x".to_owned()]))
        .with("map", BundleValue::Map(vec![("k".to_owned(), "v".to_owned())]))
        .with("null", BundleValue::Null)
        .with("success", true);
    let expected: &[u8] = &[
        &[0, 0, 0, 6][..],
        &[0, 0, 0, 4, b'd', b'a', b't', b'a', 6, 0, 0, 0, 2, 0xc3, 0xa4],
        &[0, 0, 0, 3, b'i', b'n', b't', 2, 0, 0, 1, 2],
        &[0, 0, 0, 4, b'l', b'i', b's', b't', 7, 0, 0, 0, 1, 0, 0, 0, 1, b'x'],
        &[0, 0, 0, 3, b'm', b'a', b'p', 8, 0, 0, 0, 1, 0, 0, 0, 1, b'k', 0, 0, 0, 1, b'v'],
        &[0, 0, 0, 4, b'n', b'u', b'l', b'l', 0],
        &[0, 0, 0, 7, b's', b'u', b'c', b'c', b'e', b's', b's', 1, 1],
    ]
    .concat();
    assert_eq!(written(&bundle), expected);
    assert_eq!(read(expected), Ok(bundle));
}

#[test]
fn invalid_bytes_are_refused() {
    let whole = written(&Bundle::new().with("a", "b").with("c", BundleValue::Double(1.5)));
    for end in 0..whole.len() {
        assert!(read(&whole[..end]).is_err(), "{end} bytes were taken for all {}", whole.len());
    }
    assert_eq!(read(&[&whole[..], &[0]].concat()), Err(CodecError::TrailingBytes));
    assert_eq!(read(&[0xff, 0xff, 0xff, 0xff]), Err(CodecError::InvalidLength));
    assert_eq!(read(&[0x7f, 0xff, 0xff, 0xff, 0]), Err(CodecError::InvalidLength));
    assert_eq!(read(&[0, 0, 0, 1, 0, 0, 0, 1, b'a', 99]), Err(CodecError::UnknownKind(99)));
    assert_eq!(read(&[0, 0, 0, 1, 0, 0, 0, 1, b'a', 1, 2]), Err(CodecError::UnknownKind(2)));
    assert_eq!(read(&[0, 0, 0, 1, 0, 0, 0, 1, 0xff, 0]), Err(CodecError::InvalidUtf8));
}

#[test]
fn the_nesting_of_bundles_is_limited_in_both_directions() {
    let nested = |depth: usize| {
        (1..depth).fold(Bundle::new().with("end", 1), |inner, _| Bundle::new().with("inner", inner))
    };
    let deepest = nested(MAX_NESTED);
    assert_eq!(read(&written(&deepest)), Ok(deepest));
    assert_eq!(CodecWriter::default().bundle(&nested(MAX_NESTED + 1)), Err(CodecError::TooDeep));
    let opening = [0, 0, 0, 1, 0, 0, 0, 1, b'a', 9];
    assert_eq!(read(&opening.repeat(MAX_NESTED + 1)), Err(CodecError::TooDeep));
}

#[test]
fn a_value_of_an_unknown_class_can_be_read_but_not_sent() {
    let bundle = Bundle::new().with("a", BundleValue::Other("java.util.Date".to_owned()));
    assert_eq!(CodecWriter::default().bundle(&bundle), Err(CodecError::Unsendable));
    let expected: Bundle = [("a".to_owned(), BundleValue::Other("X".to_owned()))].into_iter().collect();
    assert_eq!(read(&[0, 0, 0, 1, 0, 0, 0, 1, b'a', 10, 0, 0, 0, 1, b'X']), Ok(expected));
}

fn values() -> impl Strategy<Value = BundleValue> {
    let leaf = prop_oneof![
        Just(BundleValue::Null),
        any::<bool>().prop_map(BundleValue::Boolean),
        any::<i32>().prop_map(BundleValue::Int),
        any::<i64>().prop_map(BundleValue::Long),
        any::<i16>().prop_map(|it| BundleValue::Float(f32::from(it))),
        any::<i32>().prop_map(|it| BundleValue::Double(f64::from(it))),
        ".*".prop_map(BundleValue::Text),
        prop::collection::vec(".*", 0..4).prop_map(BundleValue::Texts),
        prop::collection::vec((".*", ".*"), 0..4).prop_map(BundleValue::Map),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop::collection::vec((".*", inner), 0..4)
            .prop_map(|it| BundleValue::Bundle(it.into_iter().collect()))
    })
}

proptest! {
    #[test]
    fn encoded_values_can_be_decoded(values in prop::collection::vec((".*", values()), 0..6)) {
        let bundle: Bundle = values.into_iter().collect();
        prop_assert_eq!(read(&written(&bundle)), Ok(bundle));
    }

    #[test]
    fn any_bytes_are_decoded_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = read(&bytes);
    }
}
