//! Which gateway is meant, with which token, and how it proves that it is the one.

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

/// Which gateway to ask. Without any of these: the one that runs on the data folder.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Gateway")]
pub(crate) struct ConnectArgs {
    /// Address of the gateway to ask, as https://host:7717; without it, the one that runs on the data folder
    #[arg(long, value_name = "URL", env = "TOOLWAY_GATEWAY", hide_env_values = true)]
    pub(crate) gateway: Option<String>,
    /// File that holds the token; else the variable TOOLWAY_TOKEN, else the owner's token in the data folder
    #[arg(long, value_name = "FILE", env = "TOOLWAY_TOKEN_FILE", hide_env_values = true)]
    pub(crate) token_file: Option<PathBuf>,
    /// Key of a gateway that made its own certificate, as `toolway pair` shows it: sha256:…
    #[arg(long, value_name = "KEY", requires = "gateway")]
    pub(crate) key: Option<KeyPin>,
    /// PEM file of certificate authorities to accept besides those that this computer knows
    #[arg(long, value_name = "FILE", requires = "gateway", conflicts_with = "key")]
    pub(crate) ca: Option<PathBuf>,
    /// Allow plain http:// to another computer: everyone on the way can read the token
    #[arg(long, requires = "gateway")]
    pub(crate) insecure: bool,
}

/// Where a token came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TokenLocation {
    /// `TOOLWAY_TOKEN`.
    EnvVar,
    /// A file that was named.
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

/// A gateway to ask.
#[derive(Debug)]
pub(crate) struct GatewayTarget {
    /// Its address.
    pub(crate) url: String,
    /// What makes it trusted, where it is reached over TLS.
    pub(crate) trust: GatewayTrust,
    /// The token to show.
    pub(crate) token: SecretString,
    /// Where that came from.
    pub(crate) token_place: TokenLocation,
}

/// Where a gateway is, before anything is shown to it.
#[derive(Debug, Clone)]
pub(crate) struct GatewayAddress {
    /// Its address.
    pub(crate) url: String,
    /// What makes it trusted, where it is reached over TLS.
    pub(crate) trust: GatewayTrust,
    /// Whether it runs on the data folder, so that the owner's token lies there.
    pub(crate) is_local: bool,
}

impl GatewayAddress {
    /// That of the one that is meant.
    pub(crate) fn find(args: &ConnectArgs, context: &CliContext) -> CliResult<Self> {
        match &args.gateway {
            Some(url) => named_endpoint(url, args, context),
            None => running_endpoint(context),
        }
    }

    /// The gateway there, with a token for it.
    pub(crate) fn with_token(self, token: SecretString, token_place: TokenLocation) -> GatewayTarget {
        GatewayTarget { url: self.url, trust: self.trust, token, token_place }
    }
}

impl GatewayTarget {
    /// The one that is meant.
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

/// There is nothing to show to a gateway elsewhere.
pub(crate) fn missing_token_error(url: &str) -> CliError {
    CliError::new(format!("there is no token for {url}"))
        .with_code("no_token")
        .with_hint("put one into the variable TOOLWAY_TOKEN or name a file with --token-file")
        .with_hint("on the gateway's computer `toolway tokens create --role client` makes one")
}

/// The gateway that runs on a data folder, where one does.
pub(crate) fn find_running(folder: &DataFolder) -> CliResult<Option<RunningGateway>> {
    // Without the lock the file is a leftover, and whoever listens there now is somebody else, who must not be
    // shown the owner's token.
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
            .with_hint("another data folder is named with --data-dir, a gateway elsewhere with --gateway"));
    };
    Ok(GatewayAddress { trust: gateway_trust(&gateway)?, url: gateway.url, is_local: true })
}

