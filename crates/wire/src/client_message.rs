//! Messages from devices and chat clients.

pub mod app_providers;

use toolway_types::json::null_is_default;
use toolway_types::{ContentPart, RawJson, SpecDocument};

use crate::codec::{is_object, messages, structs, words};
use app_providers::AppProviders;

messages! {
    /// A message from a device or chat client.
    ClientMessage {
        /// Opens the connection: peer identity, protocol version and capabilities.
        "connect" => Connect(Connect),
        /// Sends a person's message.
        "message" => Message(UserMessage),
        /// Stops the running turn.
        "abort" => Abort(Abort),
        /// Generates a new answer to the last message.
        "regenerate" => Regenerate(Regenerate),
        /// Registers tools.
        "register_tools" => RegisterTools(RegisterTools),
        /// Unregisters tools. Since 2.
        "unregister_tools" => UnregisterTools(UnregisterTools),
        /// Requests the list of this connection's live tools.
        "get_registered_tools" => GetRegisteredTools(GetRegisteredTools),
        /// Reports a tool's result.
        "tool_result" => ToolResult(ToolResult),
        /// Reports a tool's failure.
        "tool_error" => ToolError(ToolFailure),
        /// Reports the progress of a running tool. Since 2.
        "tool_progress" => ToolProgress(ToolProgress),
        /// Reports that a person must answer on the device; the run's clock pauses. Since 2.
        "tool_waiting" => ToolWaiting(ToolWaiting),
        /// Answers `permission_request`. Since 2.
        "permission_answer" => PermissionAnswer(PermissionAnswer),
        /// Lists the apps that offer tools through this device. Since 2.
        "app_providers" => AppProviders(AppProviders),
        /// Calls a tool directly. Since 2.
        "call_tool" => CallTool(CallTool),
        /// Cancels a call made with `call_tool`. Since 2.
        "cancel_call" => CancelCall(CancelCall),
    }
}

structs! {
    /// The message `connect`.
    Connect {
        /// Newest protocol version supported by the peer; 1 if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        v: Option<u32>,
        /// Id of the session to open.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session_id: Option<String>,
        /// Display name of the device.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        device_name: Option<String>,
        /// Capabilities of the peer: `resume`, `progress`, `cancel`. Others are ignored.
        #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
        #[cfg_attr(feature = "schema", schemars(with = "Option<Vec<String>>"))]
        capabilities: Vec<String>,
        /// Id of the device, stable across restarts. Since 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        device_id: Option<String>,
        /// Operating system and its version. Since 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        platform: Option<String>,
        /// Version of the device program. Since 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        app_version: Option<String>,
        /// Time zone of the person, as a name of the IANA database: `Europe/Berlin`. Since 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        time_zone: Option<String>,
        /// Token from `connected` to resume a lost connection. Since 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resume_token: Option<String>,
    }

    /// The message `message`.
    UserMessage {
        /// Text of the message.
        #[serde(default, deserialize_with = "null_is_default")]
        #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
        content: String,
        /// If true, the gateway sends `debug_prompt`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        debug: Option<bool>,
        /// Attachments, for example images. Since 2.
        #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
        #[cfg_attr(feature = "schema", schemars(with = "Option<Vec<ContentPart>>"))]
        attachments: Vec<ContentPart>,
    }

    /// The message `abort`.
    Abort {}

    /// The message `regenerate`.
    Regenerate {
        /// If true, the gateway sends `debug_prompt`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        debug: Option<bool>,
    }

    /// The message `register_tools`. An invalid spec does not affect the others.
    RegisterTools {
        /// The tools' specs.
        // Stored as JSON text and parsed one by one, so an invalid spec does not affect the others.
        #[cfg_attr(feature = "schema", schemars(with = "Vec<SpecDocument>"))]
        tools: Vec<RawJson>,
        /// Replace or add to the registered tools. Since 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode: Option<RegisterMode>,
    }

    /// The message `unregister_tools`.
    UnregisterTools {
        /// Names of the tools, as registered.
        names: Vec<String>,
    }

    /// The message `get_registered_tools`.
    GetRegisteredTools {}

    /// The message `tool_result`.
    ToolResult {
        /// Id of the `tool_call_request`.
        id: String,
        /// Result as text. Never parsed, even if it contains JSON.
        #[serde(default)]
        #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
        output: ToolResultOutput,
        /// False if the tool failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        success: Option<bool>,
        /// Description of the failure.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// Structured result. Since 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        structured: Option<RawJson>,
        /// Further content parts. Since 2.
        #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
        #[cfg_attr(feature = "schema", schemars(with = "Option<Vec<ContentPart>>"))]
        content: Vec<ContentPart>,
    }

    /// The message `tool_error`.
    ToolFailure {
        /// Id of the `tool_call_request`.
        id: String,
        /// Description of the failure.
        #[serde(default, deserialize_with = "null_is_default")]
        #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
        error: String,
        /// Always false if present.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        success: Option<bool>,
        /// One of the four kinds, for information only; the code decides. Since 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error_type: Option<String>,
        /// One of the codes that a device may report; any other becomes `tool_failed`. Since 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<String>,
        /// Next step for the caller. Since 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hint: Option<String>,
        /// Intent that lets the user authorize access. Since 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        authorize_intent: Option<RawJson>,
        /// True if the same call may succeed on retry. Since 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retryable: Option<bool>,
    }

    /// The message `tool_progress`.
    ToolProgress {
        /// Id of the `tool_call_request`.
        id: String,
        /// Progress so far.
        #[serde(default, deserialize_with = "null_is_default")]
        #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
        progress: f64,
        /// Total number of steps, if known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        total: Option<f64>,
        /// Description of the current step.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        /// Partial output.
        #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
        #[cfg_attr(feature = "schema", schemars(with = "Option<Vec<ContentPart>>"))]
        content: Vec<ContentPart>,
    }

    /// The message `tool_waiting`.
    ToolWaiting {
        /// Id of the `tool_call_request`.
        id: String,
        /// Kind of answer expected from the person.
        #[serde(rename = "for")]
        waiting_for: WaitingFor,
        /// Question shown to the person.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt: Option<String>,
        /// Place to answer the question.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hint: Option<String>,
    }

    /// The message `permission_answer`.
    PermissionAnswer {
        /// Id of the `permission_request`.
        id: String,
        /// The person's decision.
        decision: Decision,
        /// Duration of the decision.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        scope: Option<Scope>,
    }

    /// The message `call_tool`.
    CallTool {
        /// Id chosen by the caller; the answer repeats it.
        id: String,
        /// Full name or id of the tool, or a unique bare name.
        name: String,
        /// Arguments of the call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        args: Option<RawJson>,
        /// Maximum time that the caller waits, in milliseconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timeout_ms: Option<u64>,
        /// Key that makes it safe to repeat the call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        idempotency_key: Option<String>,
    }

    /// The message `cancel_call`.
    CancelCall {
        /// Id given in `call_tool`.
        id: String,
    }
}

