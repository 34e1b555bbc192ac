//! `toolway device`: shares this computer's tools with a gateway. It pairs once and stores its credentials in the data
//! folder, so that later runs need no code.

mod android;
mod credentials;
mod status_reporter;

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use secrecy::SecretString;
use serde_json::json;
use toolway_device::{
    CancellationToken, Device, GatewayTrust, GatewayUrl, KeyPin, PairError, PairOptions, PairRequest,
    PairingInput,
};

use crate::client::target;
use crate::context::CliContext;
use crate::error::{CliError, CliResult};
use crate::folder::private_file;
use crate::host;
use crate::signals;
use credentials::{DeviceCredentials, SavedCredentials};

/// Flags of `device`.
#[derive(Debug, Args)]
pub(crate) struct DeviceArgs {
    /// Address of the gateway, for example https://host:7717 (default: the only paired gateway)
    #[arg(long, value_name = "URL", env = "TOOLWAY_GATEWAY", hide_env_values = true)]
    gateway: Option<String>,
    /// Pairing code or link from `toolway pair` on the gateway (needed once)
    #[arg(long, value_name = "CODE")]
    pair: Option<String>,
    /// Name of this computer at the gateway (default: its host name)
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// TOML file that defines more tools as commands
    #[arg(long, value_name = "FILE")]
    tools: Option<PathBuf>,
    /// Also share the apps of a phone that adb reaches, if their tools need no permission
    #[arg(long)]
    android: bool,
    /// Serial number of the phone, as `adb devices` shows it (default: the only phone)
    #[arg(long, value_name = "SERIAL", requires = "android")]
    serial: Option<String>,
    /// File with a device token, instead of pairing
    #[arg(
        long,
        value_name = "FILE",
        env = "TOOLWAY_TOKEN_FILE",
        hide_env_values = true,
        conflicts_with = "pair"
    )]
    token_file: Option<PathBuf>,
    /// Key of a self-signed gateway as `toolway pair` prints it: sha256:… (pairing finds it)
    #[arg(long, value_name = "KEY", requires = "gateway", conflicts_with = "pair")]
    key: Option<KeyPin>,
    /// PEM file with additional certificate authorities to trust
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Allow plain http:// to another computer. Anyone on the network path can read the token
    #[arg(long)]
    insecure: bool,
}

/// Runs until the user interrupts or an error is permanent.
pub(crate) async fn run(args: DeviceArgs, context: &CliContext) -> CliResult {
    // Check the tools before the pairing code is used up.
    let mut tools = host::tools();
    if let Some(path) = &args.tools {
        tools.extend(host::command_tools(path, &context.environment)?);
    }
    let apps = match args.android {
        true => Some(android::AppBridgeBuilder::new(args.serial.as_deref(), context)?),
        false => None,
    };
    let credentials = resolve_credentials(&args, context).await?;
    let url: GatewayUrl = credentials
        .gateway
        .parse()
        .map_err(|error: toolway_device::BadGatewayUrl| CliError::usage(format!("--gateway: {error}")))?;
    let authorities = target::read_ca_file(args.ca.as_deref().or(credentials.ca.as_deref()))?;
    let device = Device::builder(url.to_string())
        .token(credentials.token.clone())
        .trust(GatewayTrust::from_settings(credentials.key, &authorities))
        .insecure(args.insecure || credentials.insecure)
        .device_id(&credentials.device_id)
        .name(&credentials.name)
        .platform(host::platform())
        .app_version(env!("CARGO_PKG_VERSION"))
        .tools(tools.clone())
        .build()
        .map_err(|error| build_error(&error))?;
    let mut status = device.handle().status();
    let stop = CancellationToken::new();
    let mut apps = match apps {
        Some(apps) => Some(apps.start(device.handle(), &credentials.device_id, tools, context)?),
        None => None,
    };
    let running = tokio::spawn(device.run(stop.clone()));
    let mut says = status_reporter::StatusReporter::new(&context.printer, url.to_string());
    let mut signals = signals::SignalListener::new()?;
    tokio::pin!(running);
    loop {
        tokio::select! {
            changed = status.changed() => {
                // The sender lives as long as the device, which ends in the branch below.
                if changed.is_ok() {
                    let now = status.borrow_and_update().clone();
                    says.report(&now)?;
                }
            }
            ended = &mut running => {
                let result = ended.unwrap_or_else(|error| Err(toolway_device::DeviceError::Goodbye(error.to_string())));
                return result.map_err(|stopped| {
                    CliError::new(stopped.to_string()).with_code(status_reporter::stop_code(&stopped)).with_hint(stopped.hint())
                });
            }
            said = android::print_next_change(&mut apps) => said?,
            // A hangup stops too: this command has no files to reload.
            _ = signals.next_signal() => {
                if stop.is_cancelled() {
                    return Err(CliError::new("interrupted before all calls were finished").with_code("interrupted"));
                }
                context.printer.note("stopping");
                stop.cancel();
            }
        }
    }
}

