//! What devices and chat clients send.

pub mod app_providers;

use toolway_types::json::null_is_default;
use toolway_types::{ContentPart, RawJson, SpecDocument};

use crate::codec::{is_object, messages, structs, words};
use app_providers::AppProviders;

messages! {
    /// A message from a device or chat client.
    ClientMessage {
        /// Says who connects and what it can do.
        "connect" => Connect(Connect),
        /// What the person said.
        "message" => Message(UserMessage),
        /// Stop the running turn.
        "abort" => Abort(Abort),
        /// Answer the last message again.
        "regenerate" => Regenerate(Regenerate),
        /// Offer tools.
        "register_tools" => RegisterTools(RegisterTools),
        /// Take tools back. Since 2.
        "unregister_tools" => UnregisterTools(UnregisterTools),
        /// Ask which tools of this connection are live.
        "get_registered_tools" => GetRegisteredTools(GetRegisteredTools),
        /// A tool's result.
        "tool_result" => ToolResult(ToolResult),
        /// A tool's failure.
        "tool_error" => ToolError(ToolFailure),
        /// How far a running tool is. Since 2.
        "tool_progress" => ToolProgress(ToolProgress),
        /// A person is being asked on the device; the run clock stops. Since 2.
        "tool_waiting" => ToolWaiting(ToolWaiting),
        /// Answers `permission_request`. Since 2.
        "permission_answer" => PermissionAnswer(PermissionAnswer),
        /// The apps that offer tools through this device. Since 2.
        "app_providers" => AppProviders(AppProviders),
        /// Call a tool directly. Since 2.
        "call_tool" => CallTool(CallTool),
        /// Give up a call made with `call_tool`. Since 2.
        "cancel_call" => CancelCall(CancelCall),
    }
}

