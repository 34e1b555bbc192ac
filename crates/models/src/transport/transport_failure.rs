//! Conversion of network errors to failures. Addresses appear only as host and port.

use std::error::Error;
use std::io;
use std::sync::Arc;

use reqwest::Url;

use crate::config::ProviderConfig;
use crate::error::{ModelError, ModelErrorKind};
use crate::failure::AttemptFailure;

/// Returns the failure for TLS settings that can't be used.
pub(super) fn setup_failure(config: &ProviderConfig, problem: &str) -> AttemptFailure {
    let message = format!("TLS can't be set up: {problem}");
    AttemptFailure::permanent(ModelError::new(ModelErrorKind::Network, Arc::clone(&config.name), message))
}

/// Returns the failure for a request that was not delivered, or a response that broke off.
pub(super) fn transport_failure(
    config: &ProviderConfig,
    url: &Url,
    error: &reqwest::Error,
) -> AttemptFailure {
    let place = host_and_port(url);
    let said = |kind, message: String| ModelError::new(kind, Arc::clone(&config.name), message);
    if error.is_builder() {
        let message = format!("the request to {place} can't be made: {}", innermost(error));
        return AttemptFailure::permanent(said(ModelErrorKind::InvalidRequest, message));
    }
    if let Some(tls) = causes(error).find_map(|cause| cause.downcast_ref::<rustls::Error>()) {
        let message = format!("TLS failed with {place}: {tls}");
        let hint = match tls {
            rustls::Error::InvalidMessage(_) => {
                "The server does not use TLS. Addresses on this computer or network usually begin with http://."
            }
            _ => "Check base_url, this computer's clock and its certificate authorities.",
        };
        return AttemptFailure::permanent(said(ModelErrorKind::Network, message).with_hint(hint));
    }
    let network = |message: String| said(ModelErrorKind::Network, message);
    let of_system = causes(error).filter_map(|cause| cause.downcast_ref::<io::Error>()).last();
    if !error.is_connect() {
        let cause = of_system.map_or_else(|| innermost(error), ToString::to_string);
        return AttemptFailure::from(network(format!("the connection to {place} was lost: {cause}")));
    }
    match of_system {
        Some(cause) if cause.kind() == io::ErrorKind::ConnectionRefused => AttemptFailure::from(
            network(format!("{place} refused the connection: nothing listens there"))
                .with_hint("Start the server, or check base_url."),
        ),
        Some(cause) if cause.kind() != io::ErrorKind::TimedOut => AttemptFailure::from(
            network(format!("can't connect to {place}: {}", innermost(cause)))
                .with_hint("Check base_url and the network."),
        ),
        _ if is_timeout(error) => AttemptFailure::from(
            said(ModelErrorKind::Timeout, format!("{place} did not accept the connection in time"))
                .with_hint("Check base_url and the network."),
        ),
        _ => AttemptFailure::from(
            network(format!("can't connect to {place}: {}", innermost(error)))
                .with_hint("Check base_url and the network."),
        ),
    }
}

/// Returns host and port of an address.
pub(super) fn host_and_port(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

fn is_timeout(error: &reqwest::Error) -> bool {
    // The library's own error for it can't be named; its text is all there is.
    error.is_timeout() || innermost(error).contains("timed out") || innermost(error).contains("deadline")
}

fn innermost(error: &(dyn Error + 'static)) -> String {
    causes(error).last().map_or_else(|| error.to_string(), ToString::to_string)
}

/// Iterates over an error and its causes. An `io::Error` does not report its inner error as a cause, so it needs
/// special treatment.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| {
        let held = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        held.map(|held| held as &(dyn Error + 'static)).or_else(|| <dyn Error>::source(*error))
    })
}
