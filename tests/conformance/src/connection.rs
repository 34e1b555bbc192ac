//! The connection to the scenario's server, with the gateway's dependencies.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rustls::{ClientConfig, RootCertStore};
use secrecy::SecretString;
use toolway_core::{Engine, EngineParts, Registry, SpecCache};
use toolway_mcp::definition::{ServerDefinition, SubjectTokenType};
use toolway_mcp::oauth::{
    AssertionSource, ClientKey, IdentityProviderSettings, OauthAuthorizer, OauthClientSettings, OauthDeps,
    OauthGrant, OauthHttpClient, TokenStore, TokenStoreError,
};
use toolway_mcp::upstream::{
    UpstreamDeps, UpstreamHttpClient, UpstreamManager, UpstreamSettings, UpstreamState, UpstreamStatus,
};
use toolway_types::{Slug, SystemClock};

use crate::browser::ApprovingBrowser;
use crate::scenario::Scenario;

/// URL of the client metadata document, for authorization servers that support it. It is the suite's; nobody
/// reads it.
const CLIENT_DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";
/// Longer than any scenario.
const TIMEOUT: Duration = Duration::from_secs(20);
/// Interval between checks of the connection.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// A connected server.
pub(crate) struct ConnectedServer {
    pub(crate) source: Slug,
    pub(crate) engine: Arc<Engine>,
    pub(crate) upstreams: Arc<UpstreamManager>,
}

impl ConnectedServer {
    /// Closes the connection.
    pub(crate) async fn shut_down(&self) {
        self.upstreams.shut_down(TIMEOUT).await;
    }

    fn status(&self) -> Option<UpstreamStatus> {
        self.upstreams.status().into_iter().next()
    }
}

/// Connects to the scenario's server.
pub(crate) async fn connect(scenario: &Scenario) -> Result<ConnectedServer, String> {
    let source: Slug = "server".parse().map_err(|error| format!("{error}"))?;
    let registry = Registry::new();
    let engine = Engine::new(EngineParts::new(Arc::clone(&registry), Arc::new(SystemClock)));
    let parts = UpstreamDeps {
        registry,
        specs: Arc::new(SpecCache::default()),
        on_registered: Arc::new(|_, _| Box::pin(async {})),
        clock: Arc::new(SystemClock),
        environment: BTreeMap::new(),
        folder: std::env::temp_dir(),
        secrets: Arc::new(toolway_secrets::NoSecrets),
        http: Arc::new(|| UpstreamHttpClient::new(tls_config()?, "toolway-conformance")),
        authorizer: Arc::new(oauth(scenario)?),
        client_name: "toolway".to_owned(),
        client_version: env!("CARGO_PKG_VERSION").to_owned(),
        settings: UpstreamSettings::default(),
    };
    let connected =
        ConnectedServer { source: source.clone(), engine, upstreams: UpstreamManager::new(parts) };
    let definition = ServerDefinition {
        url: Some(scenario.url.clone()),
        sampling: true,
        roots: true,
        ..ServerDefinition::default()
    };
    connected.upstreams.apply([(source, definition)].into());
    match tokio::time::timeout(TIMEOUT, wait_until_settled(&connected)).await {
        Ok(Ok(())) => Ok(connected),
        Ok(Err(problem)) => {
            connected.shut_down().await;
            Err(problem)
        }
        Err(_) => Err(format!("not connected within {} s", TIMEOUT.as_secs())),
    }
}

/// Waits until the server is usable or has failed.
async fn wait_until_settled(connected: &ConnectedServer) -> Result<(), String> {
    loop {
        let status = connected.status().ok_or("the server is gone")?;
        let why = || status.problem.as_ref().map_or_else(String::new, |problem| problem.message.clone());
        match status.state {
            UpstreamState::Connected => return Ok(()),
            UpstreamState::Failed => return Err(format!("connecting failed: {}", why())),
            UpstreamState::NeedsLogin => return Err(format!("a login is needed: {}", why())),
            UpstreamState::Connecting | UpstreamState::Disabled => tokio::time::sleep(POLL_INTERVAL).await,
        }
    }
}

/// The grant of the scenario.
fn grant(scenario: &Scenario) -> OauthGrant {
    let context = &scenario.context;
    let secret = |text: &Option<String>| text.clone().map(SecretString::from);
    if let Some(subject_token) = secret(&context.idp_id_token) {
        return OauthGrant::EnterpriseManaged(IdentityProviderSettings {
            issuer: context.idp_issuer.clone().unwrap_or_default(),
            token_endpoint: None,
            client_id: context.idp_client_id.clone().unwrap_or_default(),
            client_secret: None,
            private_key: None,
            subject_token,
            subject_token_type: SubjectTokenType::IdToken,
        });
    }
    if let Some(assertion) = secret(&context.valid_jwt) {
        return OauthGrant::JwtBearer(AssertionSource::Issued(assertion));
    }
    match scenario.name.starts_with("auth/client-credentials") {
        true => OauthGrant::ClientCredentials,
        false => OauthGrant::AuthorizationCode,
    }
}

fn oauth(scenario: &Scenario) -> Result<OauthAuthorizer, String> {
    let key = scenario.context.private_key_pem.clone();
    let settings = OauthClientSettings {
        grant: grant(scenario),
        client_id: scenario.context.client_id.clone(),
        client_secret: scenario.context.client_secret.clone().map(SecretString::from),
        private_key: key.map(|pem| ClientKey { pem: pem.into(), id: None }),
        issuer: scenario.context.issuer.clone(),
        client_metadata_url: Some(CLIENT_DOCUMENT.to_owned()),
        ..OauthClientSettings::default()
    };
    Ok(OauthAuthorizer::new(OauthDeps {
        http: OauthHttpClient::new(tls_config),
        clock: Arc::new(SystemClock),
        store: Arc::new(MemoryTokenStore::default()),
        settings: Arc::new(move |_| Ok(settings.clone())),
        browser: Some(Arc::new(ApprovingBrowser::new(tls_config()?)?)),
    }))
}

/// The suite's servers are all on this computer, without TLS.
fn tls_config() -> Result<ClientConfig, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let settings = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let settings = settings.map_err(|error| error.to_string())?;
    Ok(settings.with_root_certificates(RootCertStore::empty()).with_no_client_auth())
}

/// Stores tokens in memory.
#[derive(Default)]
struct MemoryTokenStore(Mutex<HashMap<Slug, SecretString>>);

impl TokenStore for MemoryTokenStore {
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
