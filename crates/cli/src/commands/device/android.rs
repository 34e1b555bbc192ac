//! The apps of a phone that `adb` reaches, beside this computer's own tools: those that the shell may call are
//! offered, the others are named with the reason. They stay away while the phone is, and come back with it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{Interval, MissedTickBehavior};
use toolway_android::bridge::{Overview, Parts};
use toolway_android::host::adb::AdbHost;
use toolway_android::provider::{Provider, State};
use toolway_android::{Agreement, AuthorizationPrompt, AuthorizationRequest, Bridge, Names, Options};
use toolway_device::{DeviceHandle, Tool};

use crate::commands::android::phone;
use crate::context::Context;
use crate::folder::private;
use crate::print::{Printer, escape};
use crate::report::{Done, Failure};

/// How often an app is asked again that wants to be allowed first: nobody tells when the person has done so.
const ASK_AGAIN: Duration = Duration::from_secs(20);

/// What the bridge is made of, before the device is there.
pub(super) struct Apps(AdbHost);

/// A running bridge, and what was last said of it.
pub(super) struct Running {
    bridge: Bridge,
    overview: watch::Receiver<Overview>,
    again: Interval,
    printer: Printer,
    last: Vec<String>,
}

impl Apps {
    /// For the phone that is meant. It need not be there yet.
    pub(super) fn new(serial: Option<&str>, context: &Context) -> Done<Self> {
        Ok(Self(phone::host(serial, context)?.for_calls()))
    }

    /// Starts offering its apps through a device, beside its other tools.
    pub(super) fn start(
        self,
        device: DeviceHandle,
        device_id: &str,
        others: Vec<Tool>,
        context: &Context,
    ) -> Done<Running> {
        let kept = context.folder.app_names(device_id);
        let names = read_names(&kept)?;
        let printer = context.printer;
        let folders = [context.folder.path().to_owned(), context.folder.devices()];
        let keep_names = move |names: &Names| {
            let kept = serde_json::to_vec(names).map_err(|error| Failure::new(error.to_string())).and_then(
                |bytes| {
                    folders.iter().try_for_each(|folder| crate::folder::create_private_dir(folder))?;
                    private::replace(&kept, &bytes)
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
        let bridge = Bridge::start(Parts {
            host: Arc::new(self.0),
            device,
            others,
            prompt: Arc::new(OnThePhone(printer)),
            names,
            keep_names: Box::new(keep_names),
            options: Options::default(),
        });
        let mut again = tokio::time::interval(ASK_AGAIN);
        again.reset();
        again.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Ok(Running { overview: bridge.overview(), bridge, again, printer, last: Vec::new() })
    }
}

fn read_names(kept: &Path) -> Done<Names> {
    let Some(text) = private::read(kept)? else { return Ok(Names::default()) };
    serde_json::from_str(&text).map_err(|error| {
        Failure::new(format!("{}: {error}", kept.display())).hint(
            "move it away; apps are then named anew, and what was granted to their tools counts no more",
        )
    })
}

/// Waits for what is next to be said of the phone's apps, and says it; for ever where there is no phone.
pub(super) async fn next(apps: &mut Option<Running>) -> Done {
    match apps {
        Some(running) => running.next().await,
        None => std::future::pending().await,
    }
}

impl Running {
    async fn next(&mut self) -> Done {
        tokio::select! {
            changed = self.overview.changed() => {
                if changed.is_err() {
                    return Err(Failure::new("the phone's apps are not looked after any more").code("internal"));
                }
                let overview = self.overview.borrow_and_update().clone();
                self.say(&overview)
            }
            _ = self.again.tick() => {
                let waits = |provider: &&Provider| matches!(provider.state, State::AuthorizationRequired { .. });
                let changes = self.bridge.changes();
                for provider in self.overview.borrow().providers.iter().filter(waits) {
                    changes.package(provider.package.clone());
                }
                Ok(())
            }
        }
    }

    /// Says what is new, each thing once.
    fn say(&mut self, overview: &Overview) -> Done {
        let lines = in_words(overview);
        if lines == self.last {
            return Ok(());
        }
        if self.printer.json {
            self.printer.json_value(&event(overview))?;
        } else {
            for line in lines.iter().filter(|line| !self.last.contains(line)) {
                self.printer.status(line);
            }
        }
        self.last = lines;
        Ok(())
    }
}

fn in_words(overview: &Overview) -> Vec<String> {
    if let Some(fault) = &overview.fault {
        return vec![format!("the phone's apps are not offered: {fault}")];
    }
    if overview.providers.is_empty() {
        return vec!["no app on the phone offers tools".to_owned()];
    }
    overview.providers.iter().map(row).collect()
}

fn row(provider: &Provider) -> String {
    let title = escape::line(provider.title());
    match &provider.state {
        State::Ready => match provider.tools.len() {
            1 => format!("{title} on the phone offers 1 tool"),
            count => format!("{title} on the phone offers {count} tools"),
        },
        State::AuthorizationRequired { message, hint, .. } => {
            let hint = hint.as_deref().map(|hint| format!(" ({hint})")).unwrap_or_default();
            format!("{title} on the phone wants to be allowed first: {message}{hint}")
        }
        State::Unavailable { reason } => format!("{title} on the phone is not offered for now: {reason}"),
        State::Refused { reason, hint, .. } => {
            let hint = hint.as_deref().map(|hint| format!(" ({hint})")).unwrap_or_default();
            format!("{title} on the phone is refused: {reason}{hint}")
        }
    }
}

fn event(overview: &Overview) -> Value {
    let row = |provider: &Provider| {
        let (state, reason) = match &provider.state {
            State::Ready => ("ready", None),
            State::AuthorizationRequired { message, .. } => ("authorization_required", Some(message)),
            State::Unavailable { reason } => ("unavailable", Some(reason)),
            State::Refused { reason, .. } => ("refused", Some(reason)),
        };
        json!({
            "authority": provider.authority,
            "label": provider.title(),
            "state": state,
            "reason": reason,
            "tools": provider.tools.iter().map(|tool| provider.exposed(&tool.name)).collect::<Vec<_>>(),
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
struct OnThePhone(Printer);

#[async_trait]
impl AuthorizationPrompt for OnThePhone {
    fn is_anybody_there(&self) -> bool {
        false
    }

    async fn agree(&self, _: &AuthorizationRequest) -> Agreement {
        Agreement::Declined
    }

    async fn returned(&self, _: &AuthorizationRequest) {}

    fn offer(&self, request: &AuthorizationRequest) {
        self.0.note(&format!(
            "open {} on the phone and allow it there; it is asked again by itself",
            request.label
        ));
    }
}
