//! Tools that are commands, defined in a TOML file. The file's form, and how a command runs, is told by
//! [`toolway_command`].

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use toolway_command::{CommandDefinition, DefinitionEntry, DefinitionFile, PreparedCommand};
use toolway_device::Tool;

pub use toolway_command::{CommandEnv, DefinitionFileError as CommandFileError};

/// Reads the text of a command file. Looks for each program, so it may block for some milliseconds.
///
/// # Errors
/// [`CommandFileError`] says what does not fit and where.
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
            let message = format!("tool {:?}: there is another of this name", tool.name());
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
            // Any gateway cancels what is late, but for one that does not say how much time there is.
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
