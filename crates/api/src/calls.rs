//! `/api/calls`: call records.

use serde::{Deserialize, Serialize};
use toolway_types::RawJson;

use crate::number::whole;

/// A call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CallSummary {
    /// The call's id.
    pub call_id: String,
    /// The tool's name, as the caller wrote it.
    pub name: String,
    /// The tool's id, `source/tool`. Missing if there is no such tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub tool_id: Option<String>,
    /// The tool's source.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub source: Option<String>,
    /// The caller: a token's id, or `owner`.
    pub principal: String,
    /// The caller's role.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, required = true))]
    pub role: Option<String>,
    /// The entry point: `rest`, `websocket`, `agent`, `mcp` or `local`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, required = true))]
    pub via: Option<String>,
    /// The agent that made the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub agent: Option<String>,
    /// The session of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub session_id: Option<String>,
    /// The turn of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub turn_id: Option<String>,
    /// `running`, `success` or `error`.
    pub status: String,
    /// The type of the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub error_type: Option<String>,
    /// The code of the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub code: Option<String>,
    /// The error for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub message: Option<String>,
    /// The approval: a token's id, or `grant:` and a grant's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub approved_by: Option<String>,
    /// Hooks that changed or cancelled something, in their order. Only for the owner.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<String>,
    /// The policy rule that refused the call. Only for the owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub rule: Option<String>,
    /// Time of the start, in milliseconds since the Unix epoch.
    pub started_ms: i64,
    /// Total duration, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, required = true))]
    pub duration_ms: Option<f64>,
    /// Time waiting for a person, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, required = true))]
    pub user_wait_ms: Option<f64>,
    /// Time waiting for its turn, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, required = true))]
    pub queued_ms: Option<f64>,
    /// Time running, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, required = true))]
    pub running_ms: Option<f64>,
    /// Number of times that the request was sent to the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, required = true))]
    pub attempts: Option<u32>,
}

/// A call with its arguments and outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CallDetail {
    /// The call.
    #[serde(flatten)]
    pub call: CallSummary,
    /// The arguments without secrets.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Object, nullable = false))]
    pub arguments: Option<RawJson>,
    /// The arguments that the tool got, without secrets, if they differ: optional nulls were removed, or hooks changed
    /// them. Changes by hooks only for the owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Object, nullable = false))]
    pub effective_arguments: Option<RawJson>,
    /// The outcome; with `"truncated": true` if it was longer than the limit of records.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Object, nullable = false))]
    pub outcome: Option<RawJson>,
}

/// A page of calls. Programs that pass calls on unchanged read it as `CallList<RawJson>`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = CallList))]
pub struct CallList<C = CallSummary> {
    /// The newest first.
    pub calls: Vec<C>,
    /// The `cursor` of the next page. Missing on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub next_cursor: Option<String>,
    /// With `search`, if there is a next page: the start time that the search has reached, in milliseconds since the
    /// Unix epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub searched_to_ms: Option<i64>,
}

/// Conditions for calls. A call must meet all of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallConditions {
    /// The tool: an id (`source/tool`), a pattern of ids (`pixel/*`) or a name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The caller: a token's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub principal: Option<String>,
    /// `running`, `success`, `error`, an error type, or a code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// The session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The approval: a token's id, or `grant:` and a grant's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approved_by: Option<String>,
    /// A text in the name, the tool's id, the arguments or the outcome.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search: Option<String>,
    /// The earliest start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since_ms: Option<i64>,
    /// The end of the period.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until_ms: Option<i64>,
}

