//! A person's browser that consents to everything: it goes where it is sent and takes the redirect for an answer.

use async_trait::async_trait;
use reqwest::Url;
use reqwest::header::LOCATION;
use secrecy::SecretString;
use toolway_mcp::oauth::{Browser, BrowserFailure};

/// Where authorization servers send it back to; nobody listens there.
const REDIRECT: &str = "http://localhost:3000/callback";

pub(crate) struct Willing {
    /// One that does not follow redirects to another host.
    pub(crate) http: reqwest::Client,
}

#[async_trait]
impl Browser for Willing {
    fn redirect_uri(&self) -> String {
        REDIRECT.to_owned()
    }

    async fn visit(
        &self,
        url: &Url,
        is_answer: &(dyn for<'q> Fn(&'q str) -> bool + Sync),
    ) -> Result<SecretString, BrowserFailure> {
        let answer =
            self.http.get(url.clone()).send().await.map_err(|error| BrowserFailure(error.to_string()))?;
        let location = answer.headers().get(LOCATION).and_then(|location| location.to_str().ok());
        let back = location.and_then(|location| Url::parse(location).ok());
        let query = back.as_ref().and_then(Url::query).filter(|query| is_answer(query));
        query.map(SecretString::from).ok_or_else(|| BrowserFailure("it was not sent back".to_owned()))
    }
}
