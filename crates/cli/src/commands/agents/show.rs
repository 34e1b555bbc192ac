//! `toolway agents show`.

use clap::Args;

use super::{get, scope, tools};
use crate::client::ConnectArgs;
use crate::context::Context;
use crate::print::amount;
use crate::print::table::Pairs;
use crate::report::Done;

/// Flags of `agents show`.
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// Name of the agent, as `agents list` shows it
    name: String,
    #[command(flatten)]
    connect: ConnectArgs,
}

pub(super) async fn run(args: &ShowArgs, context: &Context) -> Done {
    let client = context.client(&args.connect)?;
    if context.printer.json {
        return context.printer.raw_json(&client.get(&["api", "agents", &args.name], &[]).await?);
    }
    let agent = get(&args.name, &client).await?;
    let definition = &agent.definition;
    let mut pairs = Pairs::default();
    pairs.add("name", &definition.name);
    pairs.maybe("description", Some(&definition.description).filter(|text| !text.is_empty()));
    pairs.add("model", agent.model());
    pairs.add("prompt", if definition.prompt.is_empty() { "(none)" } else { &definition.prompt });
    pairs.add("tools", definition.tools.join(", "));
    // Patterns say little without what they stand for now.
    let scope = scope(definition)?;
    let names: Vec<_> = tools(&client)
        .await?
        .into_iter()
        .filter(|tool| tool.is_within(&scope))
        .map(|tool| tool.name)
        .collect();
    pairs.add(
        "now these",
        if names.is_empty() { "(none that there is now)".to_owned() } else { names.join(", ") },
    );
    pairs.maybe("at once", definition.max_tools.map(|most| format!("{most} tools")));
    pairs.maybe("approval", definition.approval.as_ref().and_then(word));
    let limits = &definition.limits;
    pairs.maybe("rounds", limits.rounds.map(|rounds| rounds.to_string()));
    pairs.maybe("cost", limits.cost.map(|cost| amount::money(cost, None)));
    pairs.maybe("seconds", limits.seconds.map(|seconds| seconds.to_string()));
    let options = serde_json::to_string(&definition.options).ok().filter(|options| options != "{}");
    pairs.maybe("options", options);
    pairs.add("stands", agent.origin.in_words());
    for problem in &agent.problems {
        pairs.add("problem", problem);
    }
    context.printer.pairs(&pairs)
}

/// The word that a value is written as.
fn word(value: &impl serde::Serialize) -> Option<String> {
    serde_json::to_value(value).ok()?.as_str().map(str::to_owned)
}