/// Field `output` of the message `tool_result`.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(untagged)]
pub enum ToolResultOutput {
    /// Result as text.
    Text(String),
    /// Another JSON value, from devices of version 1.
    Json(RawJson),
}

impl Default for ToolResultOutput {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

impl<T: Into<String>> From<T> for ToolResultOutput {
    fn from(text: T) -> Self {
        Self::Text(text.into())
    }
}

impl<'de> serde::Deserialize<'de> for ToolResultOutput {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawJson::deserialize(deserializer)?;
        match raw.get().as_bytes() {
            b"null" => Ok(Self::default()),
            [b'"', ..] => raw.to().map(Self::Text).map_err(serde::de::Error::custom),
            _ => Ok(Self::Json(raw)),
        }
    }
}

impl RegisterTools {
    /// Parses each tool's spec, or returns the reason why it is invalid.
    pub fn specs(&self) -> impl Iterator<Item = Result<SpecDocument, serde_json::Error>> {
        self.tools.iter().map(|tool| {
            if is_object(tool.get()) {
                tool.to()
            } else {
                Err(serde::de::Error::custom("a tool's spec must be a JSON object"))
            }
        })
    }
}

words! {
    /// Effect of `register_tools` on tools already registered.
    RegisterMode {
        /// Replaces the whole list. Default in version 2.
        #[default]
        Replace,
        /// Adds tools, replacing those with the same name. Behavior of version 1.
        Add,
    }

    /// Kind of answer expected from a person on the device.
    WaitingFor {
        /// A permission of the operating system.
        #[default]
        Permission,
        /// Authorization to access an app's data.
        Authorization,
    }

    /// Answer to a permission request.
    Decision {
        /// Allowed.
        Granted,
        /// Denied.
        #[default]
        Denied,
        /// Denied, and do not ask again.
        DeniedAlways,
    }

    /// Duration of a permission answer.
    Scope {
        /// Only this call.
        #[default]
        Once,
        /// All calls of this session.
        Session,
        /// All calls of this agent; only the owner may choose it.
        Agent,
        /// All future calls; only the owner may choose it.
        Always,
    }
}

#[cfg(test)]
mod tests;
