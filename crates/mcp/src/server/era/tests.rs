use serde_json::json;

use super::*;

#[test]
fn kind_and_freshness_are_said_in_the_newer_era_only() {
    for (is_modern, kind_then, freshness_then) in [
        (true, Some(ResultType::COMPLETE), (Some(5), Some(CacheScope::Private))),
        (false, None, (None, None)),
    ] {
        for mut kind in [None, Some(ResultType::COMPLETE)] {
            set_result_type(&mut kind, is_modern);
            assert_eq!(kind, kind_then);
        }
        let (mut ttl_ms, mut cache_scope) = (Some(5), Some(CacheScope::Private));
        set_cache_hints(&mut ttl_ms, &mut cache_scope, is_modern);
        assert_eq!((ttl_ms, cache_scope), freshness_then);
    }
    let (mut ttl_ms, mut cache_scope) = (None, None);
    set_cache_hints(&mut ttl_ms, &mut cache_scope, true);
    assert_eq!((ttl_ms, cache_scope), (Some(0), Some(CacheScope::Private)));
}

#[test]
fn a_resource_that_is_not_there_has_a_code_of_its_own_in_the_older_era() {
    let error = |data| ErrorData::new(ErrorCode::INVALID_PARAMS, "no", data);
    let code = |data, is_modern| convert_resource_error(error(data), "test://a", is_modern).code;
    assert_eq!(code(Some(json!({"uri": "test://a"})), false), ErrorCode(-32002));
    assert_eq!(code(Some(json!({"uri": "test://a"})), true), ErrorCode(-32602));
    assert_eq!(code(Some(json!({"uri": "test://b"})), false), ErrorCode(-32602));
    let own_code = ErrorData::new(ErrorCode::RESOURCE_NOT_FOUND, "no", None);
    assert_eq!(convert_error(own_code.clone(), true).code, ErrorCode(-32602));
    assert_eq!(convert_error(own_code, false).code, ErrorCode(-32002));
    assert_eq!(code(None, false), ErrorCode(-32602));
    let other = ErrorData::internal_error("no", Some(json!({"uri": "test://a"})));
    assert_eq!(convert_resource_error(other, "test://a", false).code, ErrorCode(-32603));
}
