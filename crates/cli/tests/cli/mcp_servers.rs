//! Tests of `toolway mcp add`, `list`, `import` and `remove`, with and without a gateway.

use serde_json::{Value, json};
use toolway_fake_mcp::{FakeMcp, FakeMcpOptions};

use crate::support::{CliHarness, file_mode};

fn file(folder: &CliHarness) -> String {
    std::fs::read_to_string(folder.file("mcp.toml")).unwrap_or_default()
}

fn secret(folder: &CliHarness, name: &str) -> Option<String> {
    std::fs::read_to_string(folder.file("secrets").join(name)).ok()
}

#[test]
fn a_program_is_added_with_unchanged_arguments() {
    let folder = CliHarness::new();
    let add = [
        "mcp",
        "add",
        "time",
        "--env",
        "LOG=debug",
        "--sampling",
        "--command",
        "uvx",
        "-y",
        "server",
        "--env",
        "x",
    ];
    let ended = folder.run(add).assert_success();
    assert!(ended.stdout.starts_with("added the MCP server time to "), "{ended:?}");
    assert!(ended.stderr.contains("--env is passed to the program"), "{ended:?}");
    assert!(ended.stderr.contains("toolway mcp test time"), "{ended:?}");
    assert_eq!(file_mode(&folder.file("mcp.toml")), 0o600);
    let expected = "[servers.time]\ncommand = \"uvx\"\nargs = [\"-y\", \"server\", \"--env\", \"x\"]\nenv = { LOG = \
                    \"debug\" }\nsampling = true\n";
    assert!(file(&folder).ends_with(expected), "{}", file(&folder));
    let listed = folder.json(&["mcp", "list"]);
    assert_eq!(listed["servers"][0]["name"], "time");
    assert_eq!(listed["servers"][0]["definition"]["env"], json!({"LOG": "[hidden]"}));
    let shown = folder.run(["mcp", "list"]).assert_success();
    assert!(shown.stdout.contains("uvx -y server --env x"), "{shown:?}");
}

#[test]
fn secrets_are_stored_separately_and_removed_with_their_server() {
    let folder = CliHarness::new();
    let add = ["mcp", "add", "hub", "--env", "GITHUB_TOKEN=ghp_123", "--command", "npx", "server"];
    let ended = folder.run(add).assert_success();
    assert!(ended.stderr.contains("visible to other users"), "{ended:?}");
    assert_eq!(secret(&folder, "mcp-hub-GITHUB_TOKEN").as_deref(), Some("ghp_123"));
    assert!(file(&folder).contains("GITHUB_TOKEN = \"secret:mcp-hub-GITHUB_TOKEN\""));
    assert!(!file(&folder).contains("ghp_123"));
    // The value comes from standard input, whatever the name.
    let add = ["mcp", "add", "web", "--header", "X-Team", "--url", "http://127.0.0.1:9/mcp"];
    folder.run_with_input(&add, "blue\n").assert_success();
    assert_eq!(secret(&folder, "mcp-web-X-Team").as_deref(), Some("blue"));
    let two = ["mcp", "add", "w2", "--header", "A", "--header", "B", "--url", "http://127.0.0.1:9/mcp"];
    folder.run_with_input(&two, "x").assert_failure(2, "only one value");
    let removed = folder.json(&["mcp", "remove", "hub"]);
    assert_eq!(removed["secrets_removed"], json!(["mcp-hub-GITHUB_TOKEN"]));
    assert_eq!(secret(&folder, "mcp-hub-GITHUB_TOKEN"), None);
    assert!(!file(&folder).contains("hub") && file(&folder).contains("[servers.web]"));
}

