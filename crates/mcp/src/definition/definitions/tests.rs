use super::*;

struct DefinitionsHarness {
    dir: tempfile::TempDir,
    definitions: Arc<ServerDefinitions>,
    applied: Arc<Mutex<Vec<Vec<String>>>>,
}

fn server_at(url: &str) -> ServerDefinition {
    ServerDefinition { url: Some(url.to_owned()), ..ServerDefinition::default() }
}

fn settings_servers(names: &[&str]) -> SettingsServers {
    SettingsServers {
        servers: names
            .iter()
            .map(|name| ((*name).to_owned(), server_at("https://settings.example")))
            .collect(),
        file: Some("/etc/toolway.toml".into()),
        lines: names.iter().zip(7..).map(|(name, line)| ((*name).to_owned(), line)).collect(),
    }
}

impl DefinitionsHarness {
    async fn new(text: &str, settings: SettingsServers) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("mcp.toml"), text).unwrap();
        let applied = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&applied);
        let parts = ServerDefinitionsDeps {
            file: dir.path().join("mcp.toml"),
            settings,
            apply: Arc::new(move |all| seen.lock().push(all.keys().map(Slug::to_string).collect())),
        };
        Self { definitions: ServerDefinitions::open(parts).await, dir, applied }
    }

    fn write(&self, text: &str) {
        std::fs::write(self.dir.path().join("mcp.toml"), text).unwrap();
    }

    fn last_applied(&self) -> Vec<String> {
        self.applied.lock().last().cloned().unwrap_or_default()
    }
}

#[tokio::test]
async fn both_places_are_read_and_applied_with_where_each_stands() {
    let bench = DefinitionsHarness::new("\n[servers.a]\ncommand = \"x\"\n", settings_servers(&["b"])).await;
    assert_eq!(bench.last_applied(), ["a", "b"]);
    let listed = bench.definitions.list();
    let file = bench.dir.path().join("mcp.toml");
    assert_eq!(listed[0].location, DefinitionLocation::File { path: file, line: 2 });
    let settings = DefinitionLocation::Settings { path: Some("/etc/toolway.toml".into()), line: Some(7) };
    assert_eq!(listed[1].location, settings);
    assert!(bench.definitions.problems().is_empty());
}

#[tokio::test]
async fn what_is_wrong_leaves_what_stood() {
    let bench = DefinitionsHarness::new("[servers.a]\ncommand = \"x\"\n", SettingsServers::default()).await;
    bench.write("[servers.a]\ncommand = \"y\"\n[servers.c]\n");
    assert_eq!(bench.definitions.reload().await.unwrap_err().len(), 1);
    assert_eq!(bench.last_applied(), ["a"]);
    assert_eq!(bench.definitions.get("a").unwrap().definition.command.as_deref(), Some("x"));
    assert_eq!(bench.definitions.problems().len(), 1);
    bench.write("");
    bench.definitions.reload().await.unwrap();
    assert_eq!(bench.last_applied(), Vec::<String>::new());
    assert!(bench.definitions.problems().is_empty());
}

#[tokio::test]
async fn a_name_in_both_places_is_refused() {
    let bench = DefinitionsHarness::new(
        "# x\n[servers.a]\ncommand = \"x\"\n[servers.b]\ncommand = \"x\"\n",
        settings_servers(&["b"]),
    )
    .await;
    let problems = bench.definitions.problems();
    assert_eq!(problems.len(), 1);
    assert_eq!(problems[0].line, 4);
    assert!(problems[0].message.contains("in the settings"));
    assert_eq!(bench.last_applied(), ["b"], "those of the settings count");
    bench.definitions.set_settings(settings_servers(&["c"])).await;
    assert_eq!(bench.last_applied(), ["a", "b", "c"]);
    // Taken by the settings while the file stands as it is.
    bench.definitions.set_settings(settings_servers(&["a"])).await;
    assert_eq!(bench.last_applied(), ["a", "b"]);
    assert!(matches!(bench.definitions.get("a").unwrap().location, DefinitionLocation::Settings { .. }));
}

#[tokio::test]
async fn what_is_put_and_removed_counts_at_once() {
    let bench = DefinitionsHarness::new("", SettingsServers::default()).await;
    let slug: Slug = "a".parse().unwrap();
    bench.definitions.put(&slug, server_at("https://a.example")).await.unwrap();
    assert_eq!(bench.last_applied(), ["a"]);
    assert!(bench.definitions.put(&slug, server_at("nonsense")).await.is_err());
    assert_eq!(bench.definitions.get("a").unwrap().definition, server_at("https://a.example"));
    assert!(bench.definitions.remove(&slug).await.unwrap());
    assert!(!bench.definitions.remove(&slug).await.unwrap());
    assert_eq!(bench.last_applied(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_file_that_changes_is_read_again() {
    let bench = DefinitionsHarness::new("", SettingsServers::default()).await;
    let stop = CancellationToken::new();
    let watching = tokio::spawn(Arc::clone(&bench.definitions).watch(stop.clone()));
    bench.write("[servers.a]\ncommand = \"x\"\n");
    while bench.last_applied().is_empty() {
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    assert_eq!(bench.last_applied(), ["a"]);
    stop.cancel();
    watching.await.unwrap();
}
