//! The request to a hook.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolway_core::HookCall;
use toolway_types::{CallId, ContentPart, Outcome, RawJson, ResultEnvelope, ToolId};

/// Version of the format of requests and decisions.
pub(super) const VERSION: u32 = 2;

/// Stage at which a hook runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum HookStage {
    /// Before a call, after its arguments were validated.
    Before,
    /// After a call, whatever its outcome.
    After,
}

impl HookStage {
    /// Name in requests and settings.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::After => "after",
        }
    }
}

/// The request to a hook. Readers must ignore unknown fields, because fields may be added.
#[derive(Debug, Serialize, JsonSchema)]
pub struct HookRequest<'a> {
    /// Version of this format.
    #[schemars(extend("const" = VERSION))]
    version: u32,
    /// Stage of the call.
    stage: HookStage,
    /// The call.
    call: HookRequestCall<'a>,
    /// Outcome of the call; only after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "HookOutcome")]
    outcome: Option<ResultEnvelope<'a>>,
}

/// A call as its hooks see it.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Call")]
pub struct HookRequestCall<'a> {
    /// Id of the call, a UUID.
    #[schemars(with = "String")]
    id: CallId,
    /// Id of the tool: source/tool.
    #[schemars(with = "String")]
    tool_id: &'a ToolId,
    /// Id of the caller's token, or owner.
    principal: &'a str,
    /// Role of the caller: owner, client, device or companion.
    role: &'static str,
    /// Entry point of the call: rest, websocket, agent, mcp or local.
    via: &'static str,
    /// Agent that makes the call, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    agent: Option<&'a str>,
    /// Conversation of the call, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    session_id: Option<&'a str>,
    /// Arguments, as changed by earlier hooks. They contain secrets unmasked.
    #[schemars(with = "serde_json::Map<String, Value>")]
    arguments: &'a RawJson,
}

/// Outcome of a call, as its caller sees it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "status", rename_all = "lowercase")]
#[schemars(rename = "Outcome")]
pub enum HookOutcome {
    /// The call succeeded.
    Success {
        /// Structured value, or else the text.
        result: Value,
        /// Content parts other than text.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        content: Vec<ContentPart>,
    },
    /// The call failed.
    Error {
        /// Kind of failure: timeout, permission_denied, execution_error or validation_error.
        error_type: String,
        /// Description of the failure.
        message: String,
        /// Specific reason; one of the codes in the protocol document.
        code: String,
        /// Next step for the caller.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(with = "String")]
        hint: Option<String>,
        /// Intent that lets the user authorize access.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Value")]
        authorize_intent: Option<Value>,
        /// True if the request was sent to the tool.
        dispatched: bool,
        /// True if the same call may succeed on retry.
        retryable: bool,
    },
}

impl<'a> HookRequest<'a> {
    /// Creates the request before a call.
    #[must_use]
    pub fn before(call: &'a HookCall) -> Self {
        Self { version: VERSION, stage: HookStage::Before, call: HookRequestCall::of(call), outcome: None }
    }

    /// Creates the request after a call.
    #[must_use]
    pub fn after(call: &'a HookCall, outcome: &'a Outcome) -> Self {
        let outcome = Some(ResultEnvelope(outcome));
        Self { version: VERSION, stage: HookStage::After, call: HookRequestCall::of(call), outcome }
    }

    /// Serializes the request as one line of JSON.
    pub(super) fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Id of the call.
    pub(super) fn call_id(&self) -> CallId {
        self.call.id
    }

    /// Stage of the call.
    pub(super) fn stage(&self) -> HookStage {
        self.stage
    }
}

impl<'a> HookRequestCall<'a> {
    fn of(call: &'a HookCall) -> Self {
        Self {
            id: call.id,
            tool_id: &call.tool,
            principal: &call.principal.0,
            role: call.role.as_str(),
            via: call.via.as_str(),
            agent: call.agent.as_deref(),
            session_id: call.session.as_deref(),
            arguments: call.arguments.raw(),
        }
    }
}
