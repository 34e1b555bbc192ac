//! The HTTP client that servers at addresses are spoken to with.

use std::time::Duration;

use reqwest::redirect::{Attempt, Policy};

/// How long connecting may take, TLS included.
const CONNECT: Duration = Duration::from_secs(10);
/// How many redirects are followed.
const REDIRECTS: usize = 5;
/// How long a connection that nobody uses is kept.
const IDLE: Duration = Duration::from_secs(90);

/// How often a connection that says nothing is asked whether its other end is there still.
const KEEPALIVE: Duration = Duration::from_secs(60);

/// A client with these TLS settings. It follows redirects within one origin only, since what it sends may hold keys,
/// and waits for no packet to be full.
///
/// # Errors
/// Where the settings can't be used.
pub fn http_client(tls: rustls::ClientConfig, user_agent: &str) -> Result<reqwest::Client, String> {
    reqwest::Client::builder()
        .user_agent(user_agent)
        .tls_backend_preconfigured(tls)
        .connect_timeout(CONNECT)
        .redirect(Policy::custom(within_origin))
        .referer(false)
        .no_proxy()
        .tcp_nodelay(true)
        .tcp_keepalive(KEEPALIVE)
        .pool_idle_timeout(IDLE)
        .build()
        .map_err(|error| error.to_string())
}

fn within_origin(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    let from = attempt.previous().last().map(reqwest::Url::origin);
    let is_same = from.is_some_and(|from| from == attempt.url().origin());
    // Others turn a POST into a GET, which would ask for something else.
    let keeps_method = matches!(attempt.status().as_u16(), 307 | 308);
    if is_same && keeps_method && attempt.previous().len() <= REDIRECTS {
        attempt.follow()
    } else {
        attempt.stop()
    }
}
