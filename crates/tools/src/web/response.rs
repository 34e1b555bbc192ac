//! What came back, as far as it is read.

use reqwest::header::HeaderMap;
use reqwest::{Response, StatusCode, Url};

use super::error::{WebError, body_error};

/// An answer, whatever its status.
#[derive(Debug)]
pub struct WebResponse {
    /// Its status.
    pub status: StatusCode,
    /// Where it came from in the end.
    pub url: Url,
    /// How many redirects led there.
    pub redirects: u32,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body.
    pub body: WebBody,
}

/// A body, or its beginning.
#[derive(Debug, Default)]
pub struct WebBody {
    /// What was read.
    pub bytes: Vec<u8>,
    /// How long the whole is, in bytes, where that is known.
    pub total: Option<u64>,
    /// Whether there is more than was read.
    pub cut: bool,
}

impl WebResponse {
    /// Reads the body up to `limit` bytes. What is beyond is never asked for: the connection ends here.
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
