//! Minimal HTTP/1.1 server for the browser's redirect. It serves one page; the caller validates the query.

use std::time::Duration;

use secrecy::SecretString;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// Path of the redirect URI.
pub(super) const CALLBACK_PATH: &str = "/callback";
/// Maximum size of a request in bytes; a code and a state are much shorter.
const MAX_REQUEST: usize = 16 << 10;
/// Timeout of one connection. Browsers open some that they never use.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum number of connections.
const MAX_CONNECTIONS: usize = 16;

const SUCCESS_PAGE: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Toolway</title>\
    <p>The login is complete. Go back to your terminal; you can close this page.</p></html>\n";
const WRONG_REQUEST_PAGE: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Toolway</title>\
    <p>This address does not belong to the current login. Go back to your terminal.</p></html>\n";

/// Query of a request, with a channel for the caller's verdict.
struct CallbackRequest {
    query: String,
    reply: tokio::sync::oneshot::Sender<bool>,
}

/// Waits for a request whose query passes `is_answer`, and returns the query.
pub(super) async fn wait_for_callback(
    listener: &TcpListener,
    is_answer: &(dyn for<'q> Fn(&'q str) -> bool + Sync),
) -> SecretString {
    let (send, mut asked) = mpsc::channel::<CallbackRequest>(1);
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept(), if connections.len() < MAX_CONNECTIONS => {
                if let Ok((stream, _)) = accepted {
                    connections.spawn(timeout(CONNECTION_TIMEOUT, serve_connection(stream, send.clone())));
                }
            }
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
            Some(CallbackRequest { query, reply }) = asked.recv() => {
                let is_it = is_answer(&query);
                let _ = reply.send(is_it);
                if is_it {
                    // Wait until the page is sent before the program continues.
                    while let Some(ended) = connections.join_next().await {
                        if ended.is_ok_and(|served| served.is_ok_and(|brought_it| brought_it)) {
                            break;
                        }
                    }
                    return query.into();
                }
            }
        }
    }
}

/// Reads a request and responds to it. Returns true if it was the expected redirect.
async fn serve_connection(mut stream: TcpStream, to: mpsc::Sender<CallbackRequest>) -> bool {
    let Some(head) = read_head(&mut stream).await else { return false };
    let is_it = match request_query(&head) {
        None => None,
        Some(query) => {
            let (answer, waiting) = tokio::sync::oneshot::channel();
            let asked = CallbackRequest { query: query.to_owned(), reply: answer };
            if to.send(asked).await.is_err() {
                return false;
            }
            waiting.await.ok()
        }
    };
    let (status, page) = match is_it {
        Some(true) => ("200 OK", SUCCESS_PAGE),
        Some(false) => ("400 Bad Request", WRONG_REQUEST_PAGE),
        None => ("404 Not Found", WRONG_REQUEST_PAGE),
    };
    let text = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {}\r\n\
         cache-control: no-store\r\nreferrer-policy: no-referrer\r\nx-content-type-options: nosniff\r\n\
         content-security-policy: default-src 'none'\r\nconnection: close\r\n\r\n{page}",
        page.len()
    );
    let _ = stream.write_all(text.as_bytes()).await;
    let _ = stream.shutdown().await;
    is_it == Some(true)
}

/// Reads the head of a request; `None` if it is too long or incomplete.
async fn read_head(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    let mut buffer = [0u8; 2048];
    while !head.windows(4).any(|it| it == b"\r\n\r\n") {
        let read = stream.read(&mut buffer).await.ok().filter(|read| *read > 0)?;
        head.extend_from_slice(buffer.get(..read)?);
        if head.len() > MAX_REQUEST {
            return None;
        }
    }
    String::from_utf8(head).ok()
}

/// Returns the query of a request for the callback path.
fn request_query(head: &str) -> Option<&str> {
    let mut words = head.lines().next()?.split(' ');
    let (method, target) = (words.next()?, words.next()?);
    let (path, query) = target.split_once('?')?;
    (method == "GET" && path == CALLBACK_PATH).then_some(query)
}

#[cfg(test)]
mod tests;
