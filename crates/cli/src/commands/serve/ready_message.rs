//! Prints the message of `serve` when it is ready: address, data folder and a first command.

use std::time::Duration;

use serde_json::json;

use super::local_device::LocalDevice;
use crate::context::CliContext;
use crate::error::CliResult;
use crate::folder::running_gateway::RunningGateway;
use crate::print::style::Style;
use crate::print::table::LabeledValues;
use crate::program::program_command;

/// Maximum time to wait for this computer's tools.
const SOURCE_TIMEOUT: Duration = Duration::from_secs(5);

/// Prints the message. Errors are ignored, because the gateway also works if nobody reads it.
pub(super) async fn print_ready(running: &RunningGateway, local: Option<&LocalDevice>, context: &CliContext) {
    let printer = &context.printer;
    if printer.json {
        let event = json!({
            "event": "ready",
            "url": running.url,
            "pid": running.pid,
            "data_dir": context.folder.path(),
            "key": running.key,
        });
        let _ = printer.json_value(&event);
        return;
    }
    let source = match local {
        Some(device) => device.wait_for_source(SOURCE_TIMEOUT).await,
        None => None,
    };
    let _ = print_text(running, local.is_some(), source.as_deref(), context);
}

fn print_text(
    running: &RunningGateway,
    has_local: bool,
    source: Option<&str>,
    context: &CliContext,
) -> CliResult {
    let printer = &context.printer;
    let mut pairs = LabeledValues::default();
    pairs.add("listening on", &running.url);
    pairs.add_optional("its key", running.key.map(|key| key.to_string()));
    pairs.add("data in", context.folder.path().display().to_string());
    printer.text("\n")?;
    printer.pairs(&pairs)?;
    let flag = context.folder.data_dir_flag();
    let toolway = program_command(&context.environment);
    let (purpose, command) = match source {
        Some(source) => ("to try it", format!("{toolway} tools call {source}__device_info '{{}}'{flag}")),
        // The slug is not known yet, or this computer shares no tools.
        None if has_local => ("to try it", format!("{toolway} tools list{flag}")),
        None => ("to connect a device", format!("{toolway} pair{flag}")),
    };
    printer.line(&format!("{purpose}, in another terminal:\n  {}\n", printer.paint(Style::Name, &command)))
}
