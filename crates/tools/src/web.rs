//! HTTP client for URLs that someone other than the owner chose: a model, a redirecting server, a name
//! server. It connects only to public addresses, and to those that the owner has allowed (pitfall E11).
//!
//! A host name is resolved once. Every resulting address is checked ([`toolway_net::address`], [`AllowList`]), and the
//! connection uses exactly these addresses, even if the name changes a moment later. Redirects are followed
//! manually and checked in the same way. There is no proxy, no cookie jar, no connection pool and no
//! compression, and bodies are read only up to a limit.
//!
//! Limits: the client does not know the networks behind a private NAT64 prefix, or which public addresses
//! belong to this computer.

mod address_check;
mod allow_list;
mod client;
mod error;
mod header;
mod host_and_port;
mod redirect;
mod rendered_response;
mod request;
mod response;
mod settings;
mod tls;
mod tool_result;

pub use allow_list::{AllowList, BadAllowEntry};
pub use client::GuardedClient;
pub use error::{WebError, WebErrorKind};
pub use header::{BadHeader, request_header};
pub use rendered_response::{RenderedResponse, render_response};
pub use request::{WebRequest, parse_url, same_origin};
pub use response::{WebBody, WebResponse};
pub use settings::WebSettings;
pub use tls::{TlsConfigFactory, empty_tls_config};
pub use tool_result::{response_json, status_error};
pub use toolway_net::{DnsResolver, SystemResolver};

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
