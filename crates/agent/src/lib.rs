//! Agents and what is said with them: which model answers with which tools ([`definition`]), the turn in which it
//! does so, and the sessions in which turns are kept ([`conversations`]).
//!
//! Nothing here knows HTTP or WebSocket on the caller's side, and no provider's API on the model's: a turn goes in
//! as a [`TurnRequest`](turn::TurnRequest) and comes out as [`TurnEvent`](event::TurnEvent)s. Tools run through
//! the engine only.

pub mod agents;
pub mod budget;
pub mod context;
mod conversation_settings;
pub mod conversations;
pub mod definition;
pub mod event;
pub mod export;
pub mod files;
pub mod models;
mod name_suggestions;
pub mod prices;
mod selection;
#[cfg(test)]
mod testkit;
pub mod transcript;
pub mod turn;
