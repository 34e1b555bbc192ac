//! Messages as lines: one each, over a pair of pipes (MCP's stdio transport).

use std::sync::Arc;

use bytes::Bytes;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::mpsc;
use toolway_types::RawJson;

use super::Outgoing;
use super::pending::Pending;
use crate::upstream::connection::Connection;
use crate::upstream::exchange::Origin;
use crate::upstream::fault::Fault;
use crate::upstream::frame;

/// How many messages wait to be written.
const QUEUE: usize = 64;
/// How much of a line that is too long is kept, to see what it answers.
const HEAD: usize = 256;
/// How much is read at once.
const READ: usize = 64 << 10;

/// The gateway's end of the pipes.
#[derive(Debug)]
pub(in crate::upstream) struct Pipes {
    queue: mpsc::Sender<Bytes>,
    pending: Pending,
}

/// The ends that [`pump`] serves.
pub(in crate::upstream) struct Ends<R, W> {
    reader: R,
    writer: W,
    queue: mpsc::Receiver<Bytes>,
}

impl Pipes {
    /// Over these pipes.
    pub(in crate::upstream) fn new<R, W>(reader: R, writer: W) -> (Self, Ends<R, W>) {
        let (sender, queue) = mpsc::channel(QUEUE);
        (Self { queue: sender, pending: Pending::default() }, Ends { reader, writer, queue })
    }

    pub(in crate::upstream) fn pending(&self) -> &Pending {
        &self.pending
    }

    pub(in crate::upstream) async fn request(&self, request: Outgoing<'_>) -> Result<RawJson, Fault> {
        let waiter = self.pending.wait(request.id)?;
        self.send(frame::request(request.id, request.method, &request.params)).await?;
        waiter.answer().await
    }

    pub(in crate::upstream) async fn send(&self, frame: Bytes) -> Result<(), Fault> {
        let ended = |_| Fault::Away("its program has ended".to_owned());
        self.queue.send(one_line(frame)).await.map_err(ended)
    }
}

/// Carries messages until either pipe ends; says why it did.
pub(in crate::upstream) async fn pump<R, W>(connection: Arc<Connection>, ends: Ends<R, W>) -> Fault
where
    R: tokio::io::AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let Ends { reader, mut writer, mut queue } = ends;
    let write = async {
        while let Some(mut frame) = queue.recv().await {
            loop {
                let sent = async {
                    writer.write_all(&frame).await?;
                    writer.write_all(b"\n").await
                };
                if let Err(error) = sent.await {
                    return Fault::Lost(format!("it does not read any more: {error}"));
                }
                match queue.try_recv() {
                    Ok(next) => frame = next,
                    Err(_) => break,
                }
            }
            if let Err(error) = writer.flush().await {
                return Fault::Lost(format!("it does not read any more: {error}"));
            }
        }
        Fault::Lost("it was closed".to_owned())
    };
    let mut reader = BufReader::with_capacity(READ, reader);
    tokio::select! {
        fault = read(&connection, &mut reader) => fault,
        fault = write => fault,
    }
}

/// Reads lines until there are no more.
async fn read(connection: &Arc<Connection>, reader: &mut (impl AsyncBufRead + Unpin)) -> Fault {
    let limit = connection.limit();
    let mut line = Vec::new();
    // How long the line is where it is too long to be kept.
    let mut length = 0;
    loop {
        let bytes = match reader.fill_buf().await {
            Ok([]) => return Fault::Lost("it closed its output".to_owned()),
            Ok(bytes) => bytes,
            Err(error) => return Fault::Lost(error.to_string()),
        };
        let end = memchr::memchr(b'\n', bytes);
        let piece = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default();
        length += piece.len();
        if length <= limit {
            line.extend_from_slice(piece);
        } else if line.len() > HEAD {
            line = line.get(..HEAD).unwrap_or_default().to_vec();
        }
        let used = piece.len() + usize::from(end.is_some());
        reader.consume(used);
        if end.is_none() {
            continue;
        }
        match length > limit {
            true => too_long(connection, &line, length),
            false => take(connection, &line),
        }
        line.clear();
        line.shrink_to(READ);
        length = 0;
    }
}

fn take(connection: &Arc<Connection>, line: &[u8]) {
    let line = line.trim_ascii();
    if line.is_empty() {
        return;
    }
    if let Err(error) = frame::read_all(line, |message| connection.incoming(message, Origin::Shared)) {
        let said = String::from_utf8_lossy(line.get(..HEAD.min(line.len())).unwrap_or_default()).into_owned();
        connection.odd(&format!("its output has a line that is no MCP message ({error}): {said}"));
    }
}

/// The answer is too long, where it can be seen which one it is.
fn too_long(connection: &Arc<Connection>, head: &[u8], length: usize) {
    let limit = connection.limit();
    connection.odd(&format!("its output has a line of {length} bytes; at most {limit} are taken"));
    let Some(pending) = connection.carrier().pending() else { return };
    let Some(id) = id_in(head).or_else(|| pending.only()) else { return };
    pending.answer(id, Err(Fault::TooLarge(limit)));
}

/// The id that a message begins with.
fn id_in(head: &[u8]) -> Option<u64> {
    let head = String::from_utf8_lossy(head);
    let (_, after) = head.split_once(r#""id":"#)?;
    let digits: String = after.trim_start().chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

/// A message in one line: between tokens, line feeds are nothing but space.
fn one_line(frame: Bytes) -> Bytes {
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
        assert_eq!(one_line(frame), Bytes::from_static(b"{\"a\":  1}"));
    }

    #[test]
    fn sees_what_a_long_line_answers() {
        assert_eq!(id_in(br#"{"jsonrpc":"2.0","id": 12,"result":{"content":["#), Some(12));
        assert_eq!(id_in(br#"{"jsonrpc":"2.0","result":{"#), None);
    }
}
