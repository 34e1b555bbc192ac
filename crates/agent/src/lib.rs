//! Agents and conversations: the definition of an agent ([`definition`]), the turns in which its model
//! answers with tools, and the sessions of stored turns ([`conversations`]).
//!
//! This crate contains no HTTP, no WebSocket and no API of a model provider: a turn starts with a
//! [`TurnRequest`](turn::TurnRequest) and produces [`TurnEvent`](event::TurnEvent)s. All tool calls go
//! through the engine.

pub mod agents;
pub mod budget;
pub mod context;
mod conversation_settings;
pub mod conversations;
pub mod definition;
pub mod event;
pub mod export;
pub mod models;
mod name_suggestions;
pub mod prices;
mod selection;
#[cfg(test)]
mod testkit;
pub mod transcript;
pub mod turn;
