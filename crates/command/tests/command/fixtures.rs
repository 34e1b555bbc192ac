//! Commands for tests, made from TOML.

use std::future::pending;

use serde_json::Value;
use tempfile::TempDir;
use toolway_command::{CommandDefinition, CommandEnv, DefinitionFile, PreparedCommand, ToolCommand};
use toolway_types::ToolError;

/// Prepares every definition in a text.
pub(crate) fn prepare_all(text: &str, env: &CommandEnv) -> Vec<PreparedCommand> {
    let prepare = |entry: toolway_command::DefinitionEntry<'_>| {
        let (described, definition) = entry.read::<CommandDefinition>().unwrap();
        definition.prepare(described, env).unwrap()
    };
    DefinitionFile::parse(text).unwrap().entries.into_iter().map(prepare).collect()
}

/// Creates one command from TOML without the required common keys.
pub(crate) fn command(folder: &TempDir, toml: &str) -> ToolCommand {
    let environment = [("PATH", "/usr/bin:/bin"), ("LANG", "C.UTF-8"), ("SECRET", "hidden")];
    let env = CommandEnv {
        environment: environment.map(|(name, value)| (name.into(), value.into())).into(),
        base_dir: folder.path().to_owned(),
    };
    let text = format!("[[tool]]\nname = \"it\"\ndescription = \"\"\n{toml}");
    prepare_all(&text, &env).remove(0).command
}

pub(crate) async fn run(command: &ToolCommand, args: Value) -> Result<Value, ToolError> {
    command.run(args.as_object().unwrap(), pending()).await
}
