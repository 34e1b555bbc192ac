//! The engine's settings: timeouts, limits, and the names of secret arguments.

use std::collections::BTreeMap;
use std::time::Duration;

use toolway_types::ToolId;

use crate::spec::ToolSpec;

/// The settings of an engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineSettings {
    /// The timeout of a tool that has none in its spec or in `tool_timeouts`.
    pub default_timeout: Duration,
    /// The largest timeout of any run.
    pub timeout_cap: Duration,
    /// The owner's timeouts, by `source/tool`. They override the spec.
    pub tool_timeouts: BTreeMap<String, Duration>,
    /// The time limit for a person to answer one question, and for all waits for persons on a device in one call.
    pub person_timeout: Duration,
    /// The lifetime of an idempotency key.
    pub key_lifetime: Duration,
    /// Maximum number of idempotency keys in memory.
    pub max_idempotency_keys: usize,
    /// Maximum number of calls in flight.
    pub calls_in_flight: usize,
    /// Maximum number of calls of one principal that [`Engine::call_many`](crate::Engine::call_many) runs in parallel.
    pub parallel_calls: usize,
    /// Maximum size of an output, in bytes.
    pub output_bytes: usize,
    /// Maximum size of a result's text for a model, in bytes.
    pub model_text_bytes: usize,
    /// Argument names whose values are never recorded, in lower case.
    pub redact: Vec<String>,
}

/// Names of secret values, both as tool arguments and as request headers.
pub const SECRET_NAMES: [&str; 9] = [
    "password",
    "token",
    "secret",
    "api_key",
    "authorization",
    "proxy-authorization",
    "cookie",
    "x-api-key",
    "private-token",
];

impl Default for EngineSettings {
    fn default() -> Self {
        Self {
            default_timeout: Duration::from_secs(30),
            timeout_cap: Duration::from_secs(3600),
            tool_timeouts: BTreeMap::new(),
            person_timeout: Duration::from_secs(120),
            key_lifetime: Duration::from_secs(600),
            max_idempotency_keys: 10_000,
            calls_in_flight: 10_000,
            parallel_calls: 16,
            output_bytes: 16 << 20,
            model_text_bytes: 64 << 10,
            redact: SECRET_NAMES.map(str::to_owned).to_vec(),
        }
    }
}

impl EngineSettings {
    /// The timeout of a tool: the owner's if set, else the spec's, else the default.
    #[must_use]
    pub fn tool_timeout(&self, tool: &ToolId, spec: &ToolSpec) -> Duration {
        let owners = match self.tool_timeouts.is_empty() {
            true => None,
            false => self.tool_timeouts.get(&tool.to_string()).copied(),
        };
        owners.or(spec.timeout()).unwrap_or(self.default_timeout)
    }
}
