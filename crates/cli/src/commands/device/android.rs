//! Shares the apps of a phone that `adb` reaches, in addition to this computer's tools. Apps that the shell may not
//! call are listed with the reason. The tools disappear when the phone disconnects and return with it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{Interval, MissedTickBehavior};
use toolway_android::bridge::{BridgeDeps, BridgeOverview};
use toolway_android::host::adb::AdbHost;
use toolway_android::provider::{ProviderState, ToolProvider};
use toolway_android::{
    AuthorizationConsent, AuthorizationPrompt, AuthorizationRequest, BridgeOptions, ProviderBridge,
    ProviderNames,
};
use toolway_device::{DeviceHandle, Tool};

use crate::commands::android::phone;
use crate::context::CliContext;
use crate::error::{CliError, CliResult};
use crate::folder::private_file;
use crate::print::{Printer, escape};

/// Interval for checking apps that require authorization. Android sends no event when the user authorizes an app.
const RECHECK_INTERVAL: Duration = Duration::from_secs(20);

/// Bridge that is not running yet.
pub(super) struct AppBridgeBuilder(AdbHost);

/// A running bridge with its last printed state.
pub(super) struct RunningAppBridge {
    bridge: ProviderBridge,
    overview: watch::Receiver<BridgeOverview>,
    recheck: Interval,
    printer: Printer,
    last_lines: Vec<String>,
}

impl AppBridgeBuilder {
    /// Creates a bridge for the selected phone, which need not be connected yet.
    pub(super) fn new(serial: Option<&str>, context: &CliContext) -> CliResult<Self> {
        Ok(Self(phone::adb_host(serial, context)?.for_calls()))
    }

    /// Starts to offer the phone's apps through the device.
    pub(super) fn start(
        self,
        device: DeviceHandle,
        device_id: &str,
        others: Vec<Tool>,
        context: &CliContext,
    ) -> CliResult<RunningAppBridge> {
        let kept = context.folder.app_names(device_id);
        let names = read_names(&kept)?;
        let printer = context.printer;
        let folders = [context.folder.path().to_owned(), context.folder.devices()];
        let keep_names = move |names: &ProviderNames| {
            let kept = serde_json::to_vec(names).map_err(|error| CliError::new(error.to_string())).and_then(
                |bytes| {
                    folders.iter().try_for_each(|folder| crate::folder::create_private_dir(folder))?;
                    private_file::replace(&kept, &bytes)
                },
            );
            kept.map_err(|failure| {
                printer.warning(
                    &format!("cannot store the names of apps: {}", failure.message()),
                    &failure.hints().unwrap_or_default(),
                );
                failure.message().to_owned()
            })
        };
        let bridge = ProviderBridge::start(BridgeDeps {
            host: Arc::new(self.0),
            device,
            other_tools: others,
            prompt: Arc::new(ConsoleAuthorizationPrompt(printer)),
            names,
            save_names: Box::new(keep_names),
            options: BridgeOptions::default(),
        });
        let mut again = tokio::time::interval(RECHECK_INTERVAL);
        again.reset();
        again.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Ok(RunningAppBridge {
            overview: bridge.overview(),
            bridge,
            recheck: again,
            printer,
            last_lines: Vec::new(),
        })
    }
}

fn read_names(kept: &Path) -> CliResult<ProviderNames> {
    let Some(text) = private_file::read(kept)? else { return Ok(ProviderNames::default()) };
    serde_json::from_str(&text).map_err(|error| {
        CliError::new(format!("{}: {error}", kept.display()))
            .with_hint("remove the file; apps then get new names, and grants for their tools no longer apply")
    })
}

/// Waits for the next change of the phone's apps and prints it. Waits forever without a phone.
pub(super) async fn print_next_change(apps: &mut Option<RunningAppBridge>) -> CliResult {
    match apps {
        Some(running) => running.print_next_change().await,
        None => std::future::pending().await,
    }
}

