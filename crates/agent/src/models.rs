//! The model catalog: the providers in `models.toml`, the locations of their keys, and options of single models. This
//! module reads the file and never writes it.

mod file;
mod keyed_provider;
mod probe;
mod view;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use toolway_models::transport::ProviderHttpClient;
use toolway_models::{ModelProvider, build_provider};

use crate::name_suggestions;
use keyed_provider::{KeyedProvider, ProviderFactory};
use toolway_files::owner_file::{self, FileProblem, FileStamps};
use toolway_secrets::{SecretLocation, SecretReader};

pub use file::{ModelEntry, ModelsFile};
pub use view::{KeyView, ModelCheckStatus, ModelTestCheck, ModelTestReport, ModelView};

/// Dependencies of the model catalog.
pub struct ModelCatalogDeps {
    /// Path of `models.toml`. The file need not exist.
    pub file: PathBuf,
    /// Reader of API keys.
    pub keys: Arc<dyn SecretReader>,
    /// HTTP client, shared by the whole process.
    pub http: ProviderHttpClient,
}

/// Known facts about one model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ModelFacts {
    /// Size of the context window in tokens.
    #[serde(rename = "context_window", skip_serializing_if = "Option::is_none")]
    pub context_tokens: Option<u64>,
    /// Most tools that it copes with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tools: Option<usize>,
    /// The model accepts images.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub images: Option<bool>,
}

/// A model that can be asked.
#[derive(Debug, Clone)]
pub struct ModelRef {
    /// Its provider.
    pub provider: Arc<dyn ModelProvider>,
    /// Its id there.
    pub id: Arc<str>,
    /// Known facts about it.
    pub facts: ModelFacts,
}

impl ModelRef {
    /// `NAME/ID`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}/{}", self.provider.name(), self.id)
    }
}

/// Error for a missing or unknown model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelLookupError {
    /// No model is configured.
    #[error("no model is set up")]
    NoneConfigured,
    /// No model has this name.
    #[error("there is no model provider {name:?}")]
    Unknown {
        /// The name that was asked for.
        name: String,
        /// Similar names of configured models.
        close: Vec<String>,
    },
    /// The name is that of a provider, and the provider has no default model.
    #[error("{name:?} is a model provider without a default model")]
    NoDefaultModel {
        /// The provider's name.
        name: String,
    },
}

/// Configured model provider.
#[derive(Debug, Clone)]
struct ConfiguredProvider {
    provider: Arc<dyn ModelProvider>,
    /// The same provider, if it reads its key itself.
    keyed: Option<KeyedProvider>,
    preset: Option<String>,
    base_url: String,
    key: Option<SecretLocation>,
    model: Option<Arc<str>>,
    models: BTreeMap<String, ModelFacts>,
}

/// The models that the owner has set up.
pub struct ModelCatalog {
    file: PathBuf,
    keys: Arc<dyn SecretReader>,
    provider_factory: ProviderFactory,
    /// Held while the file is read.
    reload_lock: tokio::sync::Mutex<()>,
    /// Stamps of the files at the last read.
    last_read: Mutex<FileStamps>,
    providers: ArcSwap<Vec<ConfiguredProvider>>,
    problems: ArcSwap<Vec<FileProblem>>,
}

impl std::fmt::Debug for ModelCatalog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ModelCatalog")
            .field("file", &self.file)
            .field("set_up", &self.providers)
            .finish_non_exhaustive()
    }
}

impl ModelCatalog {
    /// Reads the file. What is wrong with it is kept in [`ModelCatalog::problems`]; then there are no models.
    pub async fn open(parts: ModelCatalogDeps) -> Arc<Self> {
        let http = parts.http;
        let make: ProviderFactory = Arc::new(move |config| build_provider(config, http.clone()));
        Self::open_with(parts.file, parts.keys, make).await
    }

