//! A server on the loopback interface that says just what a test wants, down to the bytes, and notes what it was asked.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};

/// One connection's answer, as bytes of HTTP with waits between them.
pub(crate) enum SocketAction {
    Bytes(Vec<u8>),
    /// Until the test goes on.
    Wait(oneshot::Receiver<()>),
    /// Until the client hangs up, which the test is told.
    WaitForHangUp(mpsc::UnboundedSender<()>),
    /// Nothing more, while the connection stays.
    Silence,
}

/// The server. Each connection is answered by the next script, and then closed.
pub(crate) struct ScriptedServer {
    pub(crate) base_url: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl ScriptedServer {
    pub(crate) async fn start(scripts: Vec<Vec<SocketAction>>) -> Self {
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
        Self { base_url, requests: seen }
    }

    /// The requests so far, head and body.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().clone()
    }
}

async fn serve(
    mut socket: TcpStream,
    script: Vec<SocketAction>,
    seen: Arc<Mutex<Vec<String>>>,
) -> std::io::Result<()> {
    let request = read_request(&mut socket).await?;
    seen.lock().push(request);
    for say in script {
        match say {
            SocketAction::Bytes(bytes) => socket.write_all(&bytes).await?,
            SocketAction::Wait(until) => {
                let _ = until.await;
            }
            SocketAction::WaitForHangUp(told) => {
                // Whatever comes now, or an error, is the end.
                let _ = socket.read(&mut [0; 16]).await;
                let _ = told.send(());
            }
            SocketAction::Silence => tokio::time::sleep(Duration::from_secs(3600)).await,
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
pub(crate) fn answer(status: u16, headers: &str, body: &str) -> Vec<SocketAction> {
    let head = format!(
        "HTTP/1.1 {status} X\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    vec![SocketAction::Bytes(format!("{head}{body}").into_bytes())]
}

/// The head of a stream of events, whose end is that of the connection.
pub(crate) fn stream_head() -> SocketAction {
    SocketAction::Bytes(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n".to_vec(),
    )
}

/// An event of a stream.
pub(crate) fn event(data: &str) -> SocketAction {
    SocketAction::Bytes(format!("data: {data}\n\n").into_bytes())
}
