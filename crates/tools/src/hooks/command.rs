//! Hooks that are programs: the request arrives on standard input, and the decision is standard output. Each
//! request starts the program anew, without a shell, in a process group that is killed on timeout.

use std::future::pending;

use async_trait::async_trait;
use toolway_command::{CommandEnv, DefinitionProblem, OutputLimits, ProgramLaunch};
use toolway_core::HookError;

use super::decision::excerpt;
use super::request::HookRequest;
use super::settings::HookSettings;
use super::{HookTransport, MAX_ANSWER_BYTES};

/// Maximum captured output.
const LIMITS: OutputLimits = OutputLimits { stdout: MAX_ANSWER_BYTES, stderr: 64 << 10 };
/// Length of the excerpt of standard error in an error message, in bytes.
const STDERR_EXCERPT_BYTES: usize = 500;

/// A program that acts as a hook.
#[derive(Debug)]
pub(super) struct CommandHook {
    launch: ProgramLaunch,
    args: Vec<String>,
}

impl CommandHook {
    /// Finds the program and prepares its environment.
    pub(super) fn new(
        program: &str,
        settings: &HookSettings,
        env: &CommandEnv,
    ) -> Result<Self, DefinitionProblem> {
        let cwd = settings.cwd.as_deref();
        let set_env = settings.set_env.clone();
        let launch = ProgramLaunch::resolve(program, &settings.pass_env, set_env, cwd, env)?;
        Ok(Self { launch, args: settings.args.clone() })
    }
}

#[async_trait]
impl HookTransport for CommandHook {
    async fn ask(&self, question: &HookRequest<'_>) -> Result<String, HookError> {
        let mut input = question.to_json();
        input.push(b'\n');
        // On timeout the engine drops this future, which kills the program.
        let ended = self.launch.run(self.args.clone(), Some(input), LIMITS, pending()).await;
        let ended = ended.map_err(|error| HookError(error.to_string()))?;
        if let Some(how) = ended.failure_reason() {
            let complaints = ended.stderr.text();
            let said = excerpt(complaints.trim(), STDERR_EXCERPT_BYTES);
            return Err(HookError(if said.is_empty() { how } else { format!("{how}: {said}") }));
        }
        if ended.stdout.is_truncated() {
            return Err(HookError(format!("its response is longer than {MAX_ANSWER_BYTES} bytes")));
        }
        Ok(ended.stdout.text())
    }
}
