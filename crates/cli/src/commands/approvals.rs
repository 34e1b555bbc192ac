//! `toolway approvals`: lists, watches and answers pending approvals.

mod watch;

use clap::{Args, Subcommand};
use serde_json::json;
use toolway_api::approvals::{AnswerApprovalRequest, ApprovalDecision, ApprovalScope, PendingApprovalList};

use crate::approval_prompt::approval::{ApprovalScopeFlag, describe_answer, requested_permission};
use crate::approval_prompt::post_answer;
use crate::client::{ConnectArgs, parse_response};
use crate::context::CliContext;
use crate::error::CliResult;
use crate::print::escape;
use crate::print::style::Style;
use crate::print::table::{TableCell, TableColumn, TextTable};

/// Subcommands of `toolway approvals`.
#[derive(Debug, Subcommand)]
pub(crate) enum ApprovalsCommand {
    /// List pending approvals
    #[command(after_help = "Example:\n  toolway approvals list")]
    List(ListApprovalsArgs),
    /// Print approvals as they arrive and ask for an answer at a terminal
    #[command(after_help = "Example:\n  toolway approvals watch")]
    Watch(watch::WatchApprovalsArgs),
    /// Answer a pending approval
    #[command(
        after_help = "Examples:\n  toolway approvals answer 0192f3a1 --grant\n  toolway approvals answer 0192f3a1 --grant --scope session"
    )]
    Answer(AnswerApprovalArgs),
}

/// Flags of `approvals list`.
#[derive(Debug, Args)]
pub(crate) struct ListApprovalsArgs {
    #[command(flatten)]
    connect: ConnectArgs,
}

/// Flags of `approvals answer`.
#[derive(Debug, Args)]
pub(crate) struct AnswerApprovalArgs {
    /// Id of the approval, as `approvals list` shows it
    id: String,
    #[command(flatten)]
    decision: DecisionArgs,
    /// Scope of the answer (default: once; always for --deny-always)
    #[arg(long, value_enum, value_name = "SCOPE")]
    scope: Option<ApprovalScopeFlag>,
    #[command(flatten)]
    connect: ConnectArgs,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct DecisionArgs {
    /// Allow the call
    #[arg(long)]
    grant: bool,
    /// Deny the call
    #[arg(long)]
    deny: bool,
    /// Deny this and all later calls
    #[arg(long)]
    deny_always: bool,
}

/// Runs the command.
pub(crate) async fn run(command: ApprovalsCommand, context: &CliContext) -> CliResult {
    match command {
        ApprovalsCommand::List(args) => list(&args, context).await,
        ApprovalsCommand::Watch(args) => watch::run(&args, context).await,
        ApprovalsCommand::Answer(args) => answer(&args, context).await,
    }
}

async fn list(args: &ListApprovalsArgs, context: &CliContext) -> CliResult {
    let text = context.client(&args.connect)?.get(&["api", "approvals"], &[]).await?;
    if context.printer.json {
        return context.printer.raw_json(&text);
    }
    let moments = context.time_formatter();
    let mut table = TextTable::new(vec![
        TableColumn::fixed("id"),
        TableColumn::fixed("tool"),
        TableColumn::fixed("wants"),
        TableColumn::truncatable("caller", 8),
        TableColumn::fixed("ends"),
        TableColumn::truncatable("arguments", 12),
        TableColumn::truncatable("reason", 12).optional(),
    ]);
    for question in parse_response::<PendingApprovalList>(&text)?.approvals {
        let wants = requested_permission(&question);
        table.add_row(vec![
            question.id.into(),
            TableCell::styled(question.tool_id, Style::Name),
            wants.into(),
            question.principal.into(),
            moments.format_ago(question.expires_ms).into(),
            question.arguments.get().into(),
            question.reason.into(),
        ]);
    }
    context.printer.table(&table, "no pending approvals")
}

async fn answer(args: &AnswerApprovalArgs, context: &CliContext) -> CliResult {
    let (decision, usual) = match &args.decision {
        DecisionArgs { grant: true, .. } => (ApprovalDecision::Granted, ApprovalScope::Once),
        DecisionArgs { deny: true, .. } => (ApprovalDecision::Denied, ApprovalScope::Once),
        DecisionArgs { .. } => (ApprovalDecision::DeniedAlways, ApprovalScope::Always),
    };
    let answer = AnswerApprovalRequest { decision, scope: args.scope.map_or(usual, Into::into) };
    post_answer(&context.client(&args.connect)?, &args.id, &answer).await?;
    if context.printer.json {
        return context.printer.json_value(&json!({
            "id": args.id, "decision": answer.decision, "scope": answer.scope,
        }));
    }
    context.printer.line(&format!("{}: {}", escape::line(&args.id), describe_answer(answer)))
}
