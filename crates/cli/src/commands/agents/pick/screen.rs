//! The list on a terminal, gone through with its keys.

use std::io::Write;

use tokio::signal::unix::{SignalKind, signal};

use super::cancelled;
use super::checklist::{Checklist, Press, Verdict};
use crate::context::Context;
use crate::environment::Stream;
use crate::print::live::Live;
use crate::report::{Done, Failure};
use crate::signals::Signals;
use crate::terminal::keys::{self, Key};
use crate::terminal::{Held, Mode};

/// How large a terminal is taken to be that does not say it.
const USUAL: (usize, usize) = (80, 24);

/// Shows the list until it is kept or given up.
pub(super) async fn ask(mut list: Checklist, context: &Context) -> Done<Vec<bool>> {
    let mut signals = Signals::new()?;
    let mut resized = signal(SignalKind::window_change())
        .map_err(|error| Failure::new(format!("cannot listen to signals: {error}")))?;
    let stderr = context.printer.stderr();
    let _held = Held::new(Mode::Keys);
    let mut keys = keys::read();
    let (mut width, mut height) = size(stderr);
    let mut live = Live::new(width, height);
    let verdict = loop {
        write(&live.show(&list.rows(width, height, stderr.colour)));
        let key = tokio::select! {
            key = keys.recv() => key.unwrap_or(Key::Eof),
            _ = signals.next() => break Verdict::Cancel,
            _ = resized.recv() => {
                // What a terminal makes of its lines when it changes is its own affair: all is drawn anew.
                write(&live.settle(&[]));
                (width, height) = size(stderr);
                live = Live::new(width, height);
                continue;
            }
        };
        let verdict = match key {
            Key::Interrupt | Key::Eof => Verdict::Cancel,
            key => meant(key, list.is_typing())
                .map_or(Verdict::GoOn, |press| list.press(press, Checklist::in_sight(height))),
        };
        if verdict != Verdict::GoOn {
            break verdict;
        }
    };
    write(&live.settle(&[]));
    if verdict == Verdict::Keep { Ok(list.ticks()) } else { Err(cancelled()) }
}

fn size(stderr: Stream) -> (usize, usize) {
    let now = stderr.stderr_now();
    (now.width.unwrap_or(USUAL.0), now.height.unwrap_or(USUAL.1))
}

/// What a key asks for; letters are commands, but where something is looked for.
fn meant(key: Key, is_typing: bool) -> Option<Press> {
    Some(match key {
        Key::Up => Press::Up,
        Key::Down => Press::Down,
        Key::PageUp => Press::PageUp,
        Key::PageDown => Press::PageDown,
        Key::Home => Press::Top,
        Key::End => Press::Bottom,
        Key::Enter => Press::Enter,
        Key::Escape => Press::Escape,
        Key::Backspace if is_typing => Press::Delete,
        Key::Char(c) if is_typing => Press::Type(c),
        Key::Char(' ' | 'x') => Press::Toggle,
        Key::Char('a') => Press::All,
        Key::Char('n') => Press::None,
        Key::Char('/') => Press::Filter,
        Key::Char('k') => Press::Up,
        Key::Char('j') => Press::Down,
        Key::Char('q') => Press::Escape,
        Key::Char(_) | Key::Backspace | Key::Interrupt | Key::Eof => return None,
    })
}

fn write(text: &str) {
    let mut stderr = std::io::stderr().lock();
    // Where the terminal is gone, the keys end too.
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}
