//! `toolway chat`: talking to an agent. At a terminal it is a conversation; with a prompt, or one from a pipe, it is one
//! message and its answer.

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
    /// What to say: it is answered once. Without it, it is read from a pipe, or at a terminal a conversation begins
    #[arg(value_name = "PROMPT")]
    prompt: Option<String>,
    /// The agent to talk to, as `toolway agents list` shows it; else default, or the session's own
    #[arg(long, short, value_name = "AGENT")]
    agent: Option<String>,
    /// The session to go on with, as `toolway sessions list` shows it; last is the one that was held last
    #[arg(long, short, value_name = "ID")]
    session: Option<String>,
    /// A picture (PNG, JPEG, GIF, WebP) or a text to send with the first message; may be said more than once
    #[arg(long, value_name = "FILE")]
    attach: Vec<PathBuf>,
    /// Show the arguments and the results of tools whole
    #[arg(long)]
    detailed: bool,
    /// Show what the model thinks before it speaks
    #[arg(long)]
    thinking: bool,
    /// Don't ask here what a tool call needs a person for
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
            return Err(CliError::usage("there is no prompt, and nobody who could be asked for one")
                .with_hint("give it as an argument, or on standard input: toolway chat < FILE"));
        }
        return interactive_chat::run(&args, session, attached, &client, context).await;
    };
    let (content, attachments) = split_attachments(text.trim(), attached);
    if content.is_empty() && attachments.is_empty() {
        return Err(CliError::usage("the prompt is empty")
            .with_hint("say something: toolway chat 'What time is it?'"));
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

/// What is said and what goes with it: pictures apart, texts before what is said.
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

/// What was said, and below it what came from a pipe.
fn join_prompt(prompt: &str, piped: &str) -> String {
    if piped.trim().is_empty() { prompt.to_owned() } else { format!("{prompt}\n\n{piped}") }
}

/// Whether standard input, which is no terminal, is worth reading. With a prompt only a pipe or a file is: what else it
/// may be need never end.
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
