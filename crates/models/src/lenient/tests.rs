use super::*;

#[derive(Debug, PartialEq, serde::Deserialize)]
struct LenientFields<'a> {
    #[serde(default, deserialize_with = "text")]
    text: Option<String>,
    #[serde(default, borrow, deserialize_with = "borrowed")]
    name: Option<Cow<'a, str>>,
    #[serde(default, deserialize_with = "count")]
    count: Option<u64>,
}

#[test]
fn values_of_the_wrong_type_are_none() {
    let read = |text| serde_json::from_str::<LenientFields<'_>>(text).unwrap();
    let all = read(r#"{"text":"a\n","name":"b","count":3.0}"#);
    assert_eq!(
        all,
        LenientFields { text: Some("a\n".to_owned()), name: Some(Cow::Borrowed("b")), count: Some(3) }
    );
    assert!(matches!(all.name, Some(Cow::Borrowed(_))));
    let none = LenientFields { text: None, name: None, count: None };
    for odd in [
        "{}",
        r#"{"text":null,"name":null,"count":null}"#,
        r#"{"text":{"a":[1]},"name":["x"],"count":"3"}"#,
        r#"{"text":1,"name":false,"count":-1}"#,
        r#"{"text":1.5,"name":-2,"count":1.5}"#,
        r#"{"count":1e300}"#,
    ] {
        assert_eq!(read(odd), none, "{odd}");
    }
}
