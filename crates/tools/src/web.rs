//! The HTTP client for addresses that somebody other than the owner chose: a model, a server that redirects,
//! a name server. It reaches public addresses only, and what the owner has opened besides (pitfall E11).
//!
//! A host's name is resolved once; every address of the answer is judged ([`address`], [`AllowList`]), and the
//! connection goes to exactly those addresses, whatever the name means a moment later. Redirects are followed
//! by hand and judged in the same way. There is no proxy, no cookie jar, no pool of connections and no
//! compression, and nothing is read beyond the bound for bodies.
//!
//! What it can't know: which networks a private NAT64 prefix leads to, and that one of the computer's own
//! public addresses is its own.

pub mod address;
mod address_check;
mod allow_list;
mod client;
mod error;
mod header;
mod host_and_port;
mod redirect;
mod rendered_response;
mod request;
mod resolver;
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
pub use resolver::{DnsResolver, SystemResolver};
pub use response::{WebBody, WebResponse};
pub use settings::WebSettings;
pub use tls::{TlsConfigFactory, empty_tls_config};
pub use tool_result::{response_json, status_error};

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
