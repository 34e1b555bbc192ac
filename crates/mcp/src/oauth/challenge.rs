//! Parser for challenges of the schemes `Bearer` and `DPoP` in the header `WWW-Authenticate` (RFC 9110, section 11.6.1;
//! RFC 6750; RFC 9449; RFC 9728).

use std::collections::BTreeMap;

use super::scopes;

/// Maximum length of the header, in bytes.
const MAX_HEADER: usize = 8 << 10;

/// A server's request for a token or for another token.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BearerChallenge {
    /// The address of the server's metadata.
    pub resource_metadata: Option<String>,
    /// The required scopes, separated by spaces.
    pub scope: Option<String>,
    /// The error code for the token that was sent, for example `invalid_token` or `insufficient_scope`.
    pub error: Option<String>,
    /// True if the server takes tokens that are bound to a key (DPoP).
    pub accepts_dpop: bool,
    /// True if the proof of a bound token lacked a nonce.
    pub wants_nonce: bool,
}

impl BearerChallenge {
    /// Parses the header. The result is empty if it contains no challenge of the schemes `Bearer` and `DPoP`.
    #[must_use]
    pub fn parse(header: &str) -> Self {
        let header = if header.len() > MAX_HEADER { "" } else { header };
        let (mut is_token, mut is_dpop) = (false, false);
        let (mut accepts_dpop, mut wants_nonce) = (false, false);
        let mut found = BTreeMap::new();
        for item in (ChallengeItems { remaining: header }) {
            match item {
                ChallengeItem::Scheme(scheme) => {
                    is_dpop = scheme.eq_ignore_ascii_case("dpop");
                    is_token = is_dpop || scheme.eq_ignore_ascii_case("bearer");
                    accepts_dpop |= is_dpop;
                }
                ChallengeItem::Parameter(name, value) if is_token => {
                    let name = name.to_ascii_lowercase();
                    wants_nonce |= is_dpop && name == "error" && value == "use_dpop_nonce";
                    found.entry(name).or_insert(value);
                }
                ChallengeItem::Parameter(..) => {}
            }
        }
        let mut take = |name| found.remove(name).filter(|value: &String| !value.trim().is_empty());
        Self {
            resource_metadata: take("resource_metadata"),
            scope: take("scope"),
            error: take("error"),
            accepts_dpop,
            wants_nonce,
        }
    }

    /// The required scopes without duplicates.
    #[must_use]
    pub fn scopes(&self) -> Vec<String> {
        let mut scopes: Vec<String> = Vec::new();
        for scope in self.scope.as_deref().unwrap_or_default().split_ascii_whitespace() {
            if !scopes.iter().any(|it| it == scope) {
                scopes.push(scope.to_owned());
            }
        }
        scopes
    }

    /// Adds the scopes of an earlier challenge, and its metadata address if this one has none.
    #[must_use]
    pub(super) fn merge(&self, earlier: Self) -> Self {
        let scopes = scopes::union(&earlier.scopes(), &self.scopes());
        Self {
            resource_metadata: self.resource_metadata.clone().or(earlier.resource_metadata),
            scope: (!scopes.is_empty()).then(|| scopes.join(" ")),
            error: self.error.clone(),
            accepts_dpop: self.accepts_dpop || earlier.accepts_dpop,
            wants_nonce: self.wants_nonce,
        }
    }

    /// Returns true if the token was valid but lacked a scope.
    #[must_use]
    pub fn is_insufficient_scope(&self) -> bool {
        self.error.as_deref() == Some("insufficient_scope")
    }
}

#[derive(Debug, PartialEq)]
enum ChallengeItem<'h> {
    Scheme(&'h str),
    Parameter(&'h str, String),
}

/// Iterates over the schemes and parameters of a header. Anything else ends the iteration.
struct ChallengeItems<'h> {
    remaining: &'h str,
}

impl<'h> Iterator for ChallengeItems<'h> {
    type Item = ChallengeItem<'h>;

    fn next(&mut self) -> Option<ChallengeItem<'h>> {
        self.remaining = self.remaining.trim_start_matches([' ', '\t', ',']);
        let end = self.remaining.find(|c: char| !is_token_char(c)).unwrap_or(self.remaining.len());
        let (name, rest) = self.remaining.split_at_checked(end)?;
        if name.is_empty() {
            return None;
        }
        let after = rest.trim_start_matches([' ', '\t']);
        // The text after `=` distinguishes a parameter from a token68 value, which a scheme may have instead of
        // parameters.
        let Some(value) = after.strip_prefix('=').filter(|it| !it.trim_start().is_empty()) else {
            self.remaining = rest.trim_start_matches('=');
            return Some(ChallengeItem::Scheme(name));
        };
        let value = value.trim_start_matches([' ', '\t']);
        let (value, rest) = match value.strip_prefix('"') {
            Some(quoted) => unquote(quoted)?,
            None => {
                let end = value.find(|c: char| c == ',' || c.is_ascii_whitespace()).unwrap_or(value.len());
                let (value, rest) = value.split_at_checked(end)?;
                (value.to_owned(), rest)
            }
        };
        self.remaining = rest;
        Some(ChallengeItem::Parameter(name, value))
    }
}

/// Unquotes a quoted string. Returns its content and the rest, or `None` if the closing quote is missing.
fn unquote(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((value, text.get(at + 1..)?)),
            '\\' => value.push(chars.next()?.1),
            c => value.push(c),
        }
    }
    None
}

fn is_token_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c)
}

#[cfg(test)]
mod tests;
