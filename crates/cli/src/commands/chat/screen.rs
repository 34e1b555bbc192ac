//! Shows a turn on standard output, with updating lines if the terminal supports them.

use super::event::TurnEvent;
use super::view::{DetailOptions, TurnRenderer};
use crate::context::CliContext;
use crate::error::CliResult;
use crate::print::Printer;
use crate::print::live::LiveRegion;
use crate::print::markdown::MarkdownLayout;

/// Terminal output of one turn.
#[derive(Debug)]
pub(super) struct TurnScreen {
    printer: Printer,
    view: TurnRenderer,
    live: Option<LiveRegion>,
}

impl TurnScreen {
    /// Creates the output for the current terminal.
    pub(super) fn new(detail: DetailOptions, context: &CliContext) -> Self {
        let stdout = context.printer.stdout().with_stdout_size();
        let live = stdout.width.zip(stdout.height).map(|(width, height)| LiveRegion::new(width, height));
        Self {
            printer: context.printer,
            view: TurnRenderer::new(detail, MarkdownLayout::from_stream(stdout)),
            live,
        }
    }

    /// Prints an event.
    pub(super) fn handle_event(&mut self, event: TurnEvent) -> CliResult {
        let is_over = matches!(event, TurnEvent::Done(_) | TurnEvent::Aborted(_) | TurnEvent::Failed(_));
        let lines = self.view.apply_event(event);
        let rows = if is_over { Vec::new() } else { self.view.live_rows() };
        self.show(&lines, &rows)
    }

    /// Shows that the turn has been requested.
    pub(super) fn show_waiting(&mut self) -> CliResult {
        let rows = self.view.live_rows();
        self.show(&[], &rows)
    }

    /// Freezes the updating lines, because other output follows.
    pub(super) fn finish_section(&mut self) -> CliResult {
        let lines = self.view.finish_section();
        self.show(&lines, &[])
    }

    fn show(&mut self, lines: &[String], rows: &[String]) -> CliResult {
        let Some(live) = &mut self.live else {
            return lines.iter().try_for_each(|line| self.printer.line(line));
        };
        let settled = if lines.is_empty() { String::new() } else { live.print_above(lines) };
        let text = settled + &live.update(rows);
        if text.is_empty() { Ok(()) } else { self.printer.text(&text) }
    }
}
