//! What went wrong with a call: one of four kinds (seed, "Tool Result Format") and a finer code.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::json::RawJson;
use crate::original_error::OriginalError;

/// The four kinds of failure. There is no fifth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// A deadline passed.
    Timeout,
    /// Somebody or some rule said no.
    PermissionDenied,
    /// The tool ran, or should have run, and failed.
    ExecutionError,
    /// The arguments were wrong; nothing ran.
    ValidationError,
}

impl ErrorKind {
    /// The word used on the wire.
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
        /// The fine reason of a failure. Codes are added, never renamed.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum Code {
            $($(#[$doc])* #[serde(rename = $text)] $variant,)+
        }

        impl Code {
            /// Every code, in the order of the protocol's table.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word used on the wire.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }

            /// The kind that this code belongs to.
            #[must_use]
            pub fn kind(self) -> ErrorKind {
                match self { $(Self::$variant => ErrorKind::$kind),+ }
            }

            /// Whether the same call may succeed when made again unchanged.
            #[must_use]
            pub fn retryable(self) -> bool {
                match self { $(Self::$variant => $retryable),+ }
            }

            /// The code with this name.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $($text => Some(Self::$variant),)+ _ => None }
            }
        }
    };
}

codes! {
    /// No such tool, or not for this caller: the two look the same.
    ToolNotAvailable = "tool_not_available", ExecutionError, retryable: false;
    /// Arguments malformed, cut, or against the schema.
    InvalidArguments = "invalid_arguments", ValidationError, retryable: false;
    /// An idempotency key was used before with other arguments.
    IdempotencyConflict = "idempotency_conflict", ValidationError, retryable: false;
    /// The deadline passed.
    Timeout = "timeout", Timeout, retryable: true;
    /// The tool said nothing for longer than it may.
    NoProgress = "no_progress", Timeout, retryable: true;
    /// A permission was refused.
    Denied = "denied", PermissionDenied, retryable: false;
    /// A permission was refused for good.
    DeniedAlways = "denied_always", PermissionDenied, retryable: false;
    /// Nobody was there to ask.
    ApprovalUnavailable = "approval_unavailable", PermissionDenied, retryable: false;
    /// The user must authorise in the app.
    AuthRequired = "auth_required", PermissionDenied, retryable: true;
    /// The caller cancelled.
    Cancelled = "cancelled", ExecutionError, retryable: true;
    /// A hook cancelled.
    HookCancelled = "hook_cancelled", ExecutionError, retryable: false;
    /// The device went away.
    DeviceDisconnected = "device_disconnected", ExecutionError, retryable: true;
    /// The gateway stopped in the middle of the call and was started again.
    GatewayRestarted = "gateway_restarted", ExecutionError, retryable: true;
    /// The gateway is shutting down.
    ShuttingDown = "shutting_down", ExecutionError, retryable: true;
    /// The tool panicked or threw.
    ToolPanicked = "tool_panicked", ExecutionError, retryable: false;
    /// The tool said that it failed.
    ToolFailed = "tool_failed", ExecutionError, retryable: false;
    /// Too many calls in flight.
    Overloaded = "overloaded", ExecutionError, retryable: true;
    /// Too many calls in a time.
    RateLimited = "rate_limited", ExecutionError, retryable: true;
    /// The result is larger than allowed.
    OutputTooLarge = "output_too_large", ExecutionError, retryable: false;
    /// No such file.
    FileNotFound = "file_not_found", ExecutionError, retryable: false;
    /// A server answered with a failing status.
    HttpStatus = "http_status", ExecutionError, retryable: true;
    /// The network failed.
    Network = "network", ExecutionError, retryable: true;
}

impl Code {
    /// The codes a device may give for its own failures; any other it gives becomes `tool_failed`.
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

    /// The code that a device's word stands for: itself where a device may say it, else `tool_failed`.
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

/// A failed call, in words for whoever reads it and codes for whoever handles it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ToolError {
    /// The fine reason; its kind is the coarse one.
    pub code: Code,
    /// What went wrong, for a person or a model.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// What to open so that the user can authorise (an app's intent, as the app described it).
    pub authorize_intent: Option<RawJson>,
    /// Whether the request had left for the tool, so that it may have had effects.
    pub dispatched: bool,
    /// Whether the same call may succeed when made again unchanged.
    pub retryable: bool,
    /// The failure as the tool's own protocol reported it, for a caller that speaks the same protocol. Most tools set
    /// none. It is not stored.
    pub original: Option<Box<OriginalError>>,
}

impl ToolError {
    /// An error with this code, its usual `retryable`, and `dispatched` false.
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

    /// The error for an unknown tool, or for one outside the caller's policy. Clients match its text `Tool [name] is not available`.
    #[must_use]
    pub fn tool_not_available(name: &str) -> Self {
        Self::new(Code::ToolNotAvailable, format!("Tool {name} is not available"))
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Says whether the request had left for the tool.
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

    /// The coarse reason.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.code.kind()
    }
}
