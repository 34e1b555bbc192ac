//! Which gateway is meant, with which token, and how it proves that it is the one.

use std::fmt;
use std::path::{Path, PathBuf};

use clap::Args;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use secrecy::SecretString;
use toolway_device::trust::pin_of;
use toolway_device::{GatewayUrl, Trust};
use toolway_wire::pairing::KeyPin;

use crate::context::Context;
use crate::folder::running::RunningGateway;
use crate::folder::{DataFolder, lock, private};
use crate::report::{Done, Failure};

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
pub(crate) enum TokenPlace {
    /// `TOOLWAY_TOKEN`.
    Variable,
    /// A file that was named.
    File(PathBuf),
    /// The data folder.
    Folder(PathBuf),
}

impl fmt::Display for TokenPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable => f.write_str("the variable TOOLWAY_TOKEN"),
            Self::File(path) | Self::Folder(path) => write!(f, "{}", path.display()),
        }
    }
}

/// A gateway to ask.
#[derive(Debug)]
pub(crate) struct Target {
    /// Its address.
    pub(crate) url: String,
    /// What makes it trusted, where it is reached over TLS.
    pub(crate) trust: Trust,
    /// The token to show.
    pub(crate) token: SecretString,
    /// Where that came from.
    pub(crate) token_place: TokenPlace,
}

/// Where a gateway is, before anything is shown to it.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    /// Its address.
    pub(crate) url: String,
    /// What makes it trusted, where it is reached over TLS.
    pub(crate) trust: Trust,
    /// Whether it runs on the data folder, so that the owner's token lies there.
    pub(crate) is_here: bool,
}

impl Place {
    /// That of the one that is meant.
    pub(crate) fn find(args: &ConnectArgs, context: &Context) -> Done<Self> {
        match &args.gateway {
            Some(url) => named(url, args, context),
            None => running(context),
        }
    }

    /// The gateway there, with a token for it.
    pub(crate) fn with(self, token: SecretString, token_place: TokenPlace) -> Target {
        Target { url: self.url, trust: self.trust, token, token_place }
    }
}

impl Target {
    /// The one that is meant.
    pub(crate) fn find(args: &ConnectArgs, context: &Context) -> Done<Self> {
        let place = Place::find(args, context)?;
        let (token, token_place) = match given_token(args, context)? {
            Some(given) => given,
            None if place.is_here => owner_token(&context.folder)?,
            None => return Err(no_token(&place.url)),
        };
        Ok(place.with(token, token_place))
    }
}

/// There is nothing to show to a gateway elsewhere.
pub(crate) fn no_token(url: &str) -> Failure {
    Failure::new(format!("there is no token for {url}"))
        .code("no_token")
        .hint("put one into the variable TOOLWAY_TOKEN or name a file with --token-file")
        .hint("on the gateway's computer `toolway tokens create --role client` makes one")
}

/// The gateway that runs on a data folder, where one does.
pub(crate) fn running_on(folder: &DataFolder) -> Done<Option<RunningGateway>> {
    // Without the lock the file is a leftover, and whoever listens there now is somebody else, who must not be
    // shown the owner's token.
    if !lock::is_held(folder) {
        return Ok(None);
    }
    RunningGateway::read(folder)
}

fn running(context: &Context) -> Done<Place> {
    let folder = &context.folder;
    let Some(gateway) = running_on(folder)? else {
        return Err(Failure::new(format!("no gateway is running on {}", folder.path().display()))
            .code("not_running")
            .hint(format!("start one with `toolway serve{}`", folder.flag()))
            .hint("another data folder is named with --data-dir, a gateway elsewhere with --gateway"));
    };
    Ok(Place { trust: trust_of(&gateway)?, url: gateway.url, is_here: true })
}

