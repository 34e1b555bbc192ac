//! Settings of hooks, and their validation.

use std::collections::{BTreeMap, HashSet};
use std::net::IpAddr;
use std::path::PathBuf;

use reqwest::Url;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolway_core::{GlobError, GlobPatterns};

use super::request::HookStage;
use toolway_secrets::SecretLocation;

/// Maximum timeout, in milliseconds.
const MAX_TIMEOUT_MS: u64 = 30_000;
/// Maximum length of a name, in bytes.
const MAX_NAME: usize = 64;

/// A hook: a program or webhook that is called before and after tool calls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HookSettings {
    /// Name of the hook: a-z, 0-9, - and _, starting with a letter.
    pub name: String,
    /// Kind of hook: command or webhook.
    pub kind: HookKind,
    /// (command) Program to run: an absolute path, or a name that is searched on PATH once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// (command) Arguments of the program, passed unchanged. There is no shell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// (command) Names of environment variables to pass. The environment contains only these and set_env.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pass_env: Vec<String>,
    /// (command) Variables with fixed values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub set_env: BTreeMap<String, String>,
    /// (command) Working directory. Default: the data folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// (webhook) URL to send requests to: https, or http on this computer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// (webhook) Environment variable that contains the secret, whsec_ and base64, that signs requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_env: Option<String>,
    /// (webhook) File that contains the secret, instead of secret_env.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_file: Option<PathBuf>,
    /// Tools whose calls the hook sees, as patterns for source/tool. Default: all tools.
    #[serde(default)]
    pub tools: Vec<String>,
    /// Stages at which the hook runs.
    #[serde(default = "both")]
    pub stages: Vec<HookStage>,
    /// Time limit of one request, in milliseconds; at most 30000.
    #[serde(default = "two_seconds")]
    pub timeout_ms: u64,
    /// Effect of a failing hook on the call.
    pub on_failure: HookFailureMode,
}

/// Kind of hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum HookKind {
    /// A program.
    Command,
    /// A URL.
    Webhook,
}

/// Effect of a failing hook on the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum HookFailureMode {
    /// The call continues as if the hook did not exist.
    Open,
    /// The call is cancelled.
    Closed,
}

fn both() -> Vec<HookStage> {
    vec![HookStage::Before, HookStage::After]
}

fn two_seconds() -> u64 {
    2000
}

/// A problem in the settings of a hook.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {problem}")]
pub struct HookProblem {
    /// Name of the setting, such as `hooks[0].url`.
    pub key: String,
    /// Description of the problem.
    pub problem: String,
}

impl HookProblem {
    pub(super) fn new(at: usize, key: &str, problem: impl Into<String>) -> Self {
        Self { key: format!("hooks[{at}].{key}"), problem: problem.into() }
    }
}

/// Validated target of a hook.
pub(super) enum HookTarget<'a> {
    Command(&'a str),
    Webhook { url: Url, secret: SecretLocation },
}

