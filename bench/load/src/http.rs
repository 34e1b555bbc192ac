//! A minimal HTTP client for the few requests of the harness, with one connection each. A full client would
//! be larger than the rest of the harness.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::error::{ErrorContext, Result, unexpected, with_timeout};

const LIMIT: Duration = Duration::from_secs(10);

/// Sends a request to `authority` (`host:port`). Returns status and body.
pub(crate) async fn request(
    authority: &str,
    method: &str,
    path: &str,
    token: Option<&str>,
    body: Option<&str>,
) -> Result<(u16, String)> {
    let what = format!("{method} http://{authority}{path}");
    let authorization = token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
    let content = body.map_or_else(String::new, |body| {
        format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len())
    });
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n{authorization}{content}\r\n{}",
        body.unwrap_or_default()
    );
    let answer = with_timeout(LIMIT, &what, async {
        let mut stream = TcpStream::connect(authority).await.context(&what)?;
        stream.set_nodelay(true).context(&what)?;
        stream.write_all(request.as_bytes()).await.context(&what)?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.context(&what)?;
        Ok(answer)
    })
    .await?;
    match parse(&String::from_utf8_lossy(&answer)) {
        Some(parsed) => Ok(parsed),
        None => unexpected(format!("{what}: the answer is not HTTP that is understood here")),
    }
}

/// Splits a response with a length or one that extends to the end; chunked ones are not supported.
fn parse(answer: &str) -> Option<(u16, String)> {
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let status = head.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()?;
    let chunked = head.lines().any(|line| {
        line.split_once(':').is_some_and(|(name, value)| {
            name.eq_ignore_ascii_case("transfer-encoding") && value.to_ascii_lowercase().contains("chunked")
        })
    });
    (!chunked).then(|| (status, body.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_and_body_are_split() {
        let answer = "HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}";
        assert_eq!(parse(answer), Some((201, "{}".to_owned())));
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        assert_eq!(parse("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"), None);
        assert_eq!(parse("SSH-2.0-x\r\n\r\n"), None);
    }
}
