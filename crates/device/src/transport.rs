//! Sockets to the gateway: TCP, optional TLS, and one HTTP request. Pairing and the WebSocket upgrade both
//! use this module, so both verify the gateway in the same way.

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

/// Maximum size of a response body, in bytes.
const MAX_BODY: usize = 64 << 10;

/// Reason why the connection failed.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The host is not reachable, or the network failed.
    #[error("cannot connect to {address}: {source}")]
    Network {
        /// Address of the gateway.
        address: String,
        /// Error from the operating system.
        source: io::Error,
    },
    /// The gateway has a different key.
    #[error(transparent)]
    Key(#[from] KeyMismatch),
    /// The gateway's certificate was refused, or TLS failed otherwise.
    #[error("TLS connection to {address} failed: {reason}")]
    Tls {
        /// Address of the gateway.
        address: String,
        /// Error from TLS.
        reason: String,
    },
    /// The server's response is not valid HTTP.
    #[error("{address} sent an invalid response: {reason}")]
    Http {
        /// Address of the server.
        address: String,
        /// Description of the problem.
        reason: String,
    },
}

/// Address and TLS configuration of one gateway.
#[derive(Clone)]
pub(crate) struct GatewayRoute {
    pub(crate) url: GatewayUrl,
    /// TLS configuration; `None` for plain HTTP.
    pub(crate) tls: Option<Arc<ClientConfig>>,
}

impl GatewayRoute {
    /// Connects. Returns the gateway's key if the connection uses TLS.
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

    /// Sends one request on a new connection. The connection runs in its own task until the response is read,
    /// or until an upgrade takes it over.
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
            rustls::Error::InvalidCertificate(
                CertificateError::UnknownIssuer | CertificateError::BadSignature,
            ) => "the certificate authority is unknown (for a self-signed gateway, pair with the complete \
                 code, including its key groups, or with the link)"
                .to_owned(),
            rustls::Error::InvalidMessage(_) => "the server does not use TLS".to_owned(),
            other => other.to_string(),
        })
    }
}

/// Reads a whole body, up to 64 KiB.
pub(crate) async fn read_body(body: Incoming) -> Result<Bytes, String> {
    match Limited::new(body, MAX_BODY).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) => Err(error.to_string()),
    }
}

/// A plain or TLS stream.
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
