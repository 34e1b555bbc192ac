//! The terminal's own settings: whether it shows what is typed, and whether keys come one by one. Whatever is
//! changed is put back when the guard that changed it goes.

#[cfg(unix)]
pub(crate) mod keys;

/// How standard input's terminal is to behave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TerminalMode {
    /// As it is; the guard puts it back whatever somebody else does to it meanwhile.
    Unchanged,
    /// What is typed is shown, line by line.
    Echo,
    /// What is typed is not shown; what was typed before this is forgotten.
    NoEchoFlush,
    /// What is typed is not shown, and is kept until somebody reads it.
    NoEcho,
    /// Every key comes at once and is not shown; Ctrl-C is a key like any other.
    Raw,
}

/// While it is held, the terminal is in a mode. It does nothing where standard input is no terminal.
#[derive(Debug)]
pub(crate) struct TerminalModeGuard(
    #[allow(dead_code, reason = "it works by being dropped")] imp::SavedTerminalMode,
);

impl TerminalModeGuard {
    /// From now on.
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
    pub(super) struct Before;

    impl SavedTerminalMode {
        pub(super) fn change(_: TerminalMode) -> Self {
            Self
        }
    }
}
