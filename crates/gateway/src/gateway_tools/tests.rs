use secrecy::SecretString;
use serde_json::{Value, json};
use toolway_core::{Caller, EngineParts, Policy, Registry};
use toolway_secrets::{NoSecrets, SecretError, SecretLocation};
use toolway_tools::builtin::find_tools::ToolCatalogue;

use super::*;
use crate::testing::ManualClock;

fn settings(value: Value) -> Settings {
    serde_json::from_value(value).unwrap()
}

/// Has a secret everywhere.
struct AnySecretReader;

impl SecretReader for AnySecretReader {
    fn read(&self, _: &SecretLocation) -> Result<SecretString, SecretError> {
        Ok(SecretString::from(format!("whsec_{}", "A".repeat(32))))
    }
}

fn env() -> ToolEnv {
    ToolEnv { secrets: Arc::new(AnySecretReader), ..ToolEnv::default() }
}

fn hooks_of(given: &ToolEnv, said: Value) -> Result<Vec<String>, Vec<String>> {
    let dir = tempfile::tempdir().unwrap();
    let clock: Arc<dyn Clock> = Arc::new(ManualClock::default());
    let made = build_hooks(&settings(json!({"hooks": said})), dir.path(), given, &clock);
    let made = made.map(|entries| entries.iter().map(|entry| entry.name.to_string()).collect());
    made.map_err(|problems| problems.into_iter().map(|it| it.key).collect())
}

#[test]
fn command_hooks_work_without_certificate_authorities() {
    let command = json!({"name": "a", "kind": "command", "program": "/bin/sh", "on_failure": "open"});
    let webhook = |url: &str| json!({"name": "b", "kind": "webhook", "url": url, "secret_env": "S", "on_failure": "open"});
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let nobody = env();
    assert_eq!(hooks_of(&nobody, json!([])), Ok(names(&[])));
    assert_eq!(hooks_of(&nobody, json!([command])), Ok(names(&["a"])));
    assert_eq!(hooks_of(&nobody, json!([command, webhook("http://127.0.0.1:1/")])), Ok(names(&["a", "b"])));
    assert_eq!(hooks_of(&nobody, json!([command, webhook("https://a.example/")])), Err(names(&["hooks"])));
    let somebody = ToolEnv { tls: toolway_tools::web::empty_tls_config().unwrap().into(), ..env() };
    assert_eq!(hooks_of(&somebody, json!([command, webhook("https://a.example/")])), Ok(names(&["a", "b"])));
}

#[test]
fn errors_in_hooks_name_their_place() {
    let given = ToolEnv { secrets: Arc::new(NoSecrets), ..env() };
    let hooks = json!([
        {"name": "a", "kind": "command", "program": "/nowhere/at/all", "on_failure": "closed"},
        {"name": "b", "kind": "webhook", "url": "http://127.0.0.1:1/", "secret_file": "/s", "on_failure": "open"},
    ]);
    let keys = ["hooks[0].program", "hooks[1].secret_file"].map(str::to_owned);
    assert_eq!(hooks_of(&given, hooks), Err(keys.to_vec()));
}

#[test]
fn definitions_and_the_working_folder_of_commands_are_separate() {
    let dir = tempfile::tempdir().unwrap();
    let settings = settings(json!({"tools": {"own": ["/etc/toolway/more.toml"]}}));
    let client = Arc::new(web_client(WebSettings::default(), &env()));
    let own = OwnToolLoader::new(dir.path(), &settings, &env(), client);
    assert_eq!(own.sources.folder, dir.path().join("tools"));
    // Models may write files in the working folder of commands; none of them may become a definition.
    assert!(!own.sources.working_dir.starts_with(&own.sources.folder));
    assert_eq!(own.sources.files, [PathBuf::from("/etc/toolway/more.toml")]);
    assert_eq!(own.kit.builtins, builtin::TOOL_NAMES);
    assert!(!own.sources.working_dir.exists());
    let loaded = own.load();
    assert!(own.sources.working_dir.is_dir() && loaded.tools.is_empty());
    assert_eq!(loaded.refused.len(), 1, "{:?}", loaded.refused);
}

