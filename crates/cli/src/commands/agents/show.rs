//! `toolway agents show`: prints one agent.

use clap::Args;

use super::{FirstModel, agent_scope, describe_origin, fetch_agent, fetch_tools, is_in_scope};
use crate::client::ConnectArgs;
use crate::context::CliContext;
use crate::error::CliResult;
use crate::print::amount;
use crate::print::table::LabeledValues;

/// Flags of `agents show`.
#[derive(Debug, Args)]
pub(crate) struct ShowAgentArgs {
    /// Name of the agent, as `agents list` shows it
    name: String,
    #[command(flatten)]
    connect: ConnectArgs,
}

pub(super) async fn run(args: &ShowAgentArgs, context: &CliContext) -> CliResult {
    let client = context.client(&args.connect)?;
    if context.printer.json {
        return context.printer.raw_json(&client.get(&["api", "agents", &args.name], &[]).await?);
    }
    let agent = fetch_agent(&args.name, &client).await?;
    let definition = &agent.definition;
    let mut pairs = LabeledValues::default();
    pairs.add("name", &definition.name);
    pairs.add_optional("description", Some(&definition.description).filter(|text| !text.is_empty()));
    pairs.add("model", agent.model(&FirstModel::fetch(&client).await));
    pairs.add("prompt", if definition.prompt.is_empty() { "(none)" } else { &definition.prompt });
    pairs.add("tools", definition.tools.join(", "));
    // Patterns alone do not show which of the current tools they match.
    let scope = agent_scope(definition)?;
    let names: Vec<_> = fetch_tools(&client)
        .await?
        .into_iter()
        .filter(|tool| is_in_scope(tool, &scope))
        .map(|tool| tool.name)
        .collect();
    pairs.add("matching tools", if names.is_empty() { "(none)".to_owned() } else { names.join(", ") });
    pairs.add_optional("max tools", definition.max_tools.map(|most| format!("{most} tools")));
    pairs.add_optional("time zone", definition.time_zone.clone());
    pairs.add_optional("approval", definition.approval.as_ref().and_then(serialized_name));
    let limits = &definition.limits;
    pairs.add_optional("rounds", limits.rounds.map(|rounds| rounds.to_string()));
    pairs.add_optional("cost", limits.cost.map(|cost| amount::format_money(cost, None)));
    pairs.add_optional("seconds", limits.seconds.map(|seconds| seconds.to_string()));
    let options = serde_json::to_string(&definition.options).ok().filter(|options| options != "{}");
    pairs.add_optional("options", options);
    pairs.add("defined in", describe_origin(&agent.origin));
    for problem in &agent.problems {
        pairs.add("problem", problem);
    }
    context.printer.pairs(&pairs)
}

/// Returns the serialized name of an enum value.
fn serialized_name(value: &impl serde::Serialize) -> Option<String> {
    serde_json::to_value(value).ok()?.as_str().map(str::to_owned)
}
