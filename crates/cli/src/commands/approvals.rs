//! `toolway approvals`: the questions that calls wait with, and answering them.

mod watch;

use clap::{Args, Subcommand};
use serde::Deserialize;
use serde_json::json;

use crate::asking::post;
use crate::asking::question::{Answer, Decision, Question, Scope};
use crate::client::{ConnectArgs, read};
use crate::context::Context;
use crate::print::escape;
use crate::print::style::Style;
use crate::print::table::{Cell, Column, Table};
use crate::report::Done;

/// What to do with questions.
#[derive(Debug, Subcommand)]
pub(crate) enum ApprovalsCommand {
    /// List the questions that calls wait with now
    List(ListArgs),
    /// Show questions as they come, and ask for an answer where this is a terminal
    Watch(watch::WatchArgs),
    /// Answer a question
    Answer(AnswerArgs),
}

/// Flags of `approvals list`.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    connect: ConnectArgs,
}

/// Flags of `approvals answer`.
#[derive(Debug, Args)]
pub(crate) struct AnswerArgs {
    /// Id of the question, as `approvals list` shows it
    id: String,
    #[command(flatten)]
    decision: DecisionArgs,
    /// For how long it holds; once, where nothing is said, and always with --deny-always
    #[arg(long, value_enum, value_name = "SCOPE")]
    scope: Option<Scope>,
    #[command(flatten)]
    connect: ConnectArgs,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct DecisionArgs {
    /// Yes
    #[arg(long)]
    grant: bool,
    /// Not this time
    #[arg(long)]
    deny: bool,
    /// No, and don't ask again
    #[arg(long)]
    deny_always: bool,
}

#[derive(Debug, Deserialize)]
struct QuestionList {
    approvals: Vec<Question>,
}

/// Runs the command.
pub(crate) async fn run(command: ApprovalsCommand, context: &Context) -> Done {
    match command {
        ApprovalsCommand::List(args) => list(&args, context).await,
        ApprovalsCommand::Watch(args) => watch::run(&args, context).await,
        ApprovalsCommand::Answer(args) => answer(&args, context).await,
    }
}

async fn list(args: &ListArgs, context: &Context) -> Done {
    let text = context.client(&args.connect)?.get(&["api", "approvals"], &[]).await?;
    if context.printer.json {
        return context.printer.raw_json(&text);
    }
    let moments = context.moments();
    let mut table = Table::new(vec![
        Column::whole("id"),
        Column::whole("tool"),
        Column::whole("wants"),
        Column::cut("caller", 8),
        Column::whole("ends"),
        Column::cut("arguments", 12),
        Column::cut("reason", 12).optional(),
    ]);
    for question in read::<QuestionList>(&text)?.approvals {
        let wants = question.matter();
        table.row(vec![
            question.id.into(),
            Cell::styled(question.tool_id, Style::Name),
            wants.into(),
            question.principal.into(),
            moments.ago(question.expires_ms).into(),
            question.arguments.get().into(),
            question.reason.into(),
        ]);
    }
    context.printer.table(&table, "no call waits for an answer")
}

async fn answer(args: &AnswerArgs, context: &Context) -> Done {
    let (decision, usual) = match &args.decision {
        DecisionArgs { grant: true, .. } => (Decision::Granted, Scope::Once),
        DecisionArgs { deny: true, .. } => (Decision::Denied, Scope::Once),
        DecisionArgs { .. } => (Decision::DeniedAlways, Scope::Always),
    };
    let answer = Answer { decision, scope: args.scope.unwrap_or(usual) };
    post(&context.client(&args.connect)?, &args.id, &answer).await?;
    if context.printer.json {
        return context.printer.json_value(&json!({
            "id": args.id, "decision": answer.decision, "scope": answer.scope,
        }));
    }
    context.printer.line(&format!("{}: {}", escape::line(&args.id), answer.in_words()))
}
