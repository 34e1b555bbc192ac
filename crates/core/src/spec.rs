//! A tool's spec: what its source said, kept, beside what was made of it.

mod cache;

use std::sync::Arc;
use std::time::Duration;

use toolway_types::name::is_invisible;
use toolway_types::{NameError, RawJson, SpecDocument, ToolAnnotations, ToolName};

use crate::schema::{Schema, SchemaError};

pub use cache::SpecCache;

/// Most permissions that one tool may name.
const MAX_PERMISSIONS: usize = 100;

/// Why a spec was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// Its name can't be used.
    #[error(transparent)]
    Name(#[from] NameError),
    /// Its `parameters` can't be used.
    #[error("parameters: {0}")]
    Parameters(SchemaError),
    /// Its `output_schema` can't be used.
    #[error("output_schema: {0}")]
    Output(SchemaError),
    /// It needs more permissions than a person can be asked for.
    #[error("it names {0} permissions, more than the {MAX_PERMISSIONS} allowed")]
    TooManyPermissions(usize),
    /// It is not a spec at all.
    #[error("it is not a tool spec: {0}")]
    Malformed(String),
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
    /// The name is not in snake_case, as the names of Toolway's own tools are.
    NotSnakeCase,
}

impl SpecFlag {
    /// In words.
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

/// A tool's spec. Equal specs share one.
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
    /// Compiles what a source said, sharing nothing. Registrations go through a [`SpecCache`].
    ///
    /// # Errors
    /// [`BadSpec`] says what is wrong with it.
    pub fn compile(document: SpecDocument) -> Result<Self, SpecError> {
        let parameters =
            Schema::from_parameters(document.parameters.as_ref()).map_err(SpecError::Parameters)?;
        let output = document.output_schema.as_ref().map(Schema::from_output).transpose();
        let output = output.map_err(SpecError::Output)?.map(Arc::new);
        Self::assemble(Arc::new(document), Arc::new(parameters), output)
    }

    /// Takes the spec of a tool that is part of the program. Its schema is compiled when it is first called, so
    /// that it compiles is for a test to show: otherwise every call would be refused.
    ///
    /// # Errors
    /// [`BadSpec`] where its name or the form of its schema can't be used.
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
    pub fn annotations(&self) -> &ToolAnnotations {
        &self.annotations
    }

    /// The permissions that running it needs, each once.
    pub(crate) fn permissions(&self) -> &[Box<str>] {
        &self.permissions
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

/// Whether a name is made of words in lower case with one `_` between them, the first beginning with a letter. Where a
/// device brings the tools of apps, `__` stands between the app's name and the tool's (CETP, section 2.3), each of
/// which is looked at by itself.
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
