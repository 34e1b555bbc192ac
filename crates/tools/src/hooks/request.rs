//! What a hook is asked.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolway_core::HookCall;
use toolway_types::{CallId, ContentPart, Outcome, RawJson, ResultEnvelope, ToolId};

/// The version of the form of questions and answers.
pub(super) const VERSION: u32 = 2;

/// When a hook is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum HookStage {
    /// Before a call runs, when its arguments have been checked.
    Before,
    /// After it ran, whatever it ended in.
    After,
}

impl HookStage {
    /// The word in questions and settings.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::After => "after",
        }
    }
}

/// What a hook is asked. Readers ignore fields that they do not know: some may be added.
#[derive(Debug, Serialize, JsonSchema)]
pub struct HookRequest<'a> {
    /// The version of this form.
    #[schemars(extend("const" = VERSION))]
    version: u32,
    /// When it is asked.
    stage: HookStage,
    /// The call.
    call: HookRequestCall<'a>,
    /// How the call ended; after it only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "HookOutcome")]
    outcome: Option<ResultEnvelope<'a>>,
}

/// A call, as its hooks see it.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Call")]
pub struct HookRequestCall<'a> {
    /// The call's id, a UUID.
    #[schemars(with = "String")]
    id: CallId,
    /// The tool, as source/tool.
    #[schemars(with = "String")]
    tool_id: &'a ToolId,
    /// Who calls: the id of a token, or owner.
    principal: &'a str,
    /// With which role: owner, client, device or companion.
    role: &'static str,
    /// Through which entry point: rest, websocket, agent, mcp or local.
    via: &'static str,
    /// In whose agent's name, where it is one's.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    agent: Option<&'a str>,
    /// The conversation, where it belongs to one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    session_id: Option<&'a str>,
    /// The arguments, as the hooks before this one left them. Secrets are not taken out.
    #[schemars(with = "serde_json::Map<String, Value>")]
    arguments: &'a RawJson,
}

/// How a call ended, as its caller reads it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "status", rename_all = "lowercase")]
#[schemars(rename = "Outcome")]
pub enum HookOutcome {
    /// The tool gave something.
    Success {
        /// Its structured value, or else its text.
        result: Value,
        /// Parts that are not text.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        content: Vec<ContentPart>,
    },
    /// It did not.
    Error {
        /// One of timeout, permission_denied, execution_error and validation_error.
        error_type: String,
        /// What went wrong, in words.
        message: String,
        /// What went wrong, as one of the codes of the protocol document.
        code: String,
        /// What to do about it.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(with = "String")]
        hint: Option<String>,
        /// What to open so that the user can authorise.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Value")]
        authorize_intent: Option<Value>,
        /// Whether the request had left for the tool.
        dispatched: bool,
        /// Whether the same call may succeed when made again.
        retryable: bool,
    },
}

impl<'a> HookRequest<'a> {
    /// The question before a call.
    #[must_use]
    pub fn before(call: &'a HookCall) -> Self {
        Self { version: VERSION, stage: HookStage::Before, call: HookRequestCall::of(call), outcome: None }
    }

    /// The question after it.
    #[must_use]
    pub fn after(call: &'a HookCall, outcome: &'a Outcome) -> Self {
        let outcome = Some(ResultEnvelope(outcome));
        Self { version: VERSION, stage: HookStage::After, call: HookRequestCall::of(call), outcome }
    }

    /// As JSON, on one line.
    pub(super) fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// The call's id.
    pub(super) fn call_id(&self) -> CallId {
        self.call.id
    }

    /// When it is asked.
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