    async fn open_with(file: PathBuf, keys: Arc<dyn SecretReader>, make: ProviderFactory) -> Arc<Self> {
        let models = Self {
            file,
            keys,
            provider_factory: make,
            reload_lock: tokio::sync::Mutex::new(()),
            last_read: Mutex::default(),
            providers: ArcSwap::default(),
            problems: ArcSwap::default(),
        };
        // What is wrong is kept.
        let _ = models.reload().await;
        Arc::new(models)
    }

    /// Returns the model providers in the order of the file. The first one is the default for agents. Checks for each
    /// provider if its key exists, so it may take a moment.
    pub async fn list(&self) -> Vec<ModelView> {
        let (set_up, keys) = (self.providers.load_full(), Arc::clone(&self.keys));
        let view = move || set_up.iter().map(|it| it.view(&*keys)).collect();
        tokio::task::spawn_blocking(view).await.unwrap_or_default()
    }

    /// Returns a model by `NAME/ID`, or the default model of the provider `NAME`. Without a name it returns the first
    /// model.
    ///
    /// # Errors
    /// [`ModelLookupError`].
    pub fn get(&self, name: Option<&str>) -> Result<ModelRef, ModelLookupError> {
        let set_up = self.providers.load();
        let Some(name) = name else {
            let first = set_up.first().ok_or(ModelLookupError::NoneConfigured)?;
            return first.model(None);
        };
        let (provider, id) = match name.split_once('/') {
            Some((provider, id)) => (provider, Some(id).filter(|id| !id.is_empty())),
            None => (name, None),
        };
        match set_up.iter().find(|it| **it.provider.name() == *provider) {
            Some(found) => found.model(id),
            None if set_up.is_empty() => Err(ModelLookupError::NoneConfigured),
            None => Err(ModelLookupError::Unknown {
                name: name.to_owned(),
                close: close_names(&set_up, provider, name),
            }),
        }
    }

    /// Tests a provider with one small tool call. `id` selects another model than the configured one. The key is read
    /// again, so that the test uses the current key.
    ///
    /// # Errors
    /// [`ModelLookupError::NoneConfigured`], [`ModelLookupError::Unknown`].
    pub async fn test(&self, name: &str, id: Option<&str>) -> Result<ModelTestReport, ModelLookupError> {
        let asked = id.map_or_else(|| name.to_owned(), |id| format!("{name}/{id}"));
        let model = match self.get(Some(&asked)) {
            Err(no_id @ ModelLookupError::NoDefaultModel { .. }) => {
                return Ok(probe::report_without_model(name, &no_id.to_string()));
            }
            model => model?,
        };
        let set_up = self.providers.load_full();
        let named = set_up.iter().find(|it| it.provider.name() == model.provider.name());
        if let Some(keyed) = named.and_then(|it| it.keyed.as_ref()) {
            keyed.forget_key();
        }
        let has_key = named.is_some_and(|it| it.key.is_some());
        Ok(probe::probe(&model, has_key).await)
    }

    /// Reads the file again. If it has problems, the previous content stays active.
    ///
    /// # Errors
    /// Everything that is wrong in it; also in [`ModelCatalog::problems`] from then on.
    pub async fn reload(&self) -> Result<(), Vec<FileProblem>> {
        let _changing = self.reload_lock.lock().await;
        let path = self.file.clone();
        let read = tokio::task::spawn_blocking(move || {
            owner_file::read_stamped(&path, owner_file::MAX_BYTES, ModelsFile::parse)
        });
        let Ok((seen, read)) = read.await else { return Ok(()) };
        *self.last_read.lock() = seen;
        match read {
            Ok(file) => {
                let set_up = file.entries.into_iter().map(|entry| self.configure_provider(entry)).collect();
                self.providers.store(Arc::new(set_up));
                self.problems.store(Arc::default());
                Ok(())
            }
            Err(problems) => {
                for problem in &problems {
                    tracing::error!("the models were not read: {problem}");
                }
                self.problems.store(Arc::new(problems.clone()));
                Err(problems)
            }
        }
    }

