//! Hooks that are programs: the question on standard input, the decision on standard output. Each question
//! starts the program anew, without a shell, in a process group that is killed whole when its time is over.

use std::future::pending;

use async_trait::async_trait;
use toolway_command::{Launch, Limits, Problem, Surroundings};
use toolway_core::HookFault;

use super::answer::start;
use super::question::Question;
use super::settings::HookSettings;
use super::{ANSWER, Ask};

/// How much is kept of what it writes.
const LIMITS: Limits = Limits { stdout: ANSWER, stderr: 64 << 10 };
/// How much of its complaints a fault tells, in bytes.
const TOLD: usize = 500;

/// A program that is asked.
#[derive(Debug)]
pub(super) struct CommandHook {
    launch: Launch,
    args: Vec<String>,
}

impl CommandHook {
    /// Finds the program.
    pub(super) fn new(
        program: &str,
        settings: &HookSettings,
        surroundings: &Surroundings,
    ) -> Result<Self, Problem> {
        let working_dir = settings.working_dir.as_deref();
        let env_set = settings.env_set.clone();
        let launch = Launch::find(program, &settings.env, env_set, working_dir, surroundings)?;
        Ok(Self { launch, args: settings.args.clone() })
    }
}

#[async_trait]
impl Ask for CommandHook {
    async fn ask(&self, question: &Question<'_>) -> Result<String, HookFault> {
        let mut input = question.to_json();
        input.push(b'\n');
        // Whoever asks drops the question when its time is over, and that kills the program.
        let ended = self.launch.run(self.args.clone(), Some(input), LIMITS, pending()).await;
        let ended = ended.map_err(|error| HookFault(error.to_string()))?;
        if let Some(how) = ended.how_it_failed() {
            let complaints = ended.stderr.text();
            let said = start(complaints.trim(), TOLD);
            return Err(HookFault(if said.is_empty() { how } else { format!("{how}: {said}") }));
        }
        if ended.stdout.is_cut() {
            return Err(HookFault(format!("its answer is longer than {ANSWER} bytes")));
        }
        Ok(ended.stdout.text())
    }
}
