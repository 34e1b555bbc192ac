//! WebSocket connections: [`upgrade`] lets them in, [`connection`] moves frames, [`device`] and [`chat`] say
//! what the messages mean.

pub(crate) mod chat;
pub(crate) mod close;
pub(crate) mod connection;
pub(crate) mod device;
pub(crate) mod outbox;
mod questions;
mod register;
pub(crate) mod session;
pub(crate) mod upgrade;
