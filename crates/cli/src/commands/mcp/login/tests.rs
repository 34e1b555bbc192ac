use super::browser::{loopback_port, pasted_query};

#[test]
fn only_our_own_redirect_uris_provide_a_port() {
    for (address, port) in [
        ("http://127.0.0.1:40123/callback", Some(40123)),
        ("http://127.0.0.1/callback", None),
        ("http://127.0.0.1:40123/other", None),
        ("http://localhost:40123/callback", None),
        ("https://example.org:40123/callback", None),
        ("nothing", None),
    ] {
        assert_eq!(loopback_port(address), port, "{address}");
    }
}

#[test]
fn a_pasted_address_provides_its_query() {
    for (line, query) in [
        ("http://127.0.0.1:1/callback?code=a&state=b\n", Some("code=a&state=b")),
        ("  ?code=a&state=b#_=_ \n", Some("code=a&state=b")),
        ("code=a&state=b", None),
        ("", None),
    ] {
        assert_eq!(pasted_query(line), query, "{line}");
    }
}
