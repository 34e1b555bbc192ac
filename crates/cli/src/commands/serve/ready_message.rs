//! Prints the message of `serve` when it is ready: address, data folder and a first command.

use std::net::SocketAddr;
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
pub(super) async fn print_ready(
    running: &RunningGateway,
    listen: SocketAddr,
    local: Option<&LocalDevice>,
    context: &CliContext,
) {
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
    let _ = print_text(running, listen, local.is_some(), source.as_deref(), context);
}

fn print_text(
    running: &RunningGateway,
    listen: SocketAddr,
    has_local: bool,
    source: Option<&str>,
    context: &CliContext,
) -> CliResult {
    let printer = &context.printer;
    let mut pairs = LabeledValues::default();
    pairs.add("listening on", &running.url);
    pairs.add_optional("network", describe_network(listen));
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

/// Describes the network addresses on which other computers can reach the gateway; `None` if none can.
fn describe_network(listen: SocketAddr) -> Option<String> {
    let ip = listen.ip().to_canonical();
    if ip.is_loopback() {
        return None;
    }
    Some(match ip.is_unspecified() {
        true => format!("other computers can connect on all addresses of this computer ({listen})"),
        false => format!("other computers can connect on {listen}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_says_that_other_computers_can_connect() {
        let describe = |listen: &str| describe_network(listen.parse().unwrap());
        assert_eq!(describe("127.0.0.1:7717"), None);
        assert_eq!(describe("[::1]:7717"), None);
        assert_eq!(describe("[::ffff:127.0.0.1]:7717"), None);
        assert_eq!(
            describe("0.0.0.0:7717").as_deref(),
            Some("other computers can connect on all addresses of this computer (0.0.0.0:7717)")
        );
        assert_eq!(
            describe("[::]:7717").as_deref(),
            Some("other computers can connect on all addresses of this computer ([::]:7717)")
        );
        assert_eq!(
            describe("192.168.1.5:7717").as_deref(),
            Some("other computers can connect on 192.168.1.5:7717")
        );
    }
}
