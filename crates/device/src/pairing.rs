//! Pairing: a one-time code for a token. The gateway's key is checked *before* the code is sent, by the
//! whole key where a link was given and by its first 60 bits where the code carries them.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Request, StatusCode, header};
use http_body_util::Full;
use secrecy::SecretString;
use toolway_wire::pairing::{CODE_HEADER, KeyPin, PairRequest, PairResponse, PairingCode, PairingInput};

use crate::address::{BadGatewayUrl, GatewayUrl};
use crate::transport::refusal::GatewayRefusal;
use crate::transport::upgrade::USER_AGENT;
use crate::transport::{ConnectError, GatewayRoute, read_body};
use crate::trust::{BadGatewayTrust, GatewayTrust, rustls_config};

/// How long pairing may take.
const PAIRING_TIMEOUT: Duration = Duration::from_secs(20);
/// Where it is asked for.
const PATH: &str = "/pair";

/// How the gateway is reached for pairing.
#[derive(Debug, Clone, Default)]
pub struct PairOptions {
    /// Certificate authorities (PEM) beside those that this computer knows; only for a gateway whose code
    /// carries no key.
    pub authorities: Vec<u8>,
    /// Allows plain HTTP to another computer: everyone on the way can read the token.
    pub insecure: bool,
}

/// What a device keeps.
#[derive(Debug, Clone)]
pub struct PairedCredentials {
    /// The gateway's address.
    pub url: String,
    /// The token.
    pub token: SecretString,
    /// The gateway's key, where it uses one of its own: what [`Trust::Key`] takes from now on.
    pub key: Option<KeyPin>,
    /// Whether the token outlives the gateway's process.
    pub persisted: bool,
}

/// Why pairing failed.
#[derive(Debug, thiserror::Error)]
pub enum PairError {
    /// A code without a link does not say where the gateway is.
    #[error("a code alone does not say where the gateway is; give its address too, or the whole link")]
    NoAddress,
    /// The address can't be read.
    #[error(transparent)]
    Address(#[from] BadGatewayUrl),
    /// The code has a key part, but the address is plain.
    #[error("this code belongs to a gateway that is reached over TLS; write its address with https://")]
    KeyWithoutTls,
    /// Plain HTTP to another computer.
    #[error("{0} is another computer and not reached over TLS: everyone on the way could read the token")]
    Insecure(GatewayUrl),
    /// TLS could not be set up.
    #[error(transparent)]
    Trust(#[from] BadGatewayTrust),
    /// The gateway could not be reached, or its key is another one.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The gateway said no.
    #[error("the gateway did not take the code: {0}")]
    Refused(GatewayRefusal),
    /// It took too long.
    #[error("the gateway did not answer within {} seconds", PAIRING_TIMEOUT.as_secs())]
    TimedOut,
}

impl PairError {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Insecure(_) => Some("use https://, or allow it where the network is your own".to_owned()),
            Self::Connect(ConnectError::Key(_)) => Some(
                "compare with what `toolway pair` shows on the gateway; the code was not sent".to_owned(),
            ),
            Self::Refused(refusal) => Some(refusal.hint.clone().unwrap_or_else(|| {
                "a code works once and for ten minutes; `toolway pair` on the gateway makes a new one"
                    .to_owned()
            })),
            _ => None,
        }
    }
}

/// Gives the code to the gateway and gets a token. `url` may be left out where `input` is a link; where both
/// say an address, `url` counts.
///
/// # Errors
/// [`PairError`]; the code has not been sent where the gateway's key is not the expected one.
pub async fn pair(
    url: Option<&str>,
    input: &PairingInput,
    about: &PairRequest,
    options: &PairOptions,
) -> Result<PairedCredentials, PairError> {
    let (code, linked_url, key) = match input {
        PairingInput::Code(code) => (code, None, None),
        PairingInput::Link(link) => (&link.code, Some(link.url.as_str()), link.key),
    };
    let url: GatewayUrl = url.or(linked_url).ok_or(PairError::NoAddress)?.parse()?;
    let trust = match (key, code.key()) {
        (Some(key), _) => GatewayTrust::Key(key),
        (None, Some(prefix)) => GatewayTrust::KeyPrefix(prefix),
        (None, None) => GatewayTrust::Authorities(options.authorities.clone()),
    };
    let pinned = !matches!(trust, GatewayTrust::Authorities(_));
    let tls = if url.is_secure() {
        Some(std::sync::Arc::new(rustls_config(&trust)?))
    } else if pinned {
        return Err(PairError::KeyWithoutTls);
    } else if !url.is_loopback() && !options.insecure {
        return Err(PairError::Insecure(url));
    } else {
        None
    };
    let route = GatewayRoute { url, tls };
    let (answer, key) = tokio::time::timeout(PAIRING_TIMEOUT, exchange(&route, code, about))
        .await
        .map_err(|_| PairError::TimedOut)??;
    Ok(PairedCredentials {
        url: route.url.to_string(),
        token: answer.token.into(),
        key: key.filter(|_| pinned),
        persisted: answer.persisted,
    })
}

async fn exchange(
    route: &GatewayRoute,
    code: &PairingCode,
    about: &PairRequest,
) -> Result<(PairResponse, Option<KeyPin>), PairError> {
    let (stream, key) = route.connect().await?;
    let failed = |reason: String| PairError::Connect(route.http_failed(reason));
    let mut secret = HeaderValue::from_str(code.secret()).map_err(|error| failed(error.to_string()))?;
    secret.set_sensitive(true);
    let body = serde_json::to_vec(about).map_err(|error| failed(error.to_string()))?;
    let request = Request::post(route.url.path(PATH))
        .header(header::HOST, route.url.authority())
        .header(header::USER_AGENT, USER_AGENT)
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::CONNECTION, "close")
        .header(CODE_HEADER, secret)
        .body(Full::new(Bytes::from(body)))
        .map_err(|error| failed(error.to_string()))?;
    let response = route.send(stream, request).await?;
    if response.status() != StatusCode::OK {
        return Err(PairError::Refused(GatewayRefusal::read(response).await));
    }
    let body = read_body(response.into_body()).await.map_err(failed)?;
    let answer: PairResponse = serde_json::from_slice(&body)
        .map_err(|_| failed("its answer is not that of a gateway".to_owned()))?;
    if answer.token.is_empty() {
        return Err(failed("it gave no token".to_owned()));
    }
    Ok((answer, key))
}
