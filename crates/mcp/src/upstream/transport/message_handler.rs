//! The receiver of a transport's messages.

use crate::upstream::exchange::MessageOrigin;
use crate::upstream::frame::IncomingMessage;

/// Receives the messages of a server from a transport.
pub(in crate::upstream) trait MessageHandler: Send + Sync {
    /// Handles one message. It must not block.
    fn handle_message(&self, message: IncomingMessage<'_>, origin: MessageOrigin<'_>);

    /// Adds a line about an invalid message to the server's log.
    fn log_anomaly(&self, text: &str);
}
