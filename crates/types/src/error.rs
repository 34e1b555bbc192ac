//! Errors of a call: one of four kinds and a more specific code (docs/protocol.md, "Outcomes").

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::json::RawJson;
use crate::original_error::OriginalError;
use crate::text::{MAX_QUOTE, truncate};

/// The four kinds of failure. No other kind is ever added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// A deadline passed.
    Timeout,
    /// A person, a rule or an app refused.
    PermissionDenied,
    /// The tool failed, or could not run.
    ExecutionError,
    /// The arguments are invalid; nothing ran.
    ValidationError,
}

impl ErrorKind {
    /// Name of the kind on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::PermissionDenied => "permission_denied",
            Self::ExecutionError => "execution_error",
            Self::ValidationError => "validation_error",
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident = $text:literal, $kind:ident, retryable: $retryable:literal;)+) => {
        /// Specific reason of a failure. Codes are added, never renamed.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum Code {
            $($(#[$doc])* #[serde(rename = $text)] $variant,)+
        }

        impl Code {
            /// All codes, in the order of the protocol's table.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Name of the code on the wire.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }

            /// Kind of failure of this code.
            #[must_use]
            pub fn kind(self) -> ErrorKind {
                match self { $(Self::$variant => ErrorKind::$kind),+ }
            }

            /// True if the same call may succeed on retry without changes.
            #[must_use]
            pub fn retryable(self) -> bool {
                match self { $(Self::$variant => $retryable),+ }
            }

            /// Finds the code with this name.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $($text => Some(Self::$variant),)+ _ => None }
            }
        }
    };
}

codes! {
    /// The tool does not exist, or this caller may not use it. The two look the same.
    ToolNotAvailable = "tool_not_available", ExecutionError, retryable: false;
    /// The arguments are malformed, truncated, or do not match the schema.
    InvalidArguments = "invalid_arguments", ValidationError, retryable: false;
    /// The idempotency key was used before with other arguments.
    IdempotencyConflict = "idempotency_conflict", ValidationError, retryable: false;
    /// The deadline passed.
    Timeout = "timeout", Timeout, retryable: true;
    /// The tool sent no progress for longer than its limit.
    NoProgress = "no_progress", Timeout, retryable: true;
    /// Permission was denied.
    Denied = "denied", PermissionDenied, retryable: false;
    /// Permission was denied permanently.
    DeniedAlways = "denied_always", PermissionDenied, retryable: false;
    /// Nobody could answer the approval request.
    ApprovalUnavailable = "approval_unavailable", PermissionDenied, retryable: false;
    /// The user must authorize access in the app.
    AuthRequired = "auth_required", PermissionDenied, retryable: true;
    /// The caller cancelled.
    Cancelled = "cancelled", ExecutionError, retryable: true;
    /// A hook cancelled the call.
    HookCancelled = "hook_cancelled", ExecutionError, retryable: false;
    /// The device disconnected.
    DeviceDisconnected = "device_disconnected", ExecutionError, retryable: true;
    /// The gateway restarted during the call.
    GatewayRestarted = "gateway_restarted", ExecutionError, retryable: true;
    /// The gateway is shutting down.
    ShuttingDown = "shutting_down", ExecutionError, retryable: true;
    /// The tool panicked or threw.
    ToolPanicked = "tool_panicked", ExecutionError, retryable: false;
    /// The tool reported a failure.
    ToolFailed = "tool_failed", ExecutionError, retryable: false;
    /// Too many calls are in flight.
    Overloaded = "overloaded", ExecutionError, retryable: true;
    /// The caller exceeded its rate limit.
    RateLimited = "rate_limited", ExecutionError, retryable: true;
    /// The result is larger than allowed.
    OutputTooLarge = "output_too_large", ExecutionError, retryable: false;
    /// The file does not exist.
    FileNotFound = "file_not_found", ExecutionError, retryable: false;
    /// A server responded with an error status.
    HttpStatus = "http_status", ExecutionError, retryable: true;
    /// The network failed.
    Network = "network", ExecutionError, retryable: true;
}

impl Code {
    /// Codes that a device may report for its own failures. Any other reported code becomes `tool_failed`.
    pub const FROM_DEVICES: &'static [Self] = &[
        Self::InvalidArguments,
        Self::Denied,
        Self::DeniedAlways,
        Self::AuthRequired,
        Self::RateLimited,
        Self::ToolFailed,
        Self::ToolPanicked,
        Self::FileNotFound,
        Self::Network,
    ];

    /// Code for the name reported by a device: that code if devices may report it, otherwise `tool_failed`.
    #[must_use]
    pub fn from_device_code(name: Option<&str>) -> Self {
        name.and_then(Self::from_name)
            .filter(|code| Self::FROM_DEVICES.contains(code))
            .unwrap_or(Self::ToolFailed)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A failed call: a message for people and models, a code for programs.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ToolError {
    /// Specific reason. It determines the kind.
    pub code: Code,
    /// Description of the failure, for a person or a model.
    pub message: String,
    /// Next step for the caller.
    pub hint: Option<String>,
    /// The app's intent that lets the user authorize access, exactly as the app described it.
    pub authorize_intent: Option<RawJson>,
    /// True if the request was sent to the tool, so it may have had effects.
    pub dispatched: bool,
    /// True if the same call may succeed on retry without changes.
    pub retryable: bool,
    /// The failure as the tool's own protocol reported it, for a caller that speaks the same protocol. Most tools set
    /// none. It is not stored.
    pub original: Option<Box<OriginalError>>,
}

impl ToolError {
    /// Creates an error with this code, the code's default `retryable`, and `dispatched` false.
    #[must_use]
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            hint: None,
            authorize_intent: None,
            dispatched: false,
            retryable: code.retryable(),
            original: None,
        }
    }

    /// Error for an unknown tool, or for a tool outside the caller's policy. Clients match its text `Tool
    /// [name] is not available`.
    #[must_use]
    pub fn tool_not_available(name: &str) -> Self {
        let name = truncate(name, MAX_QUOTE);
        Self::new(Code::ToolNotAvailable, format!("Tool {name} is not available"))
    }

    /// Sets the hint.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Sets `dispatched`.
    #[must_use]
    pub fn with_dispatched(mut self, dispatched: bool) -> Self {
        self.dispatched = dispatched;
        self
    }

    /// Adds the failure as the tool's own protocol reported it.
    #[must_use]
    pub fn with_original(mut self, original: OriginalError) -> Self {
        self.original = Some(Box::new(original));
        self
    }

    /// The kind of failure.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.code.kind()
    }
}
