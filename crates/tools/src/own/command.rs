//! Tools that run commands, with the same definitions as `toolway device --tools`.

use std::sync::Arc;

use async_trait::async_trait;
use toolway_command::{CommandDefinition, CommandEnv, PreparedCommand, ToolCommand, ToolMetadata};
use toolway_core::{Arguments, CallContext, Tool, ToolSpec};
use toolway_types::{RawJson, ToolError, ToolOutput};

struct CommandTool {
    spec: Arc<ToolSpec>,
    command: ToolCommand,
}

/// Creates the tool. Searches for the program, so it may block for some milliseconds.
///
/// # Errors
/// A description of the problem.
pub(super) fn tool(
    described: ToolMetadata,
    definition: CommandDefinition,
    env: &CommandEnv,
) -> Result<Arc<dyn Tool>, String> {
    let PreparedCommand { spec, command } =
        definition.prepare(described, env).map_err(|problem| problem.to_string())?;
    let spec = Arc::new(ToolSpec::compile(spec).map_err(|bad| bad.to_string())?);
    Ok(Arc::new(CommandTool { spec, command }))
}

#[async_trait]
impl Tool for CommandTool {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    /// Runs the command. The engine enforces the deadline: it cancels, then drops this future, and either
    /// kills the command's process group.
    async fn execute(&self, arguments: Arguments, cx: &CallContext) -> Result<ToolOutput, ToolError> {
        let result = self.command.run(&arguments.into_object(), cx.cancelled()).await?;
        Ok(ToolOutput::structured(RawJson::from(&result)))
    }
}
