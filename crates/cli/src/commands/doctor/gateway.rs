//! Checks the running gateway: connection, token, version, clock and devices.

use toolway_api::devices::DeviceList;
use toolway_api::gateway::GatewayStatus;

use super::DoctorReport;
use crate::client::{ConnectArgs, GatewayClient, parse_response, target};
use crate::context::CliContext;
use crate::print::time;
use crate::settings::LoadedSettings;

/// Maximum difference of the clocks. With a larger one, codes and tokens expire at unexpected times.
const MAX_CLOCK_SKEW_MS: i64 = 60_000;

/// Checks the gateway of the data folder. If none runs, checks that its address is free.
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
            found.add_fine("gateway", "no gateway is running with this data folder");
            if let Some(loaded) = loaded {
                check_port(loaded, found);
            }
        }
    }
}

/// Checks that the gateway could listen on its address.
fn check_port(loaded: &LoadedSettings, found: &mut DoctorReport) {
    match toolway_gateway::server::bind(loaded.settings.listen) {
        Ok(_) => found.add_fine("address", format!("{} is free", loaded.settings.listen)),
        Err(error) => found.add_error("address", error.to_string(), error.hint()),
    }
}

/// Checks a running gateway.
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
        format!("{} accepts the token; uptime {uptime}, {} tools", client.url(), status.tools),
    );
    check_memory(&status, found);
    check_versions(&status, found);
    check_clocks(asked, answer.date_ms, context.now_ms(), found);
    for it in status.warnings {
        // For the local gateway, the settings were already checked above, with line numbers.
        if connect.gateway.is_some() || matches!(it.subject.as_str(), "tls" | "store") {
            found.add_error(&it.subject, it.message, it.hint.unwrap_or_default());
        }
    }
    check_devices(&client, found).await;
}

/// Reports the memory that peers hold.
fn check_memory(status: &GatewayStatus, found: &mut DoctorReport) {
    let GatewayStatus { memory_bytes: used, memory_limit_bytes: limit, .. } = *status;
    // Older gateways do not report it.
    if limit == 0 {
        return;
    }
    let message = format!(
        "peers hold {} of at most {} (limits.memory_bytes)",
        time::format_bytes(used),
        time::format_bytes(limit)
    );
    if used > limit / 10 * 9 {
        let hint = "the gateway closes the connections that hold most; `/metrics` shows the use over time";
        found.add_warning("memory", message, hint);
    } else {
        found.add_fine("memory", message);
    }
}

fn check_versions(status: &GatewayStatus, found: &mut DoctorReport) {
    let ours = env!("CARGO_PKG_VERSION");
    if status.version != ours {
        let message = format!("the gateway has version {}, this program has version {ours}", status.version);
        found.add_warning(
            "version",
            message,
            "use the same version of both; restart the gateway after an upgrade",
        );
    }
}

/// Compares the gateway's clock with the local one, minus the duration of the request.
fn check_clocks(asked_ms: i64, theirs_ms: Option<i64>, now_ms: i64, found: &mut DoctorReport) {
    let Some(theirs) = theirs_ms else { return };
    // The `Date` header has whole seconds.
    let (earliest, latest) = (asked_ms - 1000, now_ms + 1000);
    let off = if theirs < earliest { theirs - earliest } else { (theirs - latest).max(0) };
    if off.abs() > MAX_CLOCK_SKEW_MS {
        #[allow(clippy::cast_precision_loss, reason = "shown to a person")]
        let amount = time::format_duration(off.abs() as f64);
        let direction = if off < 0 { "behind" } else { "ahead of" };
        found.add_error(
            "clock",
            format!("the gateway's clock is {amount} {direction} this computer's"),
            "synchronize both clocks, for example with NTP; codes and tokens depend on them",
        );
    } else {
        found.add_fine("clock", "the clocks of the gateway and this computer agree");
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
                "check the program that runs on this device",
            );
        }
    }
    let online = devices.iter().filter(|device| device.status == "online").count();
    found.add_fine("devices", format!("{online} of {} online", devices.len()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::doctor::FindingSeverity;

    #[test]
    fn different_clocks_are_reported() {
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
