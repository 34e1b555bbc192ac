//! Hooks that the owner sets: a program or an address that is asked before and after calls. Both get one JSON
//! object, the [`Question`], and answer with one, the decision; its schemas are published in `docs/schemas`.
//!
//! When they are asked, how long they may take and what becomes of a call whose hook fails is the engine's
//! affair (`toolway_core::HookEntry`).

mod command;
mod decision;
mod request;
mod schema;
mod settings;
mod signature;
mod webhook;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use toolway_command::CommandEnv;
use toolway_core::{
    AfterCallDecision, BeforeCallDecision, Hook, HookCall, HookEntry, HookError, HookErrorAction,
};
use toolway_types::{Clock, Outcome};

use crate::secrets::SecretReader;

pub use request::{HookOutcome, HookRequest, HookRequestCall, HookStage};
pub use schema::{SchemaDocument, schemas};
pub use settings::{HookFailureMode, HookKind, HookProblem, HookSettings, validate};
pub use signature::{BadSigningKey, SigningKey};
pub use webhook::WebhookClient;

use command::CommandHook;
use settings::HookTarget;
use webhook::WebhookHook;

/// How much of an answer is read, in bytes: as much as a tool's own output may be.
const MAX_ANSWER_BYTES: usize = 16 << 20;

/// What hooks are made with.
pub struct HookDeps<'a> {
    /// The environment from which `env` passes variables through and whose `PATH` finds programs, and the
    /// folder in which they run.
    pub command_env: &'a CommandEnv,
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
pub fn build(settings: &[HookSettings], kit: &HookDeps<'_>) -> Result<Vec<HookEntry>, Vec<HookProblem>> {
    let mut problems = validate(settings);
    let mut entries = Vec::new();
    for (at, hook) in settings.iter().enumerate() {
        // What is wrong with the settings themselves is told already.
        let Ok(target) = hook.target() else { continue };
        match build_entry(hook, target, kit) {
            Ok(Some(entry)) => entries.push(entry),
            Ok(None) => {}
            Err((key, problem)) => problems.push(HookProblem::new(at, key, problem)),
        }
    }
    if problems.is_empty() { Ok(entries) } else { Err(problems) }
}

/// One entry; none where its patterns are wrong, which is told already.
fn build_entry(
    hook: &HookSettings,
    target: HookTarget<'_>,
    kit: &HookDeps<'_>,
) -> Result<Option<HookEntry>, (&'static str, String)> {
    let asked: Arc<dyn Hook> = match target {
        HookTarget::Command(program) => {
            let made = CommandHook::new(program, hook, kit.command_env);
            Arc::new(TransportHook(made.map_err(|problem| ("program", problem.to_string()))?))
        }
        HookTarget::Webhook { url, secret } => {
            let text = kit.secrets.read(&secret).map_err(|error| (hook.secret_key(), error.to_string()))?;
            let key = SigningKey::parse(&text).map_err(|bad| (hook.secret_key(), bad.to_string()))?;
            let name = hook.name.as_str().into();
            let clock = Arc::clone(&kit.clock);
            Arc::new(TransportHook(WebhookHook::new(name, url, key, kit.client.clone(), clock)))
        }
    };
    let Ok(tools) = hook.globs() else { return Ok(None) };
    Ok(Some(HookEntry {
        name: hook.name.as_str().into(),
        hook: asked,
        tools,
        runs_before: hook.stages.contains(&HookStage::Before),
        runs_after: hook.stages.contains(&HookStage::After),
        timeout: Duration::from_millis(hook.timeout_ms),
        on_error: match hook.on_failure {
            HookFailureMode::Open => HookErrorAction::FailOpen,
            HookFailureMode::Closed => HookErrorAction::FailClosed,
        },
    }))
}

/// Something that a question can be put to.
#[async_trait]
trait HookTransport: Send + Sync + 'static {
    /// The answer's text; empty where there is nothing to say.
    async fn ask(&self, question: &HookRequest<'_>) -> Result<String, HookError>;
}

/// Asks, and understands the answer.
struct TransportHook<A>(A);

#[async_trait]
impl<A: HookTransport> Hook for TransportHook<A> {
    async fn before_call(&self, call: &HookCall) -> Result<BeforeCallDecision, HookError> {
        decision::parse_before(&self.0.ask(&HookRequest::before(call)).await?)
    }

    async fn after_call(&self, call: &HookCall, outcome: &Outcome) -> Result<AfterCallDecision, HookError> {
        decision::parse_after(&self.0.ask(&HookRequest::after(call, outcome)).await?)
    }
}

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
