//! What requests are made of in tests, and for whoever holds the bodies of requests against what the providers
//! themselves say of them: conversations, schemas, tools.

#![allow(dead_code, unreachable_pub, reason = "each who uses it uses another part of it")]

pub mod conversations;
pub mod models;
pub mod schemas;
