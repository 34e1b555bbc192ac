use std::path::Path;

use serde_json::json;

use super::*;

/// Sources: the text of a settings file, variables, and flags as `(flag, key, value)`.
struct SettingsFixture {
    temp: tempfile::TempDir,
    sources: SettingSources,
}

fn case(file: Option<&str>, variables: &[(&str, &str)], flags: &[(&str, &str, &str)]) -> SettingsFixture {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("toolway.toml");
    if let Some(text) = file {
        std::fs::write(&path, text).unwrap();
    }
    let flags = flags.iter().map(|(flag, key, text)| FlagSetting {
        flag: (*flag).to_owned(),
        key: (*key).to_owned(),
        text: (*text).to_owned(),
    });
    let sources = SettingSources {
        file: path,
        is_file_required: false,
        variables: variables.iter().map(|(name, value)| (name.into(), value.into())).collect(),
        flags: flags.collect(),
    };
    SettingsFixture { temp, sources }
}

impl SettingsFixture {
    #[track_caller]
    fn load_ok(&self) -> LoadedSettings {
        load(&self.sources).unwrap_or_else(|wrong| panic!("{wrong:#?}"))
    }

    /// Returns all errors as `location: problem | hint`, without the folder in the location.
    #[track_caller]
    fn load_errors(&self) -> Vec<String> {
        let folder = format!("{}/", self.temp.path().display());
        let wrong = load(&self.sources).expect_err("something is wrong");
        wrong.iter().map(|one| format!("{} | {}", one.message(), one.hint).replace(&folder, "")).collect()
    }
}

#[track_caller]
fn origin(loaded: &LoadedSettings, key: &str) -> (Value, String) {
    let found = loaded.effective_settings().into_iter().find(|it| it.key.to_string() == key);
    let found = found.unwrap_or_else(|| panic!("no {key}"));
    let origin = match found.origin {
        SettingOrigin::File { line, .. } => format!("line {line}"),
        other => other.to_string(),
    };
    (found.value, origin)
}

#[test]
fn later_sources_override_earlier_ones() {
    let case = case(
        Some(
            "listen = \"127.0.0.1:1\"\n\n[limits]\nconnections = 5\nsend_queue = 100\n\n[log]\nlevel = \"warn\"\n",
        ),
        &[("TOOLWAY_LISTEN", "127.0.0.1:2"), ("TOOLWAY_LIMITS__CONNECTIONS", "6")],
        &[("--listen", "listen", "127.0.0.1:3")],
    );
    let loaded = case.load_ok();
    assert_eq!(origin(&loaded, "listen"), (json!("127.0.0.1:3"), "--listen".to_owned()));
    assert_eq!(origin(&loaded, "limits.connections"), (json!(6), "TOOLWAY_LIMITS__CONNECTIONS".to_owned()));
    assert_eq!(origin(&loaded, "limits.send_queue"), (json!(100), "line 5".to_owned()));
    assert_eq!(origin(&loaded, "log.level"), (json!("warn"), "line 8".to_owned()));
    assert_eq!(origin(&loaded, "timeouts.tool_s"), (json!(30), "default".to_owned()));
    assert_eq!(loaded.settings.limits.connections, 6);
    assert_eq!(loaded.settings.limits.send_queue, 100);
    assert_eq!(loaded.settings.listen.to_string(), "127.0.0.1:3");
    assert_eq!((loaded.set_count(), loaded.file.is_some()), (4, true));
}

#[test]
fn without_sources_all_settings_are_defaults() {
    let loaded = case(None, &[("TOOLWAY_LISTEN", "")], &[]).load_ok();
    assert_eq!(loaded.settings, Settings::default());
    assert_eq!((loaded.set_count(), loaded.file), (0, None));
}

