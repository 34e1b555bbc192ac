//! `toolway calls show`.

use clap::Args;

use super::Call;
use crate::client::{ConnectArgs, read};
use crate::context::Context;
use crate::print::table::Pairs;
use crate::print::{escape, json, time};
use crate::report::Done;

/// Flags of `calls show`.
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// Id of the call, as `calls list` shows it
    id: String,
    #[command(flatten)]
    connect: ConnectArgs,
}

pub(super) async fn run(args: &ShowArgs, context: &Context) -> Done {
    let text = context.client(&args.connect)?.get(&["api", "calls", &args.id], &[]).await?;
    if context.printer.json {
        return context.printer.raw_json(&text);
    }
    let call: Call = read(&text)?;
    let mut pairs = Pairs::default();
    pairs.add("id", &call.call_id);
    pairs.add("tool", call.tool_name());
    if call.tool_name() != call.name {
        pairs.add("called as", &call.name);
    }
    pairs.add("caller", &call.caller);
    pairs.maybe("role", call.role.as_ref());
    pairs.maybe("door", call.door.as_ref());
    pairs.maybe("agent", call.agent.as_ref());
    pairs.maybe("session", call.session.as_ref());
    pairs.maybe("turn", call.turn.as_ref());
    pairs.add("started", context.moments().both(call.started_ms));
    pairs.add("status", &call.status);
    pairs.maybe("error", call.error_type.as_ref());
    pairs.maybe("code", call.code.as_ref());
    pairs.maybe("message", call.message.as_ref());
    pairs.maybe("approved by", call.approved_by.as_ref());
    pairs.maybe("hooks", Some(call.hooks.join(", ")).filter(|hooks| !hooks.is_empty()));
    pairs.maybe("rule", call.rule.as_ref());
    pairs.maybe("took", call.duration_ms.map(time::duration));
    for (label, part) in [
        ("waiting for a person", call.waiting_ms),
        ("waiting for its turn", call.queued_ms),
        ("running", call.running_ms),
    ] {
        pairs.maybe(label, part.filter(|ms| *ms > 0.0).map(time::duration));
    }
    pairs.maybe("attempts", call.attempts.map(|attempts| attempts.to_string()));
    for (label, value) in
        [("arguments", call.arguments), ("ran with", call.ran_with), ("outcome", call.outcome)]
    {
        pairs.maybe(label, value.map(|raw| escape::json(&json::pretty(raw.get()))));
    }
    context.printer.pairs(&pairs)
}
