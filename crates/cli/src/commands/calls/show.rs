//! `toolway calls show`.

use clap::Args;

use super::Call;
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
    let call: Call = parse_response(&text)?;
    let mut pairs = LabeledValues::default();
    pairs.add("id", &call.call_id);
    pairs.add("tool", call.tool_name());
    if call.tool_name() != call.name {
        pairs.add("called as", &call.name);
    }
    pairs.add("caller", &call.caller);
    pairs.add_optional("role", call.role.as_ref());
    pairs.add_optional("door", call.door.as_ref());
    pairs.add_optional("agent", call.agent.as_ref());
    pairs.add_optional("session", call.session.as_ref());
    pairs.add_optional("turn", call.turn.as_ref());
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
        ("waiting for a person", call.waiting_ms),
        ("waiting for its turn", call.queued_ms),
        ("running", call.running_ms),
    ] {
        pairs.add_optional(label, part.filter(|ms| *ms > 0.0).map(time::format_duration));
    }
    pairs.add_optional("attempts", call.attempts.map(|attempts| attempts.to_string()));
    for (label, value) in
        [("arguments", call.arguments), ("ran with", call.ran_with), ("outcome", call.outcome)]
    {
        pairs.add_optional(label, value.map(|raw| escape::json(&json::pretty(raw.get()))));
    }
    context.printer.pairs(&pairs)
}
