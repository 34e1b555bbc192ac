//! The names that version 0.1 used in its answers and files, each with the present one.

use serde_json::{Value, json};

use super::walk::each_field;

/// A field of an answer that has another name now.
pub(crate) struct RenamedField {
    /// Start of the path of the answers that have it.
    answers: &'static str,
    /// The field's place in them: names with dots between them, `[]` for every element, `*` for every field.
    pub(crate) former: &'static str,
    /// Its present name.
    pub(crate) present: &'static str,
}

/// A value of a field that is another one now.
pub(crate) struct RenamedValue {
    answers: &'static str,
    field: &'static str,
    former: &'static str,
    present: &'static str,
}

const fn field(answers: &'static str, former: &'static str, present: &'static str) -> RenamedField {
    RenamedField { answers, former, present }
}

const fn value(
    answers: &'static str,
    field: &'static str,
    former: &'static str,
    present: &'static str,
) -> RenamedValue {
    RenamedValue { answers, field, former, present }
}

/// Answers with every renamed field; the order counts where one name moved to another field.
pub(crate) const RENAMED_FIELDS: &[RenamedField] = &[
    field("/api/calls", "calls[].door", "via"),
    field("/api/calls", "calls[].caller", "principal"),
    field("/api/calls", "calls[].tool", "tool_id"),
    field("/api/calls", "calls[].session", "session_id"),
    field("/api/calls", "calls[].turn", "turn_id"),
    field("/api/calls", "calls[].waiting_ms", "user_wait_ms"),
    field("/api/calls/", "door", "via"),
    field("/api/calls/", "caller", "principal"),
    field("/api/calls/", "tool", "tool_id"),
    field("/api/calls/", "session", "session_id"),
    field("/api/calls/", "turn", "turn_id"),
    field("/api/calls/", "waiting_ms", "user_wait_ms"),
    field("/api/calls/", "ran_with", "effective_arguments"),
    field("/api/devices", "devices[].token", "token_id"),
    field("/api/devices/", "token", "token_id"),
    field("/api/mcp/servers", "servers[].status.where", "endpoint"),
    field("/api/mcp/servers", "servers[].status.slug", "source"),
    field("/api/mcp/servers", "servers[].status.next_try_ms", "next_retry_ms"),
    field("/api/models", "models[].key.place", "location"),
    field("/api/models", "models[].models.*.context_tokens", "context_window"),
    field("/api/policy/test", "decision.asks", "requires_approval"),
    field("/api/policy/test", "tool", "tool_id"),
    field("/api/sessions", "sessions[].messages", "message_count"),
    field("session", "messages", "message_count"),
    field("session", "history", "messages"),
    field("session", "messages[].turn", "turn_id"),
    field("session", "messages[].cut", "truncated"),
    field("session", "messages[].parts[].cut", "truncated"),
    field("session", "turns[].answers", "user_message_seq"),
    field("session", "turns[].finish", "finish_reason"),
    field("session", "turns[].state", "status"),
    field("messages", "messages[].turn", "turn_id"),
    field("messages", "messages[].cut", "truncated"),
    field("messages", "messages[].parts[].cut", "truncated"),
    field("export", "session.messages", "message_count"),
    field("export", "messages[].turn", "turn_id"),
    field("export", "messages[].is_cut", "truncated"),
    field("export", "messages[].parts[].cut", "truncated"),
    field("export", "turns[].session", "session_id"),
    field("export", "turns[].answers", "user_message_seq"),
    field("export", "turns[].finish", "finish_reason"),
    field("export", "turns[].is_replaced", "replaced"),
    field("export", "turns[].state", "status"),
    field("export", "turns[].tokens", "usage"),
    field("changes", "tool", "tool_id"),
    field("changes", "before", "accepted"),
    field("changes", "now", "current"),
    field("/api/usage", "rows[].unpriced", "unpriced_requests"),
    field("prices list", "prices[].context_tokens", "context_window"),
    field("prices list", "prices[].up_to_input", "up_to_input_tokens"),
];

/// Answers with every value that has another name or another wording.
pub(crate) const RENAMED_VALUES: &[RenamedValue] = &[
    value("/api/sessions", "sessions[].title_by", "nobody", "none"),
    value("session", "title_by", "nobody", "none"),
    value("export", "session.title_by", "nobody", "none"),
    value("/api/sessions", "sessions[].title_by", "person", "user"),
    value("session", "title_by", "person", "user"),
    value("export", "session.title_by", "person", "user"),
    value("/api/policy/test", "error.hint", "sensor-box has it, but is not connected", SENSOR_BOX_OFFLINE),
    value(
        "/api/mcp/servers",
        "servers[].status.problem.hint",
        "see whether its address is right and it is running",
        "check the address, and that the server is running",
    ),
];
const SENSOR_BOX_OFFLINE: &str = "its device sensor-box is not connected";

