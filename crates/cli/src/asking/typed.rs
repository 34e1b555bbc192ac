//! Lines that are typed, read on a thread of their own so that nothing else waits for them.

use std::io::BufRead;

use tokio::sync::mpsc;

/// Lines from standard input. Nothing is read until the first is wanted: what is typed before is the shell's.
#[derive(Debug, Default)]
pub(super) struct Typed {
    lines: Option<mpsc::UnboundedReceiver<String>>,
}

impl Typed {
    /// Of this program's standard input.
    pub(super) fn stdin() -> Self {
        Self::default()
    }

    /// The next line; none where there will be no more.
    pub(super) async fn next(&mut self) -> Option<String> {
        self.lines.get_or_insert_with(start).recv().await
    }
}

/// The thread ends with the input, or with the program.
fn start() -> mpsc::UnboundedReceiver<String> {
    let (sender, lines) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    lines
}
