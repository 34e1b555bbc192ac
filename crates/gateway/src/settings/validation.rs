//! Validates settings of the right form. All problems are reported at once.

use toolway_core::{GlobPatterns, Policy};
use toolway_mcp::definition::SettingsServers;
use toolway_types::ToolId;

use super::{Seconds, Settings, TlsMode};
use crate::net::address::{UriAuthority, WebOrigin};
use crate::net::parse_network;

/// Minimum of `limits.memory_bytes`: one frame of the default size, twice.
const MIN_MEMORY: usize = 32 << 20;

/// A problem of one setting, or a warning about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {problem}")]
pub struct SettingError {
    /// Full name of the setting, for example `limits.frame_bytes`.
    pub key: String,
    /// The problem.
    pub problem: String,
    /// The next step for the user.
    pub hint: String,
}

impl SettingError {
    fn new(key: impl Into<String>, problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { key: key.into(), problem: problem.into(), hint: hint.into() }
    }
}

impl SettingError {
    /// Creates an error about the gateway's own tools or hooks.
    pub(crate) fn without_hint(key: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::new(key, problem, "docs/tools.md describes tools and hooks")
    }
}

impl Settings {
    /// Validates all settings together.
    ///
    /// # Errors
    /// All problems, in the order of the settings.
    pub fn validate(&self) -> Result<(), Vec<SettingError>> {
        let mut errors = Vec::new();
        self.check_addresses(&mut errors);
        self.check_tls(&mut errors);
        self.check_log(&mut errors);
        self.check_limits(&mut errors);
        self.check_timeouts(&mut errors);
        self.check_calls(&mut errors);
        self.check_chat(&mut errors);
        self.check_rules(&mut errors);
        self.check_tools(&mut errors);
        self.check_mcp(&mut errors);
        self.check_issuer(&mut errors);
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    /// Returns warnings about settings that are valid but risky.
    #[must_use]
    pub fn warnings(&self) -> Vec<SettingError> {
        let mut warnings = Vec::new();
        let others_connect = !self.listen.is_loopback();
        if others_connect && self.tls.mode == TlsMode::Off {
            warnings.push(SettingError::new(
                "tls.mode",
                format!(
                    "off, while {} can be reached from other machines: whoever is on the way can read \
                         tokens and calls",
                    self.listen
                ),
                "set tls.mode to \"auto\", or listen on 127.0.0.1 behind a proxy with TLS",
            ));
        }
        if let Some(url) = &self.public_url
            && WebOrigin::parse(url).is_some_and(|it| it.scheme == "http" && !it.host.is_loopback())
        {
            warnings.push(SettingError::new(
                "public_url",
                format!("{url} is not encrypted: others on the network can read tokens and calls"),
                "use an https URL",
            ));
        }
        if self.allow_remote_commands {
            warnings.push(SettingError::new(
                "allow_remote_commands",
                "is on: anyone with the owner's token can make this computer run any program",
                "set it to false unless you need it",
            ));
        }
        warnings
    }

    fn check_addresses(&self, errors: &mut Vec<SettingError>) {
        if let Some(url) = &self.public_url
            && !WebOrigin::parse(url).is_some_and(|it| it.is_web())
        {
            errors.push(SettingError::new(
                "public_url",
                format!("{url:?} is not a valid URL of a gateway"),
                "write it as https://tools.example.org or https://tools.example.org:8443, without a path",
            ));
        }
        for (at, host) in self.allowed_hosts.iter().enumerate() {
            if UriAuthority::parse(host).is_none() {
                errors.push(SettingError::new(
                    format!("allowed_hosts[{at}]"),
                    format!("{host:?} is not a host name"),
                    "write a name or an address, with or without a port: tools.example.org, [fd00::1]:7717; \
                     no scheme, no path, no *",
                ));
            }
        }
        for (at, origin) in self.allowed_origins.iter().enumerate() {
            if WebOrigin::parse(origin).is_none() {
                errors.push(SettingError::new(
                    format!("allowed_origins[{at}]"),
                    format!("{origin:?} is not an origin"),
                    "write scheme, host and port as a browser sends them, like https://app.example.org; no \
                     path, no *",
                ));
            }
        }
        for (at, network) in self.trusted_proxies.iter().enumerate() {
            if parse_network(network).is_none() {
                errors.push(SettingError::new(
                    format!("trusted_proxies[{at}]"),
                    format!("{network:?} is not an IP address or network"),
                    "write it as 10.0.0.7 or 10.0.0.0/8",
                ));
            }
        }
        if self.workers == Some(0) {
            errors.push(SettingError::new("workers", "0 is out of range", "remove it, or set at least 1"));
        }
    }

    fn check_tls(&self, errors: &mut Vec<SettingError>) {
        let (key, missing, present) = match (&self.tls.cert, &self.tls.key) {
            (Some(_), None) => ("tls.key", "tls.key", "tls.cert"),
            (None, Some(_)) => ("tls.cert", "tls.cert", "tls.key"),
            _ => return,
        };
        errors.push(SettingError::new(
            key,
            format!("is missing, but {present} is set"),
            format!("set {missing} too, or remove {present} to use the gateway's own certificate"),
        ));
    }

    fn check_log(&self, errors: &mut Vec<SettingError>) {
        if self.log.level.trim().is_empty() {
            errors.push(SettingError::new("log.level", "empty", "write error, warn, info, debug or trace"));
        }
    }

    fn check_limits(&self, errors: &mut Vec<SettingError>) {
        let it = &self.limits;
        let at_least = [
            ("frame_bytes", it.frame_bytes, 4096),
            ("tools_per_connection", it.tools_per_connection, 1),
            ("spec_bytes_per_connection", it.spec_bytes_per_connection, 1024),
            ("calls_in_flight_per_device", it.calls_in_flight_per_device, 1),
            ("calls_in_flight_per_connection", it.calls_in_flight_per_connection, 1),
            ("calls_in_flight", it.calls_in_flight, 1),
            ("parallel_calls_per_principal", it.parallel_calls_per_principal, 1),
            ("send_queue", it.send_queue, 8),
            ("output_bytes", it.output_bytes, 1024),
            ("model_result_bytes", it.model_result_bytes, 1024),
            ("sources_per_token", it.sources_per_token, 1),
            ("sources_per_owner", it.sources_per_owner, 1),
            ("connections", it.connections, 1),
            ("connections_per_principal", it.connections_per_principal, 1),
            ("memory_bytes", it.memory_bytes.unwrap_or(MIN_MEMORY), MIN_MEMORY),
            ("sse_streams", it.sse_streams, 1),
            ("sse_streams_per_principal", it.sse_streams_per_principal, 1),
            ("body_bytes", it.body_bytes, 1024),
            ("pairing_codes", it.pairing_codes, 1),
            ("pairing_attempts_per_minute", it.pairing_attempts_per_minute as usize, 1),
            ("failed_sign_ins_per_minute", it.failed_sign_ins_per_minute as usize, 1),
        ];
        for (name, value, least) in at_least {
            // Semaphores have this limit, which is far above any machine's capacity.
            if !(least..=usize::MAX >> 4).contains(&value) {
                errors.push(SettingError::new(
                    format!("limits.{name}"),
                    format!("{value} is out of range"),
                    format!("set at least {least}"),
                ));
            }
        }
    }

    fn check_timeouts(&self, errors: &mut Vec<SettingError>) {
        let it = &self.timeouts;
        let named = [
            ("tool_s", it.tool_s),
            ("max_tool_s", it.max_tool_s),
            ("approval_s", it.approval_s),
            ("heartbeat_s", it.heartbeat_s),
            ("write_s", it.write_s),
            ("shutdown_s", it.shutdown_s),
            ("request_s", it.request_s),
            ("pairing_code_s", it.pairing_code_s),
        ];
        for (name, value) in named {
            check_seconds(&format!("timeouts.{name}"), value, true, errors);
        }
        check_seconds("timeouts.resume_grace_s", it.resume_grace_s, false, errors);
        for (tool, value) in &it.tools {
            let key = format!("timeouts.tools.{tool:?}");
            if tool.parse::<ToolId>().is_err() {
                errors.push(SettingError::new(
                    key.clone(),
                    "not a tool id",
                    "write source/tool, like \"laptop/disk_usage\"",
                ));
            }
            check_seconds(&key, *value, true, errors);
        }
    }

    fn check_rules(&self, errors: &mut Vec<SettingError>) {
        if let Err(problems) = Policy::compile(&self.policy, &self.approval, &self.permissions) {
            errors.extend(
                problems
                    .into_iter()
                    .map(|it| SettingError::new(it.key, it.problem, "docs/policy.md describes rules")),
            );
        }
        for (at, rule) in self.registration.rules.iter().enumerate() {
            let lists =
                [("principals", &rule.principals), ("sources", &rule.sources), ("names", &rule.names)];
            for (field, patterns) in lists {
                if let Err(bad) = GlobPatterns::new(patterns) {
                    errors.push(SettingError::new(
                        format!("registration.rules[{at}].{field}"),
                        bad.to_string(),
                        "write it as camera_* or pixel-*",
                    ));
                }
            }
        }
    }

    fn check_issuer(&self, errors: &mut Vec<SettingError>) {
        let Some(issuer) = &self.mcp.issuer else { return };
        for (field, problem, hint) in super::issuer::problems(issuer, self.public_url.as_deref()) {
            errors.push(SettingError::new(format!("mcp.issuer.{field}"), problem, hint));
        }
    }

    fn check_tools(&self, errors: &mut Vec<SettingError>) {
        let mut names = std::collections::HashSet::new();
        for (at, folder) in self.tools.files.folders.iter().enumerate() {
            let key = |field| format!("tools.files.folders[{at}].{field}");
            let is_plain = !folder.name.is_empty()
                && !folder.name.starts_with('.')
                && !folder.name.contains(['/', '\\', ':'])
                && !folder.name.chars().any(char::is_control);
            if !is_plain {
                errors.push(SettingError::new(
                    key("name"),
                    format!("{:?} is not a valid folder name", folder.name),
                    "write one word, for example docs",
                ));
            } else if !names.insert(&folder.name) {
                errors.push(SettingError::new(
                    key("name"),
                    format!("two folders have the name {:?}", folder.name),
                    "give each a different name",
                ));
            }
            if !folder.path.is_absolute() {
                errors.push(SettingError::new(
                    key("path"),
                    format!("{} is not an absolute path", folder.path.display()),
                    "write it from the root, for example /home/ada/docs",
                ));
            }
        }
        for (at, file) in self.tools.own.iter().enumerate().filter(|(_, file)| !file.is_absolute()) {
            errors.push(SettingError::new(
                format!("tools.own[{at}]"),
                format!("{} is not an absolute path", file.display()),
                "write it from the root, for example /home/ada/tools.toml",
            ));
        }
        errors.extend(
            toolway_tools::hooks::validate(&self.hooks)
                .into_iter()
                .map(|it| SettingError::without_hint(it.key, it.problem)),
        );
        if let Err(bad) = toolway_tools::web::AllowList::parse(&self.tools.http_request.allow) {
            errors.push(SettingError::without_hint("tools.http_request.allow", bad.to_string()));
        }
        if self.tools.http_request.body_bytes < 1024 {
            errors.push(SettingError::new(
                "tools.http_request.body_bytes",
                format!("{} is out of range", self.tools.http_request.body_bytes),
                "set at least 1024",
            ));
        }
    }

    fn check_mcp(&self, errors: &mut Vec<SettingError>) {
        for (name, flaw) in SettingsServers::validate(&self.mcp.servers) {
            let key = match flaw.field.as_str() {
                "name" => format!("mcp.servers.{name}"),
                field => format!("mcp.servers.{name}.{field}"),
            };
            errors.push(SettingError::new(key, flaw.message, flaw.hint));
        }
        if self.mcp.max_sessions == 0 {
            errors.push(SettingError::new("mcp.max_sessions", "0 is out of range", "set at least 1"));
        }
        check_seconds("mcp.session_idle_s", self.mcp.session_idle_s, true, errors);
        check_seconds("mcp.list_timeout_s", self.mcp.list_timeout_s, true, errors);
    }

    fn check_calls(&self, errors: &mut Vec<SettingError>) {
        if self.calls.record_bytes < 1024 {
            errors.push(SettingError::new(
                "calls.record_bytes",
                format!("{} is out of range", self.calls.record_bytes),
                "set at least 1024",
            ));
        }
        if self.calls.redact.iter().any(|name| name.trim().is_empty()) {
            errors.push(SettingError::new("calls.redact", "has an empty name", "remove it"));
        }
    }

    fn check_chat(&self, errors: &mut Vec<SettingError>) {
        let at_least_one = [
            ("chat.max_tools", self.chat.max_tools),
            ("chat.max_concurrent_turns", self.chat.max_concurrent_turns),
        ];
        for (key, _) in at_least_one.into_iter().filter(|(_, value)| *value == 0) {
            errors.push(SettingError::new(key, "0 is out of range", "set at least 1"));
        }
        if !(0.1..=1.0).contains(&self.chat.context_threshold) {
            errors.push(SettingError::new(
                "chat.context_threshold",
                format!("{} is out of range", self.chat.context_threshold),
                "set a number from 0.1 to 1",
            ));
        }
        if let Some(budget) = self.budget.per_day.filter(|budget| !(budget.is_finite() && *budget > 0.0)) {
            errors.push(SettingError::new(
                "budget.per_day",
                format!("{budget} is not a valid amount"),
                "set an amount above 0, or remove it for no budget",
            ));
        }
    }
}

fn check_seconds(key: &str, value: Seconds, above_zero: bool, errors: &mut Vec<SettingError>) {
    let number = value.get();
    let fits = number.is_finite()
        && number <= Seconds::MAX.get()
        && if above_zero { number >= 0.001 } else { number >= 0.0 };
    if !fits {
        let least = if above_zero { "0.001" } else { "0" };
        errors.push(SettingError::new(
            key,
            format!("{number} is out of range"),
            format!("set a number of seconds from {least} to {}", Seconds::MAX.get()),
        ));
    }
}
