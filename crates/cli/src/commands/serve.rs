//! `toolway serve`: runs the gateway until it is stopped.

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
    /// Address and port to listen on, for example 0.0.0.0 or 127.0.0.1:0 for a free port (default: 127.0.0.1:7717)
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// TLS mode; auto uses TLS unless only this computer can connect
    #[arg(long, value_enum, value_name = "MODE")]
    tls: Option<TlsFlag>,
    /// Public address of this gateway, for example https://tools.example.org
    #[arg(long, value_name = "URL")]
    public_url: Option<String>,
    /// Number of threads for connections (default: half of the processors)
    #[arg(long, value_name = "N")]
    workers: Option<usize>,
    /// Do not share this computer's own tools
    #[arg(long)]
    no_local_device: bool,
    /// Log level: error, warn, info, debug or trace, or a filter such as info,toolway_gateway=debug
    #[arg(long, value_name = "LEVEL")]
    log_level: Option<String>,
    /// Log format: text, or json (one object per line)
    #[arg(long, value_enum, value_name = "FORMAT")]
    log_format: Option<LogFormatFlag>,
    /// Set any setting, for example --set limits.connections=500; repeat the flag for more
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

/// Returns the name of a flag's value.
fn flag_value(value: impl ValueEnum) -> String {
    value.to_possible_value().map(|it| it.get_name().to_owned()).unwrap_or_default()
}

impl ServeArgs {
    /// Converts the flags to settings.
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
                CliError::usage(format!("--set {text}: = is missing"))
                    .with_hint("use --set KEY=VALUE, for example --set limits.connections=500")
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

/// Splits a setting at the first `=` outside of quotes.
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
            hint = "run `toolway doctor` to see how to fix the permissions",
            "other users can access {path}"
        );
    }
    open_files::raise_limit();
    let workers = loaded.settings.workers.unwrap_or_else(workers::default_count);
    loaded.settings.workers = Some(workers);
    let runtime = workers::runtime(workers)?;
    let result = runtime.block_on(serve(loaded, flags, context));
    // Tasks that remain now have exceeded the shutdown timeout, so do not wait for them.
    runtime.shutdown_background();
    RunningGateway::remove(&context.folder);
    drop(lock);
    result
}

async fn serve(loaded: LoadedSettings, flags: Vec<FlagSetting>, context: &CliContext) -> CliResult {
    // From here on, a stop signal starts an orderly shutdown instead of ending the process.
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
    let listen = gateway.app().address.local;
    let local = loaded.settings.local_device.enabled.then(|| local_device::LocalDevice::start(&gateway));
    // A stop signal also works while the ready message waits for the local device.
    let gateway = {
        let mut serving = std::pin::pin!(run_until_stopped(gateway, &mut signals, &loaded, &flags, context));
        tokio::select! {
            biased;
            gateway = &mut serving => gateway,
            () = ready_message::print_ready(&running, listen, local.as_ref(), context) => serving.await,
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
                return Err(CliError::new("stopped immediately; running calls were aborted").with_code("interrupted"));
            },
        }
    }
    drop(local);
    Ok(())
}

/// Serves until a stop signal. Returns the gateway for the shutdown.
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
                tracing::info!(file = %sources.file.display(), "the settings file changed");
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

/// Reloads certificates and settings.
async fn reload(
    gateway: &Gateway,
    loaded: &LoadedSettings,
    had_file: &mut bool,
    flags: &[FlagSetting],
    context: &CliContext,
) {
    match gateway.reload().await {
        Ok(()) => tracing::info!("reloaded certificates"),
        Err(error) => tracing::warn!("{error}"),
    }
    apply_settings(gateway, loaded, had_file, flags, context).await;
}

/// Reloads and validates the settings. Rules apply immediately; other changes apply after a restart, which is logged.
///
/// `had_file` is true if there has been a settings file since the start: removing the file does not remove its rules.
async fn apply_settings(
    gateway: &Gateway,
    loaded: &LoadedSettings,
    had_file: &mut bool,
    flags: &[FlagSetting],
    context: &CliContext,
) {
    match settings::load(&context.setting_sources(flags.to_vec())) {
        Ok(now) if now.file.is_none() && *had_file => tracing::warn!(
            hint = "restore it, or restart the gateway to run without it",
            "the settings file was removed; its rules apply until the next restart"
        ),
        Ok(now) => {
            *had_file |= now.file.is_some();
            for it in &now.renamed {
                tracing::warn!(hint = it.hint, "{}", it.message());
            }
            match gateway.apply(&now.settings, now.origin()).await {
                Ok(()) => tracing::info!("reloaded the rules of the settings"),
                Err(error) => tracing::error!("cannot apply the settings: {error}"),
            }
            let mut changed = loaded.differences(&now);
            changed.retain(|key| !toolway_gateway::Settings::applies_immediately(key));
            if !changed.is_empty() {
                tracing::warn!("changed settings that require a restart: {}", changed.join(", "));
            }
        }
        Err(wrong) => {
            for it in wrong {
                tracing::error!(
                    hint = it.hint,
                    "invalid setting, which prevents the next start: {}",
                    it.message()
                );
            }
        }
    }
}

/// Returns the state for other commands on this computer.
fn running_gateway(gateway: &Gateway) -> RunningGateway {
    let app = gateway.app();
    let key = app.address.pin;
    // The owner's certificate may not include a name of this computer, so other commands verify its key instead.
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
        GatewayStartError::Bind(bind) => {
            CliError::new(bind.to_string()).with_code("listen").with_hint(bind.hint()).with_hint(
                "use --listen 127.0.0.1:0 for a free port; with make: make run ARGS=\"--listen 127.0.0.1:0\"",
            )
        }
        GatewayStartError::Tls(tls) => CliError::new(tls.to_string())
            .with_code("tls")
            .with_hint("correct the file; check certificates with `toolway doctor`"),
        GatewayStartError::Store(store) => super::backup::store_error(store),
        GatewayStartError::Access(access) => CliError::new(access.to_string())
            .with_code("access")
            .with_hint("check the data folder with `toolway doctor`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn set_splits_at_the_first_equals_sign_outside_of_quotes() {
        assert_eq!(split_setting("a.b=c=d"), Some(("a.b", "c=d")));
        assert_eq!(split_setting("timeouts.tools.\"x/y=z\" = 5"), Some(("timeouts.tools.\"x/y=z\"", "5")));
        assert_eq!(split_setting("nothing"), None);
    }
}
