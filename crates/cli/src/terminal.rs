//! The terminal's own settings: whether it shows what is typed, and whether keys come one by one. Whatever is
//! changed is put back when the guard that changed it goes.

#[cfg(unix)]
pub(crate) mod keys;

/// How standard input's terminal is to behave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// As it is; the guard puts it back whatever somebody else does to it meanwhile.
    AsIs,
    /// What is typed is shown, line by line.
    Shown,
    /// What is typed is not shown; what was typed before this is forgotten.
    Secret,
    /// What is typed is not shown, and is kept until somebody reads it.
    Quiet,
    /// Every key comes at once and is not shown; Ctrl-C is a key like any other.
    Keys,
}

/// While it is held, the terminal is in a mode. It does nothing where standard input is no terminal.
#[derive(Debug)]
pub(crate) struct Held(#[allow(dead_code, reason = "it works by being dropped")] imp::Before);

impl Held {
    /// From now on.
    pub(crate) fn new(mode: Mode) -> Self {
        Self(imp::Before::change(mode))
    }
}

#[cfg(unix)]
mod imp {
    use std::io;

    use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

    use super::Mode;

    #[derive(Debug)]
    pub(super) struct Before(Option<Termios>);

    impl Before {
        pub(super) fn change(mode: Mode) -> Self {
            let before = tcgetattr(io::stdin()).ok();
            if let Some(before) = &before {
                let mut now = before.clone();
                let typed = match mode {
                    Mode::Secret => OptionalActions::Flush,
                    _ => OptionalActions::Now,
                };
                match mode {
                    Mode::AsIs => {}
                    Mode::Shown => now.local_modes.insert(LocalModes::ECHO | LocalModes::ICANON),
                    Mode::Secret | Mode::Quiet => now.local_modes.remove(LocalModes::ECHO),
                    Mode::Keys => now.local_modes.remove(
                        LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG | LocalModes::IEXTEN,
                    ),
                }
                if mode != Mode::AsIs {
                    let _ = tcsetattr(io::stdin(), typed, &now);
                }
            }
            Self(before)
        }
    }

    impl Drop for Before {
        fn drop(&mut self) {
            if let Some(before) = &self.0 {
                let _ = tcsetattr(io::stdin(), OptionalActions::Now, before);
            }
        }
    }
}

#[cfg(not(unix))]
mod imp {
    use super::Mode;

    #[derive(Debug)]
    pub(super) struct Before;

    impl Before {
        pub(super) fn change(_: Mode) -> Self {
            Self
        }
    }
}
