//! The HTTP client for addresses that somebody other than the owner chose: a model, a server that redirects,
//! a name server. It reaches public addresses only, and what the owner has opened besides (row E11).
//!
//! A host's name is resolved once; every address of the answer is judged ([`address`], [`AllowList`]), and the
//! connection goes to exactly those addresses, whatever the name means a moment later. Redirects are followed
//! by hand and judged in the same way. There is no proxy, no cookie jar, no pool of connections and no
//! compression, and nothing is read beyond the bound for bodies.
//!
//! What it can't know: which networks a private NAT64 prefix leads to, and that one of the computer's own
//! public addresses is its own.

pub mod address;
mod allow;
mod answer;
mod client;
mod fault;
mod header;
mod outcome;
mod redirect;
mod request;
mod resolve;
mod text;
mod tls;
mod vet;

pub use allow::{AllowList, BadAllow};
pub use answer::{Answer, Body};
pub use client::{GuardedClient, WebSettings};
pub use fault::{WebError, WebErrorKind};
pub use header::{BadHeader, request_header};
pub use outcome::{failed, result};
pub use request::{Request, parse_url, same_origin};
pub use resolve::{Resolve, SystemResolver};
pub use text::{Shown, shown};
pub use tls::{TlsMaker, nobody_trusted};

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
