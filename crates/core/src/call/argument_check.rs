//! Validates the arguments against the tool's schema (invariant "nothing invalid runs"). Expensive
//! validations run on a blocking thread.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use toolway_types::{Code, ToolError};

use super::abandoned_task::wait_or_abandon;
use super::external_end::{external_end_error, wait_for_external_end};
use super::lookup::CallTarget;
use super::optional_nulls::without_optional_nulls;
use super::record::CallRecordGuard;
use super::redaction::{has_secrets, redact};
use super::run_limits::{format_duration, run_timeout};
use crate::arguments::{Arguments, RawArguments};
use crate::call_request::CallRequest;
use crate::engine::Engine;
use crate::engine_settings::EngineSettings;
use crate::spec::ToolSpec;

/// Refused arguments.
pub(super) struct RejectedArguments {
    /// The arguments, if they could be parsed.
    pub(super) parsed: Option<Arguments>,
    /// Boxed, so that the result for accepted arguments stays small.
    pub(super) error: Box<ToolError>,
}

impl From<ToolError> for RejectedArguments {
    fn from(error: ToolError) -> Self {
        Self { parsed: None, error: Box::new(error) }
    }
}

/// Validates the arguments of a call that has no record yet. The time spent is subtracted from the call's
/// timeout.
pub(super) async fn check_call_arguments(
    engine: &Arc<Engine>,
    settings: &Arc<EngineSettings>,
    call: &mut CallRequest,
    target: &CallTarget,
    accepted: Instant,
) -> Result<Arguments, RejectedArguments> {
    let raw = std::mem::take(&mut call.arguments);
    let spec = target.tool.spec();
    if !is_heavy(&raw, spec) {
        return check_inline(raw, spec, settings);
    }
    // Boxed, so that the future of all other calls stays small.
    Box::pin(check_heavy_call_arguments(engine, settings, call, target, accepted, raw)).await
}

async fn check_heavy_call_arguments(
    engine: &Arc<Engine>,
    settings: &Arc<EngineSettings>,
    call: &mut CallRequest,
    target: &CallTarget,
    accepted: Instant,
    raw: RawArguments,
) -> Result<Arguments, RejectedArguments> {
    let limit = run_timeout(settings, call, target);
    let checked = {
        let mut unrecorded = DroppedCallGuard { is_done: false, engine, settings, call, target, accepted };
        let checked = tokio::select! {
            biased;
            reason = wait_for_external_end(engine, call.cancel.as_ref()) => Err(external_end_error(reason).into()),
            checked = tokio::time::timeout(limit, check_on_blocking_thread(engine, settings, raw, target.tool.spec())) => {
                checked.unwrap_or_else(|_| Err(check_timeout_error(limit).into()))
            }
        };
        unrecorded.is_done = true;
        checked
    };
    call.timeout = Some(limit.saturating_sub(accepted.elapsed()));
    checked
}

/// Validates arguments that hooks have changed.
pub(super) async fn check_hook_arguments(
    engine: &Arc<Engine>,
    settings: &Arc<EngineSettings>,
    raw: RawArguments,
    spec: &Arc<ToolSpec>,
) -> Result<Arguments, RejectedArguments> {
    if is_heavy(&raw, spec) {
        return Box::pin(check_on_blocking_thread(engine, settings, raw, spec)).await;
    }
    check_inline(raw, spec, settings)
}

fn is_heavy(raw: &RawArguments, spec: &ToolSpec) -> bool {
    let bytes = match raw {
        RawArguments::None => 0,
        RawArguments::Json(json) => json.get().len(),
        RawArguments::Text(text) => text.len(),
    };
    spec.parameters().is_heavy_for(bytes)
}

/// Validates on a blocking thread, when few enough validations run. Such code cannot be aborted, so a
/// validation that would take too long is not started.
async fn check_on_blocking_thread(
    engine: &Arc<Engine>,
    settings: &Arc<EngineSettings>,
    raw: RawArguments,
    spec: &Arc<ToolSpec>,
) -> Result<Arguments, RejectedArguments> {
    // The semaphore is never closed.
    let permit = engine.heavy_checks.clone().acquire_owned().await;
    let (spec, settings) = (spec.clone(), settings.clone());
    let checking = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        let mut arguments = parse(raw)?;
        // The record is made here too, because looking for secrets visits every value.
        arguments.set_recorded(redact(&arguments, spec.parameters().secrets(), &settings.redact));
        if !spec.parameters().can_validate(arguments.value()) {
            let error = ToolError::new(
                Code::InvalidArguments,
                "Invalid arguments: checking them against the tool's schema would take too long",
            );
            return Err(RejectedArguments {
                parsed: Some(arguments),
                error: Box::new(error.with_hint("Use smaller arguments")),
            });
        }
        validate(arguments, &spec, &settings)
    });
    wait_or_abandon(engine, checking).await.unwrap_or_else(|_| {
        let error = ToolError::new(Code::InvalidArguments, "Invalid arguments: the validation failed");
        Err(error.into())
    })
}

fn check_inline(
    raw: RawArguments,
    spec: &ToolSpec,
    settings: &EngineSettings,
) -> Result<Arguments, RejectedArguments> {
    validate(parse(raw)?, spec, settings)
}

fn parse(raw: RawArguments) -> Result<Arguments, RejectedArguments> {
    Arguments::parse(raw).map_err(|problem| {
        let error = ToolError::new(Code::InvalidArguments, format!("Invalid arguments: {problem}"));
        error.with_hint("Pass the arguments as one JSON object").into()
    })
}

fn validate(
    arguments: Arguments,
    spec: &ToolSpec,
    settings: &EngineSettings,
) -> Result<Arguments, RejectedArguments> {
    let schema = spec.parameters();
    if schema.is_valid(arguments.value()) {
        return Ok(arguments);
    }
    let arguments = without_optional_nulls(arguments, schema);
    if arguments.has_removed_nulls() && schema.is_valid(arguments.value()) {
        return Ok(arguments);
    }
    // The message is recorded, so it must not quote masked values.
    let masked = has_secrets(&arguments, schema.secrets(), &settings.redact);
    let violations = schema.list_violations(arguments.value(), masked).join("; ");
    let error = ToolError::new(Code::InvalidArguments, format!("Invalid arguments: {violations}"))
        .with_hint("Correct the values at these places and call again");
    Err(RejectedArguments { parsed: Some(arguments.given().clone()), error: Box::new(error) })
}

fn check_timeout_error(limit: Duration) -> ToolError {
    let message = format!("The arguments could not be checked within {}", format_duration(limit));
    ToolError::new(Code::Timeout, message)
}

/// Records a call whose caller leaves while its arguments are validated.
struct DroppedCallGuard<'a> {
    is_done: bool,
    engine: &'a Engine,
    settings: &'a EngineSettings,
    call: &'a CallRequest,
    target: &'a CallTarget,
    accepted: Instant,
}

impl Drop for DroppedCallGuard<'_> {
    fn drop(&mut self) {
        if !self.is_done {
            // The guard is dropped at once, which closes the record with the right outcome.
            let Self { engine, settings, call, target, accepted, .. } = self;
            drop(CallRecordGuard::open(engine, settings, call, *accepted, Some(target), None, None));
        }
    }
}