#[test]
fn tls_can_be_a_string_or_a_table() {
    let case = case(
        Some("[tls]\nmode = \"on\"\ncert = \"c.pem\"\nkey = \"/k.pem\"\n"),
        &[],
        &[("--tls", "tls", "off")],
    );
    let loaded = case.load_ok();
    assert_eq!(origin(&loaded, "tls.mode"), (json!("off"), "--tls".to_owned()));
    let cert = loaded.settings.tls.cert.as_deref().unwrap();
    assert_eq!(cert, case.temp.path().join("c.pem"), "a relative path is meant from the file's folder");
    assert_eq!(loaded.settings.tls.key.as_deref(), Some(Path::new("/k.pem")));
}

#[test]
fn text_is_parsed_for_the_type_of_the_setting() {
    let loaded = case(
        None,
        &[
            ("TOOLWAY_ALLOWED_HOSTS", "a.example, b.example"),
            ("TOOLWAY_CALLS__REDACT", "[\"pin\"]"),
            ("TOOLWAY_ALLOW_REMOTE_COMMANDS", "true"),
            ("TOOLWAY_TIMEOUTS__TOOL_S", "2.5"),
            ("TOOLWAY_WORKERS", "2"),
            ("TOOLWAY_PUBLIC_URL", "https://tools.example"),
            ("TOOLWAY_TIMEOUTS__TOOLS", "{\"laptop/disk\" = 5}"),
        ],
        &[("--set", "timeouts.tools.\"pc/x\"", "7"), ("--set", "log.format", "json")],
    )
    .load_ok();
    let settings = &loaded.settings;
    assert_eq!(settings.allowed_hosts, ["a.example", "b.example"]);
    assert_eq!(settings.calls.redact, ["pin"]);
    assert!(settings.allow_remote_commands);
    assert_eq!(settings.timeouts.tool_s.get(), 2.5);
    assert_eq!(settings.workers, Some(2));
    let tools: Vec<_> = settings.timeouts.tools.iter().map(|(tool, it)| (tool.as_str(), it.get())).collect();
    assert_eq!(tools, [("laptop/disk", 5.0), ("pc/x", 7.0)]);
    assert_eq!(origin(&loaded, "timeouts.tools.\"pc/x\"").1, "--set");
    assert_eq!(origin(&loaded, "timeouts.tools.\"laptop/disk\"").1, "TOOLWAY_TIMEOUTS__TOOLS");
}

#[test]
fn all_errors_are_reported_with_their_lines() {
    let wrong = case(
        Some(
            "lisen = \"::1\"\nallowed_hosts = [\n  \"fine.example\",\n  \"http://no\",\n]\nworkers = \"many\"\nlimits = 5\n\n\
             [timeouts]\ntool_s = 0\nframe_bytes = 1\n[wherever]\nx = 1\n",
        ),
        &[("TOOLWAY_LIMIT__CONNECTIONS", "3"), ("TOOLWAY_LOG__FORMAT", "xml")],
        &[("--listen", "listen", "example.org")],
    )
    .load_errors();
    let starts = [
        "toolway.toml:1: unknown setting lisen | did you mean listen?",
        "toolway.toml:6: workers: is string \"many\", not a whole number of at least 0 | Number of threads",
        "toolway.toml:7: limits is a table of settings, not one setting | start a table with [limits] and set ",
        "toolway.toml:11: unknown setting timeouts.frame_bytes | did you mean limits.frame_bytes?",
        "toolway.toml:13: unknown setting wherever.x | remove it",
        "TOOLWAY_LIMIT__CONNECTIONS: unknown setting limit.connections | did you mean TOOLWAY_LIMITS__CONNECTIONS?",
        "TOOLWAY_LOG__FORMAT: log.format: unknown variant `xml`",
        "--listen: listen: \"example.org\" is not an address to listen on",
        "toolway.toml:4: allowed_hosts[1]: ",
        "toolway.toml:10: timeouts.tool_s: 0 is out of range",
    ];
    for start in starts {
        assert!(wrong.iter().any(|one| one.starts_with(start)), "{start}\nis not in {wrong:#?}");
    }
    assert_eq!(wrong.len(), starts.len(), "{wrong:#?}");
}

