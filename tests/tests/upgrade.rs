//! A data folder and a backup of version 0.1, on which the present program is started: nothing in them may be lost.
//!
//! `tests/data/data-folder-0.1` has what that version left behind, and what it answered about it.

#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "helpers of tests fail by panicking"
)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use former_names::{
    RENAMED_FILE_KEYS, RENAMED_HOOK_FIELDS, RENAMED_SETTINGS, present_answer, present_path, present_settings,
    sorted_settings,
};
use serde_json::{Value, json};
use tables::{Answers, check_every_table_is_shown};
use toolway_tests::process::{GatewayProcess, RunningProgram, TestFolder};
use toolway_tests::{poll_until, rest};
use walk::{differences, each_field};

#[path = "upgrade/former_names.rs"]
mod former_names;
#[path = "upgrade/tables.rs"]
mod tables;
#[path = "upgrade/walk.rs"]
mod walk;

/// Fields that depend on the moment, and those of the call and the turn that the first start ended.
const VOLATILE_FIELDS: &[(&str, &str)] = &[
    ("/api/tokens", "tokens[].last_used_ms"),
    ("/api/mcp/servers", "servers[].status.since_ms"),
    ("/api/mcp/servers", "servers[].status.next_retry_ms"),
    // A token that was still good then has run out since, so another request is the one that fails.
    ("/api/mcp/servers", "servers[].status.problem.message"),
    ("/api/sessions?limit", "sessions[0].updated_ms"),
    ("/api/sessions/half-said", "updated_ms"),
    ("/api/sessions/half-said", "session.updated_ms"),
    ("/api/sessions/half-said", "messages[].created_ms"),
    ("/api/sessions/half-said", "turns[].ended_ms"),
];
/// What the backup does not have: it was made before the last start, with one more session and call.
const AFTER_THE_BACKUP: (&str, &str) = ("half-said", "01a2254a-53f1-7453-a24c-69d354f6b241");
const LAST_SEEN_BEFORE_THE_BACKUP_MS: i64 = 1_795_921_957_400;

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/data-folder-0.1").join(name)
}

fn expected() -> Value {
    serde_json::from_str(&fs::read_to_string(golden("expected.json")).unwrap()).unwrap()
}

/// Copies files, for their owner alone.
fn copy_private(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    fs::set_permissions(to, fs::Permissions::from_mode(0o700)).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let copy = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_private(&entry.path(), &copy);
        } else {
            fs::write(&copy, fs::read(entry.path()).unwrap()).unwrap();
            fs::set_permissions(&copy, fs::Permissions::from_mode(0o600)).unwrap();
        }
    }
}

/// Writes the present names into the owner's files, as the changelog says.
fn rename_file_keys(folder: &Path) {
    for (file, former, present) in RENAMED_FILE_KEYS {
        let path = folder.join(file);
        let text = fs::read_to_string(&path).unwrap();
        let renamed: Vec<String> = text
            .lines()
            .map(|line| match line.strip_prefix(former) {
                Some(rest) => format!("{present}{rest}\n"),
                None => format!("{line}\n"),
            })
            .collect();
        assert_ne!(renamed.concat(), text, "{file}: {former}");
        fs::write(path, renamed.concat()).unwrap();
    }
}

/// Starts the gateway with the settings of the folder.
async fn serve(folder: &TestFolder) -> GatewayProcess {
    let mut command = folder.command(["--json", "serve", "--listen", "127.0.0.1:0"]);
    command.env("PATH", "/usr/bin:/bin").env("WEATHER_KEY", "made-for-a-test");
    let mut program = RunningProgram::start(command);
    let ready = program.wait_for_event("ready").await;
    GatewayProcess { program, token: folder.owner_token(), ready }
}

/// An upgraded gateway, and what version 0.1 said of the same data.
struct Upgrade {
    folder: TestFolder,
    gateway: GatewayProcess,
    expected: Value,
}

impl Upgrade {
    async fn start(folder: TestFolder) -> Self {
        let gateway = serve(&folder).await;
        let upgrade = Self { folder, gateway, expected: expected() };
        poll_until("an attempt to connect to every MCP server", async || {
            let answer = upgrade.get("/api/mcp/servers").await;
            let servers = answer["servers"].as_array().unwrap();
            servers.iter().all(|server| server["status"]["state"] != "connecting").then_some(())
        })
        .await;
        upgrade
    }

