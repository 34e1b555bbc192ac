//! Lines that are typed, read on a thread of their own so that nothing else waits for them.

use std::io::BufRead;

use tokio::sync::mpsc;

/// Lines that wait to be taken; whoever types more waits.
const WAITING: usize = 16;

/// Lines from standard input. Nothing is read until the first is wanted: what is typed before is the shell's.
#[derive(Debug, Default)]
pub(super) struct Typed {
    lines: Option<mpsc::Receiver<String>>,
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
fn start() -> mpsc::Receiver<String> {
    let (sender, lines) = mpsc::channel(WAITING);
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    lines
}
