//! `/api/tools`: tools, and calling them.

use serde::{Deserialize, Serialize};
use toolway_types::{CallId, ContentPart, RawJson, ResultEnvelope};

use crate::error::ErrorDetail;
use crate::number::optional_whole;

/// A tool that the caller may call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ToolView {
    /// The name for calls, unique over all sources.
    pub name: String,
    /// The tool's id, `source/tool`. Records and rules use it.
    pub id: String,
    /// The tool's source.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub source: String,
    /// `ready`, or `reconnecting` if its device has lost the connection a moment ago.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub status: String,
    /// A display name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub title: Option<String>,
    /// The source's description.
    pub description: String,
    /// JSON Schema of the arguments, as the source wrote it. Missing if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub parameters: Option<RawJson>,
    /// JSON Schema of the structured result.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub output_schema: Option<RawJson>,
    /// MCP's tool annotations, as the source wrote them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub annotations: Option<RawJson>,
    /// Permissions that the tool needs.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub permissions: Vec<String>,
    /// Time limit of a run, in milliseconds.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub timeout_ms: u64,
    /// True if the tool's calls never overlap with other calls of its source.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub sequential: bool,
    /// File and line of the definition. Only for the owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub defined_in: Option<String>,
    /// Unusual properties: `changed` (the tool is no longer the accepted version), `no_description`,
    /// `invisible_characters`, `unreadable_annotations`, `not_snake_case`.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub flags: Vec<String>,
}

/// The tools that the caller may call. Programs that pass tools on unchanged read it as `CallableToolList<RawJson>`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = CallableToolList))]
pub struct CallableToolList<T = ToolView> {
    /// The version of the spec format.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub spec_version: u32,
    /// By source and name.
    pub tools: Vec<T>,
}

/// Query of `GET /api/tools/{name}`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", into_params(parameter_in = Query))]
pub struct ShowToolQuery {
    /// Shows the tool as models get it: for an API (`openai`, `openai-strict`, `openai-responses`, `anthropic`,
    /// `gemini`, `compatible`) or for one of your model providers. Without it: as the source describes the tool.
    #[serde(rename = "for", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(nullable = false))]
    pub target: Option<String>,
}

/// A tool as models get it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ToolConversion {
    /// The tool's name.
    pub name: String,
    /// The API or the model provider.
    #[serde(rename = "for")]
    pub target: String,
    /// The definition that is sent to the model. Missing if the API cannot express the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>, nullable = false))]
    pub definition: Option<RawJson>,
    /// Parts of the schema that the API cannot express. The gateway still checks arguments against the whole schema.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub lost: Vec<String>,
    /// Reason why these models do not get the tool at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub excluded_reason: Option<String>,
}

/// A tool as its source describes it, or as models get it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(untagged)]
pub enum ToolViewOrConversion {
    /// As its source describes it.
    Tool(Box<ToolView>),
    /// As models get it.
    Conversion(ToolConversion),
}

/// Body of `POST /api/tools/{name}/call`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct CallToolRequest {
    /// The arguments, an object. Anything else ends in the outcome `invalid_arguments`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = serde_json::Value, required = false))]
    pub args: Option<RawJson>,
    /// Maximum time to wait, in milliseconds. The tool's own limit applies too.
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    #[serde(default, deserialize_with = "optional_whole", skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Makes repeating the call safe for ten minutes: the call runs once, and both requests get its outcome.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 256))]
    pub idempotency_key: Option<String>,
    /// With event streams: somebody can answer questions about the call. They come as events `approval_requested`
    /// and `approval_resolved`; answer them with `POST /api/approvals/{id}`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interactive: bool,
}

