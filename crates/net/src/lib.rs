//! IP addresses by their purpose, and host names by their addresses. Clients of addresses that someone other than
//! the owner chose use both: they resolve a name, check each address, and connect only to checked ones.

#![cfg_attr(
    test,
    allow(clippy::expect_used, clippy::unwrap_used, clippy::indexing_slicing, reason = "tests may panic")
)]

pub mod address;
mod resolver;

pub use resolver::{DnsResolver, SystemResolver};
