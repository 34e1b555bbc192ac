//! Step two: the arguments against the tool's schema. Nothing invalid runs (invariant 5), and what takes long to
//! check is checked where nobody else waits for it.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use toolway_types::{Code, ToolError};

use super::lookup::Target;
use super::record::OpenRecord;
use super::redact::has_secrets;
use super::run;
use crate::arguments::{Arguments, RawArguments};
use crate::engine::{Call, Engine, EngineSettings};
use crate::spec::ToolSpec;

/// How many checks that take long run at a time.
pub(crate) const CHECKS: usize = 4;

/// Arguments that were refused.
pub(super) struct BadArguments {
    /// The arguments, where they could be parsed at all.
    pub(super) parsed: Option<Arguments>,
    pub(super) error: ToolError,
}

impl From<ToolError> for BadArguments {
    fn from(error: ToolError) -> Self {
        Self { parsed: None, error }
    }
}

/// Checks the arguments of a call that has no record yet. Where that takes time, it is the call's: its timeout is
/// shorter afterwards.
pub(super) async fn of_call(
    engine: &Arc<Engine>,
    settings: &Arc<EngineSettings>,
    call: &mut Call,
    target: &Target,
    accepted: Instant,
) -> Result<Arguments, BadArguments> {
    let raw = std::mem::take(&mut call.arguments);
    let spec = target.tool.spec();
    if !is_heavy(&raw, spec) {
        return look(raw, spec, settings);
    }
    // Apart, so that the way of every other call is no longer for it.
    Box::pin(heavy_of_call(engine, settings, call, target, accepted, raw)).await
}

async fn heavy_of_call(
    engine: &Arc<Engine>,
    settings: &Arc<EngineSettings>,
    call: &mut Call,
    target: &Target,
    accepted: Instant,
    raw: RawArguments,
) -> Result<Arguments, BadArguments> {
    let limit = run::limit(settings, call, target);
    let checked = {
        let mut unrecorded = Unrecorded { is_over: false, engine, settings, call, target, accepted };
        let checked = tokio::select! {
            biased;
            reason = run::ended_from_outside(engine, call.cancel.as_ref()) => Err(run::ended(reason).into()),
            checked = tokio::time::timeout(limit, aside(engine, settings, raw, target.tool.spec())) => {
                checked.unwrap_or_else(|_| Err(too_slow(limit).into()))
            }
        };
        unrecorded.is_over = true;
        checked
    };
    call.timeout = Some(limit.saturating_sub(accepted.elapsed()));
    checked
}

/// Checks arguments that hooks have changed.
pub(super) async fn of_hook(
    engine: &Arc<Engine>,
    settings: &Arc<EngineSettings>,
    raw: RawArguments,
    spec: &Arc<ToolSpec>,
) -> Result<Arguments, BadArguments> {
    if is_heavy(&raw, spec) {
        return Box::pin(aside(engine, settings, raw, spec)).await;
    }
    look(raw, spec, settings)
}

fn is_heavy(raw: &RawArguments, spec: &ToolSpec) -> bool {
    let bytes = match raw {
        RawArguments::None => 0,
        RawArguments::Json(json) => json.get().len(),
        RawArguments::Text(text) => text.len(),
    };
    spec.parameters().is_heavy_for(bytes)
}

/// Checks in a thread of its own, as soon as not too many others do. Code that runs there can't be stopped, so
/// what would take too long is not begun.
async fn aside(
    engine: &Arc<Engine>,
    settings: &Arc<EngineSettings>,
    raw: RawArguments,
    spec: &Arc<ToolSpec>,
) -> Result<Arguments, BadArguments> {
    // It is never closed.
    let permit = engine.checks.clone().acquire_owned().await;
    let (spec, settings) = (spec.clone(), settings.clone());
    let checking = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        let arguments = parse(raw)?;
        if !spec.parameters().can_judge(arguments.value()) {
            let error = ToolError::new(
                Code::InvalidArguments,
                "Invalid arguments: checking them against the tool's schema would take too long",
            );
            return Err(BadArguments {
                parsed: Some(arguments),
                error: error.with_hint("Give less at a time"),
            });
        }
        judge(arguments, &spec, &settings)
    });
    run::until_end(engine, checking).await.unwrap_or_else(|_| {
        let error = ToolError::new(Code::InvalidArguments, "Invalid arguments: checking them failed");
        Err(error.into())
    })
}

fn look(raw: RawArguments, spec: &ToolSpec, settings: &EngineSettings) -> Result<Arguments, BadArguments> {
    judge(parse(raw)?, spec, settings)
}

fn parse(raw: RawArguments) -> Result<Arguments, BadArguments> {
    Arguments::parse(raw).map_err(|problem| {
        let error = ToolError::new(Code::InvalidArguments, format!("Invalid arguments: {problem}"));
        error.with_hint("Give the arguments as one JSON object").into()
    })
}

fn judge(
    arguments: Arguments,
    spec: &ToolSpec,
    settings: &EngineSettings,
) -> Result<Arguments, BadArguments> {
    let schema = spec.parameters();
    if schema.accepts(arguments.value()) {
        return Ok(arguments);
    }
    // The message is recorded, so it must not quote what the record leaves out.
    let masked = has_secrets(&arguments, schema.secrets(), &settings.redact);
    let violations = schema.list_violations(arguments.value(), masked).join("; ");
    let error = ToolError::new(Code::InvalidArguments, format!("Invalid arguments: {violations}"))
        .with_hint("Correct the values at these places and call again");
    Err(BadArguments { parsed: Some(arguments), error })
}

fn too_slow(limit: Duration) -> ToolError {
    let message = format!("The arguments could not be checked within {}", run::words(limit));
    ToolError::new(Code::Timeout, message)
}

/// Records a call whose caller goes while its arguments are checked.
struct Unrecorded<'a> {
    is_over: bool,
    engine: &'a Engine,
    settings: &'a EngineSettings,
    call: &'a Call,
    target: &'a Target,
    accepted: Instant,
}

impl Drop for Unrecorded<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            // Dropped at once, it closes as what it is.
            let Self { engine, settings, call, target, accepted, .. } = self;
            drop(OpenRecord::open(engine, settings, call, *accepted, Some(target), None, None));
        }
    }
}
