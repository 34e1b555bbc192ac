//! The receiver of a transport's messages.

use crate::upstream::exchange::MessageOrigin;
use crate::upstream::frame::{self, IncomingMessage, UnreadableMessage};

/// Receives the messages of a server from a transport.
pub(in crate::upstream) trait MessageHandler: Send + Sync {
    /// Handles one message. It must not block.
    fn handle_message(&self, message: IncomingMessage<'_>, origin: MessageOrigin<'_>);

    /// Handles a message that can't be read. A request that it answers ends now. `place` names the place of the
    /// message, and `text` is the message or its beginning.
    fn handle_unreadable(&self, message: &UnreadableMessage, place: &str, text: &[u8]);

    /// Adds a line about an invalid message to the server's log.
    fn log_anomaly(&self, text: &str);
}

/// Passes on the messages of an event on a shared stream.
pub(in crate::upstream) fn dispatch_messages(handler: &impl MessageHandler, text: &[u8]) {
    frame::parse_all(text, |message| match message {
        Ok(message) => handler.handle_message(message, MessageOrigin::Shared),
        Err(unreadable) => handler.handle_unreadable(&unreadable, "its stream has an event", text),
    });
}