#[test]
fn a_grant_without_a_person_is_added_with_its_secrets_apart() {
    let folder = CliHarness::new();
    let key = folder.sibling_path("key.pem");
    std::fs::write(&key, "the key").unwrap();
    let key = key.to_str().unwrap();
    let common =
        |name| ["mcp", "add", name, "--url", "http://127.0.0.1:9/mcp", "--issuer", "https://login.example"];
    let one =
        ["--grant", "client-credentials", "--client-id", "me", "--client-secret", "--dpop", "--scope", "a"];
    let ended = folder.run_with_input(&[&common("one")[..], &one].concat(), "s3cret\n").assert_success();
    assert!(!ended.stderr.contains("visible to other users"), "{ended:?}");
    let two = ["--grant", "jwt-bearer", "--client-id", "me", "--private-key", key, "--subject", "ada"];
    folder.run([&common("two")[..], &two].concat()).assert_success();
    let text = file(&folder);
    for line in [
        "oauth = { grant = \"client_credentials\", client_id = \"me\", client_secret = \
         \"secret:mcp-one-client_secret\", issuer = \"https://login.example\", scopes = [\"a\"], dpop = true }",
        "oauth = { grant = \"jwt_bearer\", client_id = \"me\", private_key = \"secret:mcp-two-private_key\", \
         issuer = \"https://login.example\", subject = \"ada\" }",
    ] {
        assert!(text.contains(line), "{text}");
    }
    assert_eq!(secret(&folder, "mcp-one-client_secret").as_deref(), Some("s3cret"));
    assert_eq!(secret(&folder, "mcp-two-private_key").as_deref(), Some("the key"));
    // A secret in the command line would be visible to other users.
    let three = ["--client-id", "me", "--client-secret=s3cret"];
    let refused = folder.run([&common("three")[..], &three].concat());
    refused.assert_failure(2, "takes the name of a secret");
    let three = ["--grant", "client-credentials", "--client-id", "me"];
    folder.run([&common("three")[..], &three].concat()).assert_failure(2, "client_secret");
    let removed = folder.json(&["mcp", "remove", "two"]);
    assert_eq!(removed["secrets_removed"], json!(["mcp-two-private_key"]));
    assert_eq!(secret(&folder, "mcp-two-private_key"), None);
}

#[test]
fn invalid_definitions_are_rejected_without_changes() {
    let folder = CliHarness::new();
    folder.run(["mcp", "add", "one", "--command", "a"]).assert_success();
    let before = file(&folder);
    folder
        .run(["mcp", "add", "one", "--command", "b"])
        .assert_failure(1, "the MCP server one already exists");
    folder.run(["mcp", "add", "own", "--command", "b"]).assert_failure(2, "reserved for Toolway");
    folder.run(["mcp", "add", "No!", "--command", "b"]).assert_failure(2, "is not a valid server name");
    folder
        .run(["mcp", "add", "two", "--url", "ftp://x.example"])
        .assert_failure(2, "is not supported for MCP servers");
    let reserved = ["mcp", "add", "two", "--url", "https://x.example", "--header", "Host:x"];
    folder.run(reserved).assert_failure(2, "the protocol sets this header itself");
    assert_eq!(folder.run(["mcp", "add", "two"]).code, 2);
    assert_eq!(folder.run(["mcp", "add", "two", "--command", "a", "--url", "https://x.example"]).code, 2);
    folder.run(["mcp", "remove", "two"]).assert_failure(1, "unknown MCP server \"two\"");
    folder.run(["mcp", "test", "two"]).assert_failure(1, "unknown MCP server \"two\"");
    assert_eq!(file(&folder), before);
    folder.run(["mcp", "add", "one", "--replace", "--command", "b"]).assert_success();
    assert!(file(&folder).contains("command = \"b\""));
    std::fs::write(folder.file("mcp.toml"), "[servers.a]\ncomand = \"x\"\n").unwrap();
    folder.run(["mcp", "list"]).assert_failure(1, "mcp.toml:2");
    folder.run(["mcp", "add", "b", "--command", "x"]).assert_failure(1, "mcp.toml:2");
    let found = folder.run(["doctor", "--json"]).json();
    let is_said = |it: &Value| it["subject"] == "mcp servers" && it["status"] == "error";
    assert!(found["findings"].as_array().unwrap().iter().any(is_said), "{found}");
}

