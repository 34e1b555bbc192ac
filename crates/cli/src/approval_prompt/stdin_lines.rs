//! Lines that are typed, read on a thread of their own so that nothing else waits for them.

use std::io::BufRead;

use tokio::sync::mpsc;

use crate::terminal::{TerminalMode, TerminalModeGuard};

/// Lines that wait to be taken; whoever types more waits.
const LINE_CAPACITY: usize = 16;

/// Lines from standard input. Nothing is read until the first is wanted: what is typed before is the shell's. While
/// they are read, the terminal shows what is typed.
#[derive(Debug, Default)]
pub(crate) struct StdinLines {
    reading: Option<StdinReader>,
}

#[derive(Debug)]
struct StdinReader {
    lines: mpsc::Receiver<String>,
    _shown: TerminalModeGuard,
    /// The thread stops once this is gone.
    #[cfg(unix)]
    _wanted: Option<std::io::PipeWriter>,
}

impl StdinLines {
    /// Of this program's standard input.
    pub(super) fn stdin() -> Self {
        Self::default()
    }

    /// The next line; none where there will be no more.
    pub(crate) async fn next_line(&mut self) -> Option<String> {
        self.reading.get_or_insert_with(spawn_reader).lines.recv().await
    }

    /// Reads no more, so that somebody else can. Where the system has no way to give up reading a terminal, the next
    /// line comes here all the same.
    pub(super) fn stop_reading(&mut self) {
        if cfg!(unix) {
            self.reading = None;
        }
    }

    /// Whether the next line that is typed comes here.
    pub(super) fn is_reading(&self) -> bool {
        self.reading.is_some()
    }
}

/// The thread ends with the input, with the program, or when nobody wants lines any more.
#[cfg(unix)]
fn spawn_reader() -> StdinReader {
    let (sender, lines) = mpsc::channel(LINE_CAPACITY);
    // Without a pipe the thread can't be told to stop; it then does when the next line comes.
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

    /// Waits until there is something to read; false where nobody wants it any more.
    pub(super) fn wait_for_input(wanted: Option<&PipeReader>) -> bool {
        let stdin = std::io::stdin();
        loop {
            let mut polled = vec![PollFd::new(&stdin, PollFlags::IN)];
            polled.extend(wanted.map(|wanted| PollFd::new(wanted, PollFlags::IN)));
            match poll(&mut polled, None) {
                Err(Errno::INTR) => {}
                // Where it can't be waited for it is read.
                Err(_) => return true,
                Ok(_) => return polled.get(1).is_none_or(|gone| gone.revents().is_empty()),
            }
        }
    }
}

/// The thread ends with the input, or with the program.
#[cfg(not(unix))]
fn start() -> StdinReader {
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
