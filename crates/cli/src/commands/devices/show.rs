//! `toolway devices show`: prints one device with its tools and apps. Texts of devices and apps are untrusted: they are
//! printed, never followed.

use clap::Args;
use toolway_api::devices::{AppProviderView, DeviceDetail, DeviceList};

use crate::client::{ConnectArgs, GatewayClient, parse_response};
use crate::context::CliContext;
use crate::error::{CliError, CliResult};
use crate::print::escape;
use crate::print::table::LabeledValues;

/// Flags of `devices show`.
#[derive(Debug, Args)]
pub(crate) struct ShowDeviceArgs {
    /// Id of the device, as `devices list` shows it, or its name if the name is unique
    name: String,
    #[command(flatten)]
    connect: ConnectArgs,
}

pub(super) async fn run(args: &ShowDeviceArgs, context: &CliContext) -> CliResult {
    let client = context.client(&args.connect)?;
    let id = find_device_id(&args.name, &client).await?;
    let text = client.get(&["api", "devices", &id], &[]).await?;
    if context.printer.json {
        return context.printer.raw_json(&text);
    }
    let shown: DeviceDetail = parse_response(&text)?;
    context.printer.pairs(&device_pairs(&shown, context))?;
    for provider in shown.app_provider_report.iter().flat_map(|report| &report.providers) {
        context.printer.line("")?;
        context.printer.pairs(&provider_pairs(provider))?;
    }
    for warning in &shown.device.warnings {
        context.printer.warning(&format!("{}: {warning}", shown.device.id), "");
    }
    Ok(())
}

/// Returns the id for an id or a name. Treats an unknown name as an id, so that the gateway reports the error.
async fn find_device_id(name: &str, client: &GatewayClient) -> CliResult<String> {
    let devices = parse_response::<DeviceList>(&client.get(&["api", "devices"], &[]).await?)?.devices;
    if devices.iter().any(|device| device.id == name) {
        return Ok(name.to_owned());
    }
    let mut called_so: Vec<String> =
        devices.into_iter().filter(|device| device.name == name).map(|device| device.id).collect();
    if called_so.len() > 1 {
        let failure =
            CliError::new(format!("several devices have the name {name:?}")).with_code("device_ambiguous");
        return Err(failure.with_hint(format!("use the id: {}", called_so.join(", "))));
    }
    Ok(called_so.pop().unwrap_or_else(|| name.to_owned()))
}

fn device_pairs(detail: &DeviceDetail, context: &CliContext) -> LabeledValues {
    let (moments, device) = (context.time_formatter(), &detail.device);
    let mut pairs = LabeledValues::default();
    pairs.add("id", &device.id);
    pairs.add("name", escape::line(&device.name));
    pairs.add("status", &device.status);
    pairs.add_optional("connected", device.connected_since_ms.map(|ms| moments.format_local_and_ago(ms)));
    pairs.add("last seen", super::last_seen(device, |ms| moments.format_local_and_ago(ms)));
    pairs.add("first seen", moments.format_local_and_ago(device.created_ms));
    pairs.add_optional("platform", device.platform.as_deref().map(escape::line));
    pairs.add_optional("program", device.app_version.as_deref().map(escape::line));
    pairs.add_optional("protocol", device.protocol_version.map(|version| format!("version {version}")));
    pairs.add("token", &device.token_id);
    pairs.add_optional(
        "running calls",
        Some(device.calls_in_flight).filter(|calls| *calls > 0).map(|it| it.to_string()),
    );
    pairs.add("tools", join_names(&detail.tool_names));
    pairs.add_optional(
        "apps",
        detail.app_provider_report.as_ref().map(|report| {
            format!("{}, as of {}", report.providers.len(), moments.format_local_and_ago(report.reported_ms))
        }),
    );
    pairs
}

/// Returns the fields of an app. Each text stays on one line, so that it cannot imitate another field.
fn provider_pairs(provider: &AppProviderView) -> LabeledValues {
    let mut pairs = LabeledValues::default();
    pairs.add("app", escape::line(&provider.label));
    pairs.add("package", escape::line(&provider.package));
    pairs.add("authority", escape::line(&provider.authority));
    let version = provider.version.map(|version| format!(", version {version}")).unwrap_or_default();
    pairs.add("protocol", format!("{}{version}", escape::line(&provider.dialect)));
    pairs.add("state", provider.state.replace('_', " "));
    pairs.add_optional("reason", provider.reason.as_deref().map(escape::line));
    pairs.add_optional("hint", provider.hint.as_deref().map(escape::line));
    pairs.add_optional("prefix", provider.prefix.as_deref().map(escape::line));
    if let Some(info) = &provider.info {
        pairs.add("description", description_line(&info.name, info.description.as_deref()));
        let scopes = info.scopes.iter();
        let scopes: Vec<_> =
            scopes.map(|scope| description_line(&scope.name, scope.description.as_deref())).collect();
        pairs.add_optional("scopes", Some(scopes.join("\n")).filter(|scopes| !scopes.is_empty()));
    }
    pairs.add("tools", provider.tools.len().to_string());
    for note in &provider.notes {
        let label = if note.kind == "refused" { "refused" } else { "flagged" };
        let tool = note.tool.as_deref().map(|tool| format!("{}: ", escape::line(tool)));
        pairs.add(label, format!("{}{}", tool.unwrap_or_default(), escape::line(&note.reason)));
    }
    pairs
}

/// Joins a name and its description.
fn description_line(name: &str, description: Option<&str>) -> String {
    match description {
        Some(description) => format!("{}: {}", escape::line(name), escape::line(description)),
        None => escape::line(name),
    }
}

/// Joins names with line breaks.
fn join_names(names: &[String]) -> String {
    if names.is_empty() {
        return "(none now)".to_owned();
    }
    names.iter().map(|name| escape::line(name)).collect::<Vec<_>>().join("\n")
}
