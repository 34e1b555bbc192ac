//! Parses signed tokens (RFC 7515, section 7.1) and their claims (RFC 7519, RFC 9068).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde_json::Value;

/// Maximum number of elements that are read from a list in a token.
const MAX_LISTED: usize = 64;
/// Maximum length of a subject's label, in characters.
const MAX_LABEL: usize = 80;

/// Accepted signature algorithms, all with public keys. `none` and shared secrets are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JwsAlgorithm {
    Rs256,
    Es256,
    EdDsa,
}

impl JwsAlgorithm {
    pub(super) fn from_name(name: &str) -> Option<Self> {
        match name {
            "RS256" => Some(Self::Rs256),
            "ES256" => Some(Self::Es256),
            // RFC 9864 uses the name of the curve.
            "EdDSA" | "Ed25519" => Some(Self::EdDsa),
            _ => None,
        }
    }
}

/// A parsed token. Nothing in it has been verified.
#[derive(Debug)]
pub(super) struct UnverifiedJwt<'t> {
    pub(super) algorithm: JwsAlgorithm,
    pub(super) key_id: Option<String>,
    /// The signed bytes.
    pub(super) signed: &'t [u8],
    pub(super) signature: Vec<u8>,
    pub(super) payload: Vec<u8>,
}

#[derive(Deserialize)]
struct JwtHeader {
    alg: String,
    #[serde(default)]
    kid: Option<String>,
    #[serde(default)]
    typ: Option<String>,
    #[serde(default)]
    crit: Option<Value>,
}

/// Parses a token.
pub(super) fn parse(text: &str) -> Result<UnverifiedJwt<'_>, &'static str> {
    const MALFORMED: &str = "it is not a signed token";
    let (signed, signature) = text.rsplit_once('.').ok_or(MALFORMED)?;
    let (header, payload) = signed.split_once('.').ok_or(MALFORMED)?;
    let decoded = |part: &str| URL_SAFE_NO_PAD.decode(part).map_err(|_| MALFORMED);
    let header: JwtHeader = serde_json::from_slice(&decoded(header)?).map_err(|_| MALFORMED)?;
    let algorithm = JwsAlgorithm::from_name(&header.alg).ok_or("the algorithm (alg) is not supported")?;
    if header.crit.is_some() {
        return Err("a critical header (crit) is not supported");
    }
    // An identity token describes a user to the client only, and gives no access.
    let kind = header.typ.as_deref().map(str::to_ascii_lowercase);
    if kind.is_some_and(|kind| !matches!(kind.as_str(), "jwt" | "at+jwt" | "application/at+jwt")) {
        return Err("it is not an access token (typ)");
    }
    Ok(UnverifiedJwt {
        algorithm,
        key_id: header.kid,
        signed: signed.as_bytes(),
        signature: decoded(signature)?,
        payload: decoded(payload)?,
    })
}

/// One string or several, as in `aud`.
#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrManyStrings {
    One(String),
    Several(Vec<String>),
}

impl OneOrManyStrings {
    fn into_vec(self) -> Vec<String> {
        match self {
            Self::One(text) => vec![text],
            Self::Several(mut texts) => {
                texts.truncate(MAX_LISTED);
                texts
            }
        }
    }
}

#[derive(Deserialize)]
struct JwtPayload {
    iss: String,
    sub: String,
    aud: OneOrManyStrings,
    exp: f64,
    #[serde(default)]
    nbf: Option<f64>,
    #[serde(default)]
    scope: Option<String>,
    /// Entra and Okta use this name instead of `scope`.
    #[serde(default)]
    scp: Option<OneOrManyStrings>,
    #[serde(default)]
    cnf: Option<Value>,
    #[serde(default)]
    preferred_username: Option<Value>,
    #[serde(default)]
    email: Option<Value>,
}

/// The claims of a token.
#[derive(Debug)]
pub(super) struct JwtClaims {
    pub(super) issuer: String,
    pub(super) subject: String,
    pub(super) audiences: Vec<String>,
    /// Expiry in milliseconds since the Unix epoch.
    pub(super) expires_ms: i64,
    pub(super) not_before_ms: Option<i64>,
    pub(super) scopes: Vec<String>,
    /// True if the token is only valid together with a key (RFC 7800).
    pub(super) is_bound: bool,
    name: Option<String>,
}

impl JwtClaims {
    pub(super) fn read(payload: Vec<u8>) -> Result<Self, &'static str> {
        let it: JwtPayload =
            serde_json::from_slice(&payload).map_err(|_| "iss, sub, aud or exp is missing")?;
        if it.sub.is_empty() {
            return Err("the subject (sub) is empty");
        }
        let spaced = it.scope.into_iter().chain(it.scp.into_iter().flat_map(OneOrManyStrings::into_vec));
        let scopes = spaced.flat_map(|it| it.split_ascii_whitespace().map(str::to_owned).collect::<Vec<_>>());
        let named = it.preferred_username.or(it.email);
        Ok(Self {
            issuer: it.iss,
            subject: it.sub,
            audiences: it.aud.into_vec(),
            expires_ms: to_millis(it.exp),
            not_before_ms: it.nbf.map(to_millis),
            scopes: scopes.collect(),
            is_bound: it.cnf.is_some(),
            name: named.and_then(|it| it.as_str().map(str::to_owned)),
        })
    }

    /// Returns a label for display.
    pub(super) fn label(&self) -> String {
        let name = self.name.as_deref().unwrap_or(&self.subject);
        name.chars().filter(|c| !toolway_types::name::is_invisible(*c)).take(MAX_LABEL).collect()
    }
}

/// Converts seconds since the epoch, with or without a fraction (RFC 7519, section 2), to milliseconds.
#[allow(clippy::cast_possible_truncation, reason = "a float that is cast stops at the ends of the range")]
fn to_millis(seconds: f64) -> i64 {
    (seconds * 1000.0) as i64
}