#[test]
fn servers_in_the_settings_are_not_changed() {
    let folder = CliHarness::new();
    folder.write_settings("[mcp.servers.clock]\ncommand = \"uvx\"\nenv = { API_KEY = \"k-123\" }\n");
    let listed = folder.json(&["mcp", "list"]);
    assert_eq!(listed["servers"][0]["name"], "clock");
    folder.run(["mcp", "remove", "clock"]).assert_failure(1, "toolway.toml:2");
    folder.run(["mcp", "add", "clock", "--replace", "--command", "x"]).assert_failure(1, "toolway.toml:2");
    let shown = folder.run(["config", "show"]).assert_success();
    assert!(!shown.stdout.contains("k-123") && shown.stdout.contains("uvx"), "{shown:?}");
    folder.write_settings("[mcp.servers.clock]\nurl = \"nonsense\"\n");
    folder.run(["config", "check"]).assert_failure(1, "mcp.servers.clock.url");
}

#[test]
fn servers_of_another_program_are_imported() {
    let folder = CliHarness::new();
    let theirs = folder.sibling_path("claude_desktop_config.json");
    let text = r#"{"mcpServers": {
        "GitHub": {"command": "npx", "args": ["hub"], "env": {"GITHUB_TOKEN": "ghp_456"}},
        "Broken": {"command": "${workspaceFolder}/x"},
        "self": {"command": "/usr/bin/toolway", "args": ["mcp"]}
    }}"#;
    std::fs::write(&theirs, text).unwrap();
    let path = theirs.to_str().unwrap();
    let dry = folder.json(&["mcp", "import", path, "--dry-run"]);
    assert!(!folder.file("mcp.toml").exists());
    assert!(!dry.to_string().contains("ghp_456"));
    let ended = folder.run(["mcp", "import", path]).assert_success();
    assert!(ended.stdout.contains("GitHub added as github: npx hub"), "{ended:?}");
    assert!(
        ended.stdout.contains("env.GITHUB_TOKEN stored as the secret mcp-github-GITHUB_TOKEN"),
        "{ended:?}"
    );
    assert!(ended.stdout.contains("Broken: not added: "), "{ended:?}");
    assert!(ended.stdout.contains("self: not added: it is Toolway itself"), "{ended:?}");
    assert_eq!(secret(&folder, "mcp-github-GITHUB_TOKEN").as_deref(), Some("ghp_456"));
    assert_eq!(file_mode(&folder.file("secrets").join("mcp-github-GITHUB_TOKEN")), 0o600);
    let again = folder.run(["mcp", "import", path]).assert_success();
    assert!(again.stdout.contains("GitHub: not added: already exists"), "{again:?}");
    assert_eq!(std::fs::read_to_string(&theirs).unwrap(), text, "their file is theirs");
    std::fs::write(&theirs, "{}").unwrap();
    folder.run(["mcp", "import", path]).assert_failure(1, "\"mcpServers\" and \"servers\" are both missing");
    folder.run(["mcp", "import", "/nowhere"]).assert_failure(1, "file not found");
}

#[test]
fn a_running_gateway_connects_to_added_servers() {
    let folder = CliHarness::new();
    let _gateway = folder.serve_without_event(&[]);
    let added = folder.json(&["mcp", "add", "off", "--command", "/nowhere/at-all"]);
    assert_eq!(added["gateway"], "reloaded");
    assert_eq!(added["status"]["state"], "failed", "{added}");
    let listed = folder.json(&["mcp", "list"]);
    assert_eq!(listed["servers"][0]["name"], "off");
    assert_eq!(listed["servers"][0]["origin"]["kind"], "file");
    assert_eq!(listed["servers"][0]["definition"]["command"], "/nowhere/at-all");
    let tried = folder.run(["mcp", "test", "off"]).assert_failure(1, "off does not work");
    assert!(tried.stdout.contains("✗ off"), "{tried:?}");
    let found = folder.run(["doctor", "--json"]).json();
    let is_said = |it: &Value| it["subject"] == "mcp servers" && it["status"] == "warning";
    assert!(found["findings"].as_array().unwrap().iter().any(is_said), "{found}");
    folder.run(["mcp", "remove", "off"]).assert_success();
    assert_eq!(folder.json(&["mcp", "list"])["servers"], json!([]));
}

