//! Step two: the arguments against the tool's schema. Nothing invalid runs (invariant 5).

use toolway_types::{Code, ToolError};

use super::redact::has_secrets;
use crate::arguments::{Arguments, RawArguments};
use crate::engine::EngineSettings;
use crate::spec::ToolSpec;

/// Arguments that were refused.
pub(super) struct BadArguments {
    /// The arguments, where they could be parsed at all.
    pub(super) parsed: Option<Arguments>,
    pub(super) error: ToolError,
}

pub(super) fn check(
    raw: RawArguments,
    spec: &ToolSpec,
    settings: &EngineSettings,
) -> Result<Arguments, BadArguments> {
    let arguments = Arguments::parse(raw).map_err(|problem| BadArguments {
        parsed: None,
        error: ToolError::new(Code::InvalidArguments, format!("Invalid arguments: {problem}"))
            .with_hint("Give the arguments as one JSON object"),
    })?;
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
