//! Changes terminal modes: echo, and line or key input. Guards restore the earlier mode when they are dropped.

#[cfg(unix)]
pub(crate) mod keys;

/// Mode of standard input's terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TerminalMode {
    /// Unchanged; the guard only restores it after changes by other code.
    Unchanged,
    /// Line input with echo.
    Echo,
    /// Line input without echo; discards earlier input.
    NoEchoFlush,
    /// Line input without echo; keeps input until it is read.
    NoEcho,
    /// Key input without echo; Ctrl-C is an ordinary key.
    Raw,
}

/// Keeps the terminal in a mode until it is dropped. Does nothing if standard input is not a terminal.
#[derive(Debug)]
pub(crate) struct TerminalModeGuard(
    #[allow(dead_code, reason = "it works by being dropped")] imp::SavedTerminalMode,
);

impl TerminalModeGuard {
    /// Sets the mode.
    pub(crate) fn new(mode: TerminalMode) -> Self {
        Self(imp::SavedTerminalMode::set_mode(mode))
    }
}

#[cfg(unix)]
mod imp {
    use std::io;

    use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

    use super::TerminalMode;

    #[derive(Debug)]
    pub(super) struct SavedTerminalMode(Option<Termios>);

    impl SavedTerminalMode {
        pub(super) fn set_mode(mode: TerminalMode) -> Self {
            let before = tcgetattr(io::stdin()).ok();
            if let Some(before) = &before {
                let mut now = before.clone();
                let typed = match mode {
                    TerminalMode::NoEchoFlush => OptionalActions::Flush,
                    _ => OptionalActions::Now,
                };
                match mode {
                    TerminalMode::Unchanged => {}
                    TerminalMode::Echo => now.local_modes.insert(LocalModes::ECHO | LocalModes::ICANON),
                    TerminalMode::NoEchoFlush | TerminalMode::NoEcho => {
                        now.local_modes.remove(LocalModes::ECHO)
                    }
                    TerminalMode::Raw => now.local_modes.remove(
                        LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG | LocalModes::IEXTEN,
                    ),
                }
                if mode != TerminalMode::Unchanged {
                    let _ = tcsetattr(io::stdin(), typed, &now);
                }
            }
            Self(before)
        }
    }

    impl Drop for SavedTerminalMode {
        fn drop(&mut self) {
            if let Some(before) = &self.0 {
                let _ = tcsetattr(io::stdin(), OptionalActions::Now, before);
            }
        }
    }
}

#[cfg(not(unix))]
mod imp {
    use super::TerminalMode;

    #[derive(Debug)]
    pub(super) struct SavedTerminalMode;

    impl SavedTerminalMode {
        pub(super) fn set_mode(_: TerminalMode) -> Self {
            Self
        }
    }
}
