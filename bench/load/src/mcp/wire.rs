//! One connection to an MCP endpoint, kept for all requests: HTTP/1.1, no delay, bytes that were made beforehand.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::reading::{Answer, Reading};
use crate::error::{During, Result, unexpected, within};

/// What is read at once.
const READ: usize = 16 << 10;
const LIMIT: Duration = Duration::from_secs(20);

/// A connection.
#[derive(Debug)]
pub(crate) struct Wire {
    stream: TcpStream,
    reading: Reading,
}

impl Wire {
    /// Connects to `host:port`.
    pub(crate) async fn open(authority: &str) -> Result<Self> {
        let what = format!("connecting to {authority}");
        within(LIMIT, &what, async {
            let stream = TcpStream::connect(authority).await.during(&what)?;
            stream.set_nodelay(true).during(&what)?;
            Ok(Self { stream, reading: Reading::default() })
        })
        .await
    }

    /// Makes a request and reads the whole answer. Who calls bounds the wait.
    pub(crate) async fn ask(&mut self, request: &[u8]) -> Result<&Answer> {
        self.send(request).await?;
        while !self.is_whole()? {
            self.read().await?;
        }
        Ok(self.reading.answer())
    }

    /// The same within [`LIMIT`].
    pub(crate) async fn ask_soon(&mut self, request: &[u8]) -> Result<&Answer> {
        within(LIMIT, "waiting for an MCP answer", self.ask(request)).await
    }

    /// Makes a request whose answer is a stream; gives its head, and whatever had come with it.
    pub(crate) async fn begin(&mut self, request: &[u8]) -> Result<&Answer> {
        within(LIMIT, "waiting for an MCP stream", async {
            self.send(request).await?;
            while !self.is_whole()? && !self.reading.has_head() {
                self.read().await?;
            }
            Ok(())
        })
        .await?;
        Ok(self.reading.answer())
    }

    async fn send(&mut self, request: &[u8]) -> Result<()> {
        self.reading.next();
        self.stream.write_all(request).await.during("sending an MCP request")
    }

    /// Whether the answer is whole.
    fn is_whole(&mut self) -> Result<bool> {
        match self.reading.advance() {
            Ok(is_whole) => Ok(is_whole),
            Err(why) => unexpected(format!("an answer that is not HTTP as it is understood here: {why}")),
        }
    }

    async fn read(&mut self) -> Result<()> {
        self.reading.held.reserve(READ);
        let read = self.stream.read_buf(&mut self.reading.held).await.during("reading an MCP answer")?;
        if read == 0 { unexpected("the connection ended") } else { Ok(()) }
    }
}