    /// Returns whether the file has changed since it was read. It checks the file, so it takes some work.
    pub async fn has_changed(&self) -> bool {
        let path = self.file.clone();
        let now = tokio::task::spawn_blocking(move || FileStamps::of([&path])).await;
        now.is_ok_and(|now| *self.last_read.lock() != now)
    }

    /// Problems of the file in its current state.
    #[must_use]
    pub fn problems(&self) -> Vec<FileProblem> {
        self.problems.load().as_ref().clone()
    }

    fn configure_provider(&self, entry: ModelEntry) -> ConfiguredProvider {
        let base_url = entry.config.base_url.to_string();
        let (keys, make) = (Arc::clone(&self.keys), Arc::clone(&self.provider_factory));
        let provider = KeyedProvider::new(entry.config, entry.key.clone(), keys, make);
        ConfiguredProvider {
            keyed: Some(provider.clone()),
            provider: Arc::new(provider),
            preset: entry.preset,
            base_url,
            key: entry.key,
            model: entry.model,
            models: entry.models,
        }
    }

    /// Models of these providers, each with the model that is set for it.
    #[cfg(test)]
    pub(crate) fn from_providers(providers: Vec<(Arc<dyn ModelProvider>, &str, ModelFacts)>) -> Arc<Self> {
        let set_up = providers.into_iter().map(|(provider, id, facts)| ConfiguredProvider {
            keyed: None,
            provider,
            preset: None,
            base_url: String::new(),
            key: None,
            model: Some(id.into()),
            models: BTreeMap::from([(id.to_owned(), facts)]),
        });
        Arc::new(Self {
            file: PathBuf::new(),
            keys: Arc::new(toolway_secrets::NoSecrets),
            provider_factory: Arc::new(|config| {
                build_provider(config, ProviderHttpClient::new(|| Err(String::new())))
            }),
            reload_lock: tokio::sync::Mutex::new(()),
            last_read: Mutex::default(),
            providers: ArcSwap::from_pointee(set_up.collect()),
            problems: ArcSwap::default(),
        })
    }
}

impl ConfiguredProvider {
    fn model(&self, id: Option<&str>) -> Result<ModelRef, ModelLookupError> {
        let id = id.map(Arc::from).or_else(|| self.model.clone());
        let id: Arc<str> =
            id.ok_or_else(|| ModelLookupError::NoDefaultModel { name: self.provider.name().to_string() })?;
        let facts = self.models.get(&*id).copied().unwrap_or_default();
        Ok(ModelRef { provider: Arc::clone(&self.provider), id, facts })
    }

    fn view(&self, keys: &dyn SecretReader) -> ModelView {
        let key = self
            .key
            .as_ref()
            .map(|place| KeyView { place: place.to_string(), present: keys.read(place).is_ok() });
        ModelView {
            name: self.provider.name().to_string(),
            kind: self.provider.kind(),
            preset: self.preset.clone(),
            base_url: self.base_url.clone(),
            key,
            model: self.model.as_deref().map(str::to_owned),
            models: self.models.clone(),
        }
    }
}

/// Returns names similar to an unknown provider's name. If the name is that of a model, returns its full names instead.
fn close_names(set_up: &[ConfiguredProvider], provider: &str, name: &str) -> Vec<String> {
    let of_model = set_up.iter().flat_map(|it| {
        let ids = it.models.keys().map(String::as_str).chain(it.model.as_deref());
        ids.filter(|id| *id == name).map(|id| format!("{}/{id}", it.provider.name()))
    });
    let mut close: Vec<String> = of_model.collect();
    close.dedup();
    if close.is_empty() {
        close = name_suggestions::close_names(provider, set_up.iter().map(|it| &**it.provider.name()));
    }
    close
}

/// Checks a text that is to become the file at `path`. Reads nothing, no keys either.
///
/// # Errors
/// Everything that is wrong in it.
pub fn check(text: &str, path: &Path) -> Result<(), Vec<FileProblem>> {
    ModelsFile::parse(text, path).map(drop)
}

#[cfg(test)]
mod tests;
