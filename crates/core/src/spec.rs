//! A tool's spec: what its source said, kept, beside what was made of it.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use toolway_types::name::is_invisible;
use toolway_types::{Annotations, BadName, RawJson, SpecDocument, ToolName};

use crate::schema::{Schema, SchemaError};

/// Why a spec was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadSpec {
    /// Its name can't be used.
    #[error(transparent)]
    Name(#[from] BadName),
    /// Its `parameters` can't be used.
    #[error("parameters: {0}")]
    Parameters(SchemaError),
    /// Its `output_schema` can't be used.
    #[error("output_schema: {0}")]
    Output(SchemaError),
    /// It is not a spec at all.
    #[error("it is not a tool spec: {0}")]
    Form(String),
}

/// Something odd about a spec that was accepted all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpecFlag {
    /// No description, so a model can only guess.
    NoDescription,
    /// The description has characters nobody can see.
    InvisibleCharacters,
    /// The annotations have the wrong form and are not read.
    UnreadableAnnotations,
}

impl SpecFlag {
    /// In words.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoDescription => "no_description",
            Self::InvisibleCharacters => "invisible_characters",
            Self::UnreadableAnnotations => "unreadable_annotations",
        }
    }
}

/// A tool's spec. Equal specs share one.
#[derive(Debug)]
pub struct ToolSpec {
    document: Arc<SpecDocument>,
    name: ToolName,
    parameters: Arc<Schema>,
    output: Option<Arc<Schema>>,
    annotations: Annotations,
    flags: Vec<SpecFlag>,
}

impl ToolSpec {
    /// Compiles what a source said, sharing nothing. Registrations go through a [`SpecCache`].
    ///
    /// # Errors
    /// [`BadSpec`] says what is wrong with it.
    pub fn compile(document: SpecDocument) -> Result<Self, BadSpec> {
        let parameters = Schema::of_parameters(document.parameters.as_ref()).map_err(BadSpec::Parameters)?;
        let output = document.output_schema.as_ref().map(Schema::of_output).transpose();
        let output = output.map_err(BadSpec::Output)?.map(Arc::new);
        Self::assemble(Arc::new(document), Arc::new(parameters), output)
    }

    fn assemble(
        document: Arc<SpecDocument>,
        parameters: Arc<Schema>,
        output: Option<Arc<Schema>>,
    ) -> Result<Self, BadSpec> {
        let name = document.name.parse()?;
        let mut flags = Vec::new();
        match document.description.as_deref() {
            None | Some("") => flags.push(SpecFlag::NoDescription),
            Some(text) if text.chars().any(|c| is_invisible(c) && c != '\n' && c != '\t' && c != '\r') => {
                flags.push(SpecFlag::InvisibleCharacters);
            }
            Some(_) => {}
        }
        let annotations = match document.annotations.as_ref().map(RawJson::to::<Option<Annotations>>) {
            None => Annotations::default(),
            Some(Ok(read)) => read.unwrap_or_default(),
            Some(Err(_)) => {
                flags.push(SpecFlag::UnreadableAnnotations);
                Annotations::default()
            }
        };
        Ok(Self { document, name, parameters, output, annotations, flags })
    }

    /// What the source said, byte for byte where that matters.
    #[must_use]
    pub fn document(&self) -> &Arc<SpecDocument> {
        &self.document
    }

    /// Its name within its source.
    #[must_use]
    pub fn name(&self) -> &ToolName {
        &self.name
    }

    /// What it does; empty where the source did not say.
    #[must_use]
    pub fn description(&self) -> &str {
        self.document.description.as_deref().unwrap_or_default()
    }

    /// The schema of its arguments.
    #[must_use]
    pub fn parameters(&self) -> &Schema {
        &self.parameters
    }

    /// The schema of its structured result.
    #[must_use]
    pub fn output(&self) -> Option<&Schema> {
        self.output.as_deref()
    }

