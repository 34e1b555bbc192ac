//! Short clear-text responses to connections that are refused.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Maximum time for sending the refusal.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(1);

/// Reason for refusing a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConnectionRefusal {
    /// The maximum number of connections is open.
    Full,
    /// The client uses http on a port with https.
    NotEncrypted,
}

impl ConnectionRefusal {
    /// Sends the reason and closes the connection.
    pub(crate) async fn answer(self, mut stream: TcpStream) {
        let (status, headers, body) = match self {
            Self::Full => (
                "503 Service Unavailable",
                "Retry-After: 5\r\n",
                r#"{"error":{"code":"too_many_connections","message":"this gateway has the maximum number of connections","hint":"try again later; the limit is the setting limits.connections"}}"#,
            ),
            Self::NotEncrypted => (
                "400 Bad Request",
                "",
                r#"{"error":{"code":"https_needed","message":"this port accepts only https","hint":"use a URL that starts with https:// or wss://"}}"#,
            ),
        };
        let answer = format!(
            "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n{headers}Connection: \
             close\r\n\r\n{body}",
            body.len()
        );
        // Reading for a moment prevents the system from discarding the response together with unread data.
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
        // A client that does not wait for the response misses it.
        let _ = tokio::time::timeout(REFUSAL_TIMEOUT, say).await;
    }
}