#[test]
fn invalid_toml_is_reported_with_its_line() {
    let wrong = case(Some("listen = \"127.0.0.1\"\nlog level = 3\n[limits\n"), &[], &[]).load_errors();
    assert!(wrong[0].starts_with("toolway.toml:2: invalid TOML: "), "{wrong:#?}");
    assert!(wrong.iter().any(|one| one.starts_with("toolway.toml:3: invalid TOML: ")), "{wrong:#?}");
}

#[test]
fn a_selected_file_must_exist() {
    let mut case = case(None, &[], &[]);
    case.sources.is_file_required = true;
    assert!(case.load_errors()[0].contains("cannot read the settings file"), "{:?}", case.load_errors());
}

#[test]
fn variables_of_other_programs_are_ignored() {
    let loaded =
        case(None, &[("TOOLWAY_SERVICE_HOST", "10.0.0.1"), ("TOOLWAY_PORT", "tcp://10.0.0.1:80")], &[])
            .load_ok();
    assert_eq!(loaded.settings, Settings::default());
    assert_eq!(loaded.ignored.len(), 2, "{:?}", loaded.ignored);
    let wrong = case(None, &[("TOOLWAY_LISTN", "::1")], &[]).load_errors();
    assert_eq!(wrong, ["TOOLWAY_LISTN: unknown setting listn | did you mean TOOLWAY_LISTEN?"]);
}

#[test]
fn a_missing_setting_is_reported_at_its_table() {
    let wrong = case(Some("\n[tls]\ncert = \"c.pem\"\n"), &[], &[]).load_errors();
    assert!(wrong[0].starts_with("toolway.toml:3: tls.key: is missing, but tls.cert is set"), "{wrong:#?}");
}

#[test]
fn risky_settings_cause_a_warning_with_their_location() {
    let loaded = case(Some("tls = \"off\"\nlisten = \"0.0.0.0\"\n"), &[], &[]).load_ok();
    let [warning] = loaded.warnings.as_slice() else { panic!("{:?}", loaded.warnings) };
    assert!(warning.message().contains("toolway.toml:1: tls.mode: off, while"), "{}", warning.message());
}

#[test]
fn secret_settings_are_redacted() {
    for (key, secret) in [
        ("models.openai.api_key", true),
        ("sso.client_secret", true),
        ("x.token", true),
        ("tls.key", false),
        ("limits.sources_per_token", true),
        ("listen", false),
    ] {
        let key = SettingKey::parse(key);
        // Numbers are not secret, whatever the name.
        let value = if key.last_part() == "sources_per_token" { json!(8) } else { json!("value") };
        let hidden = key.redact(&value) == json!("[hidden]");
        assert_eq!(hidden, secret && value.is_string(), "{key}");
    }
}

#[test]
fn changed_settings_are_listed_by_name() {
    let before = case(Some("workers = 1\n"), &[], &[]).load_ok();
    let after = case(Some("workers = 2\n[timeouts.tools]\n\"a/b\" = 3\n"), &[], &[]).load_ok();
    let changed = before.differences(&after);
    assert!(changed.contains(&"workers".to_owned()), "{changed:?}");
    assert!(changed.contains(&"timeouts.tools.\"a/b\"".to_owned()), "{changed:?}");
}

#[test]
fn keys_are_displayed_like_in_the_file() {
    assert_eq!(SettingKey::from_parts(&["timeouts", "tools", "pc/x"]).to_string(), "timeouts.tools.\"pc/x\"");
    assert_eq!(validation::toml(&json!(["a", 1, true])), "[\"a\", 1, true]");
}

