//! A model provider whose key is read when it is first needed, and again when the provider refuses it: a key that
//! was changed counts without a restart.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::{StreamExt as _, stream};
use parking_lot::Mutex;
use secrecy::{ExposeSecret as _, SecretString};
use toolway_models::config::ProviderConfig;
use toolway_models::provider::{Converted, NotExpressible, OfferedModel, ProviderLimits};
use toolway_models::{
    ModelError, ModelErrorKind, ModelEvent, ModelProvider, ModelRequest, ModelStream, ProviderKind,
    ToolDefinition,
};
use toolway_types::RawJson;

use super::keys::{KeyPlace, Keys};

/// Makes a provider of what the owner set up.
pub(crate) type Make = Arc<dyn Fn(ProviderConfig) -> Arc<dyn ModelProvider> + Send + Sync>;

/// A provider whose key is read when it is needed. Cheap to clone; all clones are one.
#[derive(Clone)]
pub(super) struct Keyed(Arc<Inner>);

struct Inner {
    /// Without the key.
    config: ProviderConfig,
    place: Option<KeyPlace>,
    keys: Arc<dyn Keys>,
    make: Make,
    /// Says all that can be said without a key.
    keyless: Arc<dyn ModelProvider>,
    current: Mutex<Option<WithKey>>,
}

/// A provider with the key that it was made with.
#[derive(Clone)]
struct WithKey {
    key: Option<SecretString>,
    provider: Arc<dyn ModelProvider>,
}

impl fmt::Debug for Keyed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keyed").field("config", &self.0.config).finish_non_exhaustive()
    }
}

impl Keyed {
    pub(super) fn new(
        config: ProviderConfig,
        place: Option<KeyPlace>,
        keys: Arc<dyn Keys>,
        make: Make,
    ) -> Self {
        let keyless = make(config.clone());
        Self(Arc::new(Inner { config, place, keys, make, keyless, current: Mutex::new(None) }))
    }

    /// Reads the key anew for the next request.
    pub(super) fn forget_key(&self) {
        *self.0.current.lock() = None;
    }

    /// The provider with its key.
    async fn ready(&self) -> Result<WithKey, ModelError> {
        if let Some(current) = self.0.current.lock().clone() {
            return Ok(current);
        }
        self.read().await
    }

    /// The provider with its key as it is now, where that is another than `refused`.
    async fn renewed(&self, refused: &WithKey) -> Option<WithKey> {
        self.0.place.as_ref()?;
        // Where it can't be read any more, the provider's own word says enough.
        let renewed = self.read().await.ok()?;
        let text = |it: &WithKey| it.key.as_ref().map(|key| key.expose_secret().to_owned());
        (text(&renewed) != text(refused)).then_some(renewed)
    }

    async fn read(&self) -> Result<WithKey, ModelError> {
        let key = match self.0.place.clone() {
            None => None,
            Some(place) => Some(self.read_key(place).await?),
        };
        let mut config = self.0.config.clone();
        config.key.clone_from(&key);
        let made = WithKey { key, provider: (self.0.make)(config) };
        *self.0.current.lock() = Some(made.clone());
        Ok(made)
    }

    async fn read_key(&self, place: KeyPlace) -> Result<SecretString, ModelError> {
        let keys = Arc::clone(&self.0.keys);
        let name = Arc::clone(&self.0.config.name);
        let failed = |message: String| {
            let hint = format!(
                "put the key there, or say in models.toml where it is; `toolway models test {name}` tries it"
            );
            ModelError::new(ModelErrorKind::Auth, Arc::clone(&name), message).with_hint(hint)
        };
        let read = tokio::task::spawn_blocking(move || keys.read(&place)).await;
        match read {
            Ok(Ok(key)) => Ok(key),
            Ok(Err(error)) => Err(failed(error.to_string())),
            Err(_) => Err(failed("the key could not be read".to_owned())),
        }
    }
}

/// A request on its way.
struct Asking {
    keyed: Keyed,
    request: Arc<ModelRequest>,
    state: State,
    /// Whether the model said anything, so that it is not asked again.
    said: bool,
    /// Whether the key was read again.
    renewed: bool,
}

enum State {
    Begin,
    Answering(WithKey, ModelStream),
    Over,
}

impl Asking {
    async fn next(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        loop {
            match &mut self.state {
                State::Over => return None,
                State::Begin => match self.keyed.ready().await {
                    Ok(ready) => self.ask(ready),
                    Err(error) => {
                        self.state = State::Over;
                        return Some(Err(error));
                    }
                },
                State::Answering(asked, answer) => {
                    let event = answer.next().await;
                    let is_refused = matches!(&event, Some(Err(error)) if error.kind == ModelErrorKind::Auth);
                    if is_refused && !self.said && !self.renewed {
                        self.renewed = true;
                        let asked = asked.clone();
                        if let Some(renewed) = self.keyed.renewed(&asked).await {
                            self.ask(renewed);
                            continue;
                        }
                    }
                    self.said |=
                        matches!(&event, Some(Ok(event)) if !matches!(event, ModelEvent::Retrying { .. }));
                    if event.is_none() {
                        self.state = State::Over;
                    }
                    return event;
                }
            }
        }
    }

    fn ask(&mut self, ready: WithKey) {
        let answer = ready.provider.stream(Arc::clone(&self.request));
        self.state = State::Answering(ready, answer);
    }
}

#[async_trait]
impl ModelProvider for Keyed {
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
        let asking =
            Asking { keyed: self.clone(), request, state: State::Begin, said: false, renewed: false };
        Box::pin(stream::unfold(asking, |mut asking| async move {
            let event = asking.next().await?;
            Some((event, asking))
        }))
    }

    fn body(&self, request: &ModelRequest) -> Result<RawJson, ModelError> {
        self.0.keyless.body(request)
    }

    fn convert(&self, tool: &ToolDefinition) -> Result<Arc<Converted>, NotExpressible> {
        self.0.keyless.convert(tool)
    }

    async fn models(&self) -> Result<Vec<OfferedModel>, ModelError> {
        let ready = self.ready().await?;
        match ready.provider.models().await {
            Err(error) if error.kind == ModelErrorKind::Auth => match self.renewed(&ready).await {
                Some(renewed) => renewed.provider.models().await,
                None => Err(error),
            },
            answer => answer,
        }
    }
}