fn named(text: &str, args: &ConnectArgs, context: &Context) -> Done<Place> {
    let url: GatewayUrl = text
        .parse()
        .map_err(|error: toolway_device::BadAddress| Failure::usage(format!("--gateway: {error}")))?;
    if !url.is_secure() && !url.is_loopback() && !args.insecure {
        return Err(Failure::new(format!(
            "{url} is another computer and not reached over TLS: everyone on the way could read the token"
        ))
        .code("insecure")
        .hint("use https://, or say --insecure where the network is your own"));
    }
    let here = running_at(&url, &context.folder);
    let trust = match (&args.key, &here) {
        (Some(key), _) => Trust::Key(*key),
        (None, Some(gateway)) => trust_of(gateway)?,
        (None, None) => Trust::Authorities(authorities(args.ca.as_deref())?),
    };
    Ok(Place { url: url.to_string(), trust, is_here: here.is_some() })
}

/// The gateway of a data folder where it is named by its address.
fn running_at(url: &GatewayUrl, folder: &DataFolder) -> Option<RunningGateway> {
    let is_it = |it: &RunningGateway| it.url.parse::<GatewayUrl>().is_ok_and(|running| running == *url);
    running_on(folder).ok().flatten().filter(is_it)
}

/// Whether this is the address of the gateway that runs on a data folder.
pub(crate) fn is_here(url: &str, folder: &DataFolder) -> bool {
    url.parse().is_ok_and(|url| running_at(&url, folder).is_some())
}

/// The token that is named or stands in the variable.
pub(crate) fn given_token(args: &ConnectArgs, context: &Context) -> Done<Option<(SecretString, TokenPlace)>> {
    if let Some(path) = &args.token_file {
        let token = private::read_token(path)?.ok_or_else(|| {
            Failure::new(format!("there is no file {}", path.display())).hint("check what --token-file names")
        })?;
        return Ok(Some((token, TokenPlace::File(path.clone()))));
    }
    let Some(text) = context.environment.variable("TOOLWAY_TOKEN") else { return Ok(None) };
    let token =
        text.to_str().ok_or_else(|| Failure::new("the variable TOOLWAY_TOKEN does not hold a token"))?;
    Ok(Some((token.trim().to_owned().into(), TokenPlace::Variable)))
}

/// The owner's token in a data folder.
pub(crate) fn owner_token(folder: &DataFolder) -> Done<(SecretString, TokenPlace)> {
    let path = folder.owner_token();
    match private::read_token(&path)? {
        Some(token) => Ok((token, TokenPlace::Folder(path))),
        None => Err(Failure::new(format!("there is no owner's token at {}", path.display()))
            .code("no_token")
            .hint("start the gateway again; it makes one where there is none")),
    }
}

/// What makes the gateway of this computer trusted: the key it says it has, or that of its certificate's file.
pub(crate) fn trust_of(gateway: &RunningGateway) -> Done<Trust> {
    match (&gateway.key, &gateway.certificate) {
        (Some(key), _) => Ok(Trust::Key(*key)),
        (None, Some(path)) => Ok(Trust::Key(pin_of_file(path)?)),
        (None, None) => Ok(Trust::default()),
    }
}

/// The key of the first certificate in a PEM file.
pub(crate) fn pin_of_file(path: &Path) -> Done<KeyPin> {
    let unreadable = |why: String| {
        Failure::new(format!("the certificate {} can't be read: {why}", path.display()))
            .code("tls")
            .hint("it should be a PEM file whose first certificate is the gateway's own")
    };
    let certificate = CertificateDer::from_pem_file(path).map_err(|error| unreadable(error.to_string()))?;
    pin_of(&certificate).map_err(|error| unreadable(error.to_string()))
}

/// The content of a file of authorities; nothing where none is named.
pub(crate) fn authorities(path: Option<&Path>) -> Done<Vec<u8>> {
    match path {
        Some(path) => std::fs::read(path).map_err(|error| Failure::io("read", path, &error)),
        None => Ok(Vec::new()),
    }
}
