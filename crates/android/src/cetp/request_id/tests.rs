use super::*;

#[test]
fn a_uuid_stays_and_gets_its_usual_form() {
    let id = "019a0000-0000-7000-8000-00000000000a";
    assert_eq!(request_id(id), id);
    assert_eq!(request_id("019A000000007000800000000000000A"), id);
}

#[test]
fn an_id_of_another_form_becomes_the_same_uuid_each_time() {
    // The first 16 bytes of SHA-256 of `local`, with version 8 and the variant of RFC 9562, section 5.8.
    assert_eq!(request_id("local"), "25bf8e1a-2393-8110-8d37-029b3df55932");
    for id in ["", "call-1", "42", "019a0000-0000-7000-8000", "{urn}"] {
        assert!(Uuid::parse_str(&request_id(id)).is_ok(), "{id}");
        assert_eq!(request_id(id), request_id(id));
    }
}
