//! Settings of an authorization server whose tokens are valid for MCP clients.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolway_mcp::oauth::address::is_loopback;
use url::Url;

/// An OAuth 2 authorization server whose access tokens (JWT) are valid at `/mcp`, with the role client.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct IssuerSettings {
    /// Issuer identifier, exactly as in the `iss` of its tokens, for example `https://login.example.org`.
    pub url: String,
    /// Required `aud` of tokens. Default: the URL of `/mcp` under `public_url`.
    pub audience: Option<String>,
    /// URL of the issuer's keys, if its metadata does not contain it.
    pub jwks_url: Option<String>,
    /// Allowed subjects: the `sub` of each, or "*" for all.
    pub subjects: Vec<String>,
    /// Scopes that a token must have.
    pub scopes: Vec<String>,
    /// The only agent that these clients may use.
    pub agent: Option<String>,
}

/// Returns the problems of the settings: field, problem and hint.
pub(super) fn problems(
    it: &IssuerSettings,
    public_url: Option<&str>,
) -> Vec<(&'static str, String, &'static str)> {
    let mut found = Vec::new();
    for (field, address) in [("url", Some(&it.url)), ("jwks_url", it.jwks_url.as_ref())] {
        if let Some(address) = address.filter(|address| !is_usable(address)) {
            found.push((
                field,
                format!("{address:?} is not an https URL"),
                "write the full URL, for example https://login.example.org; http is allowed only for this computer",
            ));
        }
    }
    if it.audience.is_none() && public_url.is_none() {
        found.push((
            "audience",
            "is missing, and there is no public_url to derive it from".to_owned(),
            "set public_url, or the audience in the issuer's tokens for this gateway",
        ));
    }
    if it.subjects.is_empty() {
        found.push((
            "subjects",
            "is empty, so nobody can sign in".to_owned(),
            "list the sub of each person or program, or [\"*\"] for everybody with a token of the issuer",
        ));
    }
    let spaced = |scope: &&String| {
        scope.is_empty() || scope.chars().any(|c| c.is_whitespace() || c == '"' || c == '\\')
    };
    if let Some(scope) = it.scopes.iter().find(spaced) {
        found.push((
            "scopes",
            format!("{scope:?} is not a valid scope"),
            "write each scope as a separate string, without spaces",
        ));
    }
    found
}

fn is_usable(address: &str) -> bool {
    Url::parse(address).is_ok_and(|url| match url.scheme() {
        "https" => url.host_str().is_some() && url.fragment().is_none(),
        "http" => is_loopback(&url),
        _ => false,
    })
}
