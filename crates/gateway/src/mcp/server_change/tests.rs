use std::path::PathBuf;

use toolway_mcp::definition::{IdentityProviderDefinition, OauthDefinition, OauthGrantType};

use super::*;

const URL: &str = "http://127.0.0.1:9/mcp";

fn at(url: &str) -> ServerDefinition {
    ServerDefinition { url: Some(url.to_owned()), ..ServerDefinition::default() }
}

fn with_header(url: &str, value: &str) -> ServerDefinition {
    ServerDefinition { headers: [("A".to_owned(), value.to_owned())].into(), ..at(url) }
}

fn with_client(url: &str, issuer: &str, secret: &str) -> ServerDefinition {
    let oauth = OauthDefinition {
        client_id: Some("client".to_owned()),
        client_secret: Some(secret.to_owned()),
        issuer: Some(issuer.to_owned()),
        ..OauthDefinition::default()
    };
    ServerDefinition { oauth: Some(oauth), ..at(url) }
}

fn running() -> ServerDefinition {
    ServerDefinition { command: Some("sh".to_owned()), ..ServerDefinition::default() }
}

fn name() -> Slug {
    "docs".parse().unwrap()
}

fn in_file(definition: ServerDefinition) -> DefinedServer {
    let location = DefinitionLocation::File { path: PathBuf::from("mcp.toml"), line: 1 };
    DefinedServer { slug: name(), definition, location }
}

fn check(
    new: ServerDefinition,
    before: Option<ServerDefinition>,
    allow_commands: bool,
) -> Result<ServerDefinition, ServerChangeError> {
    check_definition(&name(), new, before.map(in_file).as_ref(), allow_commands)
}

#[test]
fn a_command_can_be_set_and_replaced_only_in_files() {
    for (new, before) in [(running(), None), (running(), Some(at(URL))), (at(URL), Some(running()))] {
        let refused = check(new.clone(), before.clone(), false).unwrap_err();
        assert!(matches!(refused, ServerChangeError::CommandFromFilesOnly { .. }), "{refused:?}");
        assert_eq!(check(new.clone(), before, true).unwrap(), new);
    }
    let server = in_file(running());
    let refused = check_removal(&server, false).unwrap_err();
    assert!(matches!(refused, ServerChangeError::RemovalFromFilesOnly { .. }), "{refused:?}");
    check_removal(&server, true).unwrap();
    check_removal(&in_file(at(URL)), false).unwrap();
}

#[test]
fn a_stored_secret_is_not_sent_to_another_address() {
    let secret = || with_header(URL, "secret:docs");
    for (new, before) in [
        (secret(), None),
        (with_header("http://127.0.0.1:10/mcp", "secret:docs"), Some(secret())),
        (with_header(URL, "secret:other"), Some(secret())),
        (with_client(URL, "https://a.example", "secret:docs"), None),
        (
            with_client(URL, "https://b.example", "secret:docs"),
            Some(with_client(URL, "https://a.example", "secret:docs")),
        ),
    ] {
        let refused = check(new.clone(), before.clone(), false).unwrap_err();
        assert!(matches!(refused, ServerChangeError::SecretFromFilesOnly), "{refused:?}");
        check(new, before, true).unwrap();
    }
    assert_eq!(check(secret(), Some(secret()), false).unwrap(), secret());
    let client = with_client(URL, "https://a.example", "secret:docs");
    assert_eq!(check(client.clone(), Some(client.clone()), false).unwrap(), client);
}

#[test]
fn the_secrets_of_a_grant_stay_with_their_issuers() {
    let provider = |token_endpoint: &str| IdentityProviderDefinition {
        issuer: "https://sso.example".to_owned(),
        token_endpoint: Some(token_endpoint.to_owned()),
        client_id: "sso".to_owned(),
        subject_token: "secret:person".to_owned(),
        ..IdentityProviderDefinition::default()
    };
    let with_provider = |token_endpoint: &str| {
        let mut definition = with_client(URL, "https://a.example", "secret:docs");
        let oauth = definition.oauth.as_mut().unwrap();
        oauth.grant = OauthGrantType::EnterpriseManaged;
        oauth.identity_provider = Some(provider(token_endpoint));
        definition
    };
    let before = with_provider("https://sso.example/token");
    for new in [
        with_provider("https://evil.example/token"),
        ServerDefinition { url: Some("http://127.0.0.1:10/mcp".to_owned()), ..before.clone() },
    ] {
        let refused = check(new, Some(before.clone()), false).unwrap_err();
        assert!(matches!(refused, ServerChangeError::SecretFromFilesOnly), "{refused:?}");
    }
    let mut new = before.clone();
    new.oauth.as_mut().unwrap().scopes = vec!["read".to_owned()];
    check(new, Some(before), false).unwrap();
}

#[test]
fn a_hidden_value_is_restored_only_for_the_same_address() {
    let kept = check(with_header(URL, HIDDEN), Some(with_header(URL, "key")), false).unwrap();
    assert_eq!(kept, with_header(URL, "key"));
    for before in [None, Some(with_header("http://127.0.0.1:10/mcp", "key")), Some(at(URL))] {
        let refused = check(with_header(URL, HIDDEN), before, true).unwrap_err();
        assert!(
            matches!(&refused, ServerChangeError::NothingHidden { header } if header == "A"),
            "{refused:?}"
        );
    }
    // A URL with a secret in its query is shown without it.
    let before = at("http://127.0.0.1:9/mcp?api_key=k3y");
    let shown = before.redacted();
    assert_ne!(shown, before);
    assert_eq!(check(shown, Some(before.clone()), false).unwrap(), before);
}

#[test]
fn a_server_in_the_settings_can_be_changed_only_there() {
    for (path, line, place) in [
        (Some(PathBuf::from("/etc/toolway.toml")), Some(12), "/etc/toolway.toml, line 12"),
        (Some(PathBuf::from("/etc/toolway.toml")), None, "/etc/toolway.toml"),
        (None, None, "the settings"),
    ] {
        let location = DefinitionLocation::Settings { path, line };
        let server = DefinedServer { slug: name(), definition: at(URL), location };
        let words = format!("docs is defined in {place}");
        assert_eq!(check_removal(&server, true).unwrap_err().to_string(), words);
        let refused = check_definition(&name(), at(URL), Some(&server), true).unwrap_err();
        assert_eq!(refused.to_string(), words);
    }
}

#[test]
fn names_and_definitions_are_checked() {
    assert_eq!(parse_name("docs").unwrap(), name());
    assert!(matches!(parse_name("own"), Err(ServerChangeError::NameTaken(_))));
    assert!(matches!(parse_name("Docs"), Err(ServerChangeError::InvalidName(_))));
    let refused = check(ServerDefinition::default(), None, false).unwrap_err();
    assert!(matches!(&refused, ServerChangeError::Invalid(flaws) if flaws.len() == 1), "{refused:?}");
}
