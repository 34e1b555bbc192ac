//! Sends one message and prints the answer. A terminal shows it as it arrives; otherwise only the complete answer is
//! printed, or every event as a line of JSON.

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

/// Runs one turn. A turn that does not end normally is an error.
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
    // Lines typed meanwhile are for the shell and must not appear inside the answer.
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
        // The last JSON line has the error.
        _ if context.printer.json => Err(CliError::already_reported()),
        TurnResult::Failed(failure) => Err(failure),
        TurnResult::Aborted => Err(CliError::new("the turn was stopped")
            .with_code("aborted")
            .with_optional_hint(outcome.session.map(|session| {
                format!("continue the conversation with `toolway chat --session {session}`")
            }))),
    }
}

/// Prints each event as a line of JSON with its type.
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

/// Prints only the final answer: the model may discard earlier text.
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
            // Keep the text from before the failure.
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

/// Prints the turn as it arrives.
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
