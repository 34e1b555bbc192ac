//! The form of one `[[tool]]`.

use std::collections::BTreeMap;

use serde::Deserialize;
use toolway_types::{RawJson, SpecDocument, ToolAnnotations};

use crate::parameters::{self, ParameterSchema};
use crate::problem::DefinitionProblem;

/// The fields of a definition that are the same for every kind of tool.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolMetadata {
    /// Name of the tool.
    pub name: String,
    /// Display name.
    pub title: Option<String>,
    /// Description of the tool.
    pub description: String,
    /// Schema of the arguments.
    pub parameters: Option<ParameterSchema>,
    /// True if the tool must not run at the same time as other tools of its source.
    #[serde(default)]
    pub sequential: bool,
    /// True if the tool changes nothing.
    #[serde(default)]
    pub read_only: bool,
    /// True if the tool may destroy something.
    pub destructive: Option<bool>,
    /// True if the tool reaches beyond this computer.
    pub open_world: Option<bool>,
    /// Permissions required by the tool.
    #[serde(default)]
    pub permissions: Vec<String>,
}

impl ToolMetadata {
    /// Keys of a `[[tool]]` that belong to [`ToolMetadata`]. All others belong to the kind of tool.
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

    /// Creates the spec, without a timeout.
    ///
    /// # Errors
    /// [`DefinitionProblem`] if the parameters are not a schema of an object.
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

/// The fields of a definition that are specific to a command.
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

/// One element of `args`, or several elements that are included or omitted together.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "an element of args must be a string or a list of strings")]
pub(crate) enum ArgDefinition {
    One(String),
    Together(Vec<String>),
}

/// Channel for the arguments: the command line or standard input.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum CommandInput {
    #[default]
    Argv,
    StdinJson,
}

/// Format of a command's standard output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum CommandOutputFormat {
    #[default]
    Text,
    Json,
}
