//! Selects the gateway, the token and the way to verify the gateway.

use std::fmt;
use std::path::{Path, PathBuf};

use clap::Args;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use secrecy::SecretString;
use toolway_device::trust::pin_of;
use toolway_device::{GatewayTrust, GatewayUrl};
use toolway_wire::pairing::KeyPin;

use crate::context::CliContext;
use crate::error::{CliError, CliResult};
use crate::folder::running_gateway::RunningGateway;
use crate::folder::{DataFolder, lock, private_file};

/// Flags that select the gateway. Without any, commands use the one that runs on the data folder.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Gateway")]
pub(crate) struct ConnectArgs {
    /// Address of the gateway, for example https://host:7717 (default: the gateway that runs on the data folder)
    #[arg(long, value_name = "URL", env = "TOOLWAY_GATEWAY", hide_env_values = true)]
    pub(crate) gateway: Option<String>,
    /// File with the token (default: the variable TOOLWAY_TOKEN, then the owner's token in the data folder)
    #[arg(long, value_name = "FILE", env = "TOOLWAY_TOKEN_FILE", hide_env_values = true)]
    pub(crate) token_file: Option<PathBuf>,
    /// Key of a self-signed gateway as `toolway pair` prints it: sha256:…
    #[arg(long, value_name = "KEY", requires = "gateway")]
    pub(crate) key: Option<KeyPin>,
    /// PEM file with additional certificate authorities to trust
    #[arg(long, value_name = "FILE", requires = "gateway", conflicts_with = "key")]
    pub(crate) ca: Option<PathBuf>,
    /// Allow plain http:// to another computer. Anyone on the network path can read the token
    #[arg(long, requires = "gateway")]
    pub(crate) insecure: bool,
}

/// Location that a token was read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TokenLocation {
    /// The variable `TOOLWAY_TOKEN`.
    EnvVar,
    /// The file of `--token-file`.
    File(PathBuf),
    /// The data folder.
    DataFolder(PathBuf),
}

impl fmt::Display for TokenLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EnvVar => f.write_str("the variable TOOLWAY_TOKEN"),
            Self::File(path) | Self::DataFolder(path) => write!(f, "{}", path.display()),
        }
    }
}

/// A gateway with the token for it.
#[derive(Debug)]
pub(crate) struct GatewayTarget {
    /// Address of the gateway.
    pub(crate) url: String,
    /// Trust anchor for TLS.
    pub(crate) trust: GatewayTrust,
    /// Token to send.
    pub(crate) token: SecretString,
    /// Location that the token was read from.
    pub(crate) token_place: TokenLocation,
}

/// Address of a gateway, without a token.
#[derive(Debug, Clone)]
pub(crate) struct GatewayAddress {
    /// Address of the gateway.
    pub(crate) url: String,
    /// Trust anchor for TLS.
    pub(crate) trust: GatewayTrust,
    /// True if the gateway runs on the data folder, which has the owner's token.
    pub(crate) is_local: bool,
}

impl GatewayAddress {
    /// Finds the address of the selected gateway.
    pub(crate) fn find(args: &ConnectArgs, context: &CliContext) -> CliResult<Self> {
        match &args.gateway {
            Some(url) => named_endpoint(url, args, context),
            None => running_endpoint(context),
        }
    }

    /// Adds a token.
    pub(crate) fn with_token(self, token: SecretString, token_place: TokenLocation) -> GatewayTarget {
        GatewayTarget { url: self.url, trust: self.trust, token, token_place }
    }
}

impl GatewayTarget {
    /// Finds the selected gateway and a token for it.
    pub(crate) fn find(args: &ConnectArgs, context: &CliContext) -> CliResult<Self> {
        let place = GatewayAddress::find(args, context)?;
        let (token, token_place) = match explicit_token(args, context)? {
            Some(given) => given,
            None if place.is_local => owner_token(&context.folder)?,
            None => return Err(missing_token_error(&place.url)),
        };
        Ok(place.with_token(token, token_place))
    }
}

/// Creates the error for a remote gateway without a token.
pub(crate) fn missing_token_error(url: &str) -> CliError {
    CliError::new(format!("no token for {url}"))
        .with_code("no_token")
        .with_hint("set the variable TOOLWAY_TOKEN, or use --token-file")
        .with_hint("create one with `toolway tokens create --role client` on the gateway's computer")
}

/// Returns the gateway that runs on a data folder, if any.
pub(crate) fn find_running(folder: &DataFolder) -> CliResult<Option<RunningGateway>> {
    // Without the lock, the file is a leftover of a crash. Another program may listen on its address and must not
    // get the owner's token.
    if !lock::is_locked(folder) {
        return Ok(None);
    }
    RunningGateway::read(folder)
}

fn running_endpoint(context: &CliContext) -> CliResult<GatewayAddress> {
    let folder = &context.folder;
    let Some(gateway) = find_running(folder)? else {
        return Err(CliError::new(format!("no gateway is running on {}", folder.path().display()))
            .with_code("not_running")
            .with_hint(format!("start one with `toolway serve{}`", folder.data_dir_flag()))
            .with_hint(
                "use --data-dir for another data folder, or --gateway for a gateway on another computer",
            ));
    };
    Ok(GatewayAddress { trust: gateway_trust(&gateway)?, url: gateway.url, is_local: true })
}

