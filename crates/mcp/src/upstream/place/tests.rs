use super::*;

#[test]
fn says_where_a_server_is_without_what_may_be_secret() {
    let of =
        |url: &str| place(&ServerDefinition { url: Some(url.to_owned()), ..ServerDefinition::default() });
    assert_eq!(of("https://me:pw@example.com/mcp?key=abc#frag"), "https://example.com/mcp?…");
    assert_eq!(of("http://localhost:8080/mcp"), "http://localhost:8080/mcp");
    assert_eq!(of("::"), "an address that can't be read");
    let command = ServerDefinition {
        command: Some("npx".to_owned()),
        args: ["-y", "@scope/server", "two words", "it's"].map(str::to_owned).to_vec(),
        env: [("TOKEN".to_owned(), "abc".to_owned())].into(),
        ..ServerDefinition::default()
    };
    assert_eq!(place(&command), r"npx -y @scope/server 'two words' 'it'\''s'");
}
