//! Desktop clients: their own files in a home folder of their own.

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{CliHarness, CommandOutput, RunningProcess, file_mode};

struct InstallHarness {
    folder: CliHarness,
    _gateway: RunningProcess,
}

impl InstallHarness {
    fn new() -> Self {
        let folder = CliHarness::new();
        let gateway = folder.serve_without_event(&[]);
        std::fs::create_dir_all(folder.sibling_path("home")).unwrap();
        Self { _gateway: gateway, folder }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.folder.command(arguments);
        command.env("HOME", self.folder.sibling_path("home"));
        command
    }

    fn run(&self, arguments: &[&str]) -> CommandOutput {
        let output = self.command(arguments).output().unwrap();
        CommandOutput {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.sibling_path("home").join(name)
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.file(name)).unwrap()
    }

    fn write(&self, name: &str, text: &str) {
        let file = self.file(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }

    fn token(&self, client: &str) -> String {
        let file = self.folder.file("mcp-clients").join(format!("{client}.token"));
        assert_eq!(file_mode(&file), 0o600);
        std::fs::read_to_string(file).unwrap().trim().to_owned()
    }

    /// The labels of the tokens that count.
    fn labels(&self) -> Vec<String> {
        let listed = self.folder.json(&["tokens", "list"]);
        let all = listed["tokens"].as_array().unwrap().iter();
        let live = all.filter(|token| token["status"] == "active" && token["role"] == "client");
        live.map(|token| token["label"].as_str().unwrap().to_owned()).collect()
    }
}

fn args(home: &InstallHarness, client: &str, more: &[&str]) -> Value {
    let data = home.folder.path();
    let mut args = vec!["mcp", "--client", client];
    args.extend(more);
    args.extend(["--data-dir", data.to_str().unwrap()]);
    json!(args)
}

#[test]
fn a_client_gets_an_entry_and_a_token_of_its_own() {
    let home = InstallHarness::new();
    let text = "{\n\t// what I want\n\t\"editor.x\": 1.0,\n\t\"mcpServers\": {\n\t\t\"mine\": {\"command\": \"x\"},\n\t},\n}\n";
    home.write(".cursor/mcp.json", text);
    let ended = home.run(&["mcp", "install", "--client", "cursor", "--yes"]).assert_success();
    assert!(ended.stdout.contains("+\t\t\"toolway\": {"), "the change is shown: {ended:?}");
    let after = home.read(".cursor/mcp.json");
    assert!(after.starts_with(text.split_once("\t},\n}").unwrap().0), "{after}");
    let start = after.find("\"toolway\": ").unwrap() + "\"toolway\": ".len();
    let mut values = serde_json::Deserializer::from_str(&after[start..]).into_iter::<Value>();
    let entry = values.next().unwrap().unwrap();
    assert_eq!(entry["args"], args(&home, "cursor", &[]));
    assert_eq!(entry["command"], env!("CARGO_BIN_EXE_toolway"));
    assert_eq!(home.labels(), ["MCP: cursor"]);
    // The copy of what was there.
    let beside: Vec<_> =
        std::fs::read_dir(home.file(".cursor")).unwrap().map(|it| it.unwrap().path()).collect();
    let backup = beside.iter().find(|path| path.extension().is_some_and(|it| it == "bak")).unwrap();
    assert_eq!(std::fs::read_to_string(backup).unwrap(), text);
    assert_eq!(beside.len(), 2, "{beside:?}");
    // Again changes nothing.
    let token = home.token("cursor");
    let again = home.run(&["--json", "mcp", "install", "--client", "cursor"]).assert_success().json();
    assert_eq!((&again["changed"], &again["token"]), (&json!(false), &json!("kept")));
    assert_eq!(home.token("cursor"), token);
    assert_eq!(home.read(".cursor/mcp.json"), after);
    // Another token takes the old one back.
    home.run(&["mcp", "install", "--client", "cursor", "--new-token", "--yes"]).assert_success();
    assert_ne!(home.token("cursor"), token);
    assert_eq!(home.labels(), ["MCP: cursor"]);
    // Taken out again, the file is what it was.
    home.run(&["mcp", "install", "--client", "cursor", "--remove", "--yes"]).assert_success();
    assert_eq!(home.read(".cursor/mcp.json"), text);
    assert_eq!(home.labels(), Vec::<String>::new());
    assert!(!home.folder.file("mcp-clients/cursor.token").exists());
    home.run(&["mcp", "install", "--client", "cursor", "--remove", "--yes"])
        .assert_failure(1, "does not use this gateway");
}

#[cfg(target_os = "linux")]
#[test]
fn each_client_s_file_has_its_own_place_and_form() {
    let home = InstallHarness::new();
    for (client, file, table) in [
        ("claude-desktop", ".config/Claude/claude_desktop_config.json", "mcpServers"),
        ("claude-code", ".claude.json", "mcpServers"),
        ("cursor", ".cursor/mcp.json", "mcpServers"),
        ("vscode", ".config/Code/User/mcp.json", "servers"),
    ] {
        let limits = ["--read-only", "--only", "laptop/*"];
        let command = ["mcp", "install", "--client", client, "--yes"];
        home.run(&[&command[..], &limits].concat()).assert_success();
        let written: Value = serde_json::from_str(&home.read(file)).unwrap();
        let entry = &written[table]["toolway"];
        let data = home.folder.path();
        let expected = [
            "mcp",
            "--client",
            client,
            "--only",
            "laptop/*",
            "--data-dir",
            data.to_str().unwrap(),
            "--read-only",
        ];
        assert_eq!(entry["args"], json!(expected));
        let is_typed = matches!(client, "claude-code" | "vscode");
        assert_eq!(entry.get("type"), is_typed.then(|| json!("stdio")).as_ref(), "{client}");
        assert_eq!(file_mode(&home.file(file)), 0o600);
    }
    assert_eq!(home.labels().len(), 4);
}

#[test]
fn nobody_s_file_is_changed_without_their_yes_or_in_a_way_that_could_break_it() {
    let home = InstallHarness::new();
    let install = ["mcp", "install", "--client", "claude-code"];
    home.write(".claude.json", "{\"a\": 1}");
    let asked = home.run(&install).assert_failure(2, "Write this change to");
    assert!(asked.stdout.contains("toolway"), "{asked:?}");
    assert_eq!(home.read(".claude.json"), "{\"a\": 1}");
    assert_eq!(home.labels(), Vec::<String>::new(), "no token before they said yes");
    for (text, words) in
        [("{", "it is not JSON"), ("[]", "not a JSON object"), ("{\"mcpServers\": 1}", "is not an object")]
    {
        home.write(".claude.json", text);
        home.run(&[&install[..], &["--yes"]].concat()).assert_failure(1, words);
        assert_eq!(home.read(".claude.json"), text);
    }
    home.run(&["mcp", "install", "--client", "notepad", "--yes"]).assert_failure(2, "unknown client");
    home.run(&["mcp", "install", "--client", "../x", "--print"])
        .assert_failure(2, "is not a valid client name");
}

#[cfg(unix)]
#[test]
fn links_are_followed_and_permissions_kept() {
    use std::os::unix::fs::PermissionsExt;
    let home = InstallHarness::new();
    home.write("dotfiles/mcp.json", "{}\n");
    std::fs::set_permissions(home.file("dotfiles/mcp.json"), PermissionsExt::from_mode(0o644)).unwrap();
    std::fs::create_dir_all(home.file(".cursor")).unwrap();
    std::os::unix::fs::symlink(home.file("dotfiles/mcp.json"), home.file(".cursor/mcp.json")).unwrap();
    home.run(&["mcp", "install", "--client", "cursor", "--yes"]).assert_success();
    assert!(std::fs::symlink_metadata(home.file(".cursor/mcp.json")).unwrap().is_symlink());
    assert!(home.read("dotfiles/mcp.json").contains("toolway"));
    assert_eq!(file_mode(&home.file("dotfiles/mcp.json")), 0o644);
}

#[test]
fn any_other_client_is_shown_what_it_needs() {
    let home = InstallHarness::new();
    let ended = home.run(&["mcp", "install", "--client", "zed", "--print"]).assert_success();
    let shown: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(shown["mcpServers"]["toolway"]["args"], args(&home, "zed", &[]));
    assert!(ended.stderr.contains("mcp --client zed"), "{ended:?}");
    assert_eq!(home.labels(), ["MCP: zed"]);
    assert!(!home.token("zed").is_empty());
    assert!(!ended.stdout.contains(&home.token("zed")) && !ended.stderr.contains(&home.token("zed")));
    // What a person added to the entry stays.
    home.write(
        ".cursor/mcp.json",
        r#"{"mcpServers": {"toolway": {"env": {"A": "b"}, "url": "http://old"}}}"#,
    );
    home.run(&["mcp", "install", "--client", "cursor", "--yes"]).assert_success();
    let written: Value = serde_json::from_str(&home.read(".cursor/mcp.json")).unwrap();
    let entry = &written["mcpServers"]["toolway"];
    assert_eq!((&entry["env"], entry.get("url")), (&json!({"A": "b"}), None));
}