/// Returns the credentials: from flags, from pairing, or stored ones.
async fn resolve_credentials(args: &DeviceArgs, context: &CliContext) -> CliResult<DeviceCredentials> {
    let kept = SavedCredentials::read(&context.folder)?;
    let name = args.name.clone();
    if let Some(text) = &args.pair {
        return pair_device(text, args, &kept, context).await;
    }
    if let Some(token) = explicit_token(args, context)? {
        let gateway = args.gateway.clone().ok_or_else(|| {
            CliError::usage("a token requires --gateway").with_hint("add --gateway https://host:7717")
        })?;
        let known = kept.find(Some(&gateway), name.as_deref()).ok();
        return Ok(DeviceCredentials {
            token,
            key: args.key,
            device_id: known.map_or_else(new_id, |known| known.device_id.clone()),
            name: name.unwrap_or_else(host::name),
            ca: args.ca.clone(),
            insecure: args.insecure,
            gateway,
        });
    }
    let mut found = kept.find(args.gateway.as_deref(), name.as_deref())?.clone();
    found.key = args.key.or(found.key);
    if let Some(name) = name {
        found.name = name;
    }
    Ok(found)
}

fn explicit_token(args: &DeviceArgs, context: &CliContext) -> CliResult<Option<SecretString>> {
    if let Some(path) = &args.token_file {
        return private_file::read_token(path)?.map(Some).ok_or_else(|| {
            CliError::new(format!("file not found: {}", path.display()))
                .with_hint("check the path of --token-file")
        });
    }
    let variable = context.environment.variable("TOOLWAY_TOKEN");
    Ok(variable.and_then(|text| text.to_str()).map(|text| text.trim().to_owned().into()))
}

/// Pairs, stores the credentials and returns them.
async fn pair_device(
    text: &str,
    args: &DeviceArgs,
    kept: &SavedCredentials,
    context: &CliContext,
) -> CliResult<DeviceCredentials> {
    let input = PairingInput::from_str(text).map_err(|error| {
        CliError::usage(format!("--pair: {error}"))
            .with_hint("use the code or the quoted link from `toolway pair`")
    })?;
    let gateway = match (&args.gateway, &input) {
        (Some(url), _) => Some(url.as_str()),
        (None, PairingInput::Link(link)) => Some(link.url.as_str()),
        (None, PairingInput::Code(_)) => None,
    };
    let known = gateway.and_then(|gateway| kept.find_exact(gateway, args.name.as_deref()));
    let device_id = known.map_or_else(new_id, |known| known.device_id.clone());
    let name = args.name.clone().unwrap_or_else(host::name);
    let about = PairRequest {
        device_id: Some(device_id.clone()),
        name: Some(name.clone()),
        platform: Some(host::platform()),
    };
    let options =
        PairOptions { authorities: target::read_ca_file(args.ca.as_deref())?, insecure: args.insecure };
    let got = match toolway_device::pair(args.gateway.as_deref(), &input, &about, &options).await {
        Ok(got) => got,
        Err(error) => {
            // The same command ran again, by the user or the service manager: the code is used up, but the stored
            // credentials still work.
            if let (PairError::Refused(refusal), Some(known)) = (&error, known)
                && refusal.status == 401
            {
                context.printer.note(&format!("{error}; using the credentials of an earlier pairing"));
                return Ok(known.clone());
            }
            return Err(pairing_error(&error));
        }
    };
    let credentials = DeviceCredentials {
        gateway: got.url,
        token: got.token,
        key: got.key,
        device_id,
        name,
        ca: args.ca.as_ref().map(|path| std::path::absolute(path).unwrap_or_else(|_| path.clone())),
        insecure: args.insecure,
    };
    let path = credentials.save(&context.folder, args.name.as_deref())?;
    if context.printer.json {
        context
            .printer
            .json_value(&json!({"event": "paired", "gateway": credentials.gateway, "file": path}))?;
    }
    context.printer.note(&format!(
        "paired with {}; stored the credentials in {}",
        credentials.gateway,
        path.display()
    ));
    Ok(credentials)
}

fn pairing_error(error: &PairError) -> CliError {
    let failure = CliError::new(error.to_string()).with_optional_hint(error.hint());
    match error {
        PairError::NoAddress => failure
            .with_code("no_gateway")
            .with_hint("add --gateway https://host:7717, or use the complete link"),
        PairError::Insecure(_) => {
            failure.with_code("insecure").with_hint("use https://, or --insecure if you trust the network")
        }
        PairError::Refused(refusal) => {
            failure.with_code(refusal.code.clone().unwrap_or_else(|| "refused".to_owned()))
        }
        PairError::Connect(toolway_device::ConnectError::Key(_)) => failure.with_code("key_changed"),
        _ => failure
            .with_code("unreachable")
            .with_hint("check the address, and that the gateway is running and reachable"),
    }
}

fn build_error(error: &toolway_device::BuildError) -> CliError {
    let failure = CliError::new(error.to_string());
    match error {
        toolway_device::BuildError::Insecure(_) => {
            failure.with_code("insecure").with_hint("use https://, or --insecure if you trust the network")
        }
        toolway_device::BuildError::Tool(_) => {
            failure.with_code("tools_file").with_hint("correct the file of --tools")
        }
        _ => failure.with_hint("check --gateway, --key and --ca"),
    }
}

fn new_id() -> String {
    uuid::Uuid::now_v7().to_string()
}
