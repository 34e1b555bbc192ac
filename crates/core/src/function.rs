//! A tool made from an async function: its argument type gives the schema, one line registers it.

use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use toolway_types::{Code, RawJson, SpecDocument, ToolError, ToolOutput};

use crate::arguments::Arguments;
use crate::context::CallContext;
use crate::spec::{SpecError, ToolSpec};
use crate::tool::Tool;

/// Makes a tool from an async function.
///
/// ```
/// # use toolway_core::tool_from_fn;
/// # use toolway_types::{SpecDocument, ToolOutput};
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Add { a: i64, b: i64 }
///
/// let add = tool_from_fn(SpecDocument::named("add"), |args: Add, _cx| async move {
///     Ok(ToolOutput::text((args.a + args.b).to_string()))
/// })?;
/// assert_eq!(add.spec().name().as_str(), "add");
/// # Ok::<(), toolway_core::SpecError>(())
/// ```
///
/// # Errors
/// [`SpecError`] where the name can't be used, or the argument type is not a struct.
pub fn tool_from_fn<A, F, R>(document: SpecDocument, run: F) -> Result<Arc<dyn Tool>, SpecError>
where
    A: DeserializeOwned + JsonSchema + Send + 'static,
    F: Fn(A, CallContext) -> R + Send + Sync + 'static,
    R: Future<Output = Result<ToolOutput, ToolError>> + Send + 'static,
{
    let mut schema = schemars::schema_for!(A);
    schema.remove("$schema");
    tool_from_fn_with_schema(
        SpecDocument { parameters: Some(RawJson::from(schema.as_value())), ..document },
        run,
    )
}

/// Makes a tool from an async function and a schema written by hand (the document's parameters), where that reads
/// better for a model than what the argument type would give. The two must mean the same: arguments that fit the
/// schema and not the type are refused all the same, but only once the call runs. The schema is part of the program
/// and is compiled when the tool is first called ([`ToolSpec::of_program`]).
///
/// # Errors
/// [`SpecError`] where the name or the form of the schema can't be used.
pub fn tool_from_fn_with_schema<A, F, R>(document: SpecDocument, run: F) -> Result<Arc<dyn Tool>, SpecError>
where
    A: DeserializeOwned + Send + 'static,
    F: Fn(A, CallContext) -> R + Send + Sync + 'static,
    R: Future<Output = Result<ToolOutput, ToolError>> + Send + 'static,
{
    let spec = Arc::new(ToolSpec::from_program(document)?);
    Ok(Arc::new(FunctionTool { spec, run, arguments: PhantomData::<fn(A)> }))
}

struct FunctionTool<A, F> {
    spec: Arc<ToolSpec>,
    run: F,
    arguments: PhantomData<fn(A)>,
}

#[async_trait]
impl<A, F, R> Tool for FunctionTool<A, F>
where
    A: DeserializeOwned + Send + 'static,
    F: Fn(A, CallContext) -> R + Send + Sync + 'static,
    R: Future<Output = Result<ToolOutput, ToolError>> + Send + 'static,
{
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    async fn execute(&self, arguments: Arguments, cx: &CallContext) -> Result<ToolOutput, ToolError> {
        let arguments = serde_json::from_value(Value::Object(arguments.into_object()))
            .map_err(|error| ToolError::new(Code::InvalidArguments, error.to_string()))?;
        (self.run)(arguments, cx.clone()).await
    }
}
