//! A built-in tool, made from an async function and from schema and annotations written by hand.

use std::future::Future;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use toolway_core::{CallContext, SpecError, Tool, tool_from_fn_with_schema};
use toolway_types::{RawJson, SpecDocument, ToolError, ToolOutput};

/// Makes a tool from a spec without parameters, the JSON Schema and the MCP annotations to add to it, and
/// what to run.
///
/// # Errors
/// [`BadSpec`] where name or schema can't be used.
pub(crate) fn typed_tool<A, F, R>(
    document: SpecDocument,
    parameters: &str,
    annotations: &str,
    run: F,
) -> Result<Arc<dyn Tool>, SpecError>
where
    A: DeserializeOwned + Send + 'static,
    F: Fn(A, CallContext) -> R + Send + Sync + 'static,
    R: Future<Output = Result<ToolOutput, ToolError>> + Send + 'static,
{
    let json = |text| RawJson::parse(text).map(Some).map_err(|error| SpecError::Malformed(error.to_string()));
    tool_from_fn_with_schema(
        SpecDocument { parameters: json(parameters)?, annotations: json(annotations)?, ..document },
        run,
    )
}
