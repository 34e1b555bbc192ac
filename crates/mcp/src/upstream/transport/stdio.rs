//! MCP's stdio transport: one message per line, over a pair of pipes.

mod line_messages;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::mpsc;
use toolway_types::RawJson;

use super::OutgoingRequest;
use super::message_handler::MessageHandler;
use super::pending_responses::PendingResponses;
use crate::upstream::error::UpstreamError;
use crate::upstream::frame;
use line_messages::{LineMessages, is_message};

/// Capacity of the queue of outgoing messages.
const QUEUE_CAPACITY: usize = 64;
/// Length of the part of an overlong line that is kept to find its id.
const LINE_HEAD_BYTES: usize = 256;
/// Time to wait for the rest of a message that has begun. Servers write a message at once.
const PART_TIMEOUT: Duration = Duration::from_secs(2);
/// Size of the read buffer.
const READ_BUFFER_BYTES: usize = 64 << 10;

/// The gateway's end of the pipes.
#[derive(Debug)]
pub(in crate::upstream) struct StdioTransport {
    queue: mpsc::Sender<Bytes>,
    pending: Arc<PendingResponses>,
}

/// The ends of the pipes for [`pump`].
pub(in crate::upstream) struct PipeEnds<R, W> {
    reader: R,
    writer: W,
    queue: mpsc::Receiver<Bytes>,
    incoming: IncomingLines,
}

/// Reads the messages of a server from its output.
struct IncomingLines {
    pending: Arc<PendingResponses>,
    max_bytes: usize,
}

impl StdioTransport {
    /// Creates the transport over these pipes. A message has at most `max_bytes`.
    pub(in crate::upstream) fn new<R, W>(reader: R, writer: W, max_bytes: usize) -> (Self, PipeEnds<R, W>) {
        let (sender, queue) = mpsc::channel(QUEUE_CAPACITY);
        let pending = Arc::<PendingResponses>::default();
        let incoming = IncomingLines { pending: Arc::clone(&pending), max_bytes };
        (Self { queue: sender, pending }, PipeEnds { reader, writer, queue, incoming })
    }

    pub(in crate::upstream) fn pending(&self) -> &PendingResponses {
        &self.pending
    }

    pub(in crate::upstream) async fn request(
        &self,
        request: OutgoingRequest<'_>,
    ) -> Result<RawJson, UpstreamError> {
        let waiter = self.pending.register(request.id)?;
        self.send(frame::request(request.id, request.method, &request.params)).await?;
        waiter.recv().await
    }

    pub(in crate::upstream) async fn send(&self, frame: Bytes) -> Result<(), UpstreamError> {
        let ended = |_| UpstreamError::NotConnected("its program has ended".to_owned());
        self.queue.send(to_single_line(frame)).await.map_err(ended)
    }
}

/// Transports messages until either pipe ends. Returns the reason.
pub(in crate::upstream) async fn pump<R, W>(
    handler: impl MessageHandler,
    ends: PipeEnds<R, W>,
) -> UpstreamError
where
    R: tokio::io::AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let PipeEnds { reader, mut writer, mut queue, incoming } = ends;
    let write = async {
        while let Some(mut frame) = queue.recv().await {
            loop {
                let sent = async {
                    writer.write_all(&frame).await?;
                    writer.write_all(b"\n").await
                };
                if let Err(error) = sent.await {
                    return UpstreamError::ConnectionLost(format!("it no longer reads its input: {error}"));
                }
                match queue.try_recv() {
                    Ok(next) => frame = next,
                    Err(_) => break,
                }
            }
            if let Err(error) = writer.flush().await {
                return UpstreamError::ConnectionLost(format!("it no longer reads its input: {error}"));
            }
        }
        UpstreamError::ConnectionLost("it was closed".to_owned())
    };
    let mut reader = BufReader::with_capacity(READ_BUFFER_BYTES, reader);
    tokio::select! {
        fault = incoming.read_lines(&handler, &mut reader) => fault,
        fault = write => fault,
    }
}

impl IncomingLines {
    /// Reads lines until the end of the output.
    async fn read_lines(
        &self,
        handler: &impl MessageHandler,
        reader: &mut (impl AsyncBufRead + Unpin),
    ) -> UpstreamError {
        let limit = self.max_bytes;
        let mut line = Vec::new();
        let mut messages = LineMessages::new(limit);
        // The length of a line, also of one that is too long to store.
        let mut length = 0;
        loop {
            let read = match length > 0 || messages.has_part() {
                true => tokio::time::timeout(PART_TIMEOUT, reader.fill_buf()).await,
                false => Ok(reader.fill_buf().await),
            };
            let bytes = match read {
                Ok(Ok([])) => return UpstreamError::ConnectionLost("it closed its output".to_owned()),
                Ok(Ok(bytes)) => bytes,
                Ok(Err(error)) => return UpstreamError::ConnectionLost(error.to_string()),
                // Some servers do not end the line of a message.
                Err(_) if length == line.len() && is_message(&line) => {
                    messages.take_line(handler, &line);
                    (line, length) = (Vec::new(), 0);
                    continue;
                }
                Err(_) => {
                    messages.give_up(handler, "its rest is missing");
                    continue;
                }
            };
            let end = memchr::memchr(b'\n', bytes);
            let piece = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default();
            length += piece.len();
            if length <= limit {
                line.extend_from_slice(piece);
            } else if line.len() > LINE_HEAD_BYTES {
                line = line.get(..LINE_HEAD_BYTES).unwrap_or_default().to_vec();
            }
            let used = piece.len() + usize::from(end.is_some());
            reader.consume(used);
            if end.is_none() {
                continue;
            }
            match length > limit {
                true => self.reject_long_line(handler, &line, length),
                false => messages.take_line(handler, &line),
            }
            line.clear();
            line.shrink_to(READ_BUFFER_BYTES);
            length = 0;
        }
    }

    /// Fails the request that an overlong line answers, if its id can be found.
    fn reject_long_line(&self, handler: &impl MessageHandler, head: &[u8], length: usize) {
        let limit = self.max_bytes;
        handler.log_anomaly(&format!("its output has a line of {length} bytes; the maximum is {limit}"));
        let Some(id) = id_in(head).or_else(|| self.pending.sole_id()) else { return };
        self.pending.complete(id, Err(UpstreamError::TooLarge(limit)));
    }
}

/// The id at the start of a message.
fn id_in(head: &[u8]) -> Option<u64> {
    let head = String::from_utf8_lossy(head);
    let (_, after) = head.split_once(r#""id":"#)?;
    let digits: String = after.trim_start().chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

/// Replaces line breaks with spaces, which are equivalent between tokens.
fn to_single_line(frame: Bytes) -> Bytes {
    if memchr::memchr2(b'\n', b'\r', &frame).is_none() {
        return frame;
    }
    frame.iter().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_one_line() {
        let frame = Bytes::from_static(b"{\"a\":\r\n1}");
        assert_eq!(to_single_line(frame), Bytes::from_static(b"{\"a\":  1}"));
    }

    #[test]
    fn sees_what_a_long_line_answers() {
        assert_eq!(id_in(br#"{"jsonrpc":"2.0","id": 12,"result":{"content":["#), Some(12));
        assert_eq!(id_in(br#"{"jsonrpc":"2.0","result":{"#), None);
    }
}
