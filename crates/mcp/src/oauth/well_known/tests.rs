use super::*;

fn texts(urls: Vec<Url>) -> Vec<String> {
    urls.into_iter().map(String::from).collect()
}

/// RFC 9728, section 3.1, in the order of MCP's "Protected Resource Metadata Discovery Requirements".
#[test]
fn a_resource_is_looked_for_below_the_well_known_path_and_at_the_root() {
    let of = |url: &str| texts(resource_metadata_urls(&Url::parse(url).unwrap()));
    assert_eq!(
        of("https://example.com/public/mcp?x=1"),
        [
            "https://example.com/.well-known/oauth-protected-resource/public/mcp",
            "https://example.com/.well-known/oauth-protected-resource",
        ]
    );
    assert_eq!(of("https://example.com/"), ["https://example.com/.well-known/oauth-protected-resource"]);
}

/// The examples of MCP's "Authorization Server Metadata Discovery".
#[test]
fn an_issuer_is_looked_for_in_the_order_of_the_specification() {
    let of = |url: &str| texts(issuer_metadata_urls(&Url::parse(url).unwrap()));
    assert_eq!(
        of("https://auth.example.com/tenant1"),
        [
            "https://auth.example.com/.well-known/oauth-authorization-server/tenant1",
            "https://auth.example.com/.well-known/openid-configuration/tenant1",
            "https://auth.example.com/tenant1/.well-known/openid-configuration",
        ]
    );
    assert_eq!(
        of("https://auth.example.com"),
        [
            "https://auth.example.com/.well-known/oauth-authorization-server",
            "https://auth.example.com/.well-known/openid-configuration",
        ]
    );
}