structs! {
    /// `connect`.
    Connect {
        /// The newest version the peer speaks; 1 where absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        v: Option<u32>,
        /// The session to open.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session_id: Option<String>,
        /// The device's name for people.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        device_name: Option<String>,
        /// What it can do: `resume`, `progress`, `cancel`. Others are ignored.
        #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
        #[cfg_attr(feature = "schema", schemars(with = "Option<Vec<String>>"))]
        capabilities: Vec<String>,
        /// An id that stays the same over restarts of the device. Since 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        device_id: Option<String>,
        /// Operating system and its version. Since 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        platform: Option<String>,
        /// The device program's version. Since 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        app_version: Option<String>,
        /// What `connected` gave before the connection was lost. Since 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resume_token: Option<String>,
    }

    /// `message`.
    UserMessage {
        /// The text.
        #[serde(default, deserialize_with = "null_is_default")]
        #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
        content: String,
        /// Ask for `debug_prompt`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        debug: Option<bool>,
        /// Pictures and so on. Since 2.
        #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
        #[cfg_attr(feature = "schema", schemars(with = "Option<Vec<ContentPart>>"))]
        attachments: Vec<ContentPart>,
    }

    /// `abort`.
    Abort {}

    /// `regenerate`.
    Regenerate {
        /// Ask for `debug_prompt`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        debug: Option<bool>,
    }

    /// `register_tools`. One bad spec does not spoil the others.
    RegisterTools {
        /// The tools' specs.
        // Kept as JSON text and read one by one: see `RegisterTools::specs`.
        #[cfg_attr(feature = "schema", schemars(with = "Vec<SpecDocument>"))]
        tools: Vec<RawJson>,
        /// How they join those already there. Since 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode: Option<RegisterMode>,
    }

    /// `unregister_tools`.
    UnregisterTools {
        /// The tools' names, as registered.
        names: Vec<String>,
    }

    /// `get_registered_tools`.
    GetRegisteredTools {}

    /// `tool_result`.
    ToolResult {
        /// The id of the `tool_call_request`.
        id: String,
        /// The result as text. Never parsed, even where it holds JSON.
        #[serde(default, deserialize_with = "null_is_default")]
        #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
        output: String,
        /// False says that the tool failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        success: Option<bool>,
        /// What failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// The structured result. Since 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        structured: Option<RawJson>,
        /// Further parts. Since 2.
        #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
        #[cfg_attr(feature = "schema", schemars(with = "Option<Vec<ContentPart>>"))]
        content: Vec<ContentPart>,
    }

    /// `tool_error`.
    ToolFailure {
        /// The id of the `tool_call_request`.
        id: String,
        /// What failed, in words.
        #[serde(default, deserialize_with = "null_is_default")]
        #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
        error: String,
        /// Always false where present.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        success: Option<bool>,
        /// One of the four kinds; only for reading, the code decides. Since 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error_type: Option<String>,
        /// One of the codes that a device may say; any other becomes `tool_failed`. Since 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<String>,
        /// What to do about it. Since 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hint: Option<String>,
        /// What to open so that the user can authorise. Since 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        authorize_intent: Option<RawJson>,
        /// Whether the same call may succeed when made again. Since 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retryable: Option<bool>,
    }

    /// `tool_progress`.
    ToolProgress {
        /// The id of the `tool_call_request`.
        id: String,
        /// How far.
        #[serde(default, deserialize_with = "null_is_default")]
        #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
        progress: f64,
        /// Of how much.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        total: Option<f64>,
        /// In words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        /// Output so far.
        #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
        #[cfg_attr(feature = "schema", schemars(with = "Option<Vec<ContentPart>>"))]
        content: Vec<ContentPart>,
    }

    /// `tool_waiting`.
    ToolWaiting {
        /// The id of the `tool_call_request`.
        id: String,
        /// What the person is asked for.
        #[serde(rename = "for")]
        waiting_for: WaitingFor,
        /// The question, in words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt: Option<String>,
        /// Where to answer it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hint: Option<String>,
    }

    /// `permission_answer`.
    PermissionAnswer {
        /// The id of the `permission_request`.
        id: String,
        /// Yes, no, never.
        decision: Decision,
        /// For how long.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        scope: Option<Scope>,
    }

    /// `call_tool`.
    CallTool {
        /// The caller's own id for this call; the answer carries it.
        id: String,
        /// Full name, or one that is unique.
        name: String,
        /// The arguments.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        args: Option<RawJson>,
        /// How long the caller waits, in milliseconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timeout_ms: Option<u64>,
        /// Makes the same call again safe.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        idempotency_key: Option<String>,
    }

    /// `cancel_call`.
    CancelCall {
        /// The id given in `call_tool`.
        id: String,
    }
}

impl RegisterTools {
    /// Each tool's spec, or why it can't be read.
    pub fn specs(&self) -> impl Iterator<Item = Result<SpecDocument, serde_json::Error>> {
        self.tools.iter().map(|tool| {
            if is_object(tool.get()) {
                tool.to()
            } else {
                Err(serde::de::Error::custom("a tool's spec is a JSON object"))
            }
        })
    }
}

words! {
    /// How registered tools join those already there.
    RegisterMode {
        /// They are the whole list now: the default in version 2.
        #[default]
        Replace,
        /// They are added, or take the place of those of the same name: what version 1 does.
        Add,
    }

    /// What a person is asked for on the device.
    WaitingFor {
        /// A permission of the operating system.
        #[default]
        Permission,
        /// Access to an app's data.
        Authorization,
    }

    /// An answer to a permission question.
    Decision {
        /// Yes.
        Granted,
        /// No.
        #[default]
        Denied,
        /// No, and do not ask again.
        DeniedAlways,
    }

    /// For how long an answer holds.
    Scope {
        /// This call.
        #[default]
        Once,
        /// This session.
        Session,
        /// This agent; only from the owner.
        Agent,
        /// Always; only from the owner.
        Always,
    }
}

#[cfg(test)]
mod tests;
