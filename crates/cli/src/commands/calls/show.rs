//! `toolway calls show`: prints all details of one call.

use clap::Args;
use toolway_api::calls::CallDetail;

use super::tool_name;
use crate::client::{ConnectArgs, parse_response};
use crate::context::CliContext;
use crate::error::CliResult;
use crate::print::table::LabeledValues;
use crate::print::{escape, json, time};

/// Flags of `calls show`.
#[derive(Debug, Args)]
pub(crate) struct ShowCallArgs {
    /// Id of the call, as `calls list` shows it
    id: String,
    #[command(flatten)]
    connect: ConnectArgs,
}

pub(super) async fn run(args: &ShowCallArgs, context: &CliContext) -> CliResult {
    let text = context.client(&args.connect)?.get(&["api", "calls", &args.id], &[]).await?;
    if context.printer.json {
        return context.printer.raw_json(&text);
    }
    let whole: CallDetail = parse_response(&text)?;
    let call = &whole.call;
    let mut pairs = LabeledValues::default();
    pairs.add("id", &call.call_id);
    pairs.add("tool", tool_name(call));
    if tool_name(call) != call.name {
        pairs.add("called as", &call.name);
    }
    pairs.add("caller", &call.principal);
    pairs.add_optional("role", call.role.as_ref());
    pairs.add_optional("via", call.via.as_ref());
    pairs.add_optional("agent", call.agent.as_ref());
    pairs.add_optional("session", call.session_id.as_ref());
    pairs.add_optional("turn", call.turn_id.as_ref());
    pairs.add("started", context.time_formatter().format_local_and_ago(call.started_ms));
    pairs.add("status", &call.status);
    pairs.add_optional("error", call.error_type.as_ref());
    pairs.add_optional("code", call.code.as_ref());
    pairs.add_optional("message", call.message.as_ref());
    pairs.add_optional("approved by", call.approved_by.as_ref());
    pairs.add_optional("hooks", Some(call.hooks.join(", ")).filter(|hooks| !hooks.is_empty()));
    pairs.add_optional("rule", call.rule.as_ref());
    pairs.add_optional("took", call.duration_ms.map(time::format_duration));
    for (label, part) in [
        ("waiting for approval", call.user_wait_ms),
        ("queued", call.queued_ms),
        ("running", call.running_ms),
    ] {
        pairs.add_optional(label, part.filter(|ms| *ms > 0.0).map(time::format_duration));
    }
    pairs.add_optional("attempts", call.attempts.map(|attempts| attempts.to_string()));
    for (label, value) in [
        ("arguments", whole.arguments),
        ("effective arguments", whole.effective_arguments),
        ("outcome", whole.outcome),
    ] {
        pairs.add_optional(label, value.map(|raw| escape::json(&json::pretty(raw.get()))));
    }
    context.printer.pairs(&pairs)
}
