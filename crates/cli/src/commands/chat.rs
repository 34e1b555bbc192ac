//! `toolway chat`: chats with an agent. Interactive at a terminal; with a prompt argument or piped input it sends one
//! message and prints the answer.

mod attachment;
mod command;
mod event;
mod interactive_chat;
mod prompt;
mod screen;
mod single_turn;
mod turn;
mod view;

use std::path::PathBuf;

use clap::Args;
use toolway_api::chat::ChatRequest;
use toolway_types::ContentPart;

use super::prompt_input::read_piped_stdin;
use super::sessions;
use crate::client::ConnectArgs;
use crate::context::CliContext;
use crate::error::{CliError, CliResult};
use attachment::MessageAttachment;
use view::DetailOptions;

/// Flags of `chat`.
#[derive(Debug, Args)]
pub(crate) struct ChatArgs {
    /// Message to send. Without it, the message is read from a pipe; at a terminal, an interactive chat starts
    #[arg(value_name = "PROMPT")]
    prompt: Option<String>,
    /// Agent to chat with, as `toolway agents list` shows it (default: the session's agent, or default)
    #[arg(long, short, value_name = "AGENT")]
    agent: Option<String>,
    /// Session to continue, as `toolway sessions list` shows it (last: the latest one)
    #[arg(long, short, value_name = "ID")]
    session: Option<String>,
    /// Image (PNG, JPEG, GIF, WebP) or text file to send with the first message; repeat the flag for more
    #[arg(long, value_name = "FILE")]
    attach: Vec<PathBuf>,
    /// Print arguments and results of tool calls in full
    #[arg(long)]
    detailed: bool,
    /// Print the model's reasoning
    #[arg(long)]
    thinking: bool,
    /// Do not ask for approvals at this terminal
    #[arg(long)]
    non_interactive: bool,
    #[command(flatten)]
    connect: ConnectArgs,
}

impl ChatArgs {
    fn detail_options(&self) -> DetailOptions {
        DetailOptions { tools: self.detailed, thinking: self.thinking }
    }
}

/// Runs the command.
pub(crate) async fn run(args: ChatArgs, context: &CliContext) -> CliResult {
    let environment = &context.environment;
    let mut attached = Vec::new();
    for path in &args.attach {
        attached.push(attachment::read_attachment(path)?);
    }
    let is_piped = !environment.stdin_is_terminal && is_stdin_prompt_source(args.prompt.is_some());
    let text = match (&args.prompt, is_piped) {
        (Some(prompt), false) => Some(prompt.clone()),
        (Some(prompt), true) => Some(join_prompt(prompt, &read_piped_stdin()?)),
        (None, true) => Some(read_piped_stdin()?),
        (None, false) => None,
    };
    let client = context.client(&args.connect)?;
    let session = match args.session.as_deref() {
        Some(id) => Some(sessions::resolve_session_id(id, &client).await?),
        None => None,
    };
    let Some(text) = text else {
        if context.printer.json || !environment.stdin_is_terminal || !context.printer.stdout().is_terminal {
            return Err(CliError::usage("the prompt is missing")
                .with_hint("pass it as an argument, or on standard input: toolway chat < FILE"));
        }
        return interactive_chat::run(&args, session, attached, &client, context).await;
    };
    let (content, attachments) = split_attachments(text.trim(), attached);
    if content.is_empty() && attachments.is_empty() {
        return Err(
            CliError::usage("the prompt is empty").with_hint("for example: toolway chat 'What time is it?'")
        );
    }
    let message = ChatRequest {
        session_id: session,
        agent: args.agent.clone(),
        content: Some(content).filter(|content| !content.is_empty()),
        attachments: Some(attachments).filter(|attachments| !attachments.is_empty()),
        ..ChatRequest::default()
    };
    single_turn::run(message, &args, &client, context).await
}

/// Splits attachments into images and message text. Text attachments come before the message.
fn split_attachments(text: &str, attached: Vec<MessageAttachment>) -> (String, Vec<ContentPart>) {
    let (mut content, mut attachments) = (String::new(), Vec::new());
    for one in attached {
        match one {
            MessageAttachment::Image(image) => attachments.push(image),
            MessageAttachment::Text(text) => content.push_str(&text),
        }
    }
    content.push_str(text);
    (content, attachments)
}

/// Appends piped input to the prompt.
fn join_prompt(prompt: &str, piped: &str) -> String {
    if piped.trim().is_empty() { prompt.to_owned() } else { format!("{prompt}\n\n{piped}") }
}

/// True if standard input, which is not a terminal, may contain a message. With a prompt argument, only a pipe or a
/// regular file counts: reading anything else may block forever.
fn is_stdin_prompt_source(has_prompt: bool) -> bool {
    #[cfg(unix)]
    if has_prompt {
        use rustix::fs::FileType;
        let found = rustix::fs::fstat(std::io::stdin()).map(|found| FileType::from_raw_mode(found.st_mode));
        return found.is_ok_and(|kind| matches!(kind, FileType::Fifo | FileType::RegularFile));
    }
    !cfg!(windows) || !has_prompt
}

#[cfg(test)]
mod tests;
