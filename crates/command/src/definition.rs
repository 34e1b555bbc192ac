//! The form of one `[[tool]]`.

use std::collections::BTreeMap;

use serde::Deserialize;
use toolway_types::{RawJson, SpecDocument, ToolAnnotations};

use crate::parameters::{self, ParameterSchema};
use crate::problem::DefinitionProblem;

/// What a definition says of its tool, whatever it is that runs.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolMetadata {
    /// As callers name it.
    pub name: String,
    /// A name for people.
    pub title: Option<String>,
    /// What it does.
    pub description: String,
    /// The schema of its arguments.
    pub parameters: Option<ParameterSchema>,
    /// Never beside another tool of its source.
    #[serde(default)]
    pub sequential: bool,
    /// It changes nothing.
    #[serde(default)]
    pub read_only: bool,
    /// Whether it may destroy something.
    pub destructive: Option<bool>,
    /// Whether it reaches beyond this computer.
    pub open_world: Option<bool>,
    /// The permissions that it needs.
    #[serde(default)]
    pub permissions: Vec<String>,
}

impl ToolMetadata {
    /// The keys of a `[[tool]]` that are read here. All others belong to what runs.
    pub(crate) const KEYS: [&str; 9] = [
        "name",
        "title",
        "description",
        "parameters",
        "sequential",
        "read_only",
        "destructive",
        "open_world",
        "permissions",
    ];

    /// The spec, without a timeout.
    ///
    /// # Errors
    /// [`Problem`] where the parameters are no schema of an object.
    pub fn spec(self) -> Result<SpecDocument, DefinitionProblem> {
        let parameters = parameters::build_schema(self.parameters)?;
        let annotations = ToolAnnotations {
            read_only_hint: self.read_only.then_some(true),
            destructive_hint: self.destructive,
            open_world_hint: self.open_world,
            ..ToolAnnotations::default()
        };
        let mut spec = SpecDocument::named(self.name);
        spec.title = self.title;
        spec.description = Some(self.description);
        spec.parameters = Some(RawJson::from(&parameters));
        if annotations != ToolAnnotations::default() {
            spec.annotations = RawJson::from_value(&annotations).ok();
        }
        spec.permissions = self.permissions;
        spec.sequential = self.sequential;
        Ok(spec)
    }
}

/// What runs, where it is a command.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandDefinition {
    pub(crate) program: String,
    #[serde(default)]
    pub(crate) args: Vec<ArgDefinition>,
    #[serde(default)]
    pub(crate) input: CommandInput,
    #[serde(default)]
    pub(crate) output: CommandOutputFormat,
    pub(crate) timeout_s: Option<f64>,
    #[serde(default)]
    pub(crate) pass_env: Vec<String>,
    #[serde(default)]
    pub(crate) set_env: BTreeMap<String, String>,
    pub(crate) cwd: Option<String>,
}

/// One element of `args`, or several that come and go together.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "an element of args is text, or a list of texts")]
pub(crate) enum ArgDefinition {
    One(String),
    Together(Vec<String>),
}

/// How a command gets its arguments.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum CommandInput {
    #[default]
    Argv,
    StdinJson,
}

/// What its standard output is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum CommandOutputFormat {
    #[default]
    Text,
    Json,
}
