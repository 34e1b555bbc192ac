//! `toolway devices show`: one device, its tools, and what it says of the apps whose tools it bridges. What it says
//! is its own text and that of its apps: shown, never followed.

use clap::Args;
use serde::Deserialize;

use super::{Device, DeviceList};
use crate::client::{ConnectArgs, GatewayClient, parse_response};
use crate::context::CliContext;
use crate::error::{CliError, CliResult};
use crate::print::escape;
use crate::print::table::LabeledValues;

/// Flags of `devices show`.
#[derive(Debug, Args)]
pub(crate) struct ShowDeviceArgs {
    /// Id of the device, as `devices list` shows it, or its name where only one has it
    name: String,
    #[command(flatten)]
    connect: ConnectArgs,
}

#[derive(Debug, Deserialize)]
struct WholeDevice {
    #[serde(flatten)]
    device: Device,
    app_version: Option<String>,
    version: Option<u32>,
    token: String,
    created_ms: i64,
    tool_names: Vec<String>,
    app_provider_report: Option<Report>,
}

/// What a device said of its apps.
#[derive(Debug, Deserialize)]
struct Report {
    as_of_ms: i64,
    providers: Vec<Provider>,
}

#[derive(Debug, Deserialize)]
struct Provider {
    authority: String,
    package: String,
    label: String,
    prefix: Option<String>,
    dialect: String,
    version: Option<i64>,
    state: String,
    reason: Option<String>,
    hint: Option<String>,
    info: Option<Info>,
    #[serde(default)]
    tools: Vec<String>,
    #[serde(default)]
    notes: Vec<Note>,
}

#[derive(Debug, Deserialize)]
struct Info {
    name: String,
    description: Option<String>,
    #[serde(default)]
    scopes: Vec<Scope>,
}

#[derive(Debug, Deserialize)]
struct Scope {
    name: String,
    description: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Note {
    kind: String,
    tool: Option<String>,
    reason: String,
}

pub(super) async fn run(args: &ShowDeviceArgs, context: &CliContext) -> CliResult {
    let client = context.client(&args.connect)?;
    let id = find_device_id(&args.name, &client).await?;
    let text = client.get(&["api", "devices", &id], &[]).await?;
    if context.printer.json {
        return context.printer.raw_json(&text);
    }
    let shown: WholeDevice = parse_response(&text)?;
    context.printer.pairs(&shown.pairs(context))?;
    for provider in shown.app_provider_report.iter().flat_map(|report| &report.providers) {
        context.printer.line("")?;
        context.printer.pairs(&provider.pairs())?;
    }
    for warning in &shown.device.warnings {
        context.printer.warning(&format!("{}: {warning}", shown.device.id), "");
    }
    Ok(())
}

/// The id of the device that is meant. What no device is called is taken for an id: the gateway says what is to be
/// said of it.
async fn find_device_id(name: &str, client: &GatewayClient) -> CliResult<String> {
    let devices = parse_response::<DeviceList>(&client.get(&["api", "devices"], &[]).await?)?.devices;
    if devices.iter().any(|device| device.id == name) {
        return Ok(name.to_owned());
    }
    let mut called_so: Vec<String> =
        devices.into_iter().filter(|device| device.name == name).map(|device| device.id).collect();
    if called_so.len() > 1 {
        let failure =
            CliError::new(format!("several devices are called {name:?}")).with_code("device_ambiguous");
        return Err(failure.with_hint(format!("say which by its id: {}", called_so.join(", "))));
    }
    Ok(called_so.pop().unwrap_or_else(|| name.to_owned()))
}

impl WholeDevice {
    fn pairs(&self, context: &CliContext) -> LabeledValues {
        let (moments, device) = (context.time_formatter(), &self.device);
        let mut pairs = LabeledValues::default();
        pairs.add("id", &device.id);
        pairs.add("name", escape::line(&device.name));
        pairs.add("status", &device.status);
        pairs.add_optional("connected", device.connected_since_ms.map(|ms| moments.format_local_and_ago(ms)));
        pairs.add(
            "last heard",
            moments.format_local_and_ago(device.last_heartbeat_ms.unwrap_or(device.last_seen_ms)),
        );
        pairs.add("first seen", moments.format_local_and_ago(self.created_ms));
        pairs.add_optional("platform", device.platform.as_deref().map(escape::line));
        pairs.add_optional("program", self.app_version.as_deref().map(escape::line));
        pairs.add_optional("protocol", self.version.map(|version| format!("version {version}")));
        pairs.add("token", &self.token);
        pairs.add_optional(
            "calls",
            Some(device.calls_in_flight).filter(|calls| *calls > 0).map(|it| it.to_string()),
        );
        pairs.add("tools", join_names(&self.tool_names));
        pairs.add_optional(
            "apps",
            self.app_provider_report.as_ref().map(|report| {
                format!("{}, as of {}", report.providers.len(), moments.format_local_and_ago(report.as_of_ms))
            }),
        );
        pairs
    }
}

impl Provider {
    /// Each of its texts is kept to one line, so that none can pass for what stands beside it.
    fn pairs(&self) -> LabeledValues {
        let mut pairs = LabeledValues::default();
        pairs.add("app", escape::line(&self.label));
        pairs.add("package", escape::line(&self.package));
        pairs.add("authority", escape::line(&self.authority));
        let version = self.version.map(|version| format!(", version {version}")).unwrap_or_default();
        pairs.add("protocol", format!("{}{version}", escape::line(&self.dialect)));
        pairs.add("state", self.state.replace('_', " "));
        pairs.add_optional("reason", self.reason.as_deref().map(escape::line));
        pairs.add_optional("hint", self.hint.as_deref().map(escape::line));
        pairs.add_optional("prefix", self.prefix.as_deref().map(escape::line));
        if let Some(info) = &self.info {
            pairs.add("says of itself", description_line(&info.name, info.description.as_deref()));
            let scopes = info.scopes.iter();
            let scopes: Vec<_> =
                scopes.map(|scope| description_line(&scope.name, scope.description.as_deref())).collect();
            pairs.add_optional("scopes", Some(scopes.join("\n")).filter(|scopes| !scopes.is_empty()));
        }
        pairs.add("tools", self.tools.len().to_string());
        for note in &self.notes {
            let label = if note.kind == "refused" { "refused" } else { "flagged" };
            let tool = note.tool.as_deref().map(|tool| format!("{}: ", escape::line(tool)));
            pairs.add(label, format!("{}{}", tool.unwrap_or_default(), escape::line(&note.reason)));
        }
        pairs
    }
}

/// A name with what it is.
fn description_line(name: &str, description: Option<&str>) -> String {
    match description {
        Some(description) => format!("{}: {}", escape::line(name), escape::line(description)),
        None => escape::line(name),
    }
}

/// One under the other.
fn join_names(names: &[String]) -> String {
    if names.is_empty() {
        return "(none now)".to_owned();
    }
    names.iter().map(|name| escape::line(name)).collect::<Vec<_>>().join("\n")
}
