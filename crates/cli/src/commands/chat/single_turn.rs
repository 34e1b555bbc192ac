//! One message and its answer. On a terminal it is shown as it comes; elsewhere it is the answer alone, whole, or every
//! event as a line of JSON.

use toolway_api::chat::{ChatRequest, TurnTotals};

use super::ChatArgs;
use super::event::TurnEvent;
use super::screen::TurnScreen;
use super::turn::{self, TurnOutput, TurnResult};
use crate::approval_prompt;
use crate::client::{GatewayClient, GatewayEvent};
use crate::context::CliContext;
use crate::error::{CliError, CliResult};
use crate::signals::SignalListener;
use crate::terminal::{TerminalMode, TerminalModeGuard};

/// Says it, and shows what is answered. A turn that did not end as it should is a failure.
pub(super) async fn run(
    message: ChatRequest,
    args: &ChatArgs,
    client: &GatewayClient,
    context: &CliContext,
) -> CliResult {
    let ask = !args.non_interactive && approval_prompt::is_available(context);
    let message = ChatRequest { interactive: ask.then_some(true), ..message };
    let mut signals = SignalListener::new()?;
    let is_on_screen = context.printer.stdout().is_terminal && !context.printer.json;
    // What is typed meanwhile is for whoever comes next, and does not show between the lines of the answer.
    let _quiet = is_on_screen.then(|| TerminalModeGuard::new(TerminalMode::NoEcho));
    let mut shown: Box<dyn TurnOutput> = match context.printer.json {
        true => Box::new(JsonLinesOutput { context }),
        false if is_on_screen => {
            let mut screen = TurnScreen::new(args.detail_options(), context);
            screen.show_waiting()?;
            Box::new(TerminalOutput { screen, context })
        }
        false => Box::new(FinalAnswerOutput { text: String::new(), context }),
    };
    let outcome = turn::run_turn(&message, client, &mut signals, shown.as_mut(), context).await?;
    match outcome.result {
        TurnResult::Done => Ok(()),
        // The last line said it.
        _ if context.printer.json => Err(CliError::already_reported()),
        TurnResult::Failed(failure) => Err(failure),
        TurnResult::Aborted => {
            Err(CliError::new("the turn was stopped").with_code("aborted").with_optional_hint(
                outcome.session.map(|session| {
                    format!("`toolway chat --session {session}` goes on with the conversation")
                }),
            ))
        }
    }
}

/// Each event as a line of JSON, its type beside what it says.
struct JsonLinesOutput<'a> {
    context: &'a CliContext,
}

impl TurnOutput for JsonLinesOutput<'_> {
    fn handle_event(&mut self, _: TurnEvent, raw: &GatewayEvent) -> CliResult {
        self.handle_unknown(raw)
    }

    fn handle_unknown(&mut self, raw: &GatewayEvent) -> CliResult {
        self.context.printer.raw_json(&raw.to_json_with_kind())
    }

    fn print_lines(&mut self, _: &[String]) -> CliResult {
        Ok(())
    }
}

/// The answer alone, once it is whole: until then all of it may be taken back.
struct FinalAnswerOutput<'a> {
    text: String,
    context: &'a CliContext,
}

impl TurnOutput for FinalAnswerOutput<'_> {
    fn handle_event(&mut self, event: TurnEvent, _: &GatewayEvent) -> CliResult {
        match event {
            TurnEvent::Chunk(text) => self.text.push_str(&text),
            TurnEvent::Reset => self.text.clear(),
            TurnEvent::Done(TurnTotals { full_response: Some(text), .. }) => {
                return self.context.printer.untrusted_text(&text);
            }
            TurnEvent::Done(_) => return self.context.printer.untrusted_text(&self.text),
            // What was said before it failed stays.
            TurnEvent::Aborted(_) | TurnEvent::Failed(_) if !self.text.is_empty() => {
                return self.context.printer.untrusted_text(&self.text);
            }
            TurnEvent::Notice(message) => self.context.printer.note(&message),
            _ => {}
        }
        Ok(())
    }

    fn handle_unknown(&mut self, _: &GatewayEvent) -> CliResult {
        Ok(())
    }

    fn print_lines(&mut self, lines: &[String]) -> CliResult {
        lines.iter().for_each(|line| self.context.printer.interactive_line(line));
        Ok(())
    }
}

/// As it comes.
pub(super) struct TerminalOutput<'a> {
    pub(super) screen: TurnScreen,
    pub(super) context: &'a CliContext,
}

impl TurnOutput for TerminalOutput<'_> {
    fn handle_event(&mut self, event: TurnEvent, _: &GatewayEvent) -> CliResult {
        self.screen.handle_event(event)
    }

    fn handle_unknown(&mut self, _: &GatewayEvent) -> CliResult {
        Ok(())
    }

    fn print_lines(&mut self, lines: &[String]) -> CliResult {
        if lines.is_empty() {
            return Ok(());
        }
        self.screen.finish_section()?;
        lines.iter().for_each(|line| self.context.printer.interactive_line(line));
        Ok(())
    }
}