/// The outcome of a call: `status` is `success` with `result` and `content`, or `error` with the other fields.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CallToolResponse {
    /// The call's id.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub call_id: String,
    /// Total duration, in milliseconds.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub duration_ms: f64,
    /// `success` or `error`.
    pub status: String,
    /// The structured result, or the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = serde_json::Value, required = false))]
    pub result: Option<RawJson>,
    /// Content blocks of MCP that are not text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Object>))]
    pub content: Vec<ContentPart>,
    /// The type of the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub error_type: Option<String>,
    /// The error for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub message: Option<String>,
    /// The code of the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub code: Option<String>,
    /// The next step for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub hint: Option<String>,
    /// The intent that asks the user of an Android app for permission.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = serde_json::Value, required = false))]
    pub authorize_intent: Option<RawJson>,
    /// True if the tool got the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub dispatched: Option<bool>,
    /// True if the same call may succeed later.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub retryable: Option<bool>,
    /// The error in the format of all HTTP errors, if the HTTP status is not 200.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub error: Option<ErrorDetail>,
}

impl CallToolResponse {
    /// True if the tool succeeded.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.status == "success"
    }
}

/// A [`CallToolResponse`] that borrows the outcome, so that writing it copies no result.
#[derive(Debug, Clone, Serialize)]
pub struct CallToolResponseRef<'a> {
    /// The call's id.
    pub call_id: CallId,
    /// Total duration, in milliseconds.
    pub duration_ms: f64,
    /// The outcome.
    #[serde(flatten)]
    pub envelope: ResultEnvelope<'a>,
    /// The error in the format of all HTTP errors, if the HTTP status is not 200.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorDetail>,
}

/// The data of the event `progress`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CallProgress {
    /// The progress so far.
    pub progress: f64,
    /// Total number of steps, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub total: Option<f64>,
    /// The progress for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub message: Option<String>,
    /// Intermediate results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Object>))]
    pub content: Vec<ContentPart>,
}

#[cfg(test)]
mod tests {
    use toolway_types::{Code, Outcome, ToolError, ToolOutput};

    use super::*;

    /// The borrowing form and the readable form must not drift apart.
    #[test]
    fn both_forms_of_an_outcome_are_the_same_json() {
        let image = ContentPart::Image { data: "AAAA".to_owned(), mime_type: "image/png".to_owned() };
        let structured = RawJson::parse(r#"{"n":1.50,"list":[null]}"#).unwrap();
        let mut failed = ToolError::new(Code::ToolFailed, "no");
        failed.hint = Some("try again".to_owned());
        failed.authorize_intent = Some(RawJson::parse(r#"{"action":"x"}"#).unwrap());
        for outcome in [
            Outcome::Success(ToolOutput::text("fine")),
            Outcome::Success(ToolOutput {
                content: vec![ContentPart::text("a"), image],
                structured: None,
                original: None,
            }),
            Outcome::Success(ToolOutput {
                content: Vec::new(),
                structured: Some(structured),
                original: None,
            }),
            Outcome::Success(ToolOutput {
                content: Vec::new(),
                structured: Some(RawJson::null()),
                original: None,
            }),
            Outcome::Error(failed),
            Outcome::Error(ToolError::new(Code::IdempotencyConflict, "another call")),
        ] {
            let error =
                outcome.error().filter(|error| error.code == Code::IdempotencyConflict).map(|error| {
                    ErrorDetail { code: error.code.to_string(), message: error.message.clone(), hint: None }
                });
            let borrowed = CallToolResponseRef {
                call_id: CallId::new(),
                duration_ms: 1.25,
                envelope: ResultEnvelope(&outcome),
                error,
            };
            let written = serde_json::to_string(&borrowed).unwrap();
            let mut read: CallToolResponse = serde_json::from_str(&written).unwrap();
            assert_eq!(read.is_success(), outcome.is_success());
            // Serde reads null as missing.
            if read.is_success() && read.result.is_none() {
                read.result = Some(RawJson::null());
            }
            let again: serde_json::Value =
                serde_json::from_str(&serde_json::to_string(&read).unwrap()).unwrap();
            assert_eq!(again, serde_json::from_str::<serde_json::Value>(&written).unwrap());
        }
    }
}
