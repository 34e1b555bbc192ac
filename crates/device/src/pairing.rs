//! Pairing: exchanges a one-time code for a token.
//!
//! The gateway's key is verified *before* the code is sent: by the whole key from a link, or by its first 60
//! bits from the code.

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

/// Maximum duration of pairing.
const PAIRING_TIMEOUT: Duration = Duration::from_secs(20);
/// Path of the pairing resource.
const PATH: &str = "/pair";

/// Connection options for pairing.
#[derive(Debug, Clone, Default)]
pub struct PairOptions {
    /// Certificate authorities (PEM) in addition to those of this computer. Only for a gateway whose code
    /// contains no key.
    pub authorities: Vec<u8>,
    /// Allows plain HTTP to another computer. Others on the network can then read the token.
    pub insecure: bool,
}

/// Credentials that the device stores after pairing.
#[derive(Debug, Clone)]
pub struct PairedCredentials {
    /// Address of the gateway.
    pub url: String,
    /// The token.
    pub token: SecretString,
    /// The gateway's key, if it uses its own; pass it to [`GatewayTrust::Key`] from now on.
    pub key: Option<KeyPin>,
    /// True if the token stays valid after a restart of the gateway.
    pub persisted: bool,
}

/// Reason why pairing failed.
#[derive(Debug, thiserror::Error)]
pub enum PairError {
    /// The input is a code without an address.
    #[error("the gateway's address is missing; enter it with the code, or use the whole link")]
    NoAddress,
    /// The address is invalid.
    #[error(transparent)]
    Address(#[from] BadGatewayUrl),
    /// The code has a key part, but the address uses plain HTTP.
    #[error("this code belongs to a gateway that uses TLS; use an https:// address")]
    KeyWithoutTls,
    /// The address is another computer over plain HTTP.
    #[error("{0} is not this computer and does not use TLS, so others on the network could read the token")]
    Insecure(GatewayUrl),
    /// The TLS configuration is invalid.
    #[error(transparent)]
    Trust(#[from] BadGatewayTrust),
    /// The gateway is not reachable, or has a different key.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The gateway refused the code.
    #[error("the gateway refused the code: {0}")]
    Refused(GatewayRefusal),
    /// The gateway did not answer in time.
    #[error("the gateway did not answer within {} seconds", PAIRING_TIMEOUT.as_secs())]
    TimedOut,
}

impl PairError {
    /// Next step for the user.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Insecure(_) => {
                Some("use https://, or allow plain HTTP if you trust the network".to_owned())
            }
            Self::Connect(ConnectError::Key(_)) => Some(
                "compare the key with the output of `toolway pair` on the gateway; the code was not sent"
                    .to_owned(),
            ),
            Self::Refused(refusal) => Some(refusal.hint.clone().unwrap_or_else(|| {
                "a code works once, for ten minutes; run `toolway pair` on the gateway to create a new one"
                    .to_owned()
            })),
            _ => None,
        }
    }
}

/// Sends the code to the gateway and receives a token. `url` is optional if `input` is a link, and overrides
/// the link's address.
///
/// # Errors
/// [`PairError`]. The code is not sent if the gateway's key is not the expected one.
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
    let answer: PairResponse =
        serde_json::from_slice(&body).map_err(|_| failed("the response is not from a gateway".to_owned()))?;
    if answer.token.is_empty() {
        return Err(failed("the response contains no token".to_owned()));
    }
    Ok((answer, key))
}
