//! `toolway tools show NAME --for API`: prints the tool definition that models of an API get.

use toolway_api::tools::ToolConversion;

use crate::client::{GatewayClient, parse_response};
use crate::context::CliContext;
use crate::error::CliResult;
use crate::print::table::LabeledValues;
use crate::print::{escape, json};

pub(super) async fn show(
    name: &str,
    target: &str,
    client: &GatewayClient,
    context: &CliContext,
) -> CliResult {
    let text = client.get(&["api", "tools", name], &[("for", target.to_owned())]).await?;
    let printer = &context.printer;
    if printer.json {
        return printer.raw_json(&text);
    }
    let found: ToolConversion = parse_response(&text)?;
    let mut pairs = LabeledValues::default();
    pairs.add("name", &found.name);
    pairs.add("for", &found.target);
    pairs.add_optional("left out", found.excluded_reason.as_ref());
    if found.excluded_reason.is_none() {
        let lost = if found.lost.is_empty() { "nothing".to_owned() } else { found.lost.join("\n") };
        pairs.add("not supported", lost);
    }
    pairs.add_optional("definition", found.definition.map(|raw| escape::json(&json::pretty(raw.get()))));
    printer.pairs(&pairs)?;
    if !found.lost.is_empty() {
        printer.note("the gateway still enforces unsupported constraints: it checks arguments against the tool's own schema");
    }
    Ok(())
}