/// Settings with another name; a name in brackets is a field of each element.
pub(crate) const RENAMED_SETTINGS: &[(&str, &str)] = &[
    ("timeouts.cap_s", "timeouts.max_tool_s"),
    ("timeouts.person_s", "timeouts.approval_s"),
    ("chat.titles", "chat.generate_titles"),
    ("chat.turns", "chat.max_concurrent_turns"),
    ("chat.context_warn_at", "chat.context_threshold"),
    ("chat.context_reserve", "chat.context_reserve_tokens"),
    ("mcp.list_s", "mcp.list_timeout_s"),
    ("mcp.sessions", "mcp.max_sessions"),
    ("limits.parallel_calls", "limits.parallel_calls_per_principal"),
    ("limits.model_text_bytes", "limits.model_result_bytes"),
    ("limits.pair_tries_per_minute", "limits.pairing_attempts_per_minute"),
];
/// Fields of the hooks in the settings, with the line of the hook that has them.
pub(crate) const RENAMED_HOOK_FIELDS: &[(usize, u32, &str, &str)] = &[
    (0, 180, "on_fault", "on_failure"),
    (0, 180, "env", "pass_env"),
    (0, 180, "env_set", "set_env"),
    (0, 180, "working_dir", "cwd"),
    (1, 193, "on_fault", "on_failure"),
    (2, 202, "on_fault", "on_failure"),
];

/// Keys of the owner's other files, which the gateway does not take by their former names: file, former name, present
/// name.
pub(crate) const RENAMED_FILE_KEYS: &[(&str, &str, &str)] = &[
    ("models.toml", "context_tokens = ", "context_window = "),
    ("models.toml", "[model.switches]", "[model.compatibility]"),
    ("models.toml", "thinking_s = ", "first_token_s = "),
    ("models.toml", "between_s = ", "idle_s = "),
    ("models.toml", "attempts = ", "max_attempts = "),
    ("models.toml", "first_wait_s = ", "initial_backoff_s = "),
    ("models.toml", "longest_wait_s = ", "max_backoff_s = "),
    ("prices.toml", "context_tokens = ", "context_window = "),
    ("prices.toml", "up_to_input = ", "up_to_input_tokens = "),
    ("tools/weather.toml", "result = ", "result_pointer = "),
    ("own-files/listed.toml", "env = ", "pass_env = "),
    ("own-files/listed.toml", "result = ", "result_pointer = "),
    ("own-files/listed.toml", "private = ", "allow_private_network = "),
];

/// The request that gives what `former` gave.
pub(crate) fn present_path(former: &str) -> String {
    former.replace("zone_offset_s=", "utc_offset_s=").replace("form=json", "format=json")
}

/// The kind of answer that a path gives; a path is its own kind where only one table row has it.
fn kind(path: &str) -> &str {
    let Some(rest) = path.strip_prefix("/api/sessions/") else {
        return if path.ends_with("/changes") { "changes" } else { path };
    };
    match rest.split_once('/') {
        None => "session",
        Some((_, part)) => part.split('?').next().unwrap_or(part),
    }
}

/// The answer of version 0.1 as it must be now.
pub(crate) fn present_answer(path: &str, former: &Value) -> Value {
    let (kind, mut answer) = (kind(path), former.clone());
    for renamed in RENAMED_FIELDS.iter().filter(|renamed| kind.starts_with(renamed.answers)) {
        each_field(&mut answer, renamed.former, &mut |fields, name| {
            if let Some(value) = fields.remove(name) {
                fields.insert(renamed.present.to_owned(), value);
            }
        });
    }
    for renamed in RENAMED_VALUES.iter().filter(|renamed| kind.starts_with(renamed.answers)) {
        each_field(&mut answer, renamed.field, &mut |fields, name| {
            if fields[name] == renamed.former {
                fields[name] = renamed.present.into();
            }
        });
    }
    if kind == "export" {
        assert_eq!(answer["toolway_session"], 1);
        answer["toolway_session"] = 2.into();
    }
    if kind == "/api/policy" {
        each_field(&mut answer, "rules[].origin", &mut |fields, name| {
            let place = fields.remove("place");
            fields[name] =
                match place.as_ref().and_then(Value::as_str).and_then(|it| it.split_once(", line ")) {
                    Some((path, line)) => json!({
                        "kind": "settings", "path": path, "line": line.parse::<u32>().unwrap(),
                    }),
                    None => json!({"kind": fields[name]}),
                };
        });
    }
    answer
}

/// The answer of `config show` of version 0.1 as it must be now, sorted by name.
pub(crate) fn present_settings(former: &Value) -> Vec<Value> {
    let mut settings = former["settings"].as_array().unwrap().clone();
    for setting in &mut settings {
        let key = setting["key"].as_str().unwrap().to_owned();
        if let Some((_, present)) = RENAMED_SETTINGS.iter().find(|(former, _)| *former == key) {
            setting["key"] = (*present).into();
        }
        if key == "calls.durability" {
            assert_eq!(setting["value"], "each");
            setting["value"] = "per_call".into();
        }
        if key == "hooks" {
            for (at, _, former, present) in RENAMED_HOOK_FIELDS {
                let hook = setting["value"][*at].as_object_mut().unwrap();
                let value = hook.remove(*former).unwrap();
                hook.insert((*present).to_owned(), value);
            }
        }
    }
    sorted_settings(settings)
}

/// Settings by name, without their descriptions, whose wording is free.
pub(crate) fn sorted_settings(mut settings: Vec<Value>) -> Vec<Value> {
    for setting in &mut settings {
        setting.as_object_mut().unwrap().remove("description");
    }
    settings.sort_by_key(|setting| setting["key"].as_str().unwrap().to_owned());
    settings
}
