//! Sockets to the gateway: TCP, or TLS over it, and one HTTP request on top. Pairing and the WebSocket's
//! upgrade both go this way, so both trust alike.

pub(crate) mod refusal;
pub(crate) mod upgrade;

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use rustls::{CertificateError, ClientConfig};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use toolway_wire::pairing::KeyPin;

use crate::address::GatewayUrl;
use crate::trust::{KeyMismatch, pin_of};

/// The longest answer that is read where it is not a WebSocket, in bytes.
const MAX_BODY: usize = 64 << 10;

/// Why no connection came about.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// Nobody there, or the network failed.
    #[error("no connection to {address}: {source}")]
    Network {
        /// Whom it should have reached.
        address: String,
        /// What the system says.
        source: io::Error,
    },
    /// The gateway's key is another one.
    #[error(transparent)]
    Key(#[from] KeyMismatch),
    /// The gateway's certificate was not accepted, or TLS failed otherwise.
    #[error("no secure connection to {address}: {reason}")]
    Tls {
        /// Whom it should have reached.
        address: String,
        /// What TLS says.
        reason: String,
    },
    /// What answered does not speak HTTP.
    #[error("{address} gave no answer that could be understood: {reason}")]
    Http {
        /// Who answered.
        address: String,
        /// What is wrong with it.
        reason: String,
    },
}

/// One way to one gateway.
#[derive(Clone)]
pub(crate) struct GatewayRoute {
    pub(crate) url: GatewayUrl,
    /// None where the address is plain HTTP.
    pub(crate) tls: Option<Arc<ClientConfig>>,
}

impl GatewayRoute {
    /// Connects, and says which key the gateway has where it is TLS.
    pub(crate) async fn connect(&self) -> Result<(GatewayStream, Option<KeyPin>), ConnectError> {
        let network = |source| ConnectError::Network { address: self.url.to_string(), source };
        let tcp = TcpStream::connect((self.url.host(), self.url.port())).await.map_err(network)?;
        tcp.set_nodelay(true).map_err(network)?;
        let Some(tls) = &self.tls else { return Ok((GatewayStream::Plain(tcp), None)) };
        let name = ServerName::try_from(self.url.host().to_owned())
            .map_err(|error| self.tls_failed(error.to_string()))?;
        let stream = TlsConnector::from(Arc::clone(tls))
            .connect(name, tcp)
            .await
            .map_err(|error| self.connect_error(error))?;
        let (_, session) = stream.get_ref();
        let pin = session.peer_certificates().and_then(<[_]>::first).and_then(|first| pin_of(first).ok());
        Ok((GatewayStream::Tls(Box::new(stream)), pin))
    }

    /// Sends one request on a fresh connection. The connection lives in a task of its own until the answer
    /// is read, or is handed over at an upgrade.
    pub(crate) async fn send(
        &self,
        stream: GatewayStream,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, ConnectError> {
        let failed = |error: hyper::Error| self.http_failed(error.to_string());
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(failed)?;
        tokio::spawn(connection.with_upgrades());
        sender.send_request(request).await.map_err(failed)
    }

    pub(crate) fn http_failed(&self, reason: String) -> ConnectError {
        ConnectError::Http { address: self.url.to_string(), reason }
    }

    fn tls_failed(&self, reason: String) -> ConnectError {
        ConnectError::Tls { address: self.url.to_string(), reason }
    }

    fn connect_error(&self, error: io::Error) -> ConnectError {
        let Some(tls) = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) else {
            return self.tls_failed(error.to_string());
        };
        if let Some(mismatch) = KeyMismatch::find_in(tls) {
            return ConnectError::Key(mismatch.clone());
        }
        self.tls_failed(match tls {
            rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer | CertificateError::BadSignature) => {
                "its certificate comes from no authority this computer knows (a gateway with a key of its own \
                 is paired with the whole code, key groups included, or with the link)"
                    .to_owned()
            }
            rustls::Error::InvalidMessage(_) => "what answers there does not speak TLS".to_owned(),
            other => other.to_string(),
        })
    }
}

/// Reads a whole answer, up to 64 KiB.
pub(crate) async fn read_body(body: Incoming) -> Result<Bytes, String> {
    match Limited::new(body, MAX_BODY).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) => Err(error.to_string()),
    }
}

/// TCP, plain or under TLS.
pub(crate) enum GatewayStream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl AsyncRead for GatewayStream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(cx, buf),
            Self::Tls(stream) => Pin::new(stream).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for GatewayStream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(cx, buf),
            Self::Tls(stream) => Pin::new(stream).poll_write(cx, buf),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Self::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}

#[cfg(test)]
mod tests;
