//! Reads the standard input of a child process.

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// Returns the lines of standard input; the end means that the parent has ended in any way. A separate thread
/// reads them, and does not delay the end of this process.
pub(crate) fn input_lines() -> UnboundedReceiver<String> {
    let (sender, receiver) = unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lines().map_while(std::result::Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}
