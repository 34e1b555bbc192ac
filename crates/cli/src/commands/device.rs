//! `toolway device`: offers this computer's tools to a gateway. It pairs once; what it keeps of that lies in the
//! data folder, so that later it needs no code.

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
    /// Address of the gateway, as https://host:7717; may be left out where the device is paired with one only
    #[arg(long, value_name = "URL", env = "TOOLWAY_GATEWAY", hide_env_values = true)]
    gateway: Option<String>,
    /// Pairing code or link, as `toolway pair` shows it on the gateway; needed once
    #[arg(long, value_name = "CODE")]
    pair: Option<String>,
    /// Name under which this computer is shown at the gateway; else its host name
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// TOML file that defines commands as further tools
    #[arg(long, value_name = "FILE")]
    tools: Option<PathBuf>,
    /// Offer the apps of a phone as well that adb reaches: those that need no permission to be called
    #[arg(long)]
    android: bool,
    /// Serial number of that phone, as `adb devices` shows it; may be left out where there is only one
    #[arg(long, value_name = "SERIAL", requires = "android")]
    serial: Option<String>,
    /// File that holds a device's token, instead of pairing
    #[arg(
        long,
        value_name = "FILE",
        env = "TOOLWAY_TOKEN_FILE",
        hide_env_values = true,
        conflicts_with = "pair"
    )]
    token_file: Option<PathBuf>,
    /// Key of a gateway that made its own certificate, as `toolway pair` shows it: sha256:…; pairing finds it
    #[arg(long, value_name = "KEY", requires = "gateway", conflicts_with = "pair")]
    key: Option<KeyPin>,
    /// PEM file of certificate authorities to accept besides those that this computer knows
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Allow plain http:// to another computer: everyone on the way can read the token
    #[arg(long)]
    insecure: bool,
}

/// Runs until interrupted, or until no further try would help.
pub(crate) async fn run(args: DeviceArgs, context: &CliContext) -> CliResult {
    // What can be wrong with the tools is said before a code is spent.
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
                // The sender lives as long as the device, whose end is seen below.
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
            // Also where the terminal is closed: there are no files to read again.
            _ = signals.next_signal() => {
                if stop.is_cancelled() {
                    return Err(CliError::new("stopped before everything was finished").with_code("interrupted"));
                }
                context.printer.note("stopping");
                stop.cancel();
            }
        }
    }
}

/// What to connect with: given, kept, or got by pairing.
async fn resolve_credentials(args: &DeviceArgs, context: &CliContext) -> CliResult<DeviceCredentials> {
    let kept = SavedCredentials::read(&context.folder)?;
    let name = args.name.clone();
    if let Some(text) = &args.pair {
        return pair_device(text, args, &kept, context).await;
    }
    if let Some(token) = explicit_token(args, context)? {
        let gateway = args.gateway.clone().ok_or_else(|| {
            CliError::usage("a token without a gateway")
                .with_hint("name the gateway as well: --gateway https://host:7717")
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
            CliError::new(format!("there is no file {}", path.display()))
                .with_hint("check what --token-file names")
        });
    }
    let variable = context.environment.variable("TOOLWAY_TOKEN");
    Ok(variable.and_then(|text| text.to_str()).map(|text| text.trim().to_owned().into()))
}

/// Pairs, keeps what that gave, and gives it.
async fn pair_device(
    text: &str,
    args: &DeviceArgs,
    kept: &SavedCredentials,
    context: &CliContext,
) -> CliResult<DeviceCredentials> {
    let input = PairingInput::from_str(text).map_err(|error| {
        CliError::usage(format!("--pair: {error}"))
            .with_hint("type the code, or the link in quotes, as `toolway pair` shows it")
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
            // The same command typed again, or started again by the system: the code is spent, but what it
            // gave is still there.
            if let (PairError::Refused(refusal), Some(known)) = (&error, known)
                && refusal.status == 401
            {
                context.printer.note(&format!("{error}; going on with what is kept from pairing before"));
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
        "paired with {}; what it needs later is kept in {}",
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
            .with_hint("add --gateway https://host:7717, or give the whole link"),
        PairError::Insecure(_) => failure.with_code("insecure").with_hint("--insecure allows it"),
        PairError::Refused(refusal) => {
            failure.with_code(refusal.code.clone().unwrap_or_else(|| "refused".to_owned()))
        }
        PairError::Connect(toolway_device::ConnectError::Key(_)) => failure.with_code("key_changed"),
        _ => failure
            .with_code("unreachable")
            .with_hint("check the address, and that the gateway runs and can be reached from here"),
    }
}

fn build_error(error: &toolway_device::BuildError) -> CliError {
    let failure = CliError::new(error.to_string());
    match error {
        toolway_device::BuildError::Insecure(_) => failure
            .with_code("insecure")
            .with_hint("use https://, or say --insecure where the network is your own"),
        toolway_device::BuildError::Tool(_) => {
            failure.with_code("tools_file").with_hint("correct the file that --tools names")
        }
        _ => failure.with_hint("check --gateway, --key and --ca"),
    }
}

fn new_id() -> String {
    uuid::Uuid::now_v7().to_string()
}
