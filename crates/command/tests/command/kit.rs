//! Commands made from pieces of TOML.

use std::future::pending;

use serde_json::Value;
use tempfile::TempDir;
use toolway_command::{Command, Definition, File, Prepared, Surroundings};
use toolway_types::ToolError;

/// Every definition of a text.
pub(crate) fn prepared(text: &str, surroundings: &Surroundings) -> Vec<Prepared> {
    let prepare = |entry: toolway_command::Entry<'_>| {
        let (described, definition) = entry.read::<Definition>().unwrap();
        definition.prepare(described, surroundings).unwrap()
    };
    File::parse(text).unwrap().entries.into_iter().map(prepare).collect()
}

/// One command, written as TOML without the parts that every one has.
pub(crate) fn command(folder: &TempDir, toml: &str) -> Command {
    let environment = [("PATH", "/usr/bin:/bin"), ("LANG", "C.UTF-8"), ("SECRET", "hidden")];
    let surroundings = Surroundings {
        environment: environment.map(|(name, value)| (name.into(), value.into())).into(),
        folder: folder.path().to_owned(),
    };
    let text = format!("[[tool]]\nname = \"it\"\ndescription = \"\"\n{toml}");
    prepared(&text, &surroundings).remove(0).command
}

pub(crate) async fn run(command: &Command, args: Value) -> Result<Value, ToolError> {
    command.run(args.as_object().unwrap(), pending()).await
}
