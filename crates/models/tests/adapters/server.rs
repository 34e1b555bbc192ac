//! A server on the loopback interface that says just what a test wants, down to the bytes, and notes what it was asked.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};

/// One connection's answer, as bytes of HTTP with waits between them.
pub(crate) enum Say {
    Bytes(Vec<u8>),
    /// Until the test goes on.
    Wait(oneshot::Receiver<()>),
    /// Until the client hangs up, which the test is told.
    Hung(mpsc::UnboundedSender<()>),
    /// Nothing more, while the connection stays.
    Silence,
}

/// The server. Each connection is answered by the next script, and then closed.
pub(crate) struct Server {
    pub(crate) base_url: String,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Server {
    pub(crate) async fn start(scripts: Vec<Vec<Say>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&seen);
        tokio::spawn(async move {
            for script in scripts {
                let (socket, _) = listener.accept().await.unwrap();
                let noted = Arc::clone(&noted);
                tokio::spawn(async move {
                    let _ = serve(socket, script, noted).await;
                });
            }
        });
        Self { base_url, seen }
    }

    /// The requests so far, head and body.
    pub(crate) fn seen(&self) -> Vec<String> {
        self.seen.lock().clone()
    }
}

async fn serve(
    mut socket: TcpStream,
    script: Vec<Say>,
    seen: Arc<Mutex<Vec<String>>>,
) -> std::io::Result<()> {
    let request = read_request(&mut socket).await?;
    seen.lock().push(request);
    for say in script {
        match say {
            Say::Bytes(bytes) => socket.write_all(&bytes).await?,
            Say::Wait(until) => {
                let _ = until.await;
            }
            Say::Hung(told) => {
                // Whatever comes now, or an error, is the end.
                let _ = socket.read(&mut [0; 16]).await;
                let _ = told.send(());
            }
            Say::Silence => tokio::time::sleep(Duration::from_secs(3600)).await,
        }
    }
    socket.shutdown().await
}

async fn read_request(socket: &mut TcpStream) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    loop {
        let mut buffer = [0; 4096];
        let count = socket.read(&mut buffer).await?;
        bytes.extend_from_slice(&buffer[..count]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head
            .lines()
            .find_map(|line| line.to_lowercase().strip_prefix("content-length: ").map(str::to_owned));
        let length = length.map_or(0, |length| length.parse::<usize>().unwrap());
        if count == 0 || body.len() >= length {
            return Ok(text);
        }
    }
}

/// A whole answer with a status, headers and a body.
pub(crate) fn answer(status: u16, headers: &str, body: &str) -> Vec<Say> {
    let head = format!(
        "HTTP/1.1 {status} X\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    vec![Say::Bytes(format!("{head}{body}").into_bytes())]
}

/// The head of a stream of events, whose end is that of the connection.
pub(crate) fn stream_head() -> Say {
    Say::Bytes(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n".to_vec())
}

/// An event of a stream.
pub(crate) fn event(data: &str) -> Say {
    Say::Bytes(format!("data: {data}\n\n").into_bytes())
}
