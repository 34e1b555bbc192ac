//! Runs an interactive chat at a terminal.

use toolway_api::chat::ChatRequest;

use std::path::Path;

use super::ChatArgs;
use super::attachment::{self, MessageAttachment};
use super::command::{self, COMMANDS, ChatCommand, ChatInput};
use super::prompt::{ChatPrompt, PromptInput};
use super::screen::TurnScreen;
use super::single_turn::TerminalOutput;
use super::split_attachments;
use super::turn::{self, TurnResult};
use crate::approval_prompt::{self, StdinLines};
use crate::client::GatewayClient;
use crate::commands::{agents, sessions};
use crate::context::CliContext;
use crate::error::{CliError, CliResult};
use crate::folder::private_file;
use crate::print::escape;
use crate::print::markdown::{MarkdownLayout, render};
use crate::print::style::Style;
use crate::signals::SignalListener;
use crate::terminal::{TerminalMode, TerminalModeGuard};

/// Name of the default agent.
const DEFAULT_AGENT: &str = "default";
/// Maximum number of sessions that `/sessions` lists.
const LISTED_SESSIONS: u32 = 20;

/// State of an interactive chat.
struct InteractiveChat<'a> {
    args: &'a ChatArgs,
    client: &'a GatewayClient,
    context: &'a CliContext,
    session: Option<String>,
    agent: String,
    /// Agent that the user selected; sent with the next request.
    requested_agent: Option<String>,
    /// Attachments of the next message.
    pending_attachments: Vec<MessageAttachment>,
    /// True if the last input was Ctrl-C: another one quits.
    was_interrupted: bool,
    stdin_lines: Option<StdinLines>,
}

/// Result of an input: continue or quit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LoopControl {
    Continue,
    Exit,
}

/// Runs the chat until the user quits.
pub(super) async fn run(
    args: &ChatArgs,
    session: Option<String>,
    attached: Vec<MessageAttachment>,
    client: &GatewayClient,
    context: &CliContext,
) -> CliResult {
    let mut signals = SignalListener::new()?;
    // The first request also checks the connection and the token.
    let known = agents::agent_names(client).await?;
    let mut chat = InteractiveChat {
        args,
        client,
        context,
        session: None,
        agent: args.agent.clone().unwrap_or_else(|| DEFAULT_AGENT.to_owned()),
        requested_agent: args.agent.clone(),
        pending_attachments: attached,
        was_interrupted: false,
        stdin_lines: None,
    };
    match session {
        Some(id) => chat.resume_session(id).await?,
        None => chat.print_greeting()?,
    }
    let mut prompt = ChatPrompt::new(known, context)?;
    loop {
        let entered = prompt.read_input(&chat.agent, chat.stdin_lines.take(), &mut signals).await?;
        let text = match entered {
            PromptInput::End => return Ok(()),
            PromptInput::Interrupted if chat.was_interrupted => return Ok(()),
            PromptInput::Interrupted => {
                chat.was_interrupted = true;
                chat.context.printer.interactive_line("(press Ctrl-C again or Ctrl-D to quit)");
                continue;
            }
            PromptInput::Text(text) => text,
        };
        chat.was_interrupted = false;
        if text.is_empty() && chat.pending_attachments.is_empty() {
            continue;
        }
        match chat.handle_input(&text, &mut signals).await {
            Ok(LoopControl::Continue) => {}
            Ok(LoopControl::Exit) => return Ok(()),
            // The user left the turn, or standard output is closed.
            Err(failure) if failure.code() == "interrupted" || failure.is_reported() => return Err(failure),
            Err(failure) => failure.print(context.printer.stderr(), false),
        }
    }
}

