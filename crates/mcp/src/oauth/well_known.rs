//! The well-known addresses of metadata documents.

use reqwest::Url;

/// The addresses of a resource's metadata: with the path after the well-known one, and at the root (RFC 9728,
/// section 3.1).
pub(super) fn resource_metadata_urls(server: &Url) -> Vec<Url> {
    well_known_urls(
        server,
        &["/.well-known/oauth-protected-resource{path}", "/.well-known/oauth-protected-resource"],
    )
}

/// The addresses of an issuer's metadata, in the order of MCP's "Authorization Server Metadata Discovery".
pub(super) fn issuer_metadata_urls(issuer: &Url) -> Vec<Url> {
    well_known_urls(
        issuer,
        &[
            "/.well-known/oauth-authorization-server{path}",
            "/.well-known/openid-configuration{path}",
            "{path}/.well-known/openid-configuration",
        ],
    )
}

fn well_known_urls(of: &Url, forms: &[&str]) -> Vec<Url> {
    let path = of.path().trim_end_matches('/');
    let mut places = Vec::new();
    for form in forms {
        let mut url = of.clone();
        url.set_query(None);
        url.set_fragment(None);
        url.set_path(&form.replace("{path}", path));
        if !places.contains(&url) {
            places.push(url);
        }
    }
    places
}

#[cfg(test)]
mod tests;
