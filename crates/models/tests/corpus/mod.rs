//! Conversations, schemas and tools for requests in tests, and for checks of request bodies against the providers' own
//! SDKs.

#![allow(dead_code, unreachable_pub, reason = "each who uses it uses another part of it")]

pub mod conversations;
pub mod models;
pub mod schemas;
