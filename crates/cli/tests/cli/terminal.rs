//! A program on a terminal of its own, at which nobody sits but the test.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::support::CliHarness;

/// Nothing here takes that long; what does has hung.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A program on a terminal. Killed when it is dropped.
pub(crate) struct TerminalHarness {
    child: Child,
    keyboard: File,
    screen: mpsc::Receiver<Vec<u8>>,
    /// What was shown and not looked at yet.
    shown: String,
}

impl TerminalHarness {
    /// Starts the program with its three streams on the terminal, which does not say how large it is.
    pub(crate) fn start(folder: &CliHarness, arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        Self::start_sized(folder, arguments, variables, (0, 0))
    }

    /// The same on a terminal of so many columns and lines.
    pub(crate) fn start_sized(
        folder: &CliHarness,
        arguments: &[&str],
        variables: &[(&str, &str)],
        (columns, lines): (u16, u16),
    ) -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY;
        let master = openpt(flags).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let size = Winsize { ws_row: lines, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&master, size).unwrap();
        let theirs = File::from(ioctl_tiocgptpeer(&master, flags).unwrap());
        let mut command = folder.command(arguments);
        let stream = || Stdio::from(theirs.try_clone().unwrap());
        command.stdin(stream()).stdout(stream()).stderr(stream()).envs(variables.iter().copied());
        let child = command.spawn().unwrap();
        // With the command's own and this closed, the screen ends when the program does.
        drop((command, theirs));
        let keyboard = File::from(master);
        let mut reader = keyboard.try_clone().unwrap();
        let (sender, screen) = mpsc::channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = reader.read(&mut buffer) {
                if sender.send(buffer[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { child, keyboard, screen, shown: String::new() }
    }

    /// Waits until this is shown; what comes before it is not looked at again.
    #[track_caller]
    pub(crate) fn wait_for_text(&mut self, text: &str) {
        let (_, at) = self.wait_for_first(&[text]);
        self.shown.drain(..at);
    }

    /// Waits until the first of these is shown; gives which, and where it ends.
    #[track_caller]
    fn wait_for_first(&mut self, texts: &[&str]) -> (usize, usize) {
        loop {
            let found = texts
                .iter()
                .enumerate()
                .filter_map(|(which, text)| self.shown.find(text).map(|at| (at + text.len(), which)));
            if let Some((end, which)) = found.min() {
                return (which, end);
            }
            match self.screen.recv_timeout(TIMEOUT) {
                Ok(bytes) => self.shown.push_str(&String::from_utf8_lossy(&bytes)),
                Err(error) => panic!("{texts:?} was not shown ({error}): {}", self.shown),
            }
        }
    }

    /// Presses keys, as the bytes that a terminal sends for them.
    pub(crate) fn press_keys(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    /// Tells the program to stop, as Ctrl-C does where the terminal is its own.
    pub(crate) fn interrupt(&self) {
        let pid = rustix::process::Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    }

    /// Types a line.
    pub(crate) fn type_line(&mut self, line: &str) {
        self.keyboard.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    /// Answers a question until the answer is taken: what comes as soon as it is asked is not.
    #[track_caller]
    pub(crate) fn type_answer(&mut self, line: &str, taken: &str) {
        loop {
            self.type_line(line);
            let (which, end) = self.wait_for_first(&["you typed this before", taken]);
            self.shown.drain(..end);
            if which == 1 {
                return;
            }
        }
    }

    /// Waits for its end; gives the exit code and what was shown and not looked at.
    #[track_caller]
    pub(crate) fn wait_for_exit(mut self) -> (i32, String) {
        let status = self.child.wait().unwrap();
        while let Ok(bytes) = self.screen.recv_timeout(TIMEOUT) {
            self.shown.push_str(&String::from_utf8_lossy(&bytes));
        }
        (status.code().unwrap_or(-1), std::mem::take(&mut self.shown).replace("\r\n", "\n"))
    }
}

impl Drop for TerminalHarness {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
