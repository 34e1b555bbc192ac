//! A tool made from an async function and a schema written by hand, where the schema is to read well for a
//! model. (`toolway_core::function` derives the schema from the argument type instead.)

use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;

use async_trait::async_trait;
use serde::de::DeserializeOwned;
use serde_json::Value;
use toolway_core::{Arguments, BadSpec, CallContext, Tool, ToolSpec};
use toolway_types::{Code, RawJson, SpecDocument, ToolError, ToolOutput};

/// Makes a tool from a spec without parameters, the JSON Schema and the MCP annotations to add to it, and
/// what to run.
///
/// # Errors
/// [`BadSpec`] where name or schema can't be used.
pub(crate) fn typed<A, F, R>(
    document: SpecDocument,
    parameters: &str,
    annotations: &str,
    run: F,
) -> Result<Arc<dyn Tool>, BadSpec>
where
    A: DeserializeOwned + Send + 'static,
    F: Fn(A, CallContext) -> R + Send + Sync + 'static,
    R: Future<Output = Result<ToolOutput, ToolError>> + Send + 'static,
{
    let json = |text| RawJson::parse(text).map(Some).map_err(|error| BadSpec::Form(error.to_string()));
    let document =
        SpecDocument { parameters: json(parameters)?, annotations: json(annotations)?, ..document };
    let spec = Arc::new(ToolSpec::compile(document)?);
    Ok(Arc::new(TypedTool { spec, run, arguments: PhantomData::<fn(A)> }))
}

struct TypedTool<A, F> {
    spec: Arc<ToolSpec>,
    run: F,
    arguments: PhantomData<fn(A)>,
}

#[async_trait]
impl<A, F, R> Tool for TypedTool<A, F>
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
