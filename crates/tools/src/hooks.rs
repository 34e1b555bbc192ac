//! Hooks that the owner sets: a program or an address that is asked before and after calls. Both get one JSON
//! object, the [`Question`], and answer with one, the decision; its schemas are published in `docs/schemas`.
//!
//! When they are asked, how long they may take and what becomes of a call whose hook fails is the engine's
//! affair (`toolway_core::HookEntry`).

mod answer;
mod command;
mod question;
mod schema;
mod settings;
mod signature;
mod webhook;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use toolway_command::Surroundings;
use toolway_core::{After, Before, Hook, HookEntry, HookFault, HookedCall, OnFault};
use toolway_types::{Clock, Outcome};

use crate::secrets::SecretReader;

pub use question::{OutcomeForm, Question, QuestionCall, Stage};
pub use schema::{Document, schemas};
pub use settings::{HookKind, HookProblem, HookSettings, WhenHookFails, validate};
pub use signature::{BadSigningKey, SigningKey};
pub use webhook::WebhookClient;

use command::CommandHook;
use settings::Target;
use webhook::WebhookHook;

/// How much of an answer is read, in bytes: as much as a tool's own output may be.
const ANSWER: usize = 16 << 20;

/// What hooks are made with.
pub struct HookKit<'a> {
    /// The environment from which `env` passes variables through and whose `PATH` finds programs, and the
    /// folder in which they run.
    pub surroundings: &'a Surroundings,
    /// Sends webhooks.
    pub client: &'a WebhookClient,
    /// Dates them.
    pub clock: Arc<dyn Clock>,
    /// Reads the secrets that they are signed with.
    pub secrets: &'a dyn SecretReader,
}

/// Makes the hooks of the settings, in their order. Looks for programs and reads secrets, so it may block for
/// some milliseconds.
///
/// # Errors
/// Everything that is wrong, in the order of the settings.
pub fn build(settings: &[HookSettings], kit: &HookKit<'_>) -> Result<Vec<HookEntry>, Vec<HookProblem>> {
    let mut problems = validate(settings);
    let mut entries = Vec::new();
    for (at, hook) in settings.iter().enumerate() {
        // What is wrong with the settings themselves is told already.
        let Ok(target) = hook.target() else { continue };
        match entry(hook, target, kit) {
            Ok(Some(entry)) => entries.push(entry),
            Ok(None) => {}
            Err((key, problem)) => problems.push(HookProblem::new(at, key, problem)),
        }
    }
    if problems.is_empty() { Ok(entries) } else { Err(problems) }
}

/// One entry; none where its patterns are wrong, which is told already.
fn entry(
    hook: &HookSettings,
    target: Target<'_>,
    kit: &HookKit<'_>,
) -> Result<Option<HookEntry>, (&'static str, String)> {
    let asked: Arc<dyn Hook> = match target {
        Target::Command(program) => {
            let made = CommandHook::new(program, hook, kit.surroundings);
            Arc::new(Asked(made.map_err(|problem| ("program", problem.to_string()))?))
        }
        Target::Webhook { url, secret } => {
            let text = kit.secrets.read(&secret).map_err(|error| (hook.secret_key(), error.to_string()))?;
            let key = SigningKey::parse(&text).map_err(|bad| (hook.secret_key(), bad.to_string()))?;
            let name = hook.name.as_str().into();
            let clock = Arc::clone(&kit.clock);
            Arc::new(Asked(WebhookHook::new(name, url, key, kit.client.clone(), clock)))
        }
    };
    let Ok(tools) = hook.globs() else { return Ok(None) };
    Ok(Some(HookEntry {
        name: hook.name.as_str().into(),
        hook: asked,
        tools,
        before: hook.stages.contains(&Stage::Before),
        after: hook.stages.contains(&Stage::After),
        timeout: Duration::from_millis(hook.timeout_ms),
        on_fault: match hook.on_fault {
            WhenHookFails::Open => OnFault::Open,
            WhenHookFails::Closed => OnFault::Closed,
        },
    }))
}

/// Something that a question can be put to.
#[async_trait]
trait Ask: Send + Sync + 'static {
    /// The answer's text; empty where there is nothing to say.
    async fn ask(&self, question: &Question<'_>) -> Result<String, HookFault>;
}

/// Asks, and understands the answer.
struct Asked<A>(A);

#[async_trait]
impl<A: Ask> Hook for Asked<A> {
    async fn before(&self, call: &HookedCall) -> Result<Before, HookFault> {
        answer::before(&self.0.ask(&Question::before(call)).await?)
    }

    async fn after(&self, call: &HookedCall, outcome: &Outcome) -> Result<After, HookFault> {
        answer::after(&self.0.ask(&Question::after(call, outcome)).await?)
    }
}

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