fn named_endpoint(text: &str, args: &ConnectArgs, context: &CliContext) -> CliResult<GatewayAddress> {
    let url: GatewayUrl = text
        .parse()
        .map_err(|error: toolway_device::BadGatewayUrl| CliError::usage(format!("--gateway: {error}")))?;
    if !url.is_secure() && !url.is_loopback() && !args.insecure {
        return Err(CliError::new(format!(
            "{url} is another computer and not reached over TLS: everyone on the way could read the token"
        ))
        .with_code("insecure")
        .with_hint("use https://, or say --insecure where the network is your own"));
    }
    let here = running_at(&url, &context.folder);
    let trust = match (&args.key, &here) {
        (Some(key), _) => GatewayTrust::Key(*key),
        (None, Some(gateway)) => gateway_trust(gateway)?,
        (None, None) => GatewayTrust::Authorities(read_ca_file(args.ca.as_deref())?),
    };
    Ok(GatewayAddress { url: url.to_string(), trust, is_local: here.is_some() })
}

/// The gateway of a data folder where it is named by its address.
fn running_at(url: &GatewayUrl, folder: &DataFolder) -> Option<RunningGateway> {
    let is_it = |it: &RunningGateway| it.url.parse::<GatewayUrl>().is_ok_and(|running| running == *url);
    find_running(folder).ok().flatten().filter(is_it)
}

/// Whether this is the address of the gateway that runs on a data folder.
pub(crate) fn is_local_gateway(url: &str, folder: &DataFolder) -> bool {
    url.parse().is_ok_and(|url| running_at(&url, folder).is_some())
}

/// The token that is named or stands in the variable.
pub(crate) fn explicit_token(
    args: &ConnectArgs,
    context: &CliContext,
) -> CliResult<Option<(SecretString, TokenLocation)>> {
    if let Some(path) = &args.token_file {
        let token = private_file::read_token(path)?.ok_or_else(|| {
            CliError::new(format!("there is no file {}", path.display()))
                .with_hint("check what --token-file names")
        })?;
        return Ok(Some((token, TokenLocation::File(path.clone()))));
    }
    let Some(text) = context.environment.variable("TOOLWAY_TOKEN") else { return Ok(None) };
    let token =
        text.to_str().ok_or_else(|| CliError::new("the variable TOOLWAY_TOKEN does not hold a token"))?;
    Ok(Some((token.trim().to_owned().into(), TokenLocation::EnvVar)))
}

/// The owner's token in a data folder.
pub(crate) fn owner_token(folder: &DataFolder) -> CliResult<(SecretString, TokenLocation)> {
    let path = folder.owner_token();
    match private_file::read_token(&path)? {
        Some(token) => Ok((token, TokenLocation::DataFolder(path))),
        None => Err(CliError::new(format!("there is no owner's token at {}", path.display()))
            .with_code("no_token")
            .with_hint("start the gateway again; it makes one where there is none")),
    }
}

/// What makes the gateway of this computer trusted: the key it says it has, or that of its certificate's file.
pub(crate) fn gateway_trust(gateway: &RunningGateway) -> CliResult<GatewayTrust> {
    match (&gateway.key, &gateway.certificate) {
        (Some(key), _) => Ok(GatewayTrust::Key(*key)),
        (None, Some(path)) => Ok(GatewayTrust::Key(read_key_pin(path)?)),
        (None, None) => Ok(GatewayTrust::default()),
    }
}

/// The key of the first certificate in a PEM file.
pub(crate) fn read_key_pin(path: &Path) -> CliResult<KeyPin> {
    let unreadable = |why: String| {
        CliError::new(format!("the certificate {} can't be read: {why}", path.display()))
            .with_code("tls")
            .with_hint("it should be a PEM file whose first certificate is the gateway's own")
    };
    let certificate = CertificateDer::from_pem_file(path).map_err(|error| unreadable(error.to_string()))?;
    pin_of(&certificate).map_err(|error| unreadable(error.to_string()))
}

/// The content of a file of authorities; nothing where none is named.
pub(crate) fn read_ca_file(path: Option<&Path>) -> CliResult<Vec<u8>> {
    match path {
        Some(path) => std::fs::read(path).map_err(|error| CliError::io("read", path, &error)),
        None => Ok(Vec::new()),
    }
}