impl InteractiveChat<'_> {
    async fn handle_input(&mut self, text: &str, signals: &mut SignalListener) -> CliResult<LoopControl> {
        match command::parse_input(text) {
            ChatInput::Text(text) => self.send_message(&text, signals).await?,
            ChatInput::UnknownCommand(name) => {
                return Err(CliError::new(format!("unknown command /{name}")).with_hint(
                    "/help lists the commands; type // to send a message that starts with a slash",
                ));
            }
            ChatInput::Command(ChatCommand::Quit) => return Ok(LoopControl::Exit),
            ChatInput::Command(ChatCommand::Retry) => self.retry(signals).await?,
            ChatInput::Command(command) => self.run_command(command).await?,
        }
        Ok(LoopControl::Continue)
    }

    async fn run_command(&mut self, command: ChatCommand) -> CliResult {
        match command {
            ChatCommand::Help => self.print_help(),
            ChatCommand::Tools => agents::print_tools(&self.agent, self.client, self.context).await,
            ChatCommand::Agent(Some(name)) => self.switch_agent(name).await,
            ChatCommand::Agent(None) => {
                agents::print_list(Some(&self.agent), self.client, self.context).await
            }
            ChatCommand::Model => self.print_model().await,
            ChatCommand::Attach(Some(path)) => {
                self.pending_attachments.push(attachment::read_attachment(Path::new(&path))?);
                self.print_note("attached to the next message")
            }
            ChatCommand::Attach(None) => {
                Err(CliError::new("the file is missing").with_hint("use /attach FILE"))
            }
            ChatCommand::Export(path) => self.export_session(path.as_deref()).await,
            ChatCommand::New => {
                self.session = None;
                self.print_note("started a new conversation")
            }
            ChatCommand::Sessions(Some(id)) => self.resume_session(id).await,
            ChatCommand::Sessions(None) => {
                sessions::print_list(LISTED_SESSIONS, self.client, self.context).await
            }
            ChatCommand::Retry | ChatCommand::Quit => Ok(()),
        }
    }

    /// Sends a message and prints the answer.
    async fn send_message(&mut self, text: &str, signals: &mut SignalListener) -> CliResult {
        let (content, attachments) = split_attachments(text, std::mem::take(&mut self.pending_attachments));
        let message = ChatRequest {
            content: Some(content).filter(|content| !content.is_empty()),
            attachments: Some(attachments).filter(|attachments| !attachments.is_empty()),
            ..self.new_request()
        };
        self.run_turn(message, signals).await
    }

    /// Asks the model to answer the last message again.
    async fn retry(&mut self, signals: &mut SignalListener) -> CliResult {
        if self.session.is_none() {
            return Err(CliError::new("there is no message to answer again"));
        }
        self.run_turn(ChatRequest { regenerate: Some(true), ..self.new_request() }, signals).await
    }

    fn new_request(&self) -> ChatRequest {
        let ask = !self.args.non_interactive && approval_prompt::is_available(self.context);
        ChatRequest { interactive: ask.then_some(true), ..ChatRequest::default() }
    }

    async fn run_turn(&mut self, message: ChatRequest, signals: &mut SignalListener) -> CliResult {
        let message =
            ChatRequest { session_id: self.session.clone(), agent: self.requested_agent.clone(), ..message };
        let printer = &self.context.printer;
        printer.line("")?;
        // Lines typed meanwhile are for the next prompt and must not appear inside the answer.
        let quiet = TerminalModeGuard::new(TerminalMode::NoEcho);
        let mut shown = TerminalOutput {
            screen: TurnScreen::new(self.args.detail_options(), self.context),
            context: self.context,
        };
        shown.screen.show_waiting()?;
        let outcome = turn::run_turn(&message, self.client, signals, &mut shown, self.context).await;
        shown.screen.finish_section()?;
        drop(quiet);
        let outcome = outcome?;
        self.session = outcome.session.or(self.session.take());
        if let Some(agent) = outcome.agent {
            self.agent = agent;
        }
        self.stdin_lines = outcome.stdin_lines;
        match outcome.result {
            TurnResult::Done => printer.line(""),
            TurnResult::Aborted => {
                self.was_interrupted = true;
                printer.line("")
            }
            TurnResult::Failed(failure) => Err(failure),
        }
    }

    fn print_greeting(&self) -> CliResult {
        self.print_note(&format!(
            "Chatting with {}. Type /help for commands, press Ctrl-D to quit.",
            self.agent
        ))
    }

    fn print_help(&self) -> CliResult {
        let printer = &self.context.printer;
        for known in COMMANDS {
            let name = format!("/{} {}", known.name, known.argument_hint);
            let padding = " ".repeat(18_usize.saturating_sub(name.len()));
            printer.line(&format!("{}{padding}{}", printer.paint(Style::Name, &name), known.description))?;
        }
        self.print_note(
            "End a line with \\ to continue it, or put several lines between \"\"\". Ctrl-C stops an answer, a second one quits.",
        )
    }

    async fn switch_agent(&mut self, name: String) -> CliResult {
        agents::fetch_agent(&name, self.client).await?;
        self.requested_agent = Some(name.clone());
        self.agent = name;
        self.print_note(&format!("switched to {}", self.agent))
    }

    async fn print_model(&self) -> CliResult {
        let agent = agents::fetch_agent(&self.agent, self.client).await?;
        match agent.definition.model {
            Some(model) => self.print_note(&format!("{} uses {model}", self.agent)),
            None => match agents::FirstModel::fetch(self.client).await {
                agents::FirstModel::Known(model) => {
                    self.print_note(&format!("{} uses {model}, the first model", self.agent))
                }
                agents::FirstModel::Missing => {
                    return self.print_note("no model is configured; to add one: toolway models add");
                }
                agents::FirstModel::Unknown => {
                    self.print_note(&format!("{} uses the first model", self.agent))
                }
            },
        }?;
        self.print_note(&format!("to change it: toolway agents set {} --model NAME/ID", self.agent))
    }

    async fn export_session(&self, path: Option<&str>) -> CliResult {
        let Some(session) = &self.session else {
            return Err(CliError::new("the conversation is empty"));
        };
        let form = if path.is_some_and(|path| path.ends_with(".json")) { "json" } else { "markdown" };
        let text = sessions::fetch_export(session, form, self.client).await?;
        let Some(path) = path else { return self.context.printer.untrusted_text(&text) };
        private_file::write_new(Path::new(path), text.as_bytes())?;
        self.print_note(&format!("wrote {path}"))
    }

    /// Continues a session and prints its last messages.
    async fn resume_session(&mut self, id: String) -> CliResult {
        let found = sessions::fetch_session(&id, self.client).await?;
        let printer = &self.context.printer;
        let title = found.summary.title.as_deref().unwrap_or("(no title)");
        self.print_note(&format!(
            "continuing {title} ({} messages, agent {})",
            found.summary.message_count, found.summary.agent
        ))?;
        let layout = MarkdownLayout::from_stream(printer.stdout().with_stdout_size());
        for message in sessions::last_exchange(&found) {
            let text = sessions::message_text(message)?;
            if sessions::is_from_user(message) {
                printer.line("")?;
                for line in escape::lines(&text).lines() {
                    printer.line(&printer.paint(Style::Faint, &format!("> {line}")))?;
                }
                printer.line("")?;
            } else {
                render(&text, layout).iter().try_for_each(|line| printer.line(line))?;
            }
        }
        printer.line("")?;
        if found.summary.running {
            self.print_note(
                "a turn is still running in this session; wait for it before you send a message",
            )?;
        }
        if self.args.agent.is_none() || self.session.is_some() {
            self.agent.clone_from(&found.summary.agent);
            self.requested_agent = None;
        }
        self.session = Some(found.summary.id);
        Ok(())
    }

    fn print_note(&self, text: &str) -> CliResult {
        let printer = &self.context.printer;
        printer.line(&printer.paint(Style::Faint, &escape::line(text)))
    }
}
