use std::collections::HashSet;

use super::*;
use crate::message::OpaqueState;

fn call(opaque: Option<(&str, &str)>) -> ToolCall {
    let opaque = opaque.map(|(provider, data)| OpaqueState {
        provider: provider.into(),
        data: RawJson::parse(data).unwrap(),
    });
    let id = "01890a5d-ac96-774b-bcce-b302099a8057".parse().unwrap();
    ToolCall { id, name: "t".to_owned(), arguments: "{}".to_owned(), is_cut: false, opaque }
}

#[test]
fn a_providers_call_id_goes_back_only_to_this_provider() {
    let known = call(Some(("mine", r#"{"id":"call_1"}"#)));
    assert_eq!(wire_call_id(&known, "mine", CallIdFormat::Any), "call_1");
    assert_eq!(wire_call_id(&known, "other", CallIdFormat::Any), "01890a5d-ac96-774b-bcce-b302099a8057");
    assert_eq!(wire_call_id(&call(None), "mine", CallIdFormat::Any).len(), 36);
    assert_eq!(wire_call_id(&call(Some(("mine", r#"{"id":""}"#))), "mine", CallIdFormat::Any).len(), 36);
    assert_eq!(
        wire_call_id(&call(Some(("mine", r#"{"signature":"x"}"#))), "mine", CallIdFormat::Any).len(),
        36
    );
}

#[test]
fn mistral_s_ids_have_nine_letters_and_digits() {
    let form = CallIdFormat::NineAlphanumeric;
    assert_eq!(wire_call_id(&call(Some(("mine", r#"{"id":"D681PevKs"}"#))), "mine", form), "D681PevKs");
    // From another provider, or another form.
    let made = wire_call_id(&call(Some(("other", r#"{"id":"call_1"}"#))), "mine", form).into_owned();
    assert!(is_valid_id(&made, form), "{made}");
    assert_eq!(wire_call_id(&call(None), "mine", form), made);
    let many: HashSet<_> = (0..1000).map(|_| nine_alphanumeric(CallId::new())).collect();
    assert_eq!(many.len(), 1000);
}
