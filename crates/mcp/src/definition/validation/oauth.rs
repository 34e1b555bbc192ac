//! Validation of the OAuth settings of a server.

use url::Url;

use super::{check_count, check_secret_reference, check_text_length};
use crate::definition::{DefinitionError, IdentityProviderDefinition, OauthDefinition, OauthGrantType};

pub(super) fn check_oauth(oauth: &OauthDefinition, flaws: &mut Vec<DefinitionError>) {
    if oauth.client_id.as_deref().is_some_and(|id| id.trim().is_empty()) {
        flaws.push(DefinitionError::new(
            "oauth.client_id",
            "it is empty",
            "remove it if no client is registered",
        ));
    }
    for (field, value) in [("client_secret", &oauth.client_secret), ("private_key", &oauth.private_key)] {
        if value.is_some() && oauth.client_id.is_none() {
            let field = format!("oauth.{field}");
            flaws.push(DefinitionError::new(&field, "client_id is missing", "set client_id too"));
        }
    }
    for (field, value) in oauth.secret_values() {
        check_stored_secret(&format!("oauth.{field}"), field, value, flaws);
    }
    for (field, address) in
        [("oauth.issuer", &oauth.issuer), ("oauth.client_metadata_url", &oauth.client_metadata_url)]
    {
        if let Some(address) = address {
            check_trusted_url(field, address, flaws);
        }
    }
    for (field, text) in [("oauth.private_key_id", &oauth.private_key_id), ("oauth.subject", &oauth.subject)]
    {
        if let Some(text) = text {
            check_text_length(field, text, flaws);
        }
    }
    check_count("oauth.scopes", oauth.scopes.len(), flaws);
    // RFC 6749, section 3.3: the characters of a scope.
    let is_scope = |scope: &String| {
        !scope.is_empty() && scope.bytes().all(|b| matches!(b, 0x21 | 0x23..=0x5B | 0x5D..=0x7E))
    };
    for scope in oauth.scopes.iter().filter(|scope| !is_scope(scope)) {
        flaws.push(DefinitionError::new(
            "oauth.scopes",
            format!("{scope:?} is not a valid scope"),
            "write each scope as a separate entry, without spaces",
        ));
    }
    check_grant(oauth, flaws);
}

/// Checks that a grant has the fields that it needs, and no others.
fn check_grant(oauth: &OauthDefinition, flaws: &mut Vec<DefinitionError>) {
    let grant = oauth.grant;
    let mut missing = |field: &str, hint: &str| {
        flaws.push(DefinitionError::new(
            format!("oauth.{field}"),
            format!("the grant {} needs it", grant.as_str()),
            hint,
        ));
    };
    let has_key = oauth.private_key.is_some();
    let has_credential = oauth.client_secret.is_some() || has_key;
    if !grant.is_default() {
        if oauth.client_id.is_none() {
            missing("client_id", "register a client at the authorization server and set its id");
        }
        // Nobody sees where the gateway sends the credentials, so the owner names the place.
        if oauth.issuer.is_none() {
            missing("issuer", "set the issuer of the authorization server that may receive the credentials");
        }
    }
    let secret_hint = "set client_secret or private_key to \"secret:NAME\"";
    match grant {
        OauthGrantType::AuthorizationCode => {}
        OauthGrantType::ClientCredentials | OauthGrantType::EnterpriseManaged => {
            if !has_credential {
                missing("client_secret", secret_hint);
            }
        }
        OauthGrantType::JwtBearer => {
            if oauth.assertion.is_none() && !has_key {
                missing("assertion", "set assertion, or private_key to sign one, to \"secret:NAME\"");
            }
        }
    }
    if grant == OauthGrantType::EnterpriseManaged && oauth.identity_provider.is_none() {
        missing("identity_provider", "set issuer, client_id and subject_token of the identity provider");
    }
    let mut useless = |field: &str, needed: &str| {
        let field = format!("oauth.{field}");
        let message = format!("the grant {} does not use it", grant.as_str());
        flaws.push(DefinitionError::new(&field, message, format!("remove it, or set grant = \"{needed}\"")));
    };
    if grant != OauthGrantType::JwtBearer {
        for (field, given) in [("assertion", oauth.assertion.is_some()), ("subject", oauth.subject.is_some())]
        {
            if given {
                useless(field, "jwt_bearer");
            }
        }
    }
    match &oauth.identity_provider {
        Some(_) if grant != OauthGrantType::EnterpriseManaged => {
            useless("identity_provider", "enterprise_managed");
        }
        Some(provider) => check_identity_provider(provider, flaws),
        None => {}
    }
}

fn check_identity_provider(provider: &IdentityProviderDefinition, flaws: &mut Vec<DefinitionError>) {
    let texts = [("client_id", &provider.client_id), ("subject_token", &provider.subject_token)];
    for (field, _) in texts.into_iter().filter(|(_, text)| text.trim().is_empty()) {
        let field = format!("oauth.identity_provider.{field}");
        flaws.push(DefinitionError::new(&field, "it is missing", "set it"));
    }
    check_trusted_url("oauth.identity_provider.issuer", &provider.issuer, flaws);
    if let Some(endpoint) = &provider.token_endpoint {
        check_trusted_url("oauth.identity_provider.token_endpoint", endpoint, flaws);
    }
}

fn check_stored_secret(field: &str, name: &str, value: &str, flaws: &mut Vec<DefinitionError>) {
    // A missing value is reported on its own.
    if !value.is_empty() && !check_secret_reference(field, value, flaws) {
        flaws.push(DefinitionError::new(
            field,
            "it contains the secret itself",
            format!("store it with `toolway secrets set NAME` and set {name} = \"secret:NAME\""),
        ));
    }
}

fn check_trusted_url(field: &str, address: &str, flaws: &mut Vec<DefinitionError>) {
    check_text_length(field, address, flaws);
    if !is_trustworthy(address) {
        flaws.push(DefinitionError::new(
            field,
            "it is not a trusted URL",
            "use an https URL, for example https://auth.example.com",
        ));
    }
}

/// Returns true if no one can modify a document in transit: https, or this computer.
fn is_trustworthy(address: &str) -> bool {
    let Ok(url) = Url::parse(address) else { return false };
    let is_here = match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(ip)) => ip.is_loopback(),
        Some(url::Host::Ipv6(ip)) => ip.is_loopback(),
        None => return false,
    };
    url.scheme() == "https" || (url.scheme() == "http" && is_here)
}
