//! A tool: its spec, the validator for its arguments, and its function.

pub mod output;
pub(crate) mod schema;
pub(crate) mod table;

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use toolway_types::schema::{OptionalArgument, schema_of_arguments, schema_of_type};
use toolway_types::{
    Code, JsonObject, RawJson, SpecDocument, ToolAnnotations, ToolError, ToolName, ToolOutput,
};

use crate::context::ToolContext;
use output::IntoOutput;
use schema::ArgumentValidator;
use table::BadTool;

type ToolHandler =
    dyn Fn(JsonObject, ToolContext) -> BoxFuture<'static, Result<ToolOutput, ToolError>> + Send + Sync;

/// Argument type of a tool without arguments.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct NoArguments {}

/// A tool offered by a device. Cheap to clone.
#[derive(Clone)]
pub struct Tool {
    spec: SpecDocument,
    validator: Arc<ArgumentValidator>,
    handler: Arc<ToolHandler>,
}

impl Tool {
    /// Creates a tool from an async function with a typed argument. The parameter schema is generated from
    /// the type. The function may return anything that implements [`IntoOutput`]: a JSON value, text, parts.
    ///
    /// Arguments that do not match the schema are refused before the function runs.
    pub fn typed<A, F, Fut, R>(name: impl Into<String>, description: impl Into<String>, function: F) -> Self
    where
        A: DeserializeOwned + JsonSchema,
        F: Fn(A, ToolContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, ToolError>> + Send + 'static,
        R: IntoOutput,
    {
        let mut spec = SpecDocument::named(name);
        spec.description = Some(description.into());
        spec.parameters = Some(schema_of_arguments::<A>(OptionalArgument::AbsentOrNull));
        Self::with_handler(spec, move |args, cx| match serde_json::from_value::<A>(Value::Object(args)) {
            Ok(args) => function(args, cx).map(|done| done.map(IntoOutput::into_output)).boxed(),
            Err(error) => std::future::ready(Err(ToolError::new(
                Code::InvalidArguments,
                format!("Invalid arguments: {error}"),
            )))
            .boxed(),
        })
    }

    /// Creates a tool from a spec and an async function that receives the raw arguments. They are validated
    /// against `spec.parameters` before the function runs.
    pub fn new<F, Fut, R>(spec: SpecDocument, function: F) -> Self
    where
        F: Fn(JsonObject, ToolContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, ToolError>> + Send + 'static,
        R: IntoOutput,
    {
        Self::with_handler(spec, move |args, cx| {
            function(args, cx).map(|done| done.map(IntoOutput::into_output)).boxed()
        })
    }

    fn with_handler(
        spec: SpecDocument,
        handler: impl Fn(JsonObject, ToolContext) -> BoxFuture<'static, Result<ToolOutput, ToolError>>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        let validator = Arc::new(ArgumentValidator::compile(spec.parameters.as_ref()));
        Self { spec, validator, handler: Arc::new(handler) }
    }

    /// Sets the display name.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.spec.title = Some(title.into());
        self
    }

    /// Declares that the tool changes nothing. The gateway trusts this only if the owner trusts the device.
    #[must_use]
    pub fn read_only(self) -> Self {
        self.annotations(&ToolAnnotations { read_only_hint: Some(true), ..ToolAnnotations::default() })
    }

    /// Sets MCP annotations.
    #[must_use]
    pub fn annotations(mut self, annotations: &ToolAnnotations) -> Self {
        self.spec.annotations = RawJson::from_value(annotations).ok();
        self
    }

    /// Sets the schema of the structured result, generated from a type.
    #[must_use]
    pub fn output_schema_of<T: JsonSchema>(mut self) -> Self {
        self.spec.output_schema = Some(RawJson::from(&schema_of_type::<T>()));
        self
    }

    /// Sets the maximum duration of one run. The gateway's settings may shorten it.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.spec.timeout_ms = Some(millis(timeout));
        self
    }

    /// Sets the maximum time without progress during a run.
    #[must_use]
    pub fn progress_timeout(mut self, timeout: Duration) -> Self {
        self.spec.progress_timeout_ms = Some(millis(timeout));
        self
    }

    /// Declares that calls must not overlap with any other call on this device.
    #[must_use]
    pub fn sequential(mut self) -> Self {
        self.spec.sequential = true;
        self
    }

    /// Adds a permission required to run the tool.
    #[must_use]
    pub fn permission(mut self, permission: impl Into<String>) -> Self {
        self.spec.permissions.push(permission.into());
        self
    }

    /// Spec of the tool.
    #[must_use]
    pub fn spec(&self) -> &SpecDocument {
        &self.spec
    }

    /// Name of the tool.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.spec.name
    }

    /// Validates the tool's name and schema.
    ///
    /// # Errors
    /// [`BadTool`] describes the invalid part.
    pub fn check(&self) -> Result<(), BadTool> {
        let name = self.name();
        name.parse::<ToolName>().map_err(|error| BadTool::Name(name.to_owned(), error))?;
        match self.validator.error() {
            Some(error) => Err(BadTool::Schema(name.to_owned(), error.to_owned())),
            None => Ok(()),
        }
    }

    /// Runs the tool without a gateway, for tests of tools. `remaining` is the value of
    /// [`ToolContext::remaining`]. Progress reports are dropped, and panics are not caught.
    ///
    /// # Errors
    /// Returns the tool's own error, or an error for invalid arguments.
    pub async fn run_local(
        &self,
        args: &Value,
        cancel: CancellationToken,
        remaining: Option<Duration>,
    ) -> Result<ToolOutput, ToolError> {
        let cx = ToolContext::without_gateway(self.name(), cancel, remaining);
        self.call(RawJson::from(args), cx).await
    }

    /// Validates the arguments and runs the tool.
    pub(crate) async fn call(&self, args: RawJson, cx: ToolContext) -> Result<ToolOutput, ToolError> {
        let args = self.validator.check(&args)?;
        (self.handler)(args, cx).await
    }
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool").field("spec", &self.spec).finish_non_exhaustive()
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Converts any error into a tool failure, for `map_err`: `std::fs::read(path).map_err(failed)?`.
pub fn failed(error: impl fmt::Display) -> ToolError {
    ToolError::new(Code::ToolFailed, error.to_string())
}

#[cfg(test)]
mod tests;
