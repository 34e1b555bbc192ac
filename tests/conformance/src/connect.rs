//! The connection to the scenario's server, with what the gateway has around it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rustls::{ClientConfig, RootCertStore};
use secrecy::SecretString;
use toolway_core::{Engine, EngineParts, Registry, SpecCache};
use toolway_mcp::definition::ServerDefinition;
use toolway_mcp::oauth::{ClientSettings, Oauth, OauthHttp, OauthParts, TokenStore, TokenStoreError};
use toolway_mcp::upstream::{
    HttpClient, NoSecrets, State, UpstreamParts, UpstreamSettings, UpstreamStatus, Upstreams,
};
use toolway_types::{Slug, SystemClock};

use crate::browser::Willing;
use crate::scenario::Scenario;

/// The address of the document that says who this client is, for authorization servers that take such. It is the
/// suite's; nobody reads it.
const CLIENT_DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";
/// Longer than any scenario takes.
const PATIENCE: Duration = Duration::from_secs(20);
/// Between two looks at how the connection stands.
const LOOK: Duration = Duration::from_millis(10);

/// A server that can be used.
pub(crate) struct Connected {
    pub(crate) source: Slug,
    pub(crate) engine: Arc<Engine>,
    pub(crate) upstreams: Arc<Upstreams>,
}

impl Connected {
    /// Ends the connection.
    pub(crate) async fn shut_down(&self) {
        self.upstreams.shut_down(PATIENCE).await;
    }

    fn status(&self) -> Option<UpstreamStatus> {
        self.upstreams.status().into_iter().next()
    }
}

/// Connects to the scenario's server.
pub(crate) async fn connect(scenario: &Scenario) -> Result<Connected, String> {
    let source: Slug = "server".parse().map_err(|error| format!("{error}"))?;
    let registry = Registry::new();
    let engine = Engine::new(EngineParts::new(Arc::clone(&registry), Arc::new(SystemClock)));
    let parts = UpstreamParts {
        registry,
        specs: Arc::new(SpecCache::default()),
        on_registered: Arc::new(|_, _| Box::pin(async {})),
        clock: Arc::new(SystemClock),
        environment: BTreeMap::new(),
        folder: std::env::temp_dir(),
        secrets: Arc::new(NoSecrets),
        http: Arc::new(|| HttpClient::new(tls()?, "toolway-conformance")),
        authorizer: Arc::new(oauth(scenario)?),
        client_name: "toolway".to_owned(),
        client_version: env!("CARGO_PKG_VERSION").to_owned(),
        settings: UpstreamSettings::default(),
    };
    let connected = Connected { source: source.clone(), engine, upstreams: Upstreams::new(parts) };
    let definition = ServerDefinition {
        url: Some(scenario.url.clone()),
        sampling: true,
        roots: true,
        ..ServerDefinition::default()
    };
    connected.upstreams.apply([(source, definition)].into());
    match tokio::time::timeout(PATIENCE, settled(&connected)).await {
        Ok(Ok(())) => Ok(connected),
        Ok(Err(problem)) => {
            connected.shut_down().await;
            Err(problem)
        }
        Err(_) => Err(format!("not connected within {} s", PATIENCE.as_secs())),
    }
}

/// Waits until the server can be used, or can't.
async fn settled(connected: &Connected) -> Result<(), String> {
    loop {
        let status = connected.status().ok_or("the server is gone")?;
        let why = || status.problem.as_ref().map_or_else(String::new, |problem| problem.message.clone());
        match status.state {
            State::Connected => return Ok(()),
            State::Failed => return Err(format!("connecting failed: {}", why())),
            State::NeedsLogin => return Err(format!("a login is needed: {}", why())),
            State::Connecting | State::Disabled => tokio::time::sleep(LOOK).await,
        }
    }
}

fn oauth(scenario: &Scenario) -> Result<Oauth, String> {
    let settings = ClientSettings {
        client_id: scenario.context.client_id.clone(),
        client_secret: scenario.context.client_secret.clone().map(SecretString::from),
        issuer: scenario.context.issuer.clone(),
        client_metadata_url: Some(CLIENT_DOCUMENT.to_owned()),
        ..ClientSettings::default()
    };
    Ok(Oauth::new(OauthParts {
        http: OauthHttp::new(tls),
        clock: Arc::new(SystemClock),
        store: Arc::new(Memory::default()),
        settings: Arc::new(move |_| Ok(settings.clone())),
        browser: Some(Arc::new(Willing::new(tls()?)?)),
    }))
}

/// The suite's servers are all on this computer, without TLS.
fn tls() -> Result<ClientConfig, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let settings = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let settings = settings.map_err(|error| error.to_string())?;
    Ok(settings.with_root_certificates(RootCertStore::empty()).with_no_client_auth())
}

/// Keeps tokens for as long as this runs.
#[derive(Default)]
struct Memory(Mutex<HashMap<Slug, SecretString>>);

impl TokenStore for Memory {
    fn load(&self, server: &Slug) -> Result<Option<SecretString>, TokenStoreError> {
        Ok(self.0.lock().get(server).cloned())
    }

    fn save(&self, server: &Slug, text: &SecretString) -> Result<(), TokenStoreError> {
        self.0.lock().insert(server.clone(), text.clone());
        Ok(())
    }

    fn remove(&self, server: &Slug) -> Result<bool, TokenStoreError> {
        Ok(self.0.lock().remove(server).is_some())
    }
}
