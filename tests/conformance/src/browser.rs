//! A person's browser that consents to everything: it opens each URL and reads the redirect.

use async_trait::async_trait;
use reqwest::Url;
use reqwest::header::LOCATION;
use reqwest::redirect::Policy;
use secrecy::SecretString;
use toolway_mcp::oauth::{BrowserError, LoginBrowser};

/// Redirect URI for authorization servers; nobody listens there.
const REDIRECT: &str = "http://localhost:3000/callback";

pub(crate) struct ApprovingBrowser {
    http: reqwest::Client,
}

impl ApprovingBrowser {
    /// Creates a browser with these TLS settings.
    pub(crate) fn new(tls: rustls::ClientConfig) -> Result<Self, String> {
        let http =
            reqwest::Client::builder().tls_backend_preconfigured(tls).redirect(Policy::none()).no_proxy();
        http.build().map(|http| Self { http }).map_err(|error| error.to_string())
    }
}

#[async_trait]
impl LoginBrowser for ApprovingBrowser {
    fn redirect_uri(&self) -> String {
        REDIRECT.to_owned()
    }

    async fn visit(
        &self,
        url: &Url,
        is_answer: &(dyn for<'q> Fn(&'q str) -> bool + Sync),
    ) -> Result<SecretString, BrowserError> {
        let answer =
            self.http.get(url.clone()).send().await.map_err(|error| BrowserError(error.to_string()))?;
        let location = answer.headers().get(LOCATION).and_then(|location| location.to_str().ok());
        let back = location.and_then(|location| Url::parse(location).ok());
        let query = back.as_ref().and_then(Url::query).filter(|query| is_answer(query));
        query.map(SecretString::from).ok_or_else(|| BrowserError("it was not sent back".to_owned()))
    }
}
