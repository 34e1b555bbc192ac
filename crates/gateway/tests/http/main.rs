//! Tests of a real gateway on a free port over real sockets, with raw bytes if necessary.

#[cfg(test)]
mod agents;
#[cfg(test)]
mod app_providers;
#[cfg(test)]
mod approvals;
#[cfg(test)]
mod builtin_tools;
#[cfg(test)]
mod calls;
#[cfg(test)]
mod changes;
#[cfg(test)]
mod chat;
#[cfg(test)]
mod chat_harness;
#[cfg(test)]
mod device_prompts;
#[cfg(test)]
mod devices;
mod errors;
#[cfg(test)]
mod events;
#[cfg(test)]
mod grants;
#[cfg(test)]
mod hooks;
mod hosts;
#[cfg(test)]
mod listener;
#[cfg(test)]
mod mcp;
#[cfg(test)]
mod mcp_client;
#[cfg(test)]
mod mcp_http;
mod mcp_plain;
#[cfg(test)]
mod mcp_servers;
#[cfg(test)]
mod mcp_tasks;
#[cfg(test)]
mod models;
#[cfg(test)]
mod openai;
#[cfg(test)]
mod own_tools;
mod pairing;
#[cfg(test)]
mod policy;
#[cfg(test)]
mod probe_tools;
#[cfg(test)]
mod questions;
#[cfg(test)]
mod registration;
#[cfg(test)]
mod roles;
#[cfg(test)]
mod sessions;
#[cfg(test)]
mod sign_in;
#[cfg(test)]
mod support;
#[cfg(test)]
mod tls;
mod tokens;
#[cfg(test)]
mod turns;
#[cfg(test)]
mod unreadable_messages;
#[cfg(test)]
mod version_1;
#[cfg(test)]
mod websocket;
