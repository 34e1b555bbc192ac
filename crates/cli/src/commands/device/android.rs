//! The apps of a phone that `adb` reaches, beside this computer's own tools: those that the shell may call are
//! offered, the others are named with the reason. They stay away while the phone is, and come back with it.

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

/// How often an app is asked again that wants to be allowed first: nobody tells when the person has done so.
const RECHECK_INTERVAL: Duration = Duration::from_secs(20);

/// What the bridge is made of, before the device is there.
pub(super) struct AppBridgeBuilder(AdbHost);

/// A running bridge, and what was last said of it.
pub(super) struct RunningAppBridge {
    bridge: ProviderBridge,
    overview: watch::Receiver<BridgeOverview>,
    recheck: Interval,
    printer: Printer,
    last_lines: Vec<String>,
}

impl AppBridgeBuilder {
    /// For the phone that is meant. It need not be there yet.
    pub(super) fn new(serial: Option<&str>, context: &CliContext) -> CliResult<Self> {
        Ok(Self(phone::adb_host(serial, context)?.for_calls()))
    }

    /// Starts offering its apps through a device, beside its other tools.
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
                    &format!("the names of apps were not kept: {}", failure.message()),
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
        CliError::new(format!("{}: {error}", kept.display())).with_hint(
            "move it away; apps are then named anew, and what was granted to their tools counts no more",
        )
    })
}

/// Waits for what is next to be said of the phone's apps, and says it; for ever where there is no phone.
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
                    return Err(CliError::new("the phone's apps are not looked after any more").with_code("internal"));
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

    /// Says what is new, each thing once.
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
        return vec![format!("the phone's apps are not offered: {fault}")];
    }
    if overview.providers.is_empty() {
        return vec!["no app on the phone offers tools".to_owned()];
    }
    overview.providers.iter().map(provider_row).collect()
}

fn provider_row(provider: &ToolProvider) -> String {
    let title = escape::line(provider.title());
    match &provider.state {
        ProviderState::Ready => match provider.tools.len() {
            1 => format!("{title} on the phone offers 1 tool"),
            count => format!("{title} on the phone offers {count} tools"),
        },
        ProviderState::AuthorizationRequired { message, hint, .. } => {
            let hint = hint.as_deref().map(|hint| format!(" ({hint})")).unwrap_or_default();
            format!("{title} on the phone wants to be allowed first: {message}{hint}")
        }
        ProviderState::Unavailable { reason } => {
            format!("{title} on the phone is not offered for now: {reason}")
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

/// Whoever allows an app does so on the phone, by itself: nothing is opened there from here.
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
            "open {} on the phone and allow it there; it is asked again by itself",
            request.label
        ));
    }
}
