//! Hooks as the settings say them.

use std::collections::{BTreeMap, HashSet};
use std::net::IpAddr;
use std::path::PathBuf;

use reqwest::Url;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolway_core::{GlobError, GlobPatterns};

use super::request::HookStage;
use crate::secrets::SecretLocation;

/// Longest time for one question, in milliseconds.
const MAX_TIMEOUT_MS: u64 = 30_000;
/// Longest name, in bytes.
const MAX_NAME: usize = 64;

/// A hook: something that is asked before and after calls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HookSettings {
    /// Its name: a-z, 0-9, - and _, the first a letter.
    pub name: String,
    /// What is asked.
    pub kind: HookKind,
    /// (command) The program: an absolute path, or a name that is looked up on PATH once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// (command) What it is started with, as it stands: there is no shell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// (command) Variables that are passed through; the environment is empty but for these and set_env.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pass_env: Vec<String>,
    /// (command) Variables that are set as written.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub set_env: BTreeMap<String, String>,
    /// (command) Its working directory: the data folder where not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// (webhook) The address: https, or http on this computer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// (webhook) The environment variable that holds the secret, whsec_ and base64, that questions are signed
    /// with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_env: Option<String>,
    /// (webhook) The file that holds it, instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_file: Option<PathBuf>,
    /// The tools whose calls it sees, as patterns over source/tool; all of them where none is named.
    #[serde(default)]
    pub tools: Vec<String>,
    /// When it is asked.
    #[serde(default = "both")]
    pub stages: Vec<HookStage>,
    /// How long one question may take, in milliseconds; 30000 at most.
    #[serde(default = "two_seconds")]
    pub timeout_ms: u64,
    /// What becomes of a call where it fails.
    pub on_failure: HookFailureMode,
}

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum HookKind {
    /// A program.
    Command,
    /// An address.
    Webhook,
}

/// What becomes of a call whose hook failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum HookFailureMode {
    /// It goes on as if there were no such hook.
    Open,
    /// It ends.
    Closed,
}

fn both() -> Vec<HookStage> {
    vec![HookStage::Before, HookStage::After]
}

fn two_seconds() -> u64 {
    2000
}

/// What is wrong with the settings of a hook.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {problem}")]
pub struct HookProblem {
    /// The setting, as `hooks[0].url`.
    pub key: String,
    /// What is wrong with it.
    pub problem: String,
}

impl HookProblem {
    pub(super) fn new(at: usize, key: &str, problem: impl Into<String>) -> Self {
        Self { key: format!("hooks[{at}].{key}"), problem: problem.into() }
    }
}

/// Whom a hook asks, once that is known to be sound.
pub(super) enum HookTarget<'a> {
    Command(&'a str),
    Webhook { url: Url, secret: SecretLocation },
}

/// A setting and what is wrong with it.
type HookSettingProblem = (&'static str, String);

/// Checks what can be checked without looking at programs and secrets.
#[must_use]
pub fn validate(hooks: &[HookSettings]) -> Vec<HookProblem> {
    let mut problems = Vec::new();
    let mut names = HashSet::new();
    for (at, hook) in hooks.iter().enumerate() {
        let mut wrong = Vec::new();
        if !is_name(&hook.name) {
            let rule = "must be a name of a-z, 0-9, - and _, the first a letter, 64 of them at most";
            wrong.push(("name", rule.to_owned()));
        } else if !names.insert(hook.name.as_str()) {
            wrong.push(("name", format!("there is another hook named {}", hook.name)));
        }
        wrong.extend(hook.target().err().into_iter().flatten());
        if let Err(bad) = hook.globs() {
            wrong.push(("tools", bad.to_string()));
        }
        if hook.stages.is_empty() {
            wrong.push(("stages", "must name before, after or both".to_owned()));
        }
        if !(1..=MAX_TIMEOUT_MS).contains(&hook.timeout_ms) {
            wrong.push(("timeout_ms", format!("must be between 1 and {MAX_TIMEOUT_MS}")));
        }
        problems.extend(wrong.into_iter().map(|(key, problem)| HookProblem::new(at, key, problem)));
    }
    problems
}

impl HookSettings {
    /// Whom it asks.
    ///
    /// # Errors
    /// Each setting that is missing, too many, or wrong.
    pub(super) fn target(&self) -> Result<HookTarget<'_>, Vec<HookSettingProblem>> {
        let mut wrong: Vec<HookSettingProblem> = Vec::new();
        let (foreign, kind) = match self.kind {
            HookKind::Command => (self.webhook_keys(), "command"),
            HookKind::Webhook => (self.command_keys(), "webhook"),
        };
        wrong.extend(foreign.into_iter().map(|key| (key, format!("has no meaning for a {kind} hook"))));
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

    /// The tools whose calls it sees.
    pub(super) fn globs(&self) -> Result<GlobPatterns, GlobError> {
        if self.tools.is_empty() { GlobPatterns::new(["*"]) } else { GlobPatterns::new(&self.tools) }
    }

    /// The setting that says where the secret is.
    pub(super) fn secret_key(&self) -> &'static str {
        if self.secret_env.is_some() { "secret_env" } else { "secret_file" }
    }

    fn command(&self, wrong: &mut Vec<HookSettingProblem>) -> Option<&str> {
        let program = self.program.as_deref().filter(|program| !program.is_empty());
        if program.is_none() {
            wrong.push(("program", "a command hook needs a program".to_owned()));
        }
        program
    }

    fn address(&self, wrong: &mut Vec<HookSettingProblem>) -> Option<Url> {
        let Some(text) = &self.url else {
            wrong.push(("url", "a webhook needs an address".to_owned()));
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
                wrong.push(("secret_env", "a webhook needs a secret: secret_env or secret_file".to_owned()));
                None
            }
            (Some(_), Some(_)) => {
                wrong.push(("secret_file", "the secret is said to be in two places".to_owned()));
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

/// What goes to a webhook has the secrets of calls in it, so it is encrypted unless it stays here. The text
/// itself is not told: it may hold a secret too.
fn address(text: &str) -> Result<Url, &'static str> {
    let url = Url::parse(text).map_err(|_| "is not an address")?;
    let host = url.host_str().unwrap_or_default();
    let literal = host.trim_start_matches('[').trim_end_matches(']');
    let here = host == "localhost" || literal.parse().is_ok_and(|address: IpAddr| address.is_loopback());
    match url.scheme() {
        _ if !url.username().is_empty() || url.password().is_some() => {
            Err("must not have a user name or password in it: questions are signed instead")
        }
        "https" => Ok(url),
        "http" if here => Ok(url),
        "http" => Err("must be https, since what is sent has the calls' secrets in it"),
        _ => Err("must be an https address"),
    }
}

#[cfg(test)]
mod tests;
