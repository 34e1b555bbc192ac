//! Shared parts of the tests of owner-defined tools: a folder of definitions, and an engine that calls its
//! tools.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use secrecy::SecretString;
use serde_json::{Value, json};
use tempfile::TempDir;
use toolway_core::{
    CallRequest, Caller, Engine, EngineParts, Lease, RawArguments, Registry, SourceRetention,
};
use toolway_types::{RawJson, ResultEnvelope, SystemClock};

use super::{DefinitionSources, LoadedDefinitions, OwnToolDeps, load};
use crate::web::testing::loopback_client;
use toolway_secrets::{SecretError, SecretLocation, SecretReader};

/// A provider with one secret.
struct SingleSecretReader;

impl SecretReader for SingleSecretReader {
    fn read(&self, location: &SecretLocation) -> Result<SecretString, SecretError> {
        let SecretLocation::Secret(name) = location else { panic!("{location}") };
        match &**name {
            "weather_key" => Ok("s3cret".to_owned().into()),
            _ => Err(SecretError::Unknown(name.clone())),
        }
    }
}

/// A folder of definitions, a working directory for commands, and a folder with files of the owner.
pub(super) struct OwnToolHarness {
    folder: TempDir,
    pub(super) sources: DefinitionSources,
    pub(super) kit: OwnToolDeps,
}

impl OwnToolHarness {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("run")).unwrap();
        fs::create_dir(at("elsewhere")).unwrap();
        let environment = [("PATH", "/usr/bin:/bin"), ("LANG", "C.UTF-8"), ("SECRET", "hidden")];
        Self {
            sources: DefinitionSources { folder: at("tools"), working_dir: at("run"), files: Vec::new() },
            kit: OwnToolDeps {
                environment: environment.map(|(name, value)| (name.into(), value.into())).into(),
                builtins: vec!["read_file".to_owned()],
                client: Arc::new(loopback_client()),
                secrets: Arc::new(SingleSecretReader),
            },
            folder,
        }
    }

    pub(super) fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file in the folder of definitions.
    pub(super) fn define(&self, name: &str, text: &str) -> PathBuf {
        fs::create_dir_all(&self.sources.folder).unwrap();
        let path = self.sources.folder.join(name);
        fs::write(&path, text).unwrap();
        path
    }

    /// Writes a file elsewhere, and lists it in the settings.
    pub(super) fn list(&mut self, name: &str, text: &str) -> PathBuf {
        let path = self.at("elsewhere").join(name);
        fs::write(&path, text).unwrap();
        self.sources.files.push(path.clone());
        path
    }

    /// Writes a shell script outside the definitions.
    pub(super) fn script(&self, name: &str, text: &str) -> PathBuf {
        let path = self.at(name);
        fs::write(&path, text).unwrap();
        path
    }

    pub(super) fn load(&self) -> LoadedDefinitions {
        load(&self.sources, &self.kit)
    }

    #[track_caller]
    pub(super) fn refused(&self, line: usize, part: &str) {
        let loaded = self.load();
        assert_eq!((loaded.tools.len(), loaded.refused.len()), (0, 1), "{loaded:?}");
        let refused = &loaded.refused[0];
        assert!(refused.reason.to_string().contains(part), "{refused}");
        assert_eq!(refused.line, line, "{refused}");
    }

    /// Creates an engine with all loaded tools.
    #[track_caller]
    pub(super) fn engine(&self) -> OwnToolCaller {
        let loaded = self.load();
        assert!(loaded.refused.is_empty(), "{:?}", loaded.refused);
        let registry = Registry::new();
        let lease = registry.lease("own".parse().unwrap(), SourceRetention::Names);
        lease.replace(loaded.tools.into_iter().map(|own| own.tool).collect());
        let engine = Engine::new(EngineParts::new(registry, Arc::new(SystemClock)));
        OwnToolCaller { engine, _lease: Arc::new(lease) }
    }
}

/// Calls tools as the owner.
#[derive(Clone)]
pub(super) struct OwnToolCaller {
    pub(super) engine: Arc<Engine>,
    _lease: Arc<Lease>,
}

impl OwnToolCaller {
    /// Calls a tool and returns the envelope.
    pub(super) async fn call(&self, name: &str, arguments: Value) -> Value {
        let arguments = RawArguments::Json(RawJson::from(&arguments));
        let call = CallRequest::new(format!("own__{name}"), arguments, Caller::local_owner());
        json!(ResultEnvelope(&self.engine.call(call).await.outcome))
    }
}

/// A command definition with the common fields.
pub(super) fn command(name: &str, more: &str) -> String {
    format!("[[tool]]\nname = \"{name}\"\ndescription = \"Made for a test\"\n{more}\n")
}

/// Waits until a file has a line. A slow machine may take long.
pub(super) async fn content(path: &Path) -> String {
    for _ in 0..2000 {
        match fs::read_to_string(path) {
            Ok(text) if text.ends_with('\n') => return text.trim().to_owned(),
            _ => tokio::time::sleep(std::time::Duration::from_millis(10)).await,
        }
    }
    panic!("{} stayed empty", path.display());
}

/// Waits until a process is gone. A zombie that its new parent has not yet reaped counts as gone.
pub(super) async fn gone(pid: &str) {
    for _ in 0..2000 {
        let state = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let state = state.rsplit(") ").next().and_then(|rest| rest.chars().next());
        if matches!(state, None | Some('Z' | 'X')) {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("process {pid} lives on");
}
