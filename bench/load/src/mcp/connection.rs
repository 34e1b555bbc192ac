//! A persistent connection to an MCP endpoint: HTTP/1.1, no delay, prepared requests.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::answer_reader::{HttpAnswer, HttpAnswerReader};
use crate::error::{ErrorContext, Result, unexpected, with_timeout};

/// Number of bytes per read.
const READ_SIZE: usize = 16 << 10;
const LIMIT: Duration = Duration::from_secs(20);

/// A connection.
#[derive(Debug)]
pub(crate) struct HttpConnection {
    stream: TcpStream,
    reading: HttpAnswerReader,
}

impl HttpConnection {
    /// Connects to `host:port`.
    pub(crate) async fn open(authority: &str) -> Result<Self> {
        let what = format!("connecting to {authority}");
        with_timeout(LIMIT, &what, async {
            let stream = TcpStream::connect(authority).await.context(&what)?;
            stream.set_nodelay(true).context(&what)?;
            Ok(Self { stream, reading: HttpAnswerReader::default() })
        })
        .await
    }

    /// Sends a request and reads the whole response. The caller limits the waiting time.
    pub(crate) async fn request(&mut self, request: &[u8]) -> Result<&HttpAnswer> {
        self.send(request).await?;
        while !self.is_complete()? {
            self.read_more().await?;
        }
        Ok(self.reading.answer())
    }

    /// Sends a request and reads the response with a timeout.
    pub(crate) async fn request_with_timeout(&mut self, request: &[u8]) -> Result<&HttpAnswer> {
        with_timeout(LIMIT, "waiting for an MCP answer", self.request(request)).await
    }

    /// Sends a request whose response is a stream. Returns its head and the received part.
    pub(crate) async fn open_stream(&mut self, request: &[u8]) -> Result<&HttpAnswer> {
        with_timeout(LIMIT, "waiting for an MCP stream", async {
            self.send(request).await?;
            while !self.is_complete()? && !self.reading.has_head() {
                self.read_more().await?;
            }
            Ok(())
        })
        .await?;
        Ok(self.reading.answer())
    }

    async fn send(&mut self, request: &[u8]) -> Result<()> {
        self.reading.start_next();
        self.stream.write_all(request).await.context("sending an MCP request")
    }

    /// Returns true if the response is complete.
    fn is_complete(&mut self) -> Result<bool> {
        match self.reading.advance() {
            Ok(is_whole) => Ok(is_whole),
            Err(why) => unexpected(format!("an answer that is not HTTP as it is understood here: {why}")),
        }
    }

    async fn read_more(&mut self) -> Result<()> {
        self.reading.buffer.reserve(READ_SIZE);
        let read = self.stream.read_buf(&mut self.reading.buffer).await.context("reading an MCP answer")?;
        if read == 0 { unexpected("the connection ended") } else { Ok(()) }
    }
}
