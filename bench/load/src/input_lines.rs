//! Reads the standard input of a child process.

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// The lines of standard input; the end of them says that the parent has ended, whatever way. A thread of its own
/// reads them, which nothing waits for when this process ends.
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