/// Name of a setting, and its problem.
type HookSettingProblem = (&'static str, String);

/// Validates the settings, without access to programs and secrets.
#[must_use]
pub fn validate(hooks: &[HookSettings]) -> Vec<HookProblem> {
    let mut problems = Vec::new();
    let mut names = HashSet::new();
    for (at, hook) in hooks.iter().enumerate() {
        let mut wrong = Vec::new();
        if !is_name(&hook.name) {
            let rule = "must be at most 64 characters of a-z, 0-9, - and _, starting with a letter";
            wrong.push(("name", rule.to_owned()));
        } else if !names.insert(hook.name.as_str()) {
            wrong.push(("name", format!("another hook has the name {}", hook.name)));
        }
        wrong.extend(hook.target().err().into_iter().flatten());
        if let Err(bad) = hook.globs() {
            wrong.push(("tools", bad.to_string()));
        }
        if hook.stages.is_empty() {
            wrong.push(("stages", "must contain before, after or both".to_owned()));
        }
        if !(1..=MAX_TIMEOUT_MS).contains(&hook.timeout_ms) {
            wrong.push(("timeout_ms", format!("must be between 1 and {MAX_TIMEOUT_MS}")));
        }
        problems.extend(wrong.into_iter().map(|(key, problem)| HookProblem::new(at, key, problem)));
    }
    problems
}

impl HookSettings {
    /// Validates the settings of the hook's kind and returns its target.
    ///
    /// # Errors
    /// Every setting that is missing, superfluous or invalid.
    pub(super) fn target(&self) -> Result<HookTarget<'_>, Vec<HookSettingProblem>> {
        let mut wrong: Vec<HookSettingProblem> = Vec::new();
        let (foreign, kind) = match self.kind {
            HookKind::Command => (self.webhook_keys(), "command"),
            HookKind::Webhook => (self.command_keys(), "webhook"),
        };
        wrong.extend(foreign.into_iter().map(|key| (key, format!("is not allowed for a {kind} hook"))));
        let target = match self.kind {
            HookKind::Command => self.command(&mut wrong).map(HookTarget::Command),
            HookKind::Webhook => {
                let (url, secret) = (self.address(&mut wrong), self.secret(&mut wrong));
                url.zip(secret).map(|(url, secret)| HookTarget::Webhook { url, secret })
            }
        };
        match target {
            Some(target) if wrong.is_empty() => Ok(target),
            _ => Err(wrong),
        }
    }

    /// Patterns of the tools whose calls the hook sees.
    pub(super) fn globs(&self) -> Result<GlobPatterns, GlobError> {
        if self.tools.is_empty() { GlobPatterns::new(["*"]) } else { GlobPatterns::new(&self.tools) }
    }

    /// Name of the setting that contains the secret's location.
    pub(super) fn secret_key(&self) -> &'static str {
        if self.secret_env.is_some() { "secret_env" } else { "secret_file" }
    }

    fn command(&self, wrong: &mut Vec<HookSettingProblem>) -> Option<&str> {
        let program = self.program.as_deref().filter(|program| !program.is_empty());
        if program.is_none() {
            wrong.push(("program", "is required for a command hook".to_owned()));
        }
        program
    }

    fn address(&self, wrong: &mut Vec<HookSettingProblem>) -> Option<Url> {
        let Some(text) = &self.url else {
            wrong.push(("url", "is required for a webhook hook".to_owned()));
            return None;
        };
        match address(text) {
            Ok(url) => Some(url),
            Err(problem) => {
                wrong.push(("url", problem.to_owned()));
                None
            }
        }
    }

    fn secret(&self, wrong: &mut Vec<HookSettingProblem>) -> Option<SecretLocation> {
        match (&self.secret_env, &self.secret_file) {
            (Some(name), None) => Some(SecretLocation::Env(name.clone())),
            (None, Some(path)) => Some(SecretLocation::File(path.clone())),
            (None, None) => {
                wrong.push(("secret_env", "a webhook hook requires secret_env or secret_file".to_owned()));
                None
            }
            (Some(_), Some(_)) => {
                wrong.push(("secret_file", "secret_env and secret_file cannot both be set".to_owned()));
                None
            }
        }
    }

    fn command_keys(&self) -> Vec<&'static str> {
        let said = [
            ("program", self.program.is_some()),
            ("args", !self.args.is_empty()),
            ("pass_env", !self.pass_env.is_empty()),
            ("set_env", !self.set_env.is_empty()),
            ("cwd", self.cwd.is_some()),
        ];
        said.into_iter().filter(|(_, said)| *said).map(|(key, _)| key).collect()
    }

    fn webhook_keys(&self) -> Vec<&'static str> {
        let said = [
            ("url", self.url.is_some()),
            ("secret_env", self.secret_env.is_some()),
            ("secret_file", self.secret_file.is_some()),
        ];
        said.into_iter().filter(|(_, said)| *said).map(|(key, _)| key).collect()
    }
}

fn is_name(name: &str) -> bool {
    name.len() <= MAX_NAME
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'_')
}

/// Validates a URL. Requests contain the secrets of calls, so they must be encrypted unless they stay on this
/// computer. Error messages omit the URL, because it may contain a secret.
fn address(text: &str) -> Result<Url, &'static str> {
    let url = Url::parse(text).map_err(|_| "is not a URL")?;
    let host = url.host_str().unwrap_or_default();
    let literal = host.trim_start_matches('[').trim_end_matches(']');
    let here = host == "localhost" || literal.parse().is_ok_and(|address: IpAddr| address.is_loopback());
    match url.scheme() {
        _ if !url.username().is_empty() || url.password().is_some() => {
            Err("must not contain a user name or password; requests are signed instead")
        }
        "https" => Ok(url),
        "http" if here => Ok(url),
        "http" => Err("must be https, because requests contain the secrets of calls"),
        _ => Err("must be an https URL"),
    }
}

#[cfg(test)]
mod tests;
