//! Reads typed lines on a separate thread, so that nothing else blocks on standard input.

use std::io::BufRead;

use tokio::sync::mpsc;

use crate::terminal::{TerminalMode, TerminalModeGuard};

/// Maximum number of buffered lines; the thread stops reading until there is room.
const LINE_CAPACITY: usize = 16;

/// Lines from standard input. Reading starts with the first call of `next_line`; earlier input stays for the shell.
/// The terminal echoes while lines are read.
#[derive(Debug, Default)]
pub(crate) struct StdinLines {
    reading: Option<StdinReader>,
}

#[derive(Debug)]
struct StdinReader {
    lines: mpsc::Receiver<String>,
    _shown: TerminalModeGuard,
    /// Stops the thread when it is dropped.
    #[cfg(unix)]
    _wanted: Option<std::io::PipeWriter>,
}

impl StdinLines {
    /// Creates a reader of this program's standard input.
    pub(super) fn stdin() -> Self {
        Self::default()
    }

    /// Returns the next line, or `None` at the end of the input.
    pub(crate) async fn next_line(&mut self) -> Option<String> {
        self.reading.get_or_insert_with(spawn_reader).lines.recv().await
    }

    /// Stops reading, so that others can read. If the system cannot cancel a read of a terminal, the next line still
    /// arrives here.
    pub(super) fn stop_reading(&mut self) {
        if cfg!(unix) {
            self.reading = None;
        }
    }

    /// True if the next typed line arrives here.
    pub(super) fn is_reading(&self) -> bool {
        self.reading.is_some()
    }
}

/// Starts the thread. It ends with the input, with the program, or when the receiver is dropped.
#[cfg(unix)]
fn spawn_reader() -> StdinReader {
    let (sender, lines) = mpsc::channel(LINE_CAPACITY);
    // Without a pipe nothing can wake the thread. It then stops after the next line.
    let (wanted, writer) =
        std::io::pipe().map_or((None, None), |(wanted, writer)| (Some(wanted), Some(writer)));
    let shown = TerminalModeGuard::new(TerminalMode::Echo);
    std::thread::spawn(move || {
        let mut stdin = std::io::stdin().lock();
        while wait::wait_for_input(wanted.as_ref()) {
            let mut line = String::new();
            if !stdin.read_line(&mut line).is_ok_and(|length| length > 0) {
                return;
            }
            let line = line.trim_end_matches(['\n', '\r']).to_owned();
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    StdinReader { lines, _shown: shown, _wanted: writer }
}

#[cfg(unix)]
mod wait {
    use std::io::PipeReader;

    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::io::Errno;

    /// Waits for input. Returns false if the reader was dropped.
    pub(super) fn wait_for_input(wanted: Option<&PipeReader>) -> bool {
        let stdin = std::io::stdin();
        loop {
            let mut polled = vec![PollFd::new(&stdin, PollFlags::IN)];
            polled.extend(wanted.map(|wanted| PollFd::new(wanted, PollFlags::IN)));
            match poll(&mut polled, None) {
                Err(Errno::INTR) => {}
                // If polling fails, read without it.
                Err(_) => return true,
                Ok(_) => return polled.get(1).is_none_or(|gone| gone.revents().is_empty()),
            }
        }
    }
}

/// Starts the thread. It ends with the input or with the program.
#[cfg(not(unix))]
fn spawn_reader() -> StdinReader {
    let (sender, lines) = mpsc::channel(LINE_CAPACITY);
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    StdinReader { lines, _shown: TerminalModeGuard::new(TerminalMode::Echo) }
}
