//! Shared parts of the hook tests: a call, a folder of scripts, a fixed clock.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use secrecy::SecretString;
use tempfile::TempDir;
use toolway_command::CommandEnv;
use toolway_core::{Arguments, EntryPoint, HookCall, HookEntry, RawArguments};
use toolway_types::{CallId, Clock, PrincipalId, RawJson, Role};

use super::{HookDeps, HookProblem, HookSettings, WebhookClient, build};
use toolway_secrets::{SecretError, SecretLocation, SecretReader};

/// The test secret of the scheme's own libraries.
pub(super) const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
/// Id of the call.
pub(super) const CALL: &str = "01920000-0000-7000-8000-0000000000ab";

/// A clock fixed at 2025-01-02T03:04:05.678Z.
#[derive(Debug)]
struct FrozenClock;

impl Clock for FrozenClock {
    fn now_ms(&self) -> i64 {
        1_735_787_045_678
    }
}

struct FixedSecretReader;

impl SecretReader for FixedSecretReader {
    fn read(&self, source: &SecretLocation) -> Result<SecretString, SecretError> {
        match source {
            SecretLocation::Env(name) if name == "HOOK_SECRET" => Ok(SECRET.to_owned().into()),
            SecretLocation::Env(name) if name == "SHORT" => Ok("whsec_AAAA".to_owned().into()),
            _ => {
                Err(SecretError::Unreadable { location: source.clone(), problem: "it is not set".to_owned() })
            }
        }
    }
}

/// A model's call of a phone's tool.
pub(super) fn call() -> HookCall {
    let arguments = RawJson::parse(r#"{"quality":1.0,"flash":true}"#).unwrap();
    HookCall {
        id: serde_json::from_value(CALL.into()).unwrap(),
        tool: "pixel-8/camera".parse().unwrap(),
        principal: PrincipalId::from("token-1"),
        role: Role::Client,
        via: EntryPoint::Agent,
        agent: Some("helper".into()),
        session: Some("s-1".into()),
        arguments: Arguments::parse(RawArguments::Json(arguments)).unwrap(),
    }
}

/// Another call of the same kind.
pub(super) fn another_call() -> HookCall {
    HookCall { id: CallId::new(), ..call() }
}

/// A folder for scripts, and the dependencies of hooks.
pub(super) struct HookHarness {
    folder: TempDir,
}

impl HookHarness {
    pub(super) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(super) fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Builds hooks with an environment that has a `PATH` and one variable of the owner.
    pub(super) fn build(&self, hooks: &[HookSettings]) -> Result<Vec<HookEntry>, Vec<HookProblem>> {
        let environment = [("PATH", "/usr/bin:/bin"), ("MINE", "1")];
        let environment: HashMap<_, _> = environment.map(|(name, value)| (name.into(), value.into())).into();
        let env = CommandEnv { environment, base_dir: self.folder.path().to_owned() };
        let provider = rustls::crypto::ring::default_provider();
        let tls = rustls::ClientConfig::builder_with_provider(Arc::new(provider))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(rustls::RootCertStore::empty())
            .with_no_client_auth();
        let client = WebhookClient::new(reqwest::Client::builder().tls_backend_preconfigured(tls)).unwrap();
        let kit = HookDeps {
            command_env: &env,
            client: &client,
            clock: Arc::new(FrozenClock),
            secrets: &FixedSecretReader,
        };
        build(hooks, &kit)
    }

    /// Builds the hook of these settings.
    #[track_caller]
    pub(super) fn hook(&self, toml: &str) -> HookEntry {
        self.build(&[toml::from_str(toml).unwrap()]).unwrap().remove(0)
    }

    /// Builds a hook that runs a script.
    #[track_caller]
    pub(super) fn script(&self, script: &str) -> HookEntry {
        let path = self.at("hook.sh");
        fs::write(&path, script).unwrap();
        self.hook(&format!(
            "name = 'it'\nkind = 'command'\non_failure = 'closed'\nprogram = '/bin/sh'\nargs = ['{}', 'one']\n\
             pass_env = ['PATH', 'MINE']\nset_env = {{ OURS = '2' }}\n",
            path.display()
        ))
    }

    /// Builds a hook that sends webhooks.
    #[track_caller]
    pub(super) fn webhook(&self, url: &str) -> HookEntry {
        self.hook(&format!(
            "name = 'it'\nkind = 'webhook'\non_failure = 'closed'\nurl = '{url}'\nsecret_env = 'HOOK_SECRET'\n"
        ))
    }
}