#[test]
fn paths_in_lists_and_tables_are_relative_to_the_file() {
    let case = case(
        Some(
            "hooks = [{ name = \"a\", kind = \"webhook\", url = \"https://x.example\", secret_file = \"key\", \
             on_failure = \"open\" }]\n[tools]\nown = [\"mine.toml\", \"/etc/theirs.toml\"]\n[tools.files]\nfolders = \
             [{ name = \"docs\", path = \"../docs\" }]\n[secrets]\nweather = { file = \"weather\" }\n",
        ),
        &[],
        &[],
    );
    let settings = case.load_ok().settings;
    let at = |name: &str| case.temp.path().join(name);
    assert_eq!(settings.tools.own, [at("mine.toml"), "/etc/theirs.toml".into()]);
    assert_eq!(settings.tools.files.folders[0].path, at("../docs"));
    assert_eq!(settings.hooks[0].secret_file, Some(at("key")));
    assert_eq!(settings.secrets["weather"], toolway_secrets::NamedSecretLocation::File(at("weather")));
}

#[test]
fn mcp_servers_are_settings_with_their_lines_and_without_their_secrets() {
    let file = "[mcp]\nmax_sessions = 5\n\n[mcp.servers.time]\ncommand = \"uvx\"\nargs = [\"--api-key\", \"k-1\"]\ncwd = \"w\"\n\
                env = { A = \"k-2\" }\n\n[mcp.issuer]\nurl = \"https://login.example.org\"\nsubjects = [\"ada\"]\naudience = \"a\"\n";
    let loaded = case(Some(file), &[], &[]).load_ok();
    assert_eq!(loaded.settings.mcp.max_sessions, 5);
    assert_eq!(
        loaded.settings.mcp.issuer.as_ref().map(|it| it.subjects.clone()),
        Some(vec!["ada".to_owned()])
    );
    assert_eq!(loaded.origin().server_lines, [("time".to_owned(), 5)].into());
    let cwd = loaded.settings.mcp.servers["time"].cwd.clone().unwrap();
    assert!(cwd.is_absolute() && cwd.ends_with("w"), "{cwd:?}");
    let shown = |key: &[&str]| {
        let key = SettingKey::from_parts(key);
        loaded
            .effective_settings()
            .into_iter()
            .find(|it| it.key == key)
            .map(|it| it.value)
            .unwrap_or_default()
    };
    assert_eq!(shown(&["mcp", "servers", "time", "command"]), json!("uvx"));
    assert_eq!(shown(&["mcp", "servers", "time", "args"]), json!(["--api-key", "[hidden]"]));
    assert_eq!(shown(&["mcp", "servers", "time", "env", "A"]), json!("[hidden]"));
    let wrong = case(Some("[mcp.servers.time]\ncomand = \"x\"\n"), &[], &[]).load_errors();
    assert!(wrong.iter().any(|it| it.contains("comand")), "{wrong:?}");
    let wrong = case(Some("[mcp.issuer]\nsubject = [\"x\"]\n"), &[], &[]).load_errors();
    assert!(wrong.iter().any(|it| it.contains("subject")), "{wrong:?}");
}

#[test]
fn former_names_load_from_every_place_with_a_warning_that_shows_the_new_one() {
    let value = |present: &str| match present {
        "chat.generate_titles" => "false",
        "chat.context_threshold" => "0.5",
        "limits.model_result_bytes" => "2048",
        _ => "7",
    };
    let check = |case: &SettingsFixture, former: &str, present: &str, written: &str| {
        let loaded = case.load_ok();
        let (found, _) = origin(&loaded, present);
        assert_eq!(validation::toml(&found), value(present), "{present}");
        let [warning] = loaded.renamed.as_slice() else { panic!("{former}: {:?}", loaded.renamed) };
        assert_eq!(warning.problem, format!("{former} was renamed to {present}"));
        assert_eq!(warning.hint, format!("use {written}; the former name still works"));
        assert_eq!(loaded.all_warnings().count(), 1);
    };
    for (former, present) in former_names::FORMER_NAMES {
        let file = format!("{former} = {}\n", value(present));
        check(&case(Some(&file), &[], &[]), former, present, present);
        let variable = |name: &str| format!("TOOLWAY_{}", name.to_ascii_uppercase().replace('.', "__"));
        let given = [(variable(former), value(present))];
        let given = given.each_ref().map(|(name, value)| (name.as_str(), *value));
        check(&case(None, &given, &[]), former, present, &variable(present));
        check(&case(None, &[], &[("--set", former, value(present))]), former, present, present);
    }
    let durable = case(Some("[calls]\ndurability = \"each\"\n"), &[], &[]);
    let by_flag = case(None, &[], &[("--set", "calls.durability", "each")]);
    let by_variable = case(None, &[("TOOLWAY_CALLS__DURABILITY", "each")], &[]);
    for case in [durable, by_flag, by_variable] {
        let loaded = case.load_ok();
        assert_eq!(loaded.settings.calls.durability, toolway_gateway::settings::Durability::PerCall);
        assert_eq!(
            loaded.renamed[0].problem,
            "the value \"each\" of calls.durability was renamed to \"per_call\""
        );
    }
}

