//! Responses and their bodies.

use reqwest::header::HeaderMap;
use reqwest::{Response, StatusCode, Url};

use super::error::{WebError, body_error};

/// A response with any status.
#[derive(Debug)]
pub struct WebResponse {
    /// Status of the response.
    pub status: StatusCode,
    /// Final URL, after redirects.
    pub url: Url,
    /// Number of followed redirects.
    pub redirects: u32,
    /// Headers of the response.
    pub headers: HeaderMap,
    /// Body of the response.
    pub body: WebBody,
}

/// A body, or the start of it.
#[derive(Debug, Default)]
pub struct WebBody {
    /// The bytes that were read.
    pub bytes: Vec<u8>,
    /// Length of the complete body in bytes, if known.
    pub total: Option<u64>,
    /// True if the body is longer than what was read.
    pub cut: bool,
}

impl WebResponse {
    /// Reads the body up to `limit` bytes. The rest is never requested, because the connection is closed.
    pub(super) async fn read(response: Response, redirects: u32, limit: usize) -> Result<Self, WebError> {
        let status = response.status();
        let url = response.url().clone();
        let headers = response.headers().clone();
        let body = read(response, limit).await.map_err(|(read, error)| body_error(&url, read, &error))?;
        Ok(Self { status, url, redirects, headers, body })
    }
}

async fn read(mut response: Response, limit: usize) -> Result<WebBody, (usize, reqwest::Error)> {
    let total = response.content_length();
    let mut bytes = Vec::new();
    loop {
        match response.chunk().await {
            Ok(None) => {
                let total = u64::try_from(bytes.len()).ok();
                return Ok(WebBody { bytes, total, cut: false });
            }
            Ok(Some(chunk)) => {
                let room = limit - bytes.len();
                bytes.extend_from_slice(chunk.get(..room.min(chunk.len())).unwrap_or_default());
                if chunk.len() > room {
                    return Ok(WebBody { bytes, total, cut: true });
                }
            }
            Err(error) => return Err((bytes.len(), error)),
        }
    }
}
