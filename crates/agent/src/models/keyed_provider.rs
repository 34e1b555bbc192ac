//! A model provider whose key is read when it is first needed, and again when the provider refuses it: a key that
//! was changed counts without a restart.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::{StreamExt as _, stream};
use parking_lot::Mutex;
use secrecy::{ExposeSecret as _, SecretString};
use toolway_models::config::ProviderConfig;
use toolway_models::provider::{AvailableModel, ProviderLimits};
use toolway_models::schema::NotExpressible;
use toolway_models::tools::ConvertedTool;
use toolway_models::{
    ModelError, ModelErrorKind, ModelEvent, ModelProvider, ModelRequest, ModelStream, ProviderKind,
    ToolDefinition,
};
use toolway_types::RawJson;

use toolway_secrets::{SecretLocation, SecretReader};

/// Creates a provider from its configuration.
pub(crate) type ProviderFactory = Arc<dyn Fn(ProviderConfig) -> Arc<dyn ModelProvider> + Send + Sync>;

/// A provider that reads its key when it needs it. Cheap to clone; clones share their state.
#[derive(Clone)]
pub(super) struct KeyedProvider(Arc<KeyedProviderInner>);

struct KeyedProviderInner {
    /// Without the key.
    config: ProviderConfig,
    location: Option<SecretLocation>,
    keys: Arc<dyn SecretReader>,
    factory: ProviderFactory,
    /// A provider without a key, for everything that needs none.
    keyless: Arc<dyn ModelProvider>,
    current: Mutex<Option<ProviderWithKey>>,
}

/// A provider with the key that it was made with.
#[derive(Clone)]
struct ProviderWithKey {
    key: Option<SecretString>,
    provider: Arc<dyn ModelProvider>,
}

impl fmt::Debug for KeyedProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyedProvider").field("config", &self.0.config).finish_non_exhaustive()
    }
}

impl KeyedProvider {
    pub(super) fn new(
        config: ProviderConfig,
        place: Option<SecretLocation>,
        keys: Arc<dyn SecretReader>,
        make: ProviderFactory,
    ) -> Self {
        let keyless = make(config.clone());
        Self(Arc::new(KeyedProviderInner {
            config,
            location: place,
            keys,
            factory: make,
            keyless,
            current: Mutex::new(None),
        }))
    }

    /// Reads the key anew for the next request.
    pub(super) fn forget_key(&self) {
        *self.0.current.lock() = None;
    }

    /// The provider with its key.
    async fn provider(&self) -> Result<ProviderWithKey, ModelError> {
        if let Some(current) = self.0.current.lock().clone() {
            return Ok(current);
        }
        self.load_provider().await
    }

    /// Loads the provider again. Returns it if its key differs from the `refused` one.
    async fn provider_with_new_key(&self, refused: &ProviderWithKey) -> Option<ProviderWithKey> {
        self.0.location.as_ref()?;
        // If the key can't be read any more, the caller reports the provider's error.
        let renewed = self.load_provider().await.ok()?;
        let text = |it: &ProviderWithKey| it.key.as_ref().map(|key| key.expose_secret().to_owned());
        (text(&renewed) != text(refused)).then_some(renewed)
    }

    async fn load_provider(&self) -> Result<ProviderWithKey, ModelError> {
        let key = match self.0.location.clone() {
            None => None,
            Some(place) => Some(self.read_key(place).await?),
        };
        let mut config = self.0.config.clone();
        config.key.clone_from(&key);
        let made = ProviderWithKey { key, provider: (self.0.factory)(config) };
        *self.0.current.lock() = Some(made.clone());
        Ok(made)
    }

    async fn read_key(&self, place: SecretLocation) -> Result<SecretString, ModelError> {
        let keys = Arc::clone(&self.0.keys);
        let name = Arc::clone(&self.0.config.name);
        let failed = |message: String| {
            let hint = format!(
                "put the key there, or say in models.toml where it is; `toolway models test {name}` tries it"
            );
            ModelError::new(ModelErrorKind::Auth, Arc::clone(&name), message).with_hint(hint)
        };
        let read = tokio::task::spawn_blocking(move || {
            keys.read(&place).map_err(|error| format!("no key in {place}: {}", error.problem_in(&place)))
        });
        match read.await {
            Ok(Ok(key)) => Ok(key),
            Ok(Err(problem)) => Err(failed(problem)),
            Err(_) => Err(failed("the key could not be read".to_owned())),
        }
    }
}

/// A request on its way.
struct KeyedResponseStream {
    keyed: KeyedProvider,
    request: Arc<ModelRequest>,
    state: KeyedStreamState,
    /// The model has produced output, so the request is not repeated.
    has_output: bool,
    /// The key was already read again.
    has_reloaded_key: bool,
}

enum KeyedStreamState {
    Start,
    Streaming(ProviderWithKey, ModelStream),
    Done,
}

impl KeyedResponseStream {
    async fn next(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        loop {
            match &mut self.state {
                KeyedStreamState::Done => return None,
                KeyedStreamState::Start => match self.keyed.provider().await {
                    Ok(ready) => self.start_stream(ready),
                    Err(error) => {
                        self.state = KeyedStreamState::Done;
                        return Some(Err(error));
                    }
                },
                KeyedStreamState::Streaming(asked, answer) => {
                    let event = answer.next().await;
                    let is_refused = matches!(&event, Some(Err(error)) if error.kind == ModelErrorKind::Auth);
                    if is_refused && !self.has_output && !self.has_reloaded_key {
                        self.has_reloaded_key = true;
                        let asked = asked.clone();
                        if let Some(renewed) = self.keyed.provider_with_new_key(&asked).await {
                            self.start_stream(renewed);
                            continue;
                        }
                    }
                    self.has_output |=
                        matches!(&event, Some(Ok(event)) if !matches!(event, ModelEvent::Retrying { .. }));
                    if event.is_none() {
                        self.state = KeyedStreamState::Done;
                    }
                    return event;
                }
            }
        }
    }

    fn start_stream(&mut self, ready: ProviderWithKey) {
        let answer = ready.provider.stream(Arc::clone(&self.request));
        self.state = KeyedStreamState::Streaming(ready, answer);
    }
}

#[async_trait]
impl ModelProvider for KeyedProvider {
    fn name(&self) -> &Arc<str> {
        &self.0.config.name
    }

    fn kind(&self) -> ProviderKind {
        self.0.config.kind
    }

    fn limits(&self) -> ProviderLimits {
        self.0.keyless.limits()
    }

    fn stream(&self, request: Arc<ModelRequest>) -> ModelStream {
        let asking = KeyedResponseStream {
            keyed: self.clone(),
            request,
            state: KeyedStreamState::Start,
            has_output: false,
            has_reloaded_key: false,
        };
        Box::pin(stream::unfold(asking, |mut asking| async move {
            let event = asking.next().await?;
            Some((event, asking))
        }))
    }

    fn request_body(&self, request: &ModelRequest) -> Result<RawJson, ModelError> {
        self.0.keyless.request_body(request)
    }

    fn convert_tool(&self, tool: &ToolDefinition) -> Result<Arc<ConvertedTool>, NotExpressible> {
        self.0.keyless.convert_tool(tool)
    }

    async fn list_models(&self) -> Result<Vec<AvailableModel>, ModelError> {
        let ready = self.provider().await?;
        match ready.provider.list_models().await {
            Err(error) if error.kind == ModelErrorKind::Auth => {
                match self.provider_with_new_key(&ready).await {
                    Some(renewed) => renewed.provider.list_models().await,
                    None => Err(error),
                }
            }
            answer => answer,
        }
    }
}