/// Defines a query with the fields of [`CallConditions`] and some more. Serde cannot combine `flatten` with
/// `deny_unknown_fields`, so each query lists all of them.
macro_rules! call_query {
    ($(#[$about:meta])* $name:ident { $($(#[$on:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[cfg_attr(feature = "openapi", derive(utoipa::IntoParams))]
        #[serde(deny_unknown_fields)]
        #[cfg_attr(feature = "openapi", into_params(parameter_in = Query))]
        pub struct $name {
            /// The tool: an id (`source/tool`), a pattern of ids (`pixel/*`) or a name.
            #[serde(skip_serializing_if = "Option::is_none")]
            #[cfg_attr(feature = "openapi", param(nullable = false))]
            pub tool: Option<String>,
            /// The source.
            #[serde(skip_serializing_if = "Option::is_none")]
            #[cfg_attr(feature = "openapi", param(nullable = false))]
            pub source: Option<String>,
            /// The caller: a token's id.
            #[serde(skip_serializing_if = "Option::is_none")]
            #[cfg_attr(feature = "openapi", param(nullable = false))]
            pub principal: Option<String>,
            /// `running`, `success`, `error`, an error type, or a code.
            #[serde(skip_serializing_if = "Option::is_none")]
            #[cfg_attr(feature = "openapi", param(inline, nullable = false, value_type = Option<crate::openapi::CallStatusSchema>))]
            pub status: Option<String>,
            /// The session.
            #[serde(skip_serializing_if = "Option::is_none")]
            #[cfg_attr(feature = "openapi", param(nullable = false))]
            pub session_id: Option<String>,
            /// The agent.
            #[serde(skip_serializing_if = "Option::is_none")]
            #[cfg_attr(feature = "openapi", param(nullable = false))]
            pub agent: Option<String>,
            /// The approval: a token's id, or `grant:` and a grant's id.
            #[serde(skip_serializing_if = "Option::is_none")]
            #[cfg_attr(feature = "openapi", param(nullable = false))]
            pub approved_by: Option<String>,
            /// A text in the name, the tool's id, the arguments or the outcome, as recorded. Ignores the case of A
            /// to Z.
            #[serde(skip_serializing_if = "Option::is_none")]
            #[cfg_attr(feature = "openapi", param(nullable = false, min_length = 1, max_length = 256))]
            pub search: Option<String>,
            /// The earliest start, in milliseconds since the Unix epoch. You can also write `since`.
            #[serde(alias = "since", skip_serializing_if = "Option::is_none")]
            #[cfg_attr(feature = "openapi", param(nullable = false))]
            pub since_ms: Option<i64>,
            /// The end of the period (exclusive). You can also write `until`.
            #[serde(alias = "until", skip_serializing_if = "Option::is_none")]
            #[cfg_attr(feature = "openapi", param(nullable = false))]
            pub until_ms: Option<i64>,
            $($(#[$on])* pub $field: $type,)*
        }

        impl $name {
            /// Takes the conditions out of the query.
            #[must_use]
            pub fn take_conditions(&mut self) -> CallConditions {
                CallConditions {
                    tool: self.tool.take(),
                    source: self.source.take(),
                    principal: self.principal.take(),
                    status: self.status.take(),
                    session_id: self.session_id.take(),
                    agent: self.agent.take(),
                    approved_by: self.approved_by.take(),
                    search: self.search.take(),
                    since_ms: self.since_ms.take(),
                    until_ms: self.until_ms.take(),
                }
            }
        }
    };
}

call_query! {
    /// Query of `GET /api/calls`.
    ListCallsQuery {
        /// Maximum number of calls (50).
        #[serde(skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "openapi", param(minimum = 1, maximum = 1000, nullable = false))]
        limit: Option<usize>,
        /// The `next_cursor` of the previous page.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "openapi", param(nullable = false, pattern = "^[0-9]{1,18}[.][0-9]{1,18}$"))]
        cursor: Option<String>,
    }
}

call_query! {
    /// Query of `GET /api/calls/export`.
    ExportCallsQuery {
        /// The format.
        #[serde(default)]
        #[cfg_attr(feature = "openapi", param(inline))]
        format: CallExportFormat,
        /// The order, by start time.
        #[serde(default)]
        #[cfg_attr(feature = "openapi", param(inline))]
        order: CallExportOrder,
    }
}

/// The format of exported calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum CallExportFormat {
    /// One JSON object on each line.
    #[default]
    Jsonl,
    /// Comma-separated values.
    Csv,
}

/// The order of exported calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum CallExportOrder {
    /// The oldest first.
    #[default]
    Oldest,
    /// The newest first.
    Newest,
}

/// Body of `POST /api/calls/purge`. A call must meet all conditions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct PurgeCallsRequest {
    /// Removes calls that started before this time, in milliseconds since the Unix epoch.
    #[serde(deserialize_with = "whole")]
    pub before_ms: i64,
    /// The tool: an id (`source/tool`), a pattern of ids (`pixel/*`) or a name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The caller: a token's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub principal: Option<String>,
    /// `success`, `error`, an error type, or a code.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(inline, value_type = Option<crate::openapi::CallStatusSchema>))]
    pub status: Option<String>,
    /// The session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The approval: a token's id, or `grant:` and a grant's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approved_by: Option<String>,
    /// A text, as in `GET /api/calls`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 256))]
    pub search: Option<String>,
}

/// Response of `POST /api/calls/purge`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PurgeCallsResponse {
    /// Number of removed calls.
    pub removed: u64,
    /// Bytes that the database shrank by.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub freed_bytes: u64,
}