impl RunningAppBridge {
    async fn print_next_change(&mut self) -> CliResult {
        tokio::select! {
            changed = self.overview.changed() => {
                if changed.is_err() {
                    return Err(CliError::new("the app bridge stopped").with_code("internal"));
                }
                let overview = self.overview.borrow_and_update().clone();
                self.print_overview(&overview)
            }
            _ = self.recheck.tick() => {
                let waits = |provider: &&ToolProvider| matches!(provider.state, ProviderState::AuthorizationRequired { .. });
                let changes = self.bridge.changes();
                for provider in self.overview.borrow().providers.iter().filter(waits) {
                    changes.add_package(provider.package.clone());
                }
                Ok(())
            }
        }
    }

    /// Prints each new line once.
    fn print_overview(&mut self, overview: &BridgeOverview) -> CliResult {
        let lines = describe_overview(overview);
        if lines == self.last_lines {
            return Ok(());
        }
        if self.printer.json {
            self.printer.json_value(&overview_event(overview))?;
        } else {
            for line in lines.iter().filter(|line| !self.last_lines.contains(line)) {
                self.printer.status(line);
            }
        }
        self.last_lines = lines;
        Ok(())
    }
}

fn describe_overview(overview: &BridgeOverview) -> Vec<String> {
    if let Some(fault) = &overview.fault {
        return vec![format!("cannot share the phone's apps: {fault}")];
    }
    if overview.providers.is_empty() {
        return vec!["no app on the phone provides tools".to_owned()];
    }
    overview.providers.iter().map(provider_row).collect()
}

fn provider_row(provider: &ToolProvider) -> String {
    let title = escape::line(provider.title());
    match &provider.state {
        ProviderState::Ready => match provider.tools.len() {
            1 => format!("{title} on the phone: 1 tool"),
            count => format!("{title} on the phone: {count} tools"),
        },
        ProviderState::AuthorizationRequired { message, hint, .. } => {
            let hint = hint.as_deref().map(|hint| format!(" ({hint})")).unwrap_or_default();
            format!("{title} on the phone requires authorization: {message}{hint}")
        }
        ProviderState::Unavailable { reason } => {
            format!("{title} on the phone is unavailable: {reason}")
        }
        ProviderState::Refused { reason, hint, .. } => {
            let hint = hint.as_deref().map(|hint| format!(" ({hint})")).unwrap_or_default();
            format!("{title} on the phone is refused: {reason}{hint}")
        }
    }
}

fn overview_event(overview: &BridgeOverview) -> Value {
    let row = |provider: &ToolProvider| {
        let (state, reason) = match &provider.state {
            ProviderState::Ready => ("ready", None),
            ProviderState::AuthorizationRequired { message, .. } => ("authorization_required", Some(message)),
            ProviderState::Unavailable { reason } => ("unavailable", Some(reason)),
            ProviderState::Refused { reason, .. } => ("refused", Some(reason)),
        };
        json!({
            "authority": provider.authority,
            "label": provider.title(),
            "state": state,
            "reason": reason,
            "tools": provider.tools.iter().map(|tool| provider.exposed_name(&tool.name)).collect::<Vec<_>>(),
        })
    };
    json!({
        "event": "app_providers",
        "fault": overview.fault.as_ref().map(ToString::to_string),
        "providers": overview.providers.iter().map(row).collect::<Vec<_>>(),
    })
}

/// Only prints a note: the user authorizes an app on the phone, and nothing is opened from here.
#[derive(Debug)]
struct ConsoleAuthorizationPrompt(Printer);

#[async_trait]
impl AuthorizationPrompt for ConsoleAuthorizationPrompt {
    fn is_available(&self) -> bool {
        false
    }

    async fn request_consent(&self, _: &AuthorizationRequest) -> AuthorizationConsent {
        AuthorizationConsent::Declined
    }

    async fn wait_for_return(&self, _: &AuthorizationRequest) {}

    fn notify_authorization_required(&self, request: &AuthorizationRequest) {
        self.0.note(&format!(
            "open {} on the phone and authorize access; this program retries automatically",
            request.label
        ));
    }
}
