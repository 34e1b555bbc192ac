//! A conversation at a terminal: what is typed is said or done, until somebody leaves.

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

/// The agent that is talked to where nobody says another.
const DEFAULT_AGENT: &str = "default";
/// How many conversations are listed.
const LISTED_SESSIONS: u32 = 20;

/// A conversation.
struct InteractiveChat<'a> {
    args: &'a ChatArgs,
    client: &'a GatewayClient,
    context: &'a CliContext,
    session: Option<String>,
    agent: String,
    /// The agent that was named, and that the gateway has to be told of.
    requested_agent: Option<String>,
    /// What goes with the next message.
    pending_attachments: Vec<MessageAttachment>,
    /// Whether Ctrl-C was the last that happened: the next one leaves.
    was_interrupted: bool,
    stdin_lines: Option<StdinLines>,
}

/// Whether it goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LoopControl {
    Continue,
    Exit,
}

/// Talks until somebody leaves.
pub(super) async fn run(
    args: &ChatArgs,
    session: Option<String>,
    attached: Vec<MessageAttachment>,
    client: &GatewayClient,
    context: &CliContext,
) -> CliResult {
    let mut signals = SignalListener::new()?;
    // The first request also says whether the gateway is there and takes the token.
    let known = agents::agent_names(client).await?;
    let mut talk = InteractiveChat {
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
        Some(id) => talk.resume_session(id).await?,
        None => talk.print_greeting()?,
    }
    let mut prompt = ChatPrompt::new(known, context)?;
    loop {
        let entered = prompt.read_input(&talk.agent, talk.stdin_lines.take(), &mut signals).await?;
        let text = match entered {
            PromptInput::End => return Ok(()),
            PromptInput::Interrupted if talk.was_interrupted => return Ok(()),
            PromptInput::Interrupted => {
                talk.was_interrupted = true;
                talk.context.printer.interactive_line("(Ctrl-C once more leaves, and so does Ctrl-D)");
                continue;
            }
            PromptInput::Text(text) => text,
        };
        talk.was_interrupted = false;
        if text.is_empty() && talk.pending_attachments.is_empty() {
            continue;
        }
        match talk.handle_input(&text, &mut signals).await {
            Ok(LoopControl::Continue) => {}
            Ok(LoopControl::Exit) => return Ok(()),
            // The turn was left, or nobody reads what is said.
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
                return Err(CliError::new(format!("there is no command /{name}"))
                    .with_hint("/help lists them; a message that begins with a slash is written with two"));
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
                self.print_note("it goes with the next message")
            }
            ChatCommand::Attach(None) => Err(CliError::new("which file?").with_hint("/attach FILE")),
            ChatCommand::Export(path) => self.export_session(path.as_deref()).await,
            ChatCommand::New => {
                self.session = None;
                self.print_note("a new conversation begins")
            }
            ChatCommand::Sessions(Some(id)) => self.resume_session(id).await,
            ChatCommand::Sessions(None) => {
                sessions::print_list(LISTED_SESSIONS, self.client, self.context).await
            }
            ChatCommand::Retry | ChatCommand::Quit => Ok(()),
        }
    }

    /// Says something, and shows what is answered.
    async fn send_message(&mut self, text: &str, signals: &mut SignalListener) -> CliResult {
        let (content, attachments) = split_attachments(text, std::mem::take(&mut self.pending_attachments));
        let message = ChatRequest {
            content: Some(content).filter(|content| !content.is_empty()),
            attachments: Some(attachments).filter(|attachments| !attachments.is_empty()),
            ..self.new_request()
        };
        self.run_turn(message, signals).await
    }

    /// Has the last message answered again.
    async fn retry(&mut self, signals: &mut SignalListener) -> CliResult {
        if self.session.is_none() {
            return Err(CliError::new("nothing was said yet that could be answered again"));
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
        // What is typed meanwhile is for the next prompt, and does not show between the lines of the answer.
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
        self.print_note(&format!("You talk to {}. /help lists the commands, Ctrl-D leaves.", self.agent))
    }

    fn print_help(&self) -> CliResult {
        let printer = &self.context.printer;
        for known in COMMANDS {
            let name = format!("/{} {}", known.name, known.argument_hint);
            let padding = " ".repeat(18_usize.saturating_sub(name.len()));
            printer.line(&format!("{}{padding}{}", printer.paint(Style::Name, &name), known.description))?;
        }
        self.print_note(
            "A line that ends in \\ goes on; what begins with \"\"\" ends with \"\"\". Ctrl-C stops an answer, a second one leaves.",
        )
    }

    async fn switch_agent(&mut self, name: String) -> CliResult {
        agents::fetch_agent(&name, self.client).await?;
        self.requested_agent = Some(name.clone());
        self.agent = name;
        self.print_note(&format!("you talk to {} from now on", self.agent))
    }

    async fn print_model(&self) -> CliResult {
        let agent = agents::fetch_agent(&self.agent, self.client).await?;
        match agent.definition.model {
            Some(model) => self.print_note(&format!("{} answers with {model}", self.agent)),
            None => self.print_note(&format!("{} answers with the model that was added first", self.agent)),
        }?;
        self.print_note(&format!("`toolway agents set {} --model NAME/ID` changes it", self.agent))
    }

    async fn export_session(&self, path: Option<&str>) -> CliResult {
        let Some(session) = &self.session else {
            return Err(CliError::new("nothing was said yet that could be exported"));
        };
        let form = if path.is_some_and(|path| path.ends_with(".json")) { "json" } else { "markdown" };
        let text = sessions::fetch_export(session, form, self.client).await?;
        let Some(path) = path else { return self.context.printer.untrusted_text(&text) };
        private_file::write_new(Path::new(path), text.as_bytes())?;
        self.print_note(&format!("written to {path}"))
    }

    /// Goes on with a conversation; shows what was said last.
    async fn resume_session(&mut self, id: String) -> CliResult {
        let found = sessions::fetch_session(&id, self.client).await?;
        let printer = &self.context.printer;
        let title = found.summary.title.as_deref().unwrap_or("(no title)");
        self.print_note(&format!(
            "going on with {title} ({} messages, agent {})",
            found.summary.message_count, found.summary.agent
        ))?;
        let paper = MarkdownLayout::from_stream(printer.stdout().with_stdout_size());
        for message in sessions::last_exchange(&found) {
            let text = sessions::message_text(message)?;
            if sessions::is_from_user(message) {
                printer.line("")?;
                for line in escape::lines(&text).lines() {
                    printer.line(&printer.paint(Style::Faint, &format!("> {line}")))?;
                }
                printer.line("")?;
            } else {
                render(&text, paper).iter().try_for_each(|line| printer.line(line))?;
            }
        }
        printer.line("")?;
        if found.summary.running {
            self.print_note("an answer is being written there; until it is whole nothing else can be said")?;
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
