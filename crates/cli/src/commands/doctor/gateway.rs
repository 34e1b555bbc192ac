//! The gateway itself: whether it answers, takes our token, and what it says of itself.

use toolway_api::devices::DeviceList;
use toolway_api::gateway::GatewayStatus;

use super::DoctorReport;
use crate::client::{ConnectArgs, GatewayClient, parse_response, target};
use crate::context::CliContext;
use crate::print::time;
use crate::settings::LoadedSettings;

/// Clocks that differ by more than this make codes and tokens end at odd times.
const MAX_CLOCK_SKEW_MS: i64 = 60_000;

/// Looks at the gateway of the data folder; where none runs, whether one could.
pub(super) async fn check(
    loaded: Option<&LoadedSettings>,
    connect: &ConnectArgs,
    context: &CliContext,
    found: &mut DoctorReport,
) {
    match target::find_running(&context.folder) {
        Err(failure) => found.add_failure("gateway", &failure),
        Ok(Some(_)) => check_running(connect, context, found).await,
        Ok(None) => {
            found.add_fine("gateway", "none runs on this data folder now");
            if let Some(loaded) = loaded {
                check_port(loaded, found);
            }
        }
    }
}

/// Whether the address could be listened on.
fn check_port(loaded: &LoadedSettings, found: &mut DoctorReport) {
    match toolway_gateway::server::bind(loaded.settings.listen) {
        Ok(_) => found.add_fine("address", format!("{} is free", loaded.settings.listen)),
        Err(error) => found.add_error("address", error.to_string(), error.hint()),
    }
}

/// Asks the gateway.
pub(super) async fn check_running(connect: &ConnectArgs, context: &CliContext, found: &mut DoctorReport) {
    let client = match context.client(connect) {
        Ok(client) => client,
        Err(failure) => return found.add_failure("gateway", &failure),
    };
    let asked = context.now_ms();
    let answer = match client.get_dated(&["api", "status"]).await {
        Ok(answer) => answer,
        Err(failure) => return found.add_failure("gateway", &failure),
    };
    let status: GatewayStatus = match parse_response(&answer.text) {
        Ok(status) => status,
        Err(failure) => return found.add_failure("gateway", &failure),
    };
    #[allow(clippy::cast_precision_loss, reason = "shown to a person")]
    let uptime = time::format_duration(status.uptime_s as f64 * 1000.0);
    found.add_fine(
        "gateway",
        format!(
            "{} answers and takes the token; it has run for {uptime} and offers {} tools",
            client.url(),
            status.tools
        ),
    );
    check_versions(&status, found);
    check_clocks(asked, answer.date_ms, context.now_ms(), found);
    for it in status.warnings {
        // The settings' own were said already, with their lines, where it is the gateway of this folder.
        if connect.gateway.is_some() || matches!(it.subject.as_str(), "tls" | "store") {
            found.add_error(&it.subject, it.message, it.hint.unwrap_or_default());
        }
    }
    check_devices(&client, found).await;
}

fn check_versions(status: &GatewayStatus, found: &mut DoctorReport) {
    let ours = env!("CARGO_PKG_VERSION");
    if status.version != ours {
        let message = format!("the gateway has version {}, this program {ours}", status.version);
        found.add_warning(
            "version",
            message,
            "restart the gateway after an upgrade; bring both to one version",
        );
    }
}

/// The gateway's clock against ours, less what the question itself may have taken.
fn check_clocks(asked_ms: i64, theirs_ms: Option<i64>, now_ms: i64, found: &mut DoctorReport) {
    let Some(theirs) = theirs_ms else { return };
    // Their date has whole seconds.
    let (earliest, latest) = (asked_ms - 1000, now_ms + 1000);
    let off = if theirs < earliest { theirs - earliest } else { (theirs - latest).max(0) };
    if off.abs() > MAX_CLOCK_SKEW_MS {
        #[allow(clippy::cast_precision_loss, reason = "shown to a person")]
        let amount = time::format_duration(off.abs() as f64);
        let direction = if off < 0 { "behind" } else { "ahead of" };
        found.add_error(
            "clock",
            format!("the gateway's clock is {amount} {direction} this computer's"),
            "set both by a time server; codes, tokens and times in the log depend on it",
        );
    } else {
        found.add_fine("clock", "the gateway's agrees with this computer's");
    }
}

async fn check_devices(client: &GatewayClient, found: &mut DoctorReport) {
    let answer = client.get(&["api", "devices"], &[]).await;
    let devices = match answer.and_then(|text| parse_response::<DeviceList>(&text)) {
        Ok(DeviceList { devices }) => devices,
        Err(failure) => return found.add_failure("devices", &failure),
    };
    for device in &devices {
        for warning in &device.warnings {
            found.add_warning(
                "devices",
                format!("{}: {warning}", device.id),
                "look at the program that is this device",
            );
        }
    }
    let online = devices.iter().filter(|device| device.status == "online").count();
    found.add_fine("devices", format!("{online} of {} are connected", devices.len()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::doctor::FindingSeverity;

    #[test]
    fn clocks_that_differ_are_told() {
        let state = |theirs: i64| {
            let mut found = DoctorReport::default();
            check_clocks(1_000_000, Some(theirs), 1_002_000, &mut found);
            (found.0[0].status, found.0[0].message.clone())
        };
        assert_eq!(state(1_001_000).0, FindingSeverity::Ok);
        assert_eq!(state(1_050_000).0, FindingSeverity::Ok);
        assert_eq!(
            state(1_003_000 + 3_600_000),
            (FindingSeverity::Error, "the gateway's clock is 60 min 0 s ahead of this computer's".to_owned())
        );
        assert_eq!(state(999_000 - 120_000).1, "the gateway's clock is 2 min 0 s behind this computer's");
    }
}
