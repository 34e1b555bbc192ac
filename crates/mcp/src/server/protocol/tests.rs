use super::*;

#[test]
fn a_handshake_gets_the_requested_version_or_the_newest_that_has_one() {
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        assert_eq!(negotiate(version).as_str(), version);
    }
    for other in ["2026-07-28", "1999-01-01", "2099-01-01", ""] {
        assert_eq!(negotiate(other).as_str(), "2025-11-25", "{other}");
    }
}

#[test]
fn an_unsupported_version_is_refused_with_the_supported_ones() {
    let error = check_supported(&serde_json::from_str("\"v999\"").unwrap()).unwrap_err();
    assert_eq!(error.code.0, -32022);
    let data = error.data.unwrap();
    assert_eq!(data["requested"], "v999");
    assert_eq!(data["supported"].as_array().unwrap().len(), 5);
    assert!(check_supported(&ProtocolVersion::V_2024_11_05).is_ok());
}
