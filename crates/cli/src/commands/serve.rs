//! `toolway serve`: runs the gateway until it is told to stop.

mod local_device;
mod logging;
mod open_files;
mod ready_message;
mod watched_file;
mod workers;

use std::sync::Arc;

use clap::{Args, ValueEnum};
use toolway_gateway::{Gateway, GatewayOptions, GatewayStartError};

use crate::context::CliContext;
use crate::error::{CliError, CliResult};
use crate::folder::lock::FolderLock;
use crate::folder::running_gateway::RunningGateway;
use crate::settings::{self, FlagSetting, LoadedSettings};
use crate::signals::{ProcessSignal, SignalListener};
use watched_file::WatchedFile;

/// Flags of `serve`.
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Address and port to listen on, as 0.0.0.0 or 127.0.0.1:0 (0 picks a free port); else 127.0.0.1:7717
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// Encryption: auto encrypts wherever anything but this computer can connect
    #[arg(long, value_enum, value_name = "MODE")]
    tls: Option<TlsFlag>,
    /// Address under which others reach this gateway, as https://tools.example.org
    #[arg(long, value_name = "URL")]
    public_url: Option<String>,
    /// Threads that serve connections; else half as many as the machine has processors
    #[arg(long, value_name = "N")]
    workers: Option<usize>,
    /// Don't offer this computer's own tools
    #[arg(long)]
    no_local_device: bool,
    /// What is logged: error, warn, info, debug, trace, or a filter like info,toolway_gateway=debug
    #[arg(long, value_name = "LEVEL")]
    log_level: Option<String>,
    /// How log lines look: text, or json (one object a line)
    #[arg(long, value_enum, value_name = "FORMAT")]
    log_format: Option<LogFormatFlag>,
    /// Set any setting, as --set limits.connections=500; may be said more than once
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum TlsFlag {
    Auto,
    On,
    Off,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum LogFormatFlag {
    Text,
    Json,
}

/// The word that a flag's value is written as.
fn flag_value(value: impl ValueEnum) -> String {
    value.to_possible_value().map(|it| it.get_name().to_owned()).unwrap_or_default()
}

impl ServeArgs {
    /// The settings that the flags stand for.
    fn settings(&self) -> CliResult<Vec<FlagSetting>> {
        let named = [
            ("--listen", "listen", self.listen.clone()),
            ("--tls", "tls", self.tls.map(flag_value)),
            ("--public-url", "public_url", self.public_url.clone()),
            ("--workers", "workers", self.workers.map(|count| count.to_string())),
            ("--no-local-device", "local_device.enabled", self.no_local_device.then(|| "false".to_owned())),
            ("--log-level", "log.level", self.log_level.clone()),
            ("--log-format", "log.format", self.log_format.map(flag_value)),
        ];
        let mut flags: Vec<FlagSetting> = named
            .into_iter()
            .filter_map(|(flag, key, text)| {
                Some(FlagSetting { flag: flag.to_owned(), key: key.to_owned(), text: text? })
            })
            .collect();
        for text in &self.set {
            let (key, value) = split_setting(text).ok_or_else(|| {
                CliError::usage(format!("--set {text}: there is no = in it"))
                    .with_hint("write --set KEY=VALUE, as --set limits.connections=500")
            })?;
            flags.push(FlagSetting {
                flag: format!("--set {key}"),
                key: key.to_owned(),
                text: value.to_owned(),
            });
        }
        Ok(flags)
    }
}

/// Key and value, at the first `=` outside of quotes.
fn split_setting(text: &str) -> Option<(&str, &str)> {
    let mut quoted = false;
    let at = text.find(|c| {
        quoted ^= c == '"';
        c == '=' && !quoted
    })?;
    Some((text.get(..at)?.trim(), text.get(at + 1..)?.trim()))
}

/// Runs the gateway.
pub(crate) fn run(args: &ServeArgs, context: &CliContext) -> CliResult {
    let flags = args.settings()?;
    let mut loaded = settings::load(&context.setting_sources(flags.clone()))
        .map_err(|wrong| settings::settings_error(&wrong))?;
    context.folder.create()?;
    let lock = FolderLock::acquire(&context.folder)?;
    logging::init_logging(&loaded.settings.log, context.environment.stderr)?;
    for it in loaded.renamed.iter().chain(&loaded.ignored) {
        tracing::warn!(hint = it.hint, "{}", it.message());
    }
    if crate::folder::permissions_for_others(context.folder.path()).is_some() {
        let path = context.folder.path().display();
        tracing::warn!(
            hint = "`toolway doctor` says how to close it",
            "others than its owner may look into {path}"
        );
    }
    open_files::raise_limit();
    let workers = loaded.settings.workers.unwrap_or_else(workers::default_count);
    loaded.settings.workers = Some(workers);
    let runtime = workers::runtime(workers)?;
    let result = runtime.block_on(serve(loaded, flags, context));
    // What is left now was given up; nobody waits for it.
    runtime.shutdown_background();
    RunningGateway::remove(&context.folder);
    drop(lock);
    result
}

async fn serve(loaded: LoadedSettings, flags: Vec<FlagSetting>, context: &CliContext) -> CliResult {
    // From here on a signal to stop is heeded rather than ending the program where it stands.
    let mut signals = SignalListener::new()?;
    let gateway = Gateway::start(GatewayOptions {
        settings: loaded.settings.clone(),
        origin: loaded.origin(),
        data_dir: context.folder.path().to_owned(),
        tool_env: crate::tool_env::tool_env(context),
        host_names: vec![crate::host::name()],
        clock: Arc::clone(&context.clock),
    })
    .await
    .map_err(|error| start_error(&error))?;
    let running = running_gateway(&gateway);
    running.write(&context.folder)?;
    let local = loaded.settings.local_device.enabled.then(|| local_device::LocalDevice::start(&gateway));
    // Told to stop while the first command is still being waited for, it stops.
    let gateway = {
        let mut told = std::pin::pin!(run_until_stopped(gateway, &mut signals, &loaded, &flags, context));
        tokio::select! {
            biased;
            gateway = &mut told => gateway,
            () = ready_message::print_ready(&running, local.as_ref(), context) => told.await,
        }
    };
    tracing::info!("stopping");
    let stopping = gateway.shut_down();
    tokio::pin!(stopping);
    loop {
        tokio::select! {
            () = &mut stopping => break,
            signal = signals.next_signal() => if signal == ProcessSignal::Stop {
                RunningGateway::remove(&context.folder);
                return Err(CliError::new("stopped at once; calls under way were cut off").with_code("interrupted"));
            },
        }
    }
    drop(local);
    Ok(())
}

/// Serves; gives the gateway back when it is to stop.
async fn run_until_stopped(
    gateway: Gateway,
    signals: &mut SignalListener,
    loaded: &LoadedSettings,
    flags: &[FlagSetting],
    context: &CliContext,
) -> Gateway {
    let sources = context.setting_sources(flags.to_vec());
    let mut had_file = loaded.file.is_some();
    let mut watched = WatchedFile::new(sources.file.clone());
    loop {
        let signal = tokio::select! {
            signal = signals.next_signal() => signal,
            () = watched.wait_for_change() => {
                tracing::info!(file = %sources.file.display(), "the settings file has changed");
                apply_settings(&gateway, loaded, &mut had_file, flags, context).await;
                continue;
            }
        };
        match signal {
            ProcessSignal::Stop => return gateway,
            ProcessSignal::Reload => reload(&gateway, loaded, &mut had_file, flags, context).await,
        }
    }
}

/// Reads files again.
async fn reload(
    gateway: &Gateway,
    loaded: &LoadedSettings,
    had_file: &mut bool,
    flags: &[FlagSetting],
    context: &CliContext,
) {
    match gateway.reload().await {
        Ok(()) => tracing::info!("certificates were read again"),
        Err(error) => tracing::warn!("{error}"),
    }
    apply_settings(gateway, loaded, had_file, flags, context).await;
}

/// Reads the settings again and checks them whole. Rules count at once; what else has changed counts from the next
/// start on, which is said.
///
/// `had_file` says whether there has been a settings file since the start: one that goes takes no rule with it.
async fn apply_settings(
    gateway: &Gateway,
    loaded: &LoadedSettings,
    had_file: &mut bool,
    flags: &[FlagSetting],
    context: &CliContext,
) {
    match settings::load(&context.setting_sources(flags.to_vec())) {
        Ok(now) if now.file.is_none() && *had_file => tracing::warn!(
            hint = "put it back, or restart the gateway to run without it",
            "the settings file is gone; the rules that stood in it hold until the next start"
        ),
        Ok(now) => {
            *had_file |= now.file.is_some();
            for it in &now.renamed {
                tracing::warn!(hint = it.hint, "{}", it.message());
            }
            match gateway.apply(&now.settings, now.origin()).await {
                Ok(()) => tracing::info!("the rules of the settings were read again and hold"),
                Err(error) => tracing::error!("the settings were not taken in: {error}"),
            }
            let mut changed = loaded.differences(&now);
            changed.retain(|key| !toolway_gateway::Settings::applies_immediately(key));
            if !changed.is_empty() {
                tracing::warn!(
                    "settings have changed that count from the next start on: {}",
                    changed.join(", ")
                );
            }
        }
        Err(wrong) => {
            for it in wrong {
                tracing::error!(
                    hint = it.hint,
                    "a setting is wrong and would keep the next start from working: {}",
                    it.message()
                );
            }
        }
    }
}

/// What other commands on this computer are told.
fn running_gateway(gateway: &Gateway) -> RunningGateway {
    let app = gateway.app();
    let key = app.address.pin;
    // The owner's certificate need not be made out for a name of this computer.
    let certificate = app.settings.tls.cert.clone().filter(|_| app.tls.is_some() && key.is_none());
    RunningGateway { url: gateway.url(), pid: std::process::id(), key, certificate }
}

fn start_error(error: &GatewayStartError) -> CliError {
    match error {
        GatewayStartError::Settings(errors) => {
            let problem = |it: &toolway_gateway::settings::SettingError| crate::error::CliProblem {
                message: it.to_string(),
                hint: Some(it.hint.clone()),
            };
            CliError::new(error.to_string())
                .with_code("settings")
                .with_problems(errors.iter().map(problem).collect())
        }
        GatewayStartError::Bind(bind) => CliError::new(bind.to_string())
            .with_code("listen")
            .with_hint(bind.hint())
            .with_hint("--listen 127.0.0.1:0 picks a free port"),
        GatewayStartError::Tls(tls) => CliError::new(tls.to_string())
            .with_code("tls")
            .with_hint("put the file right; `toolway doctor` checks certificates"),
        GatewayStartError::Store(store) => super::backup::store_error(store),
        GatewayStartError::Access(access) => CliError::new(access.to_string())
            .with_code("access")
            .with_hint("`toolway doctor` looks at the data folder"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn set_splits_at_the_first_sign_outside_of_quotes() {
        assert_eq!(split_setting("a.b=c=d"), Some(("a.b", "c=d")));
        assert_eq!(split_setting("timeouts.tools.\"x/y=z\" = 5"), Some(("timeouts.tools.\"x/y=z\"", "5")));
        assert_eq!(split_setting("nothing"), None);
    }
}
