//! The server over standard input and output.

use std::sync::Arc;

use rmcp::ServiceExt;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, duplex};

use crate::exact_json;
use crate::handler::FakeMcpHandler;
use crate::options::FakeMcpOptions;
use crate::state::FakeMcpState;

/// Size of the buffer between the server and its output, in bytes.
const BUFFER: usize = 64 << 10;

/// Serves one client until its input ends.
///
/// # Errors
/// If the client's handshake is invalid, or it can't be written to.
pub async fn serve_stdio(
    input: impl AsyncRead + Send + Unpin + 'static,
    mut output: impl AsyncWrite + Send + Unpin + 'static,
    options: FakeMcpOptions,
) -> std::io::Result<()> {
    let (server_side, client_side) = duplex(BUFFER);
    let handler = FakeMcpHandler::new(Arc::new(FakeMcpState::new(options)));
    let serving = tokio::spawn(async move {
        let service = handler.serve((input, server_side)).await.map_err(std::io::Error::other)?;
        service.waiting().await.map(drop).map_err(std::io::Error::other)
    });
    let mut lines = BufReader::new(client_side).split(b'\n');
    while let Some(line) = lines.next_segment().await? {
        let mut line = exact_json::splice(&line);
        line.push(b'\n');
        output.write_all(&line).await?;
        output.flush().await?;
    }
    serving.await.map_err(std::io::Error::other)?
}
