//! A tool's spec: the source's own document and the data derived from it.

mod cache;

use std::sync::Arc;
use std::time::Duration;

use toolway_types::name::is_invisible;
use toolway_types::pattern::SchemaPatterns;
use toolway_types::{NameError, RawJson, SpecDocument, ToolAnnotations, ToolName};

use crate::schema::{Schema, SchemaError};

pub use cache::SpecCache;

/// Maximum number of permissions per tool.
const MAX_PERMISSIONS: usize = 100;

/// Reason why a spec was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// The name is invalid.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The `parameters` are invalid.
    #[error("parameters: {0}")]
    Parameters(SchemaError),
    /// The `output_schema` is invalid.
    #[error("output_schema: {0}")]
    Output(SchemaError),
    /// The spec has too many permissions.
    #[error("it names {0} permissions, more than the {MAX_PERMISSIONS} allowed")]
    TooManyPermissions(usize),
    /// The document is not a spec.
    #[error("it is not a tool spec: {0}")]
    Malformed(String),
}

/// A warning about an accepted spec.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpecFlag {
    /// The description is missing, so a model can only guess.
    NoDescription,
    /// The description contains invisible characters.
    InvisibleCharacters,
    /// The annotations have the wrong form and are ignored.
    UnreadableAnnotations,
    /// The name is not in snake_case, unlike the names of Toolway's own tools.
    NotSnakeCase,
}

impl SpecFlag {
    /// Description of the warning.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoDescription => "no_description",
            Self::InvisibleCharacters => "invisible_characters",
            Self::UnreadableAnnotations => "unreadable_annotations",
            Self::NotSnakeCase => "not_snake_case",
        }
    }
}

/// A tool's spec. Equal specs share one instance.
#[derive(Debug)]
pub struct ToolSpec {
    document: Arc<SpecDocument>,
    name: ToolName,
    parameters: Arc<Schema>,
    output: Option<Arc<Schema>>,
    annotations: ToolAnnotations,
    permissions: Box<[Box<str>]>,
    flags: Vec<SpecFlag>,
}

impl ToolSpec {
    /// Compiles a spec without sharing, for a tool that the owner defined. Registrations use a [`SpecCache`].
    ///
    /// # Errors
    /// [`SpecError`] describes the problem.
    pub fn compile(document: SpecDocument) -> Result<Self, SpecError> {
        let parameters =
            Schema::from_parameters(document.parameters.as_ref()).map_err(SpecError::Parameters)?;
        let output = document.output_schema.as_ref().map(Schema::from_output).transpose();
        let output = output.map_err(SpecError::Output)?.map(Arc::new);
        Self::assemble(Arc::new(document), Arc::new(parameters), output)
    }

    /// Creates the spec of a tool that is part of the program. Its schema is only compiled at the first call,
    /// so a test must check that it compiles: otherwise every call would be refused.
    ///
    /// # Errors
    /// [`SpecError`] if the name or the form of the schema is invalid.
    pub fn from_program(document: SpecDocument) -> Result<Self, SpecError> {
        let parameters = Schema::from_program(document.parameters.as_ref()).map_err(SpecError::Parameters)?;
        let output = document.output_schema.as_ref().map(Schema::from_output).transpose();
        let output = output.map_err(SpecError::Output)?.map(Arc::new);
        Self::assemble(Arc::new(document), Arc::new(parameters), output)
    }

    fn assemble(
        document: Arc<SpecDocument>,
        parameters: Arc<Schema>,
        output: Option<Arc<Schema>>,
    ) -> Result<Self, SpecError> {
        let name: ToolName = document.name.parse()?;
        let mut permissions: Vec<Box<str>> = Vec::new();
        if document.permissions.len() > MAX_PERMISSIONS {
            return Err(SpecError::TooManyPermissions(document.permissions.len()));
        }
        for permission in &document.permissions {
            if !permissions.iter().any(|it| **it == **permission) {
                permissions.push(permission.as_str().into());
            }
        }
        let permissions = permissions.into();
        let mut flags = Vec::new();
        match document.description.as_deref() {
            None | Some("") => flags.push(SpecFlag::NoDescription),
            Some(text) if text.chars().any(|c| is_invisible(c) && c != '\n' && c != '\t' && c != '\r') => {
                flags.push(SpecFlag::InvisibleCharacters);
            }
            Some(_) => {}
        }
        let annotations = match document.annotations.as_ref().map(RawJson::to::<Option<ToolAnnotations>>) {
            None => ToolAnnotations::default(),
            Some(Ok(read)) => read.unwrap_or_default(),
            Some(Err(_)) => {
                flags.push(SpecFlag::UnreadableAnnotations);
                ToolAnnotations::default()
            }
        };
        if !is_snake_case(name.as_str()) {
            flags.push(SpecFlag::NotSnakeCase);
        }
        Ok(Self { document, name, parameters, output, annotations, permissions, flags })
    }

    /// The source's document, byte for byte where that matters.
    #[must_use]
    pub fn document(&self) -> &Arc<SpecDocument> {
        &self.document
    }

    /// Name of the tool within its source.
    #[must_use]
    pub fn name(&self) -> &ToolName {
        &self.name
    }

    /// Description of the tool; empty if missing.
    #[must_use]
    pub fn description(&self) -> &str {
        self.document.description.as_deref().unwrap_or_default()
    }

    /// Schema of the arguments.
    #[must_use]
    pub fn parameters(&self) -> &Schema {
        &self.parameters
    }

    /// Schema of the structured result.
    #[must_use]
    pub fn output(&self) -> Option<&Schema> {
        self.output.as_deref()
    }

    /// Patterns of the schemas, which a [`CompileBudget`](crate::CompileBudget) counts.
    #[must_use]
    pub fn patterns(&self) -> SchemaPatterns {
        let mut patterns = self.parameters.patterns();
        if let Some(output) = &self.output {
            patterns.add(output.patterns());
        }
        patterns
    }

    /// Annotations from the source, trusted only if the owner trusts the source.
    #[must_use]
    pub fn annotations(&self) -> &ToolAnnotations {
        &self.annotations
    }

    /// Permissions required to run the tool, without duplicates.
    pub(crate) fn permissions(&self) -> &[Box<str>] {
        &self.permissions
    }

    /// Maximum duration of one run, according to the source.
    #[must_use]
    pub fn timeout(&self) -> Option<Duration> {
        self.document.timeout_ms.map(Duration::from_millis)
    }

    /// Maximum time without progress during a run.
    #[must_use]
    pub fn progress_timeout(&self) -> Option<Duration> {
        self.document.progress_timeout_ms.map(Duration::from_millis)
    }

    /// True if calls of the tool must not overlap with other calls of its source.
    #[must_use]
    pub fn is_sequential(&self) -> bool {
        self.document.sequential
    }

    /// Warnings about the spec.
    #[must_use]
    pub fn flags(&self) -> &[SpecFlag] {
        &self.flags
    }
}

/// True if a name consists of lower-case words with one `_` between them, starting with a letter. A device
/// separates an app's name and its tool's name by `__` (CETP, section 2.3); each is then checked on its own.
fn is_snake_case(name: &str) -> bool {
    if let Some((app, tool)) = name.split_once("__") {
        return is_plain_snake_case(app) && is_plain_snake_case(tool);
    }
    is_plain_snake_case(name)
}

fn is_plain_snake_case(name: &str) -> bool {
    let is_word = |word: &str| {
        !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    name.starts_with(|first: char| first.is_ascii_lowercase()) && name.split('_').all(is_word)
}

#[cfg(test)]
mod tests;
