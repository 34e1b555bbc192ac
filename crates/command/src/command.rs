//! A runnable command: a program with a template for its arguments.

use std::future::Future;
use std::io;
use std::time::Duration;

use serde_json::{Value, json};
use toolway_types::{Code, JsonObject, SpecDocument, ToolError, foreign_json};

use crate::command_env::CommandEnv;
use crate::definition::{CommandDefinition, CommandInput, CommandOutputFormat, ToolMetadata};
use crate::placeholder_check::check_placeholders;
use crate::problem::DefinitionProblem;
use crate::process::{OutputLimits, ProcessOutput, ProgramLaunch, RunError};
use crate::reported_failure;
use crate::template::ArgvTemplate;

/// Default maximum duration of a run.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);
/// Amount of output that is kept.
const OUTPUT_LIMITS: OutputLimits = OutputLimits { stdout: 1 << 20, stderr: 64 << 10 };

/// A command, ready to run.
#[derive(Debug)]
pub struct ToolCommand {
    name: String,
    launch: ProgramLaunch,
    template: ArgvTemplate,
    input: CommandInput,
    output: CommandOutputFormat,
    timeout: Duration,
}

/// A validated definition.
#[derive(Debug)]
pub struct PreparedCommand {
    /// The spec shown to callers. Its name and schema are validated by the code that registers the tool.
    pub spec: SpecDocument,
    /// The command to run.
    pub command: ToolCommand,
}

impl CommandDefinition {
    /// Finds the program and validates the definition. May block for some milliseconds.
    ///
    /// # Errors
    /// [`DefinitionProblem`] describes the invalid part.
    pub fn prepare(
        self,
        described: ToolMetadata,
        env: &CommandEnv,
    ) -> Result<PreparedCommand, DefinitionProblem> {
        let mut spec = described.spec()?;
        let template = ArgvTemplate::parse(&self.args)?;
        let schema = spec.parameters.as_ref().map(|schema| schema.to_value()).unwrap_or_default();
        check_placeholders(&template, &schema, self.input)?;
        let timeout = match self.timeout_s {
            None => DEFAULT_TIMEOUT,
            Some(seconds) => {
                Duration::try_from_secs_f64(seconds).ok().filter(|timeout| !timeout.is_zero()).ok_or_else(
                    || DefinitionProblem("timeout_s must be a number of seconds above 0".to_owned()),
                )?
            }
        };
        let working_dir = self.cwd.as_deref();
        let launch = ProgramLaunch::resolve(&self.program, &self.pass_env, self.set_env, working_dir, env)?;
        spec.timeout_ms = Some(u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX));
        let name = spec.name.clone();
        let command = ToolCommand { name, launch, template, input: self.input, output: self.output, timeout };
        Ok(PreparedCommand { spec, command })
    }
}

impl ToolCommand {
    /// Maximum duration of one run, from the definition.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Runs the command for one call. Its whole process group is killed when `unwanted` resolves, when the
    /// future is dropped, and after the program has ended.
    ///
    /// # Errors
    /// [`ToolError`] if the program did not run, or failed according to its exit code or output.
    pub async fn run(
        &self,
        arguments: &JsonObject,
        unwanted: impl Future<Output = ()>,
    ) -> Result<Value, ToolError> {
        let argv = self.template.fill_element(arguments)?;
        let input = match self.input {
            CommandInput::Argv => None,
            CommandInput::StdinJson => Some(serde_json::to_vec(arguments).unwrap_or_default()),
        };
        match self.launch.run(argv, input, OUTPUT_LIMITS, unwanted).await {
            // The program ran, so it may have had effects.
            Ok(ended) => self.to_result(&ended).map_err(|error| error.with_dispatched(true)),
            Err(error) => Err(run_error(&error)),
        }
    }

    fn to_result(&self, ended: &ProcessOutput) -> Result<Value, ToolError> {
        let failed = |what: String| ToolError::new(Code::ToolFailed, format!("{}: {what}", self.name));
        let output = match self.output {
            CommandOutputFormat::Text => Ok(Value::String(ended.stdout.text())),
            CommandOutputFormat::Json if ended.stdout.is_truncated() => Err(format!(
                "its output is longer than {} bytes, so its JSON is incomplete",
                OUTPUT_LIMITS.stdout
            )),
            CommandOutputFormat::Json => foreign_json::from_str(&ended.stdout.text())
                .map_err(|error| format!("its output is not JSON: {error}")),
        };
        if let (CommandOutputFormat::Json, Ok(output), Some(_)) = (self.output, &output, ended.status)
            && let Some(told) = reported_failure::find_reported_failure(&self.name, output)
        {
            return Err(told);
        }
        if let Some(failure) = ended.failure_message() {
            return Err(failed(failure));
        }
        let code = ended.status.and_then(|status| status.code());
        Ok(json!({ "exit_code": code, "stdout": output.map_err(failed)?, "stderr": ended.stderr.text() }))
    }
}

fn run_error(error: &RunError) -> ToolError {
    let failure = ToolError::new(Code::ToolFailed, error.to_string());
    match error {
        RunError::Start { error, .. } if error.kind() == io::ErrorKind::ArgumentListTooLong => {
            failure.with_hint("use shorter arguments, or set input = \"stdin-json\" in the definition")
        }
        _ => failure,
    }
}
