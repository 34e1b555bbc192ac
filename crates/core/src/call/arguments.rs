//! Step two: the arguments against the tool's schema. Nothing invalid runs (invariant 5).

use toolway_types::{Code, ToolError};

use crate::arguments::{Arguments, RawArguments};
use crate::spec::ToolSpec;

/// Arguments that were refused.
pub(super) struct BadArguments {
    /// The arguments, where they could be parsed at all.
    pub(super) parsed: Option<Arguments>,
    pub(super) error: ToolError,
}

pub(super) fn check(raw: RawArguments, spec: &ToolSpec) -> Result<Arguments, BadArguments> {
    let arguments = Arguments::parse(raw).map_err(|problem| BadArguments {
        parsed: None,
        error: ToolError::new(Code::InvalidArguments, format!("Invalid arguments: {problem}"))
            .with_hint("Give the arguments as one JSON object"),
    })?;
    let violations = spec.parameters().violations(arguments.value());
    if violations.is_empty() {
        return Ok(arguments);
    }
    let error =
        ToolError::new(Code::InvalidArguments, format!("Invalid arguments: {}", violations.join("; ")))
            .with_hint("Correct the values at these places and call again");
    Err(BadArguments { parsed: Some(arguments), error })
}
