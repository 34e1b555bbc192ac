//! `toolway devices`: who offers tools, since when, and sending them away.

mod show;

use clap::{Args, Subcommand};
use reqwest::Method;
use serde::Deserialize;
use serde_json::json;

use crate::client::{ConnectArgs, read};
use crate::context::Context;
use crate::print::escape;
use crate::print::style::Style;
use crate::print::table::{Cell, Column, Table};
use crate::report::Done;

/// What to do with devices.
#[derive(Debug, Subcommand)]
pub(crate) enum DevicesCommand {
    /// List the devices, connected or not
    List(ListArgs),
    /// Show one device: its tools and, where it bridges the tools of apps, what became of each app
    Show(show::ShowArgs),
    /// Change the name under which a device is shown; its tools keep their names
    Rename(RenameArgs),
    /// Remove a device: its connections close, its tools leave, and a token that was only for it is revoked
    Revoke(RevokeArgs),
}

/// Flags of `devices list`.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    connect: ConnectArgs,
}

/// Flags of `devices rename`.
#[derive(Debug, Args)]
pub(crate) struct RenameArgs {
    /// Id of the device, as `devices list` shows it
    id: String,
    /// New name
    name: String,
    #[command(flatten)]
    connect: ConnectArgs,
}

/// Flags of `devices revoke`.
#[derive(Debug, Args)]
pub(crate) struct RevokeArgs {
    /// Id of the device, as `devices list` shows it
    id: String,
    #[command(flatten)]
    connect: ConnectArgs,
}

#[derive(Debug, Deserialize)]
struct DeviceList {
    devices: Vec<Device>,
}

#[derive(Debug, Deserialize)]
struct Device {
    id: String,
    name: String,
    status: String,
    platform: Option<String>,
    tools: u64,
    #[serde(default)]
    app_providers: u64,
    #[serde(default)]
    calls_in_flight: u64,
    connected_since_ms: Option<i64>,
    last_seen_ms: i64,
    last_heartbeat_ms: Option<i64>,
    #[serde(default)]
    warnings: Vec<String>,
}

/// Runs the command.
pub(crate) async fn run(command: DevicesCommand, context: &Context) -> Done {
    match command {
        DevicesCommand::List(args) => list(&args, context).await,
        DevicesCommand::Show(args) => show::run(&args, context).await,
        DevicesCommand::Rename(args) => rename(&args, context).await,
        DevicesCommand::Revoke(args) => revoke(&args, context).await,
    }
}

async fn list(args: &ListArgs, context: &Context) -> Done {
    let text = context.client(&args.connect)?.get(&["api", "devices"], &[]).await?;
    if context.printer.json {
        return context.printer.raw_json(&text);
    }
    let devices = read::<DeviceList>(&text)?.devices;
    let table = table(&devices, context);
    context.printer.table(&table, "no device has connected yet; `toolway pair` lets one in")?;
    for device in &devices {
        for warning in &device.warnings {
            context.printer.warning(&format!("{}: {warning}", device.id), "");
        }
    }
    Ok(())
}

fn table(devices: &[Device], context: &Context) -> Table {
    let moments = context.moments();
    let has_apps = devices.iter().any(|device| device.app_providers > 0);
    let mut columns =
        vec![Column::whole("id"), Column::cut("name", 8), Column::whole("status"), Column::number("tools")];
    columns.extend(has_apps.then(|| Column::number("apps").optional()));
    columns.extend([
        Column::number("calls").optional(),
        Column::whole("last heard"),
        Column::whole("connected since").optional(),
        Column::cut("platform", 8).optional(),
    ]);
    let mut table = Table::new(columns);
    for device in devices {
        let style = match device.status.as_str() {
            "online" => Style::Good,
            "offline" => Style::Faint,
            _ => Style::Warning,
        };
        let mut row = vec![
            Cell::styled(&device.id, Style::Name),
            device.name.as_str().into(),
            Cell::styled(&device.status, style),
            device.tools.to_string().into(),
        ];
        row.extend(has_apps.then(|| device.app_providers.to_string().into()));
        row.extend([
            device.calls_in_flight.to_string().into(),
            moments.ago(device.last_heartbeat_ms.unwrap_or(device.last_seen_ms)).into(),
            device.connected_since_ms.map(|ms| moments.local(ms)).unwrap_or_default().into(),
            device.platform.as_deref().unwrap_or_default().into(),
        ]);
        table.row(row);
    }
    table
}

async fn rename(args: &RenameArgs, context: &Context) -> Done {
    let client = context.client(&args.connect)?;
    let text = client.send(Method::PATCH, &["api", "devices", &args.id], &json!({"name": args.name})).await?;
    if context.printer.json {
        return context.printer.raw_json(&text);
    }
    context.printer.line(&format!("{} is now called {}", escape::line(&args.id), escape::line(&args.name)))
}

async fn revoke(args: &RevokeArgs, context: &Context) -> Done {
    let client = context.client(&args.connect)?;
    client.ask(Method::DELETE, &["api", "devices", &args.id]).await?;
    if context.printer.json {
        return context.printer.json_value(&json!({"id": args.id, "revoked": true}));
    }
    context.printer.line(&format!("{} is removed; to let it in again, pair it again", escape::line(&args.id)))
}
