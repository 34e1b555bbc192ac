//! An HTTP server on the loopback interface, for HTTP tools.

use std::convert::Infallible;
use std::net::SocketAddr;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::watch;
use toolway_tests::with_timeout;

/// The server; it ends with the test.
pub(crate) struct HeldServer {
    address: SocketAddr,
    /// Number of requests that wait at `/held`, and true once they are released.
    held: watch::Sender<(usize, bool)>,
}

impl HeldServer {
    /// Starts a server.
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let held = watch::Sender::new((0, false));
        let shared = held.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let held = shared.clone();
                let service = service_fn(move |request| answer_request(request, held.clone()));
                let http = hyper::server::conn::http1::Builder::new();
                tokio::spawn(http.serve_connection(TokioIo::new(stream), service));
            }
        });
        Self { address, held }
    }

    /// Returns host and port, as allowed in a setting.
    pub(crate) fn host(&self) -> String {
        self.address.to_string()
    }

    /// Returns a URL of the server.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Waits until this number of requests wait at `/held`.
    pub(crate) async fn wait_for_held(&self, count: usize) {
        let mut held = self.held.subscribe();
        with_timeout("requests that wait", held.wait_for(|(now, _)| *now == count)).await.unwrap();
    }

    /// Releases the waiting requests.
    pub(crate) fn release_held(&self) {
        self.held.send_modify(|(_, go)| *go = true);
    }
}

async fn answer_request(
    request: Request<Incoming>,
    held: watch::Sender<(usize, bool)>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let path = head.uri.path();
    let (status, kind, text) = match path {
        "/price" => (200, "application/json", json!({"bitcoin": {"usd": 64250.5}}).to_string()),
        "/held" => {
            held.send_modify(|(count, _)| *count += 1);
            let _ = held.subscribe().wait_for(|(_, go)| *go).await;
            (200, "text/plain", head.uri.query().unwrap_or_default().to_owned())
        }
        "/echo" => {
            let said = head.headers.get("x-said").and_then(|it| it.to_str().ok());
            let body = String::from_utf8_lossy(&body).into_owned();
            let method = head.method.as_str();
            (200, "application/json", json!({"method": method, "said": said, "body": body}).to_string())
        }
        _ => {
            let status = path.rsplit('/').next().and_then(|it| it.parse().ok()).unwrap_or(404);
            (status, "text/plain", format!("this is {status}"))
        }
    };
    let response = Response::builder().status(status).header("Content-Type", kind);
    Ok(response.body(Full::new(Bytes::from(text))).unwrap())
}
