//! Command tools, defined in a TOML file. [`toolway_command`] describes the format and how a command runs.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use toolway_command::{CommandDefinition, DefinitionEntry, DefinitionFile, PreparedCommand};
use toolway_device::Tool;

pub use toolway_command::{CommandEnv, DefinitionFileError as CommandFileError};

/// Creates the tools of a command file. Searches `PATH` for each program, so it may block for some
/// milliseconds.
///
/// # Errors
/// [`CommandFileError`] describes the invalid entry and its position.
pub fn load(text: &str, env: &CommandEnv) -> Result<Vec<Tool>, CommandFileError> {
    let file = DefinitionFile::parse(text)?;
    if let Some(unknown) = file.unknown.into_iter().next() {
        return Err(unknown);
    }
    let mut tools: Vec<Tool> = Vec::new();
    for entry in file.entries {
        let place = entry.position();
        let tool = tool(entry, env)?;
        if tools.iter().any(|other| other.name() == tool.name()) {
            let message =
                format!("tool {:?}: this name is already used in the file; choose another", tool.name());
            return Err(CommandFileError::at(place, message));
        }
        tools.push(tool);
    }
    Ok(tools)
}

fn tool(entry: DefinitionEntry<'_>, env: &CommandEnv) -> Result<Tool, CommandFileError> {
    let place = entry.position();
    let named = format!("tool {:?}", entry.name().unwrap_or_default());
    let wrong = |problem: String| CommandFileError::at(place, format!("{named}: {problem}"));
    entry.kind(&["command"])?;
    let (described, definition) = entry.read::<CommandDefinition>()?;
    let PreparedCommand { spec, command } =
        definition.prepare(described, env).map_err(|problem| wrong(problem.to_string()))?;
    let command = Arc::new(command);
    let tool = Tool::new(spec, move |args, cx| {
        let command = Arc::clone(&command);
        async move {
            // Gateways cancel late calls. A gateway that sends no deadline does not, so the file's timeout
            // applies.
            let own_limit = if cx.remaining().is_none() { command.timeout() } else { Duration::MAX };
            let unwanted = async {
                let _ = timeout(own_limit, cx.cancelled()).await;
            };
            command.run(&args, unwanted).await
        }
    });
    tool.check().map_err(|error| wrong(error.to_string()))?;
    Ok(tool)
}

#[cfg(test)]
mod tests;
