//! A gateway on upgraded data, which is compared with what version 0.1 said of the same data.

use std::fs;

use serde_json::{Value, json};
use toolway_tests::process::{GatewayProcess, RunningProgram, TestFolder};
use toolway_tests::{poll_until, rest};

use super::former_names::{present_answer, present_path, present_settings, sorted_settings};
use super::golden;
use super::tables::Answers;
use super::walk::{differences, each_field};

/// Fields that depend on the moment, and those of the call and the turn that the first start ended.
const VOLATILE_FIELDS: &[(&str, &str)] = &[
    ("/api/tokens", "tokens[].last_used_ms"),
    ("/api/mcp/servers", "servers[].status.since_ms"),
    ("/api/mcp/servers", "servers[].status.next_retry_ms"),
    // Words that the present program writes; those in the database must stay as they are.
    ("/api/mcp/servers", "servers[].status.problem.message"),
    ("/api/mcp/servers", "servers[].status.problem.hint"),
    ("/api/policy/test", "decision.reason"),
    ("/api/policy/test", "error.hint"),
    ("/api/calls/01a2254a-53f1-7453-a24c-69d354f6b241", "outcome.message"),
    ("/api/calls/01a2254a-53f1-7453-a24c-69d354f6b241", "outcome.hint"),
    ("/api/sessions?limit", "sessions[0].updated_ms"),
    ("/api/sessions/half-said", "updated_ms"),
    ("/api/sessions/half-said", "session.updated_ms"),
    ("/api/sessions/half-said", "messages[].created_ms"),
    ("/api/sessions/half-said", "turns[].ended_ms"),
    // Fields that version 0.1 did not have. Apps of version 1 read them; docs/version-1.md has the list.
    ("/api/sessions", "sessions[].session_id"),
    ("/api/sessions", "sessions[].created_at"),
    ("/api/sessions", "sessions[].last_activity"),
    ("/api/sessions", "sessions[].name"),
    ("/api/sessions", "sessions[].persona"),
    ("/api/sessions/", "messages[].content"),
    ("/api/sessions/", "messages[].type"),
    ("/api/tools", "tools[].enabled"),
    ("/api/tools", "tools[].source_type"),
];

fn expected() -> Value {
    serde_json::from_str(&fs::read_to_string(golden("expected.json")).unwrap()).unwrap()
}

/// Starts the gateway with the settings of the folder.
pub(crate) async fn serve(folder: &TestFolder) -> GatewayProcess {
    let mut command = folder.command(["--json", "serve", "--listen", "127.0.0.1:0"]);
    command.env("PATH", "/usr/bin:/bin").env("WEATHER_KEY", "made-for-a-test");
    let mut program = RunningProgram::start(command);
    let ready = program.wait_for_event("ready").await;
    GatewayProcess { program, token: folder.owner_token(), ready }
}

/// An upgraded gateway, and what version 0.1 said of the same data.
pub(crate) struct Upgrade {
    pub(crate) folder: TestFolder,
    pub(crate) gateway: GatewayProcess,
    expected: Value,
}

impl Upgrade {
    pub(crate) async fn start(folder: TestFolder) -> Self {
        let gateway = serve(&folder).await;
        let upgrade = Self { folder, gateway, expected: expected() };
        upgrade.get("/api/mcp/servers").await;
        upgrade
    }

    async fn get(&self, path: &str) -> Value {
        between_attempts(async || {
            let (_, answer) =
                rest::send_request(self.gateway.address(), &self.gateway.token, "GET", path, None).await;
            self.with_placeholders(answer)
        })
        .await
    }

    /// Answers with the placeholders of `expected.json` for what differs from copy to copy.
    fn with_placeholders(&self, answer: Value) -> Value {
        let folder = self.folder.data_path().display().to_string();
        let text = answer.to_string().replace(&folder, "DATA_FOLDER").replace(&self.gateway.url(), "GATEWAY");
        serde_json::from_str(&text).unwrap()
    }

    /// The present answers, by the paths of version 0.1.
    pub(crate) async fn answers(&self) -> Answers {
        let mut answers = Answers::new();
        for path in self.expected["rest"].as_object().unwrap().keys() {
            let (address, tokens) = (self.gateway.address(), &self.expected["tokens"]);
            let answer = match path.split_once(" as ") {
                None => self.get(&present_path(path)).await,
                Some((path, token)) => {
                    let path = format!("{path}?limit=200");
                    self.with_placeholders(
                        rest::get_json(address, tokens[token].as_str().unwrap(), &path).await,
                    )
                }
            };
            answers.insert(path.clone(), answer);
        }
        answers
    }

    /// Compares all answers but the ones that `expect` has changed to nothing.
    #[track_caller]
    pub(crate) fn check_answers(&self, answers: &Answers, expect: impl Fn(&str, &mut Value) -> bool) {
        let mut found = Vec::new();
        for (path, former) in self.expected["rest"].as_object().unwrap() {
            let mut expected = present_answer(path, former);
            if expect(path, &mut expected) {
                let mut actual = answers[path].clone();
                remove_volatile(path, &mut expected);
                remove_volatile(path, &mut actual);
                differences(path, &expected, &actual, &mut found);
            }
        }
        assert!(found.is_empty(), "{} differences:\n{}", found.len(), found.join("\n"));
    }

