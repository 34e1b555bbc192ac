//! The list on a terminal, gone through with its keys.

use std::io::Write;

use tokio::signal::unix::{SignalKind, signal};

use super::cancelled;
use super::checklist::{Checklist, ChecklistAction, ChecklistOutcome};
use crate::context::CliContext;
use crate::environment::OutputStream;
use crate::error::{CliError, CliResult};
use crate::print::live::LiveRegion;
use crate::signals::SignalListener;
use crate::terminal::keys::{self, KeyPress};
use crate::terminal::{TerminalMode, TerminalModeGuard};

/// How large a terminal is taken to be that does not say it.
const DEFAULT_SIZE: (usize, usize) = (80, 24);

/// Shows the list until it is kept or given up.
pub(super) async fn run_checklist(mut list: Checklist, context: &CliContext) -> CliResult<Vec<bool>> {
    let mut signals = SignalListener::new()?;
    let mut resized = signal(SignalKind::window_change())
        .map_err(|error| CliError::new(format!("cannot listen to signals: {error}")))?;
    let stderr = context.printer.stderr();
    let _held = TerminalModeGuard::new(TerminalMode::Raw);
    let mut keys = keys::spawn_reader();
    let (mut width, mut height) = terminal_size(stderr);
    let mut live = LiveRegion::new(width, height);
    let verdict = loop {
        write(&live.update(&list.rows(width, height, stderr.colour)));
        let key = tokio::select! {
            key = keys.recv() => key.unwrap_or(KeyPress::Eof),
            _ = signals.next_signal() => break ChecklistOutcome::Cancel,
            _ = resized.recv() => {
                // What a terminal makes of its lines when it changes is its own affair: all is drawn anew.
                write(&live.print_above(&[]));
                (width, height) = terminal_size(stderr);
                live = LiveRegion::new(width, height);
                continue;
            }
        };
        let verdict = match key {
            KeyPress::Interrupt | KeyPress::Eof => ChecklistOutcome::Cancel,
            key => key_action(key, list.is_editing_filter()).map_or(ChecklistOutcome::Continue, |press| {
                list.apply(press, Checklist::visible_count(height))
            }),
        };
        if verdict != ChecklistOutcome::Continue {
            break verdict;
        }
    };
    write(&live.print_above(&[]));
    if verdict == ChecklistOutcome::Confirm { Ok(list.ticks()) } else { Err(cancelled()) }
}

fn terminal_size(stderr: OutputStream) -> (usize, usize) {
    let now = stderr.with_stderr_size();
    (now.width.unwrap_or(DEFAULT_SIZE.0), now.height.unwrap_or(DEFAULT_SIZE.1))
}

/// What a key asks for; letters are commands, but where something is looked for.
fn key_action(key: KeyPress, is_typing: bool) -> Option<ChecklistAction> {
    Some(match key {
        KeyPress::Up => ChecklistAction::Up,
        KeyPress::Down => ChecklistAction::Down,
        KeyPress::PageUp => ChecklistAction::PageUp,
        KeyPress::PageDown => ChecklistAction::PageDown,
        KeyPress::Home => ChecklistAction::Top,
        KeyPress::End => ChecklistAction::Bottom,
        KeyPress::Enter => ChecklistAction::Enter,
        KeyPress::Escape => ChecklistAction::Escape,
        KeyPress::Backspace if is_typing => ChecklistAction::Delete,
        KeyPress::Char(c) if is_typing => ChecklistAction::Type(c),
        KeyPress::Char(' ' | 'x') => ChecklistAction::Toggle,
        KeyPress::Char('a') => ChecklistAction::All,
        KeyPress::Char('n') => ChecklistAction::None,
        KeyPress::Char('/') => ChecklistAction::Filter,
        KeyPress::Char('k') => ChecklistAction::Up,
        KeyPress::Char('j') => ChecklistAction::Down,
        KeyPress::Char('q') => ChecklistAction::Escape,
        KeyPress::Char(_) | KeyPress::Backspace | KeyPress::Interrupt | KeyPress::Eof => return None,
    })
}

fn write(text: &str) {
    let mut stderr = std::io::stderr().lock();
    // Where the terminal is gone, the keys end too.
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}