fn named_endpoint(text: &str, args: &ConnectArgs, context: &CliContext) -> CliResult<GatewayAddress> {
    let url: GatewayUrl = text
        .parse()
        .map_err(|error: toolway_device::BadGatewayUrl| CliError::usage(format!("--gateway: {error}")))?;
    if !url.is_secure() && !url.is_loopback() && !args.insecure {
        return Err(CliError::new(format!(
            "{url} does not use TLS: anyone on the network path can read the token"
        ))
        .with_code("insecure")
        .with_hint("use https://, or --insecure if you trust the network"));
    }
    let check = if args.key.is_some() { Some("--key") } else { args.ca.as_ref().map(|_| "--ca") };
    if let Some(flag) = check.filter(|_| !url.is_secure()) {
        return Err(CliError::usage(format!(
            "{flag} needs TLS, but {url} does not use it; nothing was sent"
        ))
        .with_code("insecure")
        .with_hint(format!("use https://, or leave out {flag} if you trust everyone on the network path")));
    }
    let here = running_at(&url, &context.folder);
    let trust = match (&args.key, &here) {
        (Some(key), _) => GatewayTrust::Key(*key),
        (None, Some(gateway)) => gateway_trust(gateway)?,
        (None, None) => GatewayTrust::Authorities(read_ca_file(args.ca.as_deref())?),
    };
    Ok(GatewayAddress { url: url.to_string(), trust, is_local: here.is_some() })
}

/// Returns the gateway of the data folder if this is its address.
fn running_at(url: &GatewayUrl, folder: &DataFolder) -> Option<RunningGateway> {
    let is_it = |it: &RunningGateway| it.url.parse::<GatewayUrl>().is_ok_and(|running| running == *url);
    find_running(folder).ok().flatten().filter(is_it)
}

/// True if this is the address of the gateway that runs on the data folder.
pub(crate) fn is_local_gateway(url: &str, folder: &DataFolder) -> bool {
    url.parse().is_ok_and(|url| running_at(&url, folder).is_some())
}

/// Returns the token of `--token-file` or of the variable `TOOLWAY_TOKEN`.
pub(crate) fn explicit_token(
    args: &ConnectArgs,
    context: &CliContext,
) -> CliResult<Option<(SecretString, TokenLocation)>> {
    if let Some(path) = &args.token_file {
        let token = private_file::read_token(path)?.ok_or_else(|| {
            CliError::new(format!("file not found: {}", path.display()))
                .with_hint("check the path of --token-file")
        })?;
        return Ok(Some((token, TokenLocation::File(path.clone()))));
    }
    let Some(text) = context.environment.variable("TOOLWAY_TOKEN") else { return Ok(None) };
    let token =
        text.to_str().ok_or_else(|| CliError::new("the variable TOOLWAY_TOKEN is not a valid token"))?;
    Ok(Some((token.trim().to_owned().into(), TokenLocation::EnvVar)))
}

/// Reads the owner's token from a data folder.
pub(crate) fn owner_token(folder: &DataFolder) -> CliResult<(SecretString, TokenLocation)> {
    let path = folder.owner_token();
    match private_file::read_token(&path)? {
        Some(token) => Ok((token, TokenLocation::DataFolder(path))),
        None => Err(CliError::new(format!("the owner's token is missing: {}", path.display()))
            .with_code("no_token")
            .with_hint("restart the gateway; it creates a missing token")),
    }
}

/// Returns the trust anchor of the local gateway: the key in its state file, or the key of its certificate file.
pub(crate) fn gateway_trust(gateway: &RunningGateway) -> CliResult<GatewayTrust> {
    match (&gateway.key, &gateway.certificate) {
        (Some(key), _) => Ok(GatewayTrust::Key(*key)),
        (None, Some(path)) => Ok(GatewayTrust::Key(read_key_pin(path)?)),
        (None, None) => Ok(GatewayTrust::default()),
    }
}

/// Reads the key of the first certificate in a PEM file.
pub(crate) fn read_key_pin(path: &Path) -> CliResult<KeyPin> {
    let unreadable = |why: String| {
        CliError::new(format!("cannot read the certificate {}: {why}", path.display()))
            .with_code("tls")
            .with_hint("it must be a PEM file that starts with the gateway's certificate")
    };
    let certificate = CertificateDer::from_pem_file(path).map_err(|error| unreadable(error.to_string()))?;
    pin_of(&certificate).map_err(|error| unreadable(error.to_string()))
}

/// Reads the file of certificate authorities; empty without a path.
pub(crate) fn read_ca_file(path: Option<&Path>) -> CliResult<Vec<u8>> {
    match path {
        Some(path) => std::fs::read(path).map_err(|error| CliError::io("read", path, &error)),
        None => Ok(Vec::new()),
    }
}
