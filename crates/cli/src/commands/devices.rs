//! `toolway devices`: lists, renames and revokes devices.

mod show;

use clap::{Args, Subcommand};
use reqwest::Method;
use serde_json::json;
use toolway_api::devices::{DeviceList, DeviceSummary, RenameDeviceRequest};

use crate::client::{ConnectArgs, parse_response};
use crate::context::CliContext;
use crate::error::CliResult;
use crate::print::escape;
use crate::print::style::Style;
use crate::print::table::{TableCell, TableColumn, TextTable};

/// Subcommands of `toolway devices`.
#[derive(Debug, Subcommand)]
pub(crate) enum DevicesCommand {
    /// List all devices, online and offline
    #[command(after_help = "Example:\n  toolway devices list")]
    List(ListDevicesArgs),
    /// Show one device with its tools and, for a phone, the state of each app
    #[command(after_help = "Example:\n  toolway devices show pixel-8")]
    Show(show::ShowDeviceArgs),
    /// Change the display name of a device; tool names stay the same
    #[command(after_help = "Example:\n  toolway devices rename pixel-8 \"Anna's phone\"")]
    Rename(RenameDeviceArgs),
    /// Remove a device: close its connections, remove its tools and revoke its token
    #[command(after_help = "Example:\n  toolway devices revoke pixel-8")]
    Revoke(RevokeDeviceArgs),
}

/// Flags of `devices list`.
#[derive(Debug, Args)]
pub(crate) struct ListDevicesArgs {
    #[command(flatten)]
    connect: ConnectArgs,
}

/// Flags of `devices rename`.
#[derive(Debug, Args)]
pub(crate) struct RenameDeviceArgs {
    /// Id of the device, as `devices list` shows it
    id: String,
    /// New display name
    name: String,
    #[command(flatten)]
    connect: ConnectArgs,
}

/// Flags of `devices revoke`.
#[derive(Debug, Args)]
pub(crate) struct RevokeDeviceArgs {
    /// Id of the device, as `devices list` shows it
    id: String,
    #[command(flatten)]
    connect: ConnectArgs,
}

/// Runs the command.
pub(crate) async fn run(command: DevicesCommand, context: &CliContext) -> CliResult {
    match command {
        DevicesCommand::List(args) => list(&args, context).await,
        DevicesCommand::Show(args) => show::run(&args, context).await,
        DevicesCommand::Rename(args) => rename(&args, context).await,
        DevicesCommand::Revoke(args) => revoke(&args, context).await,
    }
}

async fn list(args: &ListDevicesArgs, context: &CliContext) -> CliResult {
    let text = context.client(&args.connect)?.get(&["api", "devices"], &[]).await?;
    if context.printer.json {
        return context.printer.raw_json(&text);
    }
    let devices = parse_response::<DeviceList>(&text)?.devices;
    let table = table(&devices, context);
    context.printer.table(&table, "no devices; add one with `toolway pair`")?;
    for device in &devices {
        for warning in &device.warnings {
            context.printer.warning(&format!("{}: {warning}", device.id), "");
        }
    }
    Ok(())
}

fn table(devices: &[DeviceSummary], context: &CliContext) -> TextTable {
    let moments = context.time_formatter();
    let has_apps = devices.iter().any(|device| device.app_providers > 0);
    let mut columns = vec![
        TableColumn::fixed("id"),
        TableColumn::truncatable("name", 8),
        TableColumn::fixed("status"),
        TableColumn::number("tools"),
    ];
    columns.extend(has_apps.then(|| TableColumn::number("apps").optional()));
    columns.extend([
        TableColumn::number("running").optional(),
        TableColumn::fixed("last seen"),
        TableColumn::fixed("connected since").optional(),
        TableColumn::truncatable("platform", 8).optional(),
    ]);
    let mut table = TextTable::new(columns);
    for device in devices {
        let style = match device.status.as_str() {
            "online" => Style::Good,
            "offline" => Style::Faint,
            _ => Style::Warning,
        };
        let mut row = vec![
            TableCell::styled(&device.id, Style::Name),
            device.name.as_str().into(),
            TableCell::styled(&device.status, style),
            device.tools.to_string().into(),
        ];
        row.extend(has_apps.then(|| device.app_providers.to_string().into()));
        row.extend([
            device.calls_in_flight.to_string().into(),
            last_seen(device, |ms| moments.format_ago(ms)).into(),
            device.connected_since_ms.map(|ms| moments.format_local(ms)).unwrap_or_default().into(),
            device.platform.as_deref().unwrap_or_default().into(),
        ]);
        table.add_row(row);
    }
    table
}

/// The time at which a device was last seen. For a connected device it is now: its last heartbeat may be some
/// seconds ago, which says nothing.
fn last_seen(device: &DeviceSummary, format: impl FnOnce(i64) -> String) -> String {
    match device.status.as_str() {
        "online" => "now".to_owned(),
        _ => format(device.last_heartbeat_ms.unwrap_or(device.last_seen_ms)),
    }
}

async fn rename(args: &RenameDeviceArgs, context: &CliContext) -> CliResult {
    let client = context.client(&args.connect)?;
    let body = RenameDeviceRequest { name: args.name.clone() };
    let text = client.send(Method::PATCH, &["api", "devices", &args.id], &body).await?;
    if context.printer.json {
        return context.printer.raw_json(&text);
    }
    context.printer.line(&format!("renamed {} to {}", escape::line(&args.id), escape::line(&args.name)))
}

async fn revoke(args: &RevokeDeviceArgs, context: &CliContext) -> CliResult {
    let client = context.client(&args.connect)?;
    client.send_empty(Method::DELETE, &["api", "devices", &args.id]).await?;
    if context.printer.json {
        return context.printer.json_value(&json!({"id": args.id, "revoked": true}));
    }
    context.printer.line(&format!("removed {}; to use it again, pair it again", escape::line(&args.id)))
}