#[test]
fn a_server_is_tested_without_a_gateway() {
    let folder = CliHarness::new();
    folder.run(["mcp", "add", "off", "--command", "/nowhere/at-all"]).assert_success();
    let tried = folder.run(["mcp", "test"]).assert_failure(1, "off does not work");
    assert!(tried.stderr.contains("no gateway is running"), "{tried:?}");
    assert!(tried.stdout.contains("✗ off  /nowhere/at-all"), "{tried:?}");
    let tried = folder.run(["--json", "mcp", "test", "off"]);
    assert_eq!(tried.code, 1);
    assert_eq!(tried.json()["servers"][0]["status"]["state"], "failed");
}

#[test]
fn an_era_is_stored_and_shown() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let fake = runtime.block_on(FakeMcp::start(FakeMcpOptions::default()));
    let folder = CliHarness::new();
    let add = ["mcp", "add", "fake", "--era", "2025", "--url", &fake.url()];
    folder.run(add).assert_success();
    assert!(file(&folder).ends_with("era = \"2025\"\n"), "{}", file(&folder));
    let _gateway = folder.serve_without_event(&[]);
    let tried = folder.run(["mcp", "test", "fake"]).assert_success();
    assert!(tried.stdout.contains("MCP 2025-11-25"), "{tried:?}");
    assert!(tried.stdout.contains("\n  era: 2025\n"), "{tried:?}");
    assert_eq!(folder.json(&["mcp", "list"])["servers"][0]["definition"]["era"], json!("2025"));
    folder.run(["mcp", "add", "fake", "--replace", "--url", &fake.url()]).assert_success();
    assert!(!file(&folder).contains("era"));
}

#[test]
fn a_working_server_shows_its_tools() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let fake = runtime.block_on(FakeMcp::start(FakeMcpOptions::default()));
    let folder = CliHarness::new();
    folder.run(["mcp", "add", "fake", "--url", &fake.url()]).assert_success();
    // Without a gateway, the test runs from here.
    let alone = folder.run(["--json", "mcp", "test", "fake"]).assert_success().json();
    let status = &alone["servers"][0]["status"];
    assert_eq!(
        (&status["state"], &status["transport"]),
        (&json!("connected"), &json!("streamable-http")),
        "{alone}"
    );
    let tools = status["tools"].as_u64().unwrap();
    assert!(tools > 0);
    // With a gateway, the gateway runs the test.
    let _gateway = folder.serve_without_event(&[]);
    let tried = folder.run(["mcp", "test"]).assert_success();
    assert!(tried.stdout.contains(&format!("{tools} tools")), "{tried:?}");
    let added = folder.run(["mcp", "add", "again", "--url", &fake.url()]).assert_success();
    assert!(added.stdout.contains("✓ again"), "{added:?}");
    assert!(added.stderr.contains("toolway tools list"), "{added:?}");
    let listed = folder.run(["mcp", "list"]).assert_success();
    assert_eq!(listed.stdout.matches("connected").count(), 2, "{listed:?}");
    let tools = folder.json(&["tools", "list"]);
    assert!(tools.to_string().contains("again__"), "{tools}");
    let found = folder.run(["doctor", "--json"]).json();
    let is_said = |it: &Value| it["subject"] == "mcp servers" && it["status"] == "ok";
    assert!(found["findings"].as_array().unwrap().iter().any(is_said), "{found}");
}
