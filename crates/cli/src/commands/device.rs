//! `toolway device`: offers this computer's tools to a gateway. It pairs once; what it keeps of that lies in the
//! data folder, so that later it needs no code.

mod android;
mod credentials;
mod says;

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use secrecy::SecretString;
use serde_json::json;
use toolway_device::{
    CancellationToken, Device, GatewayUrl, KeyPin, PairError, PairOptions, PairRequest, PairingInput, Trust,
};

use crate::client::find;
use crate::context::Context;
use crate::folder::private;
use crate::host;
use crate::report::{Done, Failure};
use crate::signals;
use credentials::{Credentials, Kept};

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
pub(crate) async fn run(args: DeviceArgs, context: &Context) -> Done {
    // What can be wrong with the tools is said before a code is spent.
    let mut tools = host::tools();
    if let Some(path) = &args.tools {
        tools.extend(host::command_tools(path, &context.environment)?);
    }
    let apps = match args.android {
        true => Some(android::Apps::new(args.serial.as_deref(), context)?),
        false => None,
    };
    let credentials = credentials(&args, context).await?;
    let url: GatewayUrl = credentials
        .gateway
        .parse()
        .map_err(|error: toolway_device::BadAddress| Failure::usage(format!("--gateway: {error}")))?;
    let authorities = find::authorities(args.ca.as_deref().or(credentials.ca.as_deref()))?;
    let device = Device::builder(url.to_string())
        .token(credentials.token.clone())
        .trust(Trust::of(credentials.key, &authorities))
        .insecure(args.insecure || credentials.insecure)
        .device_id(&credentials.device_id)
        .name(&credentials.name)
        .platform(host::platform())
        .app_version(env!("CARGO_PKG_VERSION"))
        .tools(tools.clone())
        .build()
        .map_err(|error| of_build(&error))?;
    let mut status = device.handle().status();
    let stop = CancellationToken::new();
    let mut apps = match apps {
        Some(apps) => Some(apps.start(device.handle(), &credentials.device_id, tools, context)?),
        None => None,
    };
    let running = tokio::spawn(device.run(stop.clone()));
    let mut says = says::Says::new(&context.printer, url.to_string());
    let mut signals = signals::Signals::new()?;
    tokio::pin!(running);
    loop {
        tokio::select! {
            changed = status.changed() => {
                // The sender lives as long as the device, whose end is seen below.
                if changed.is_ok() {
                    let now = status.borrow_and_update().clone();
                    says.status(&now)?;
                }
            }
            ended = &mut running => {
                let result = ended.unwrap_or_else(|error| Err(toolway_device::Stopped::Goodbye(error.to_string())));
                return result.map_err(|stopped| {
                    Failure::new(stopped.to_string()).code(says::code(&stopped)).hint(stopped.hint())
                });
            }
            said = android::next(&mut apps) => said?,
            // Also where the terminal is closed: there are no files to read again.
            _ = signals.next() => {
                if stop.is_cancelled() {
                    return Err(Failure::new("stopped before everything was finished").code("interrupted"));
                }
                context.printer.note("stopping");
                stop.cancel();
            }
        }
    }
}

/// What to connect with: given, kept, or got by pairing.
async fn credentials(args: &DeviceArgs, context: &Context) -> Done<Credentials> {
    let kept = Kept::read(&context.folder)?;
    let name = args.name.clone();
    if let Some(text) = &args.pair {
        return paired(text, args, &kept, context).await;
    }
    if let Some(token) = given_token(args, context)? {
        let gateway = args.gateway.clone().ok_or_else(|| {
            Failure::usage("a token without a gateway")
                .hint("name the gateway as well: --gateway https://host:7717")
        })?;
        let known = kept.find(Some(&gateway), name.as_deref()).ok();
        return Ok(Credentials {
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

fn given_token(args: &DeviceArgs, context: &Context) -> Done<Option<SecretString>> {
    if let Some(path) = &args.token_file {
        return private::read_token(path)?.map(Some).ok_or_else(|| {
            Failure::new(format!("there is no file {}", path.display())).hint("check what --token-file names")
        });
    }
    let variable = context.environment.variable("TOOLWAY_TOKEN");
    Ok(variable.and_then(|text| text.to_str()).map(|text| text.trim().to_owned().into()))
}

/// Pairs, keeps what that gave, and gives it.
async fn paired(text: &str, args: &DeviceArgs, kept: &Kept, context: &Context) -> Done<Credentials> {
    let input = PairingInput::from_str(text).map_err(|error| {
        Failure::usage(format!("--pair: {error}"))
            .hint("type the code, or the link in quotes, as `toolway pair` shows it")
    })?;
    let gateway = match (&args.gateway, &input) {
        (Some(url), _) => Some(url.as_str()),
        (None, PairingInput::Link(link)) => Some(link.url.as_str()),
        (None, PairingInput::Code(_)) => None,
    };
    let known = gateway.and_then(|gateway| kept.exactly(gateway, args.name.as_deref()));
    let device_id = known.map_or_else(new_id, |known| known.device_id.clone());
    let name = args.name.clone().unwrap_or_else(host::name);
    let about = PairRequest {
        device_id: Some(device_id.clone()),
        name: Some(name.clone()),
        platform: Some(host::platform()),
    };
    let options =
        PairOptions { authorities: find::authorities(args.ca.as_deref())?, insecure: args.insecure };
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
            return Err(of_pairing(&error));
        }
    };
    let credentials = Credentials {
        gateway: got.url,
        token: got.token,
        key: got.key,
        device_id,
        name,
        ca: args.ca.as_ref().map(|path| std::path::absolute(path).unwrap_or_else(|_| path.clone())),
        insecure: args.insecure,
    };
    let path = credentials.keep(&context.folder, args.name.as_deref())?;
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

fn of_pairing(error: &PairError) -> Failure {
    let failure = Failure::new(error.to_string()).maybe_hint(error.hint());
    match error {
        PairError::NoAddress => {
            failure.code("no_gateway").hint("add --gateway https://host:7717, or give the whole link")
        }
        PairError::Insecure(_) => failure.code("insecure").hint("--insecure allows it"),
        PairError::Refused(refusal) => {
            failure.code(refusal.code.clone().unwrap_or_else(|| "refused".to_owned()))
        }
        PairError::Connect(toolway_device::ConnectError::Key(_)) => failure.code("key_changed"),
        _ => failure
            .code("unreachable")
            .hint("check the address, and that the gateway runs and can be reached from here"),
    }
}

fn of_build(error: &toolway_device::BuildError) -> Failure {
    let failure = Failure::new(error.to_string());
    match error {
        toolway_device::BuildError::Insecure(_) => {
            failure.code("insecure").hint("use https://, or say --insecure where the network is your own")
        }
        toolway_device::BuildError::Tool(_) => {
            failure.code("tools_file").hint("correct the file that --tools names")
        }
        _ => failure.hint("check --gateway, --key and --ca"),
    }
}

fn new_id() -> String {
    uuid::Uuid::now_v7().to_string()
}