    /// What the source says of its effects; believed only where the owner trusts the source.
    #[must_use]
    pub fn annotations(&self) -> &Annotations {
        &self.annotations
    }

    /// How long the source says that one run may take.
    #[must_use]
    pub fn timeout(&self) -> Option<Duration> {
        self.document.timeout_ms.map(Duration::from_millis)
    }

    /// How long it may be silent within that.
    #[must_use]
    pub fn progress_timeout(&self) -> Option<Duration> {
        self.document.progress_timeout_ms.map(Duration::from_millis)
    }

    /// Whether its calls must not overlap with others of its source.
    #[must_use]
    pub fn is_sequential(&self) -> bool {
        self.document.sequential
    }

    /// What is odd about it.
    #[must_use]
    pub fn flags(&self) -> &[SpecFlag] {
        &self.flags
    }
}

/// Makes equal specs share one [`ToolSpec`] and equal schemas one validator, for as long as somebody uses
/// them: a thousand phones with one app cost one compilation.
#[derive(Debug, Default)]
pub struct SpecCache {
    specs: Mutex<Interned<Arc<SpecDocument>, ToolSpec>>,
    schemas: Mutex<Interned<(SchemaUse, RawJson), Schema>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum SchemaUse {
    Parameters,
    Output,
}

impl SpecCache {
    /// The spec for what a source said: an equal one that is in use, or a new one.
    ///
    /// # Errors
    /// [`BadSpec`] says what is wrong with it.
    pub fn compile(&self, document: SpecDocument) -> Result<Arc<ToolSpec>, BadSpec> {
        if let Some(spec) = self.specs.lock().get(&document) {
            return Ok(spec);
        }
        let parameters = match &document.parameters {
            None => Arc::new(Schema::of_parameters(None).map_err(BadSpec::Parameters)?),
            Some(raw) => self
                .schema(SchemaUse::Parameters, raw, || Schema::of_parameters(Some(raw)))
                .map_err(BadSpec::Parameters)?,
        };
        let output = document
            .output_schema
            .as_ref()
            .map(|raw| self.schema(SchemaUse::Output, raw, || Schema::of_output(raw)))
            .transpose()
            .map_err(BadSpec::Output)?;
        let document = Arc::new(document);
        let spec = Arc::new(ToolSpec::assemble(document.clone(), parameters, output)?);
        self.specs.lock().insert(document, &spec);
        Ok(spec)
    }

    fn schema(
        &self,
        used_as: SchemaUse,
        raw: &RawJson,
        compile: impl FnOnce() -> Result<Schema, SchemaError>,
    ) -> Result<Arc<Schema>, SchemaError> {
        let key = (used_as, raw.clone());
        if let Some(schema) = self.schemas.lock().get(&key) {
            return Ok(schema);
        }
        let schema = Arc::new(compile()?);
        self.schemas.lock().insert(key, &schema);
        Ok(schema)
    }
}

/// Values that live as long as somebody else holds them.
#[derive(Debug)]
struct Interned<K, V> {
    values: HashMap<K, Weak<V>>,
    sweep_at: usize,
}

impl<K, V> Default for Interned<K, V> {
    fn default() -> Self {
        Self { values: HashMap::new(), sweep_at: 64 }
    }
}

impl<K: std::hash::Hash + Eq, V> Interned<K, V> {
    fn get<Q: std::hash::Hash + Eq + ?Sized>(&self, key: &Q) -> Option<Arc<V>>
    where
        K: std::borrow::Borrow<Q>,
    {
        self.values.get(key)?.upgrade()
    }

    fn insert(&mut self, key: K, value: &Arc<V>) {
        if self.values.len() >= self.sweep_at {
            self.values.retain(|_, value| value.strong_count() > 0);
            self.values.shrink_to(self.values.len() * 2);
            self.sweep_at = (self.values.len() * 2).max(64);
        }
        self.values.insert(key, Arc::downgrade(value));
    }
}

#[cfg(test)]
mod tests;