    async fn get(&self, path: &str) -> Value {
        let (_, answer) =
            rest::send_request(self.gateway.address(), &self.gateway.token, "GET", path, None).await;
        self.with_placeholders(answer)
    }

    /// Answers with the placeholders of `expected.json` for what differs from copy to copy.
    fn with_placeholders(&self, answer: Value) -> Value {
        let folder = self.folder.data_path().display().to_string();
        let text = answer.to_string().replace(&folder, "DATA_FOLDER").replace(&self.gateway.url(), "GATEWAY");
        serde_json::from_str(&text).unwrap()
    }

    /// The present answers, by the paths of version 0.1.
    async fn answers(&self) -> Answers {
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
    fn check_answers(&self, answers: &Answers, expect: impl Fn(&str, &mut Value) -> bool) {
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

    async fn check_policy_tests(&self) {
        let mut found = Vec::new();
        for test in self.expected["policy_test"].as_array().unwrap() {
            let body = json!({"principal": test["principal"], "tool": test["tool"]});
            let (address, token) = (self.gateway.address(), &self.gateway.token);
            let (_, answer) =
                rest::send_request(address, token, "POST", "/api/policy/test", Some(body)).await;
            let expected = present_answer("/api/policy/test", &test["answer"]);
            differences("/api/policy/test", &expected, &answer, &mut found);
        }
        assert!(found.is_empty(), "{}", found.join("\n"));
    }

    async fn check_tokens(&self) {
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
    async fn check_commands(&self, answers: &Answers) {
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
            let mut printed = self.with_placeholders(self.folder.run_json(&words).await);
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

    async fn check_settings_and_prices(&self) {
        let command = &self.expected["command"];
        let mut found = Vec::new();
        let settings = self.with_placeholders(self.folder.run_json(&["config", "show"]).await);
        let settings = sorted_settings(settings["settings"].as_array().unwrap().clone());
        let expected = present_settings(&command["config show"]);
        differences("config show", &expected.into(), &settings.into(), &mut found);
        let prices = self.folder.run_json(&["prices", "list"]).await;
        let expected = present_answer("prices list", &command["prices list"]);
        differences("prices list", &expected, &prices, &mut found);
        assert!(found.is_empty(), "{}", found.join("\n"));
    }
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

/// Checks that the log has the new name of every setting. For keys in the owner's other files, which the gateway does
/// not take by their former names, the log and the doctor must have it.
#[track_caller]
fn check_former_names_are_told(log: &str, doctor: &str, folder: &Path) {
    let line_of = |file: &str, text: &str| {
        let lines = fs::read_to_string(folder.join(file)).unwrap();
        1 + lines.lines().position(|line| line.starts_with(text)).unwrap()
    };
    let place = |file: &str, line: usize| format!("{}:{line}", folder.join(file).display());
    let settings = fs::read_to_string(folder.join("toolway.toml")).unwrap();
    for (former, present) in RENAMED_SETTINGS {
        let (table, key) = former.split_once('.').unwrap();
        let (mut current, mut found) = ("", 0);
        for (at, line) in settings.lines().enumerate() {
            match line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                Some(name) => current = name,
                None if current == table && line.starts_with(&format!("{key} =")) => found = at + 1,
                None => {}
            }
        }
        let warning = format!(
            "WARN {}: {former} was renamed to {present} hint=\"use {present}; the former name still works\"",
            place("toolway.toml", found)
        );
        assert!(log.contains(&warning), "{warning:?} is not in\n{log}");
    }
    for (at, line, former, present) in RENAMED_HOOK_FIELDS {
        let warning = format!(
            "WARN {}:{line}: hooks[{at}].{former} was renamed to hooks[{at}].{present} hint=\"use {present}; {former} still works\"",
            folder.join("toolway.toml").display()
        );
        assert!(log.contains(&warning), "{warning:?} is not in\n{log}");
    }
    let value = format!(
        "WARN {}: the value \"each\" of calls.durability was renamed to \"per_call\" hint=\"use \\\"per_call\\\"; \\\"each\\\" still works\"",
        place("toolway.toml", line_of("toolway.toml", "durability"))
    );
    assert!(log.contains(&value), "{value:?} is not in\n{log}");
    for (file, former, present) in [
        ("models.toml", "context_tokens", "context_window"),
        ("prices.toml", "context_tokens", "context_window"),
        ("tools/weather.toml", "result", "result_pointer"),
        ("own-files/listed.toml", "env", "pass_env"),
        ("own-files/listed.toml", "private", "allow_private_network"),
    ] {
        let line = place(file, line_of(file, former));
        let renamed = format!("unknown field `{former}`: it was renamed to `{present}`");
        for (report, level) in [(log, " ERROR "), (doctor, "error ")] {
            let is_told = |it: &str| it.contains(level) && it.contains(&line) && it.contains(&renamed);
            assert!(report.lines().any(is_told), "no {level:?} with {line} and {renamed:?} in\n{report}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_data_folder_of_version_0_1_shows_everything_that_it_held() {
    let folder = TestFolder::new();
    copy_private(&golden("data"), &folder.data_path());
    let settings = fs::read(folder.data_path().join("toolway.toml")).unwrap();

    // The first start says what the owner should write anew, and loses nothing of what it can't read.
    let (code, log) = serve(&folder).await.program.stop().await;
    assert_eq!(code, 0, "{log}");
    let doctor = folder.run(["doctor"]).await.stdout;
    check_former_names_are_told(&log, &doctor, &folder.data_path());
    rename_file_keys(&folder.data_path());
    let upgrade = Upgrade::start(folder).await;

    let answers = upgrade.answers().await;
    upgrade.check_answers(&answers, |_, _| true);
    upgrade.check_policy_tests().await;
    upgrade.check_tokens().await;
    upgrade.check_settings_and_prices().await;
    upgrade.check_commands(&answers).await;
    check_every_table_is_shown(&golden("data/toolway.db"), &answers).await;

    let folder = upgrade.folder;
    let (_, log) = upgrade.gateway.program.stop().await;
    assert!(!log.contains(" ERROR "), "{log}");
    assert_eq!(fs::read(folder.data_path().join("toolway.toml")).unwrap(), settings);
    let copies = fs::read_dir(folder.data_path().join("backups")).unwrap();
    let copies: Vec<String> = copies.map(|copy| copy.unwrap().file_name().into_string().unwrap()).collect();
    assert!(copies.len() == 1 && copies[0].starts_with("toolway-4-"), "{copies:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_of_version_0_1_is_restored_with_everything_in_it() {
    let folder = TestFolder::new();
    let backup = golden("backup.toolway");
    let restored = folder.run_json(&["restore", "--yes", backup.to_str().unwrap()]).await;
    assert!(restored["files"].as_array().is_some_and(|files| files.len() == 18), "{restored}");
    // Files that the settings name by themselves are not in a backup, and neither are those of the tools.
    for kept_elsewhere in ["own-files", "files"] {
        copy_private(&golden("data").join(kept_elsewhere), &folder.data_path().join(kept_elsewhere));
    }
    rename_file_keys(&folder.data_path());
    let upgrade = Upgrade::start(folder).await;

    let answers = upgrade.answers().await;
    let (session, call) = AFTER_THE_BACKUP;
    upgrade.check_answers(&answers, |path, expected| {
        for (list, id) in [("sessions", session), ("calls", call)] {
            if let Some(elements) = expected.get_mut(list).and_then(Value::as_array_mut) {
                elements.retain(|element| element["id"] != id && element["call_id"] != id);
            }
        }
        // The tool of that call was called once less by then, and its device was last seen in an earlier start.
        each_field(expected, "devices[0].last_seen_ms", &mut |fields, name| {
            assert_eq!(fields["id"], "kitchen-tablet");
            fields[name] = LAST_SEEN_BEFORE_THE_BACKUP_MS.into();
        });
        if path == "/api/devices/kitchen-tablet" {
            expected["last_seen_ms"] = LAST_SEEN_BEFORE_THE_BACKUP_MS.into();
        }
        each_field(expected, "rows[].errors", &mut |fields, _| {
            if fields["key"] == "kitchen-tablet/hold" {
                fields["calls"] = 4.into();
                fields["errors"] = 4.into();
            }
        });
        !path.contains(session) && !path.contains(call)
    });
    upgrade.check_policy_tests().await;
    upgrade.check_tokens().await;
    upgrade.check_settings_and_prices().await;
}