#[test]
fn former_names_of_a_hooks_fields_load_with_a_warning_each() {
    let hooks = "\n[[hooks]]\nname = \"a\"\nkind = \"command\"\nprogram = \"true\"\non_fault = \"open\"\n\
                 env = [\"PATH\"]\nenv_set = { A = \"b\" }\nworking_dir = \"w\"\n";
    let loaded = case(Some(hooks), &[], &[]).load_ok();
    let hook = &loaded.settings.hooks[0];
    assert_eq!((&hook.pass_env[..], hook.cwd.as_deref()), (&["PATH".to_owned()][..], Some("w")));
    assert_eq!(hook.set_env["A"], "b");
    let told: Vec<_> = loaded.renamed.iter().map(|it| it.problem.as_str()).collect();
    let expected = former_names::FORMER_HOOK_FIELDS
        .iter()
        .map(|(former, present)| format!("hooks[0].{former} was renamed to hooks[0].{present}"));
    assert_eq!(told, expected.collect::<Vec<_>>());
    assert!(loaded.renamed.iter().all(|it| matches!(it.origin, SettingOrigin::File { line: 2, .. })));
}

#[test]
fn a_setting_given_by_both_of_its_names_is_an_error_that_names_both() {
    let file = "[timeouts]\ncap_s = 5\nmax_tool_s = 6\n";
    assert_eq!(
        case(Some(file), &[], &[]).load_errors(),
        [
            "toolway.toml:2: timeouts.cap_s and timeouts.max_tool_s (toolway.toml:3) are the same setting, and \
          both are set | remove timeouts.cap_s; its new name is timeouts.max_tool_s"
        ]
    );
    let apart = case(Some("[chat]\nturns = 5\n"), &[], &[("--set", "chat.max_concurrent_turns", "6")]);
    assert_eq!(apart.load_errors().len(), 1);
    let hook = "[[hooks]]\nname = \"a\"\nkind = \"command\"\nprogram = \"true\"\non_fault = \"open\"\n\
                on_failure = \"open\"\n";
    assert_eq!(
        case(Some(hook), &[], &[]).load_errors(),
        ["toolway.toml:1: hooks[0].on_fault and hooks[0].on_failure are the same setting, and both are set \
          | remove hooks[0].on_fault; its new name is hooks[0].on_failure"]
    );
}

#[test]
fn the_former_names_in_the_documentation_are_those_that_load() {
    let document = include_str!("../../../../docs/settings.md");
    let section = document.split("## Former names").nth(1).unwrap().split("\n## ").next().unwrap();
    let listed: Vec<&str> = section.lines().filter(|line| line.starts_with("| `")).collect();
    let names = former_names::FORMER_NAMES.iter().map(|(former, now)| format!("| `{former}` | `{now}` |"));
    let values = former_names::FORMER_VALUES
        .iter()
        .map(|(key, former, now)| format!("| `{key} = \"{former}\"` | `{key} = \"{now}\"` |"));
    let fields = former_names::FORMER_HOOK_FIELDS
        .iter()
        .map(|(former, now)| format!("| `hooks[].{former}` | `hooks[].{now}` |"));
    assert_eq!(listed, names.chain(values).chain(fields).collect::<Vec<_>>());
}
