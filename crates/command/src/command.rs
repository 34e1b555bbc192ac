//! A command: a program with a template for its arguments, ready to be called.

use std::future::Future;
use std::io;
use std::time::Duration;

use serde_json::{Value, json};
use toolway_types::{Code, JsonObject, SpecDocument, ToolError};

use crate::definition::{Definition, Described, Input, Output, Problem};
use crate::failure;
use crate::parameters::check_holes;
use crate::process::{Ended, Launch, Limits, RunError, Surroundings};
use crate::template::Template;

/// Runs no longer than this where the file does not say.
const TIMEOUT: Duration = Duration::from_secs(30);
/// How much is kept of what a command writes.
const LIMITS: Limits = Limits { stdout: 1 << 20, stderr: 64 << 10 };

/// A command, ready to run.
#[derive(Debug)]
pub struct Command {
    name: String,
    launch: Launch,
    template: Template,
    input: Input,
    output: Output,
    timeout: Duration,
}

/// A definition that was understood.
#[derive(Debug)]
pub struct Prepared {
    /// What its callers see. Whether the name and the schema can be used is for whoever offers it to say.
    pub spec: SpecDocument,
    /// What runs.
    pub command: Command,
}

impl Definition {
    /// Looks for the program and checks that everything fits together. May block for some milliseconds.
    ///
    /// # Errors
    /// [`Problem`] says what does not.
    pub fn prepare(self, described: Described, surroundings: &Surroundings) -> Result<Prepared, Problem> {
        let mut spec = described.spec()?;
        let template = Template::parse(&self.args)?;
        let schema = spec.parameters.as_ref().map(|schema| schema.to_value()).unwrap_or_default();
        check_holes(&template, &schema, self.input)?;
        let timeout =
            match self.timeout_s {
                None => TIMEOUT,
                Some(seconds) => Duration::try_from_secs_f64(seconds)
                    .ok()
                    .filter(|timeout| !timeout.is_zero())
                    .ok_or_else(|| Problem("timeout_s must be a number of seconds above 0".to_owned()))?,
            };
        let working_dir = self.working_dir.as_deref();
        let launch = Launch::find(&self.program, &self.env, self.env_set, working_dir, surroundings)?;
        spec.timeout_ms = Some(u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX));
        let name = spec.name.clone();
        let command = Command { name, launch, template, input: self.input, output: self.output, timeout };
        Ok(Prepared { spec, command })
    }
}

impl Command {
    /// How long one run may take, as its definition says.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Runs it for one call. Its whole process group is killed when `unwanted` resolves or the future is
    /// dropped, and what is left of it when the program has ended.
    ///
    /// # Errors
    /// [`ToolError`] where it did not run, or failed by its exit code or its output.
    pub async fn run(
        &self,
        arguments: &JsonObject,
        unwanted: impl Future<Output = ()>,
    ) -> Result<Value, ToolError> {
        let argv = self.template.fill(arguments)?;
        let input = match self.input {
            Input::Argv => None,
            Input::StdinJson => Some(serde_json::to_vec(arguments).unwrap_or_default()),
        };
        match self.launch.run(argv, input, LIMITS, unwanted).await {
            // It ran, so it may have had effects.
            Ok(ended) => self.result(&ended).map_err(|error| error.dispatched(true)),
            Err(error) => Err(not_run(&error)),
        }
    }

    fn result(&self, ended: &Ended) -> Result<Value, ToolError> {
        let failed = |what: String| ToolError::new(Code::ToolFailed, format!("{}: {what}", self.name));
        let output = match self.output {
            Output::Text => Ok(Value::String(ended.stdout.text())),
            Output::Json if ended.stdout.is_cut() => {
                Err(format!("its output is longer than {} bytes, so it is no whole JSON", LIMITS.stdout))
            }
            Output::Json => serde_json::from_str(&ended.stdout.text())
                .map_err(|error| format!("its output is not JSON: {error}")),
        };
        if let (Output::Json, Ok(output), Some(_)) = (self.output, &output, ended.status)
            && let Some(told) = failure::told(&self.name, output)
        {
            return Err(told);
        }
        if let Some(failure) = ended.failure() {
            return Err(failed(failure));
        }
        let code = ended.status.and_then(|status| status.code());
        Ok(json!({ "exit_code": code, "stdout": output.map_err(failed)?, "stderr": ended.stderr.text() }))
    }
}

fn not_run(error: &RunError) -> ToolError {
    let failure = ToolError::new(Code::ToolFailed, error.to_string());
    match error {
        RunError::Start { error, .. } if error.kind() == io::ErrorKind::ArgumentListTooLong => failure
            .with_hint("give shorter arguments; large ones need input = \"stdin-json\" in the definition"),
        _ => failure,
    }
}