fn engine() -> Arc<Engine> {
    Engine::new(EngineParts::new(Registry::new(), Arc::new(ManualClock::default())))
}

#[test]
fn tools_that_may_not_be_listed_are_not_found() {
    let engine = engine();
    let (desk, lab) = (lease_of(&engine, "desk"), lease_of(&engine, "lab"));
    let catalogue = EngineCatalogue::of(&engine);
    let seen = || {
        let mut seen = Vec::new();
        catalogue.visit(&Caller::local_owner(), &mut |id, spec| {
            assert_eq!(spec.name(), &id.tool);
            seen.push(id.to_string());
        });
        seen
    };
    assert_eq!(seen(), ["desk/look", "lab/look"]);
    let policy =
        settings(json!({"policy": {"rules": [{"effect": "deny", "when": {"tools": ["lab/*"]}}]}})).policy;
    engine.set_policy(Policy::compile(&policy, &Default::default(), &Default::default()).unwrap());
    assert_eq!(seen(), ["desk/look"]);
    drop((desk, lab, engine));
    assert_eq!(seen(), [""; 0], "nothing is found once the gateway is gone");
}

fn lease_of(engine: &Arc<Engine>, source: &str) -> Lease {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct NoFields {}
    let lease = engine.registry().lease(source.parse().unwrap(), SourceRetention::Nothing);
    let look = toolway_core::ToolBuilder::new("look", "Looks")
        .build(async |_: NoFields, _| Ok(toolway_types::ToolOutput::text("seen")));
    lease.replace(vec![look.unwrap()]);
    lease
}

async fn toolbox(engine: &Arc<Engine>, data: &std::path::Path, settings: &Settings) -> Arc<GatewayTools> {
    let clock = Arc::new(ManualClock::default());
    let opened = GatewayTools::open(engine.clone(), clock, data.to_owned(), env(), settings).await;
    opened.unwrap()
}

fn ids(engine: &Engine) -> Vec<String> {
    engine.registry().snapshot().tools().map(|(id, _)| id.to_string()).collect()
}

#[tokio::test]
async fn invalid_settings_change_nothing() {
    let engine = engine();
    let dir = tempfile::tempdir().unwrap();
    let toolbox = toolbox(&engine, dir.path(), &Settings::default()).await;
    let before = ids(&engine);
    assert_eq!(before.len(), builtin::TOOL_NAMES.len());
    let several = settings(json!({
        "tools": {
            "builtin": true,
            "http_request": {"allow": ["http://a"]},
            "files": {"folders": [{"name": "in", "path": dir.path().join("x")}]},
        },
        "hooks": [{"name": "a", "kind": "command", "program": "/nowhere/at/all", "on_failure": "open"}],
    }));
    let problems = toolbox.prepare(&several).await.map(drop).unwrap_err();
    let keys: Vec<_> = problems.iter().map(|problem| problem.key.as_str()).collect();
    assert_eq!(keys, ["tools.http_request.allow", "tools.files.folders", "hooks[0].program"]);
    assert_eq!(ids(&engine), before);
    // Reloading the definitions does not apply them either.
    toolbox.reload().await;
    assert_eq!(ids(&engine), before);
    let without = settings(json!({"tools": {"builtin": false}}));
    let ready = toolbox.prepare(&without).await.unwrap();
    assert_eq!(ids(&engine), before);
    ready.activate();
    assert_eq!(ids(&engine), [""; 0]);
}

#[tokio::test]
async fn only_own_tools_have_a_file_location() {
    let engine = engine();
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("tools")).unwrap();
    let file = dir.path().join("tools/say.toml");
    std::fs::write(
        &file,
        "# Mine.\n[[tool]]\nname = \"say\"\ndescription = \"x\"\nprogram = \"/bin/echo\"\n",
    )
    .unwrap();
    let toolbox = toolbox(&engine, dir.path(), &Settings::default()).await;
    let place = |id: &str| toolbox.definition_place(&id.parse().unwrap());
    assert_eq!(place("own/say"), Some(format!("{}, line 2", file.display())));
    for id in ["own/other", "builtin/read_file", "pixel/say"] {
        assert_eq!(place(id), None, "{id}");
    }
}
