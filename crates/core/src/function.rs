//! Tools made from async functions. The function's argument type gives the schema of the arguments.

use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use toolway_types::schema::{OptionalArgument, schema_of_arguments};
use toolway_types::text::{shorten, shorten_error};
use toolway_types::{Code, RawJson, SpecDocument, ToolAnnotations, ToolError, ToolOutput};

use crate::arguments::Arguments;
use crate::context::CallContext;
use crate::spec::{SpecError, ToolSpec};
use crate::tool::Tool;

/// Defines a tool of the program: its spec, and the function that it runs.
///
/// ```
/// # use toolway_core::ToolBuilder;
/// # use toolway_types::ToolOutput;
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// #[serde(deny_unknown_fields)]
/// struct AddArguments {
///     /// First summand.
///     a: i64,
///     /// Second summand.
///     b: i64,
/// }
///
/// let add = ToolBuilder::new("add", "Add two numbers")
///     .title("Add")
///     .build(|arguments: AddArguments, _cx| async move {
///         Ok(ToolOutput::text((arguments.a + arguments.b).to_string()))
///     })?;
/// assert_eq!(add.spec().name().as_str(), "add");
/// # Ok::<(), toolway_core::SpecError>(())
/// ```
#[derive(Debug)]
pub struct ToolBuilder {
    document: SpecDocument,
    marks_dispatch: bool,
}

impl ToolBuilder {
    /// Starts with the tool's name and its description in one sentence.
    #[must_use]
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {
        let document = SpecDocument { description: Some(description.into()), ..SpecDocument::named(name) };
        Self { document, marks_dispatch: false }
    }

    /// Sets the display name.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.document.title = Some(title.into());
        self
    }

    /// Sets MCP annotations.
    #[must_use]
    pub fn annotations(mut self, annotations: &ToolAnnotations) -> Self {
        self.document.annotations = RawJson::from_value(annotations).ok();
        self
    }

    /// Sets the maximum duration of one run.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.document.timeout_ms = Some(u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX));
        self
    }

    /// Adds a permission required to run the tool.
    #[must_use]
    pub fn permission(mut self, permission: impl Into<String>) -> Self {
        self.document.permissions.push(permission.into());
        self
    }

    /// Declares that the function itself calls [`CallContext::mark_dispatched`] ([`Tool::marks_dispatch`]).
    #[must_use]
    pub fn marks_dispatch(mut self) -> Self {
        self.marks_dispatch = true;
        self
    }

    /// Creates the tool. An optional argument (`Option<T>`) may be absent, but not null. The schema is compiled at
    /// the first call ([`ToolSpec::from_program`]).
    ///
    /// # Errors
    /// [`SpecError`] if the name is invalid or the argument type is not a struct.
    pub fn build<A, F, R>(self, run: F) -> Result<Arc<dyn Tool>, SpecError>
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        F: Fn(A, CallContext) -> R + Send + Sync + 'static,
        R: Future<Output = Result<ToolOutput, ToolError>> + Send + 'static,
    {
        let parameters = Some(schema_of_arguments::<A>(OptionalArgument::Absent));
        let spec = Arc::new(ToolSpec::from_program(SpecDocument { parameters, ..self.document })?);
        let marks_dispatch = self.marks_dispatch;
        Ok(Arc::new(FunctionTool { spec, marks_dispatch, run, arguments: PhantomData::<fn(A)> }))
    }
}

/// Maximum length of an error message of such a tool, in bytes. It may quote arguments.
const MAX_ERROR_MESSAGE: usize = 16 << 10;

fn shorten_message(mut error: ToolError) -> ToolError {
    error.message = shorten(&error.message, MAX_ERROR_MESSAGE);
    error
}

struct FunctionTool<A, F> {
    spec: Arc<ToolSpec>,
    marks_dispatch: bool,
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
            .map_err(|error| ToolError::new(Code::InvalidArguments, shorten_error(&error)))?;
        (self.run)(arguments, cx.clone()).await.map_err(shorten_message)
    }

    fn marks_dispatch(&self) -> bool {
        self.marks_dispatch
    }
}
