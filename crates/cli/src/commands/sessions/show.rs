//! `toolway sessions show`: prints a conversation.

use clap::Args;
use toolway_api::sessions::{MessagePart, SessionDetail, SessionMessage};

use super::{is_from_user, message_parts};
use crate::client::{ConnectArgs, parse_response};
use crate::context::CliContext;
use crate::error::CliResult;
use crate::print::markdown::{MarkdownLayout, render};
use crate::print::style::Style;
use crate::print::table::LabeledValues;
use crate::print::{amount, escape, live};

/// Maximum width of arguments and results, in columns.
const MAX_PREVIEW_CHARS: usize = 200;

/// Flags of `sessions show`.
#[derive(Debug, Args)]
pub(crate) struct ShowSessionArgs {
    /// Id of the session, as `sessions list` shows it (last: the latest one)
    id: String,
    #[command(flatten)]
    connect: ConnectArgs,
}

pub(super) async fn run(args: &ShowSessionArgs, context: &CliContext) -> CliResult {
    let client = context.client(&args.connect)?;
    let id = super::resolve_session_id(&args.id, &client).await?;
    let text = client.get(&["api", "sessions", &id], &[]).await?;
    let printer = &context.printer;
    if printer.json {
        return printer.raw_json(&text);
    }
    let whole: SessionDetail = parse_response(&text)?;
    let found = &whole.summary;
    let moments = context.time_formatter();
    let mut pairs = LabeledValues::default();
    pairs.add("id", &found.id);
    pairs.add_optional("title", found.title.as_ref());
    pairs.add("agent", &found.agent);
    pairs.add("owner", &found.principal);
    pairs.add("started", moments.format_local_and_ago(found.created_ms));
    pairs.add("last", moments.format_local_and_ago(found.updated_ms));
    pairs.add("messages", found.message_count.to_string());
    if found.running {
        pairs.add("state", "a turn is running");
    }
    printer.pairs(&pairs)?;
    let mut turn = None;
    for message in &whole.messages {
        if message.turn_id != turn {
            print_turn_usage(&whole, turn.as_deref(), context)?;
        }
        turn.clone_from(&message.turn_id);
        print_message(message, context)?;
    }
    print_turn_usage(&whole, turn.as_deref(), context)
}

/// Prints the usage of a turn, and its status unless it ended normally.
fn print_turn_usage(found: &SessionDetail, turn: Option<&str>, context: &CliContext) -> CliResult {
    let Some(turn) = found.turns.iter().find(|one| Some(one.id.as_str()) == turn) else { return Ok(()) };
    let printer = &context.printer;
    if !matches!(turn.status.as_str(), "done" | "running") {
        let mut words = turn.status.clone();
        for more in [&turn.message, &turn.code].into_iter().flatten() {
            words.push_str(&format!(": {more}"));
        }
        printer.line(&printer.paint(Style::Warning, &escape::line(&format!("({words})"))))?;
    }
    match amount::format_turn_usage(&turn.usage, turn.cost, turn.currency.as_deref()) {
        Some(took) => printer.line(&printer.paint(Style::Faint, &took)),
        None => Ok(()),
    }
}

fn print_message(message: &SessionMessage, context: &CliContext) -> CliResult {
    let printer = &context.printer;
    let when = context.time_formatter().format_local(message.created_ms);
    if message.role != "tool" {
        let who = if is_from_user(message) { "user" } else { "agent" };
        printer.line(&format!(
            "\n{}  {}",
            printer.paint(Style::Label, who),
            printer.paint(Style::Faint, &when)
        ))?;
    }
    message_parts(message)?.iter().try_for_each(|part| print_part(part, is_from_user(message), context))
}

fn print_part(part: &MessagePart, is_persons: bool, context: &CliContext) -> CliResult {
    let printer = &context.printer;
    let text = part.text.as_deref().unwrap_or_default();
    let faint = |text: &str| printer.paint(Style::Faint, &escape::line(text));
    let name = printer.paint(Style::Name, &escape::line(part.name.as_deref().unwrap_or_default()));
    match part.kind.as_str() {
        // Programs get the text unchanged.
        "text" if is_persons || !printer.stdout().is_terminal => printer.untrusted_text(text),
        "text" => render(text, MarkdownLayout::from_stream(printer.stdout()))
            .iter()
            .try_for_each(|line| printer.line(line)),
        "thinking" if text.is_empty() => Ok(()),
        "thinking" => escape::lines(text).lines().try_for_each(|line| printer.line(&faint(line))),
        "image" => {
            let kind = part.mime_type.as_deref().unwrap_or("image");
            printer.line(&faint(&format!("[image, {kind}]")))
        }
        "tool_call" => {
            let arguments = part.arguments.as_deref().unwrap_or_default();
            let id = part.call_id.as_deref().unwrap_or_default();
            let short = live::truncate(&escape::line(arguments), MAX_PREVIEW_CHARS);
            printer.line(&format!("→ {name} {}  {}", faint(&short), faint(id)))
        }
        "tool_result" => {
            let is_good = part.status.as_deref() == Some("success");
            let (mark, style) = if is_good { ("✓", Style::Good) } else { ("✗", Style::Error) };
            let summary = match (&part.result, &part.message, &part.code) {
                (Some(result), ..) if is_good => {
                    result.to::<String>().unwrap_or_else(|_| result.get().to_owned())
                }
                (_, Some(message), Some(code)) => format!("{message} ({code})"),
                (_, message, code) => message.clone().or(code.clone()).unwrap_or_default(),
            };
            let short = live::truncate(&escape::line(&summary), MAX_PREVIEW_CHARS);
            printer.line(&format!("{} {name} {}", printer.paint(style, mark), faint(&short)))
        }
        _ => Ok(()),
    }
}
