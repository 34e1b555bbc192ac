//! What `serve` says once it answers: where it listens, where its data lies, what to try first.

use std::time::Duration;

use serde_json::json;

use super::local_device::LocalDevice;
use crate::context::Context;
use crate::folder::running::RunningGateway;
use crate::print::style::Style;
use crate::print::table::Pairs;
use crate::report::Done;

/// How long the first command may wait for this computer's tools.
const PATIENCE: Duration = Duration::from_secs(5);

/// Says it. That nobody reads it is no reason not to serve.
pub(super) async fn say(running: &RunningGateway, local: Option<&LocalDevice>, context: &Context) {
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
        Some(device) => device.source(PATIENCE).await,
        None => None,
    };
    let _ = in_words(running, local.is_some(), source.as_deref(), context);
}

fn in_words(running: &RunningGateway, has_local: bool, source: Option<&str>, context: &Context) -> Done {
    let printer = &context.printer;
    let mut pairs = Pairs::default();
    pairs.add("listening on", &running.url);
    pairs.maybe("its key", running.key.map(|key| key.to_string()));
    pairs.add("data in", context.folder.path().display().to_string());
    printer.text("\n")?;
    printer.pairs(&pairs)?;
    let flag = context.folder.flag();
    let (matter, command) = match source {
        Some(source) => ("to try it", format!("toolway tools call {source}__device_info '{{}}'{flag}")),
        // The name is not known yet, or there are no tools of this computer.
        None if has_local => ("to try it", format!("toolway tools list{flag}")),
        None => ("to let a device in", format!("toolway pair{flag}")),
    };
    printer.line(&format!("{matter}, in another terminal:\n  {}\n", printer.paint(Style::Name, &command)))
}
