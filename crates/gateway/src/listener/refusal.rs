//! Short answers in clear text to connections that get no further.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// How long saying no may take.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(1);

/// Why a connection gets no further.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConnectionRefusal {
    /// As many connections as allowed are open.
    Full,
    /// It speaks http to a port that speaks https.
    NotEncrypted,
}

impl ConnectionRefusal {
    /// Tells the other end why, and closes.
    pub(crate) async fn answer(self, mut stream: TcpStream) {
        let (status, headers, body) = match self {
            Self::Full => (
                "503 Service Unavailable",
                "Retry-After: 5\r\n",
                r#"{"error":{"code":"too_many_connections","message":"this gateway has as many connections as it allows","hint":"try again later; the limit is the setting limits.connections"}}"#,
            ),
            Self::NotEncrypted => (
                "400 Bad Request",
                "",
                r#"{"error":{"code":"https_needed","message":"this port speaks https only","hint":"write the address with https:// (or wss://)"}}"#,
            ),
        };
        let answer = format!(
            "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n{headers}Connection: \
             close\r\n\r\n{body}",
            body.len()
        );
        // Reading on for a moment keeps the system from throwing the answer away with what was not read.
        let say = async {
            stream.write_all(answer.as_bytes()).await?;
            stream.shutdown().await?;
            let mut sink = [0; 1024];
            let mut left = 64;
            while left > 0 && stream.read(&mut sink).await? > 0 {
                left -= 1;
            }
            std::io::Result::Ok(())
        };
        // Whoever doesn't wait for the answer misses it.
        let _ = tokio::time::timeout(REFUSAL_TIMEOUT, say).await;
    }
}
