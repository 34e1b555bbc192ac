//! Where a turn is shown: standard output, with lines that change where the terminal can do that.

use super::event::TurnEvent;
use super::view::{Detail, View};
use crate::context::Context;
use crate::print::Printer;
use crate::print::live::Live;
use crate::print::markdown::Paper;
use crate::report::Done;

/// One turn on a terminal.
#[derive(Debug)]
pub(super) struct Screen {
    printer: Printer,
    view: View,
    live: Option<Live>,
}

impl Screen {
    /// As the terminal is now.
    pub(super) fn new(detail: Detail, context: &Context) -> Self {
        let stdout = context.printer.stdout().stdout_now();
        let live = stdout.width.zip(stdout.height).map(|(width, height)| Live::new(width, height));
        Self { printer: context.printer, view: View::new(detail, Paper::of(stdout)), live }
    }

    /// Something happened.
    pub(super) fn take(&mut self, event: TurnEvent) -> Done {
        let is_over = matches!(event, TurnEvent::Done(_) | TurnEvent::Aborted(_) | TurnEvent::Failed(_));
        let lines = self.view.take(event);
        let rows = if is_over { Vec::new() } else { self.view.rows() };
        self.show(&lines, &rows)
    }

    /// The turn is waited for.
    pub(super) fn wait(&mut self) -> Done {
        let rows = self.view.rows();
        self.show(&[], &rows)
    }

    /// Something else is shown next: nothing changes any more.
    pub(super) fn break_off(&mut self) -> Done {
        let lines = self.view.break_off();
        self.show(&lines, &[])
    }

    fn show(&mut self, lines: &[String], rows: &[String]) -> Done {
        let Some(live) = &mut self.live else {
            return lines.iter().try_for_each(|line| self.printer.line(line));
        };
        let settled = if lines.is_empty() { String::new() } else { live.settle(lines) };
        let text = settled + &live.show(rows);
        if text.is_empty() { Ok(()) } else { self.printer.text(&text) }
    }
}
