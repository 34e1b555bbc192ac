//! Hooks set by the owner: a program or a webhook that is called before and after tool calls. Both receive
//! one JSON object, a [`HookRequest`], and respond with one, the decision. `docs/schemas` contains the
//! schemas.
//!
//! The engine decides when a hook runs, enforces its timeout, and applies its failure mode
//! (`toolway_core::HookEntry`).

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

use toolway_secrets::SecretReader;

pub use request::{HookOutcome, HookRequest, HookRequestCall, HookStage};
pub use schema::{SchemaDocument, schemas};
pub use settings::{HookFailureMode, HookKind, HookProblem, HookSettings, validate};
pub use signature::{BadSigningKey, SigningKey};
pub use webhook::WebhookClient;

use command::CommandHook;
use settings::HookTarget;
use webhook::WebhookHook;

/// Maximum length of a hook's response, in bytes; the same as for a tool's output.
const MAX_ANSWER_BYTES: usize = 16 << 20;

/// Dependencies of hooks.
pub struct HookDeps<'a> {
    /// Environment for programs: `pass_env` copies variables from it, its `PATH` is used to find programs,
    /// and its folder is their working directory.
    pub command_env: &'a CommandEnv,
    /// Client that sends webhooks.
    pub client: &'a WebhookClient,
    /// Clock for the timestamps of webhooks.
    pub clock: Arc<dyn Clock>,
    /// Reader of the secrets that sign webhooks.
    pub secrets: &'a dyn SecretReader,
}

/// Creates the hooks of the settings, in order. Searches for programs and reads secrets, so it may block for
/// some milliseconds.
///
/// # Errors
/// All problems, in the order of the settings.
pub fn build(settings: &[HookSettings], kit: &HookDeps<'_>) -> Result<Vec<HookEntry>, Vec<HookProblem>> {
    let mut problems = validate(settings);
    let mut entries = Vec::new();
    for (at, hook) in settings.iter().enumerate() {
        // `validate` has already reported these problems.
        let Ok(target) = hook.target() else { continue };
        match build_entry(hook, target, kit) {
            Ok(Some(entry)) => entries.push(entry),
            Ok(None) => {}
            Err((key, problem)) => problems.push(HookProblem::new(at, key, problem)),
        }
    }
    if problems.is_empty() { Ok(entries) } else { Err(problems) }
}

/// Creates one entry. None if its patterns are invalid, which `validate` has already reported.
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

/// A way to send a request to a hook.
#[async_trait]
trait HookTransport: Send + Sync + 'static {
    /// Sends the request and returns the text of the response; empty if the hook has no decision.
    async fn ask(&self, question: &HookRequest<'_>) -> Result<String, HookError>;
}

/// Sends requests and parses the responses.
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