    pub(crate) async fn check_policy_tests(&self) {
        let mut found = Vec::new();
        for test in self.expected["policy_test"].as_array().unwrap() {
            let body = json!({"principal": test["principal"], "tool": test["tool"]});
            let (address, token) = (self.gateway.address(), &self.gateway.token);
            let (_, mut answer) =
                rest::send_request(address, token, "POST", "/api/policy/test", Some(body)).await;
            let mut expected = present_answer("/api/policy/test", &test["answer"]);
            remove_volatile("/api/policy/test", &mut expected);
            remove_volatile("/api/policy/test", &mut answer);
            differences("/api/policy/test", &expected, &answer, &mut found);
        }
        assert!(found.is_empty(), "{}", found.join("\n"));
    }

    pub(crate) async fn check_tokens(&self) {
        let texts = self.expected["tokens"].as_object().unwrap();
        let statuses = self.expected["tools_status_by_token"].as_object().unwrap();
        assert!(!texts.is_empty() && texts.len() == statuses.len());
        for (name, token) in texts {
            let token = token.as_str().unwrap();
            let (status, _) =
                rest::send_request(self.gateway.address(), token, "GET", "/api/tools", None).await;
            assert_eq!(json!(status), statuses[name], "the token of {name}");
        }
    }

    /// What commands print is what the API answers.
    pub(crate) async fn check_commands(&self, answers: &Answers) {
        let mut commands: Vec<(String, String)> = [
            ("tokens list", "/api/tokens"),
            ("tokens list --all", "/api/tokens?all=true"),
            ("devices list", "/api/devices"),
            ("tools list", "/api/tools"),
            ("tools diff kitchen-tablet__lamp", "/api/tools/kitchen-tablet__lamp/changes"),
            ("calls list --limit 200", "/api/calls?limit=200"),
            ("grants list", "/api/grants"),
            ("approvals list", "/api/approvals"),
            ("policy list", "/api/policy"),
            ("agents list", "/api/agents"),
            ("sessions list --limit 100", "/api/sessions?limit=100"),
            ("models list", "/api/models"),
            ("mcp list", "/api/mcp/servers"),
        ]
        .map(|(command, path)| (command.to_owned(), path.to_owned()))
        .into();
        for by in ["day", "model", "agent", "session", "principal", "tool"] {
            commands.push((format!("usage --by {by}"), format!("/api/usage?by={by}&zone_offset_s=0")));
        }
        for path in answers.keys().filter(|path| !path.contains('?')) {
            let mut parts = path.trim_start_matches("/api/").split('/');
            if let (Some(list @ ("agents" | "devices" | "tools" | "sessions")), Some(id), None) =
                (parts.next(), parts.next(), parts.next())
            {
                commands.push((format!("{list} show {id}"), path.clone()));
                if list == "sessions" {
                    commands.push((
                        format!("sessions export --format json {id}"),
                        format!("{path}/export?form=json"),
                    ));
                }
            }
        }
        let mut found = Vec::new();
        for (command, path) in &commands {
            let words: Vec<&str> = command.split(' ').collect();
            let run = async || self.with_placeholders(self.folder.run_json(&words).await);
            let mut printed = between_attempts(run).await;
            let mut answer = answers[path].clone();
            remove_volatile(path, &mut printed);
            remove_volatile(path, &mut answer);
            differences(command, &answer, &printed, &mut found);
        }
        assert!(found.is_empty(), "{}", found.join("\n"));

        let exported =
            self.folder.run(["calls", "export", "--format", "jsonl"]).await.expect_success().stdout;
        for line in exported.lines() {
            let call: Value = serde_json::from_str(line).unwrap();
            differences(
                "calls export",
                &answers[&format!("/api/calls/{}", call["call_id"].as_str().unwrap())],
                &call,
                &mut found,
            );
        }
        assert_eq!(
            exported.lines().count(),
            answers["/api/calls?limit=200"]["calls"].as_array().unwrap().len()
        );
        assert!(found.is_empty(), "{}", found.join("\n"));
    }

    pub(crate) async fn check_settings_and_prices(&self) {
        let command = &self.expected["command"];
        let mut found = Vec::new();
        let settings = self.with_placeholders(self.folder.run_json(&["config", "show"]).await);
        let mut settings = sorted_settings(settings["settings"].as_array().unwrap().clone());
        let expected = present_settings(&command["config show"]);
        // Version 0.1 did not know the settings that came later.
        settings.retain(|setting| expected.iter().any(|known| known["key"] == setting["key"]));
        differences("config show", &expected.into(), &settings.into(), &mut found);
        let prices = self.folder.run_json(&["prices", "list"]).await;
        let expected = present_answer("prices list", &command["prices list"]);
        differences("prices list", &expected, &prices, &mut found);
        assert!(found.is_empty(), "{}", found.join("\n"));
    }
}

/// Asks until no MCP server is just being connected: servers that cannot be reached are tried again and again.
async fn between_attempts(ask: impl AsyncFn() -> Value) -> Value {
    poll_until("a moment between two attempts to connect to MCP servers", async || {
        let answer = ask().await;
        let servers = answer["servers"].as_array().into_iter().flatten();
        let is_connecting = servers.clone().any(|server| server["status"]["state"] == "connecting");
        (!is_connecting).then_some(answer)
    })
    .await
}

/// Removes what depends on the moment, and the specs of built-in tools, which come with the program.
fn remove_volatile(path: &str, answer: &mut Value) {
    for source in ["source", "tools[].source"] {
        each_field(answer, source, &mut |fields, _| {
            if path.starts_with("/api/tools") && fields["source"] == "builtin" {
                fields.retain(|name, _| ["name", "id", "source", "status", "flags"].contains(&name.as_str()));
            }
        });
    }
    for (_, field) in VOLATILE_FIELDS.iter().filter(|(prefix, _)| path.starts_with(prefix)) {
        each_field(answer, field, &mut |fields, name| {
            fields.remove(name);
        });
    }
}
