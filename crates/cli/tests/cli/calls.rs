//! Tests of the call records: search, show, export and remove.

use std::io::{Read, Write};

use serde_json::{Value, json};

use crate::support::{CliHarness, RunningProcess, file_mode};

/// Starts a gateway with some recorded calls. Returns their ids, the oldest first.
fn gateway_with_calls() -> (CliHarness, RunningProcess, Vec<String>) {
    let folder = CliHarness::new();
    let gateway = folder.serve(&["--no-local-device"]);
    let call = |name: &str, arguments: &str| folder.run(["--json", "tools", "call", name, arguments]);
    call("get_current_time", r#"{"timezone":"Europe/Lisbon"}"#).assert_success();
    call("get_current_time", r#"{"timezone":"Asia/Tokyo"}"#).assert_success();
    assert_eq!(call("nothing", "{}").code, 1);
    let calls = folder.json(&["calls", "list"]);
    let ids = calls["calls"].as_array().unwrap().iter().rev();
    let ids = ids.map(|call| call["call_id"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
    assert_eq!(ids.len(), 3);
    (folder, gateway, ids)
}

fn ids(list: &Value) -> Vec<&str> {
    list["calls"].as_array().unwrap().iter().map(|call| call["call_id"].as_str().unwrap()).collect()
}

#[test]
fn calls_are_found_by_their_content() {
    let (folder, _gateway, all) = gateway_with_calls();
    let found = |arguments: &[&str]| folder.json(&[&["calls", "list"], arguments].concat());
    assert_eq!(ids(&found(&["--search", "LISBON"])), [&all[0]]);
    assert_eq!(ids(&found(&["--search", "current_time", "--limit", "1"])), [&all[1]]);
    assert_eq!(ids(&found(&["--search", "nowhere to be found"])), [""; 0]);
    assert_eq!(ids(&found(&["--search", "o", "--status", "error"])), [&all[2]]);
    assert_eq!(ids(&found(&["--session", "s-1"])), [""; 0]);
    assert_eq!(ids(&found(&["--agent", "home"])), [""; 0]);
    assert_eq!(ids(&found(&["--until", "1h"])), [""; 0]);
    assert_eq!(ids(&found(&["--since", "1h", "--until", "0s", "--principal", "owner"])).len(), 3);

    let page = found(&["--search", "current_time", "--limit", "1"]);
    let next = page["next_cursor"].as_str().unwrap();
    assert_eq!(ids(&found(&["--search", "current_time", "--cursor", next])), [&all[0]]);
    let shown = folder.run(["calls", "list", "--search", "tokyo"]).assert_success().stdout;
    assert!(shown.contains(&all[1]) && !shown.contains(&all[0]), "{shown}");
}

#[test]
fn the_parts_of_a_calls_duration_are_shown() {
    let (folder, _gateway, all) = gateway_with_calls();
    let shown = folder.run(["calls", "show", &all[0]]).assert_success().stdout;
    let labels: Vec<&str> = shown.lines().filter_map(|line| line.split("  ").next()).collect();
    for label in
        ["id", "tool", "caller", "via", "started", "status", "took", "running", "arguments", "outcome"]
    {
        assert!(labels.contains(&label), "{label}: {shown}");
    }
    assert!(shown.contains("Europe/Lisbon"), "{shown}");
}

/// Sends a REST request like other clients do.
fn post(gateway: &RunningProcess, token: &str, path: &str, body: &Value) -> Value {
    let address = gateway.url().strip_prefix("http://").unwrap().to_owned();
    let body = body.to_string();
    let mut stream = std::net::TcpStream::connect(&address).unwrap();
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 201"), "{answer}");
    serde_json::from_str(body).unwrap()
}

#[test]
fn a_call_shows_who_approved_it() {
    let folder = CliHarness::new();
    folder.write_settings("[approval]\ndefault = \"always\"\n");
    let gateway = folder.serve(&["--no-local-device"]);
    let token = std::fs::read_to_string(folder.file("owner.token")).unwrap();
    let wanted = json!({"tool": "builtin/get_current_time"});
    let grant = post(&gateway, token.trim(), "/api/grants", &wanted)["id"].as_str().unwrap().to_owned();
    folder.run(["tools", "call", "get_current_time", "{}"]).assert_success();
    let by = format!("grant:{grant}");
    let list = folder.json(&["calls", "list", "--approved-by", &by]);
    let call = ids(&list)[0];
    assert_eq!(list["calls"][0]["approved_by"], json!(by));
    let shown = folder.run(["calls", "show", call]).assert_success().stdout;
    let line =
        shown.lines().find(|line| line.starts_with("approved by")).unwrap_or_else(|| panic!("{shown}"));
    assert!(line.ends_with(&by), "{shown}");
    assert_eq!(ids(&folder.json(&["calls", "list", "--approved-by", "owner"])), [""; 0]);
}

#[test]
fn calls_are_exported_in_both_formats() {
    let (folder, _gateway, all) = gateway_with_calls();
    let lines = |arguments: &[&str]| -> Vec<Value> {
        let text = folder.run([&["calls", "export"], arguments].concat()).assert_success().stdout;
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let exported = lines(&[]);
    let order = |calls: &[Value]| calls.iter().map(|call| call["call_id"].clone()).collect::<Vec<_>>();
    assert_eq!(order(&exported), all);
    assert_eq!(exported[0], folder.json(&["calls", "show", &all[0]]));
    assert_eq!(exported[0]["arguments"], json!({"timezone": "Europe/Lisbon"}));
    assert_eq!(order(&lines(&["--newest-first", "--search", "time", "--json"])), [&*all[1], &*all[0]]);
    assert_eq!(lines(&["--status", "timeout"]), [Value::Null; 0]);

    let csv = folder.run(["calls", "export", "--format", "csv", "--status", "error"]).assert_success().stdout;
    let (head, rest) = csv.split_once("\r\n").unwrap();
    assert!(head.starts_with("call_id,started,started_ms,name,"), "{csv}");
    assert!(rest.starts_with(&format!("{},", all[2])) && rest.ends_with("\r\n"), "{csv}");
    folder
        .run(["calls", "export", "--format", "csv", "--json"])
        .assert_failure(2, "--json conflicts with --format csv");
    folder.run(["calls", "export", "--format", "xml"]).assert_failure(2, "xml");

    let file = folder.sibling_path("calls.jsonl");
    let path = file.to_str().unwrap();
    let said = folder.run(["calls", "export", "--output", path]).assert_success();
    assert!(said.stdout.contains(path), "{said:#?}");
    assert_eq!(file_mode(&file), 0o600);
    let text = std::fs::read_to_string(&file).unwrap();
    let written: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(written, exported);
    // An existing file is not overwritten, and no temporary file remains.
    folder.run(["calls", "export", "--output", path]).assert_failure(1, "already exists");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    let other = folder.sibling_path("other.csv");
    let said = folder.json(&["calls", "export", "--format", "csv", "--output", other.to_str().unwrap()]);
    assert_eq!(said, json!({"file": other, "bytes": std::fs::metadata(&other).unwrap().len()}));
    let nowhere = folder.sibling_path("none").join("calls.jsonl");
    folder.run(["calls", "export", "--output", nowhere.to_str().unwrap()]).assert_failure(1, "cannot write");
    assert_eq!(std::fs::read_dir(folder.sibling_path("")).unwrap().count(), 3);
}

#[test]
fn calls_are_removed_by_id_or_by_filter() {
    let (folder, _gateway, all) = gateway_with_calls();
    let left = || folder.json(&["calls", "list"]);
    let said = folder.run(["calls", "remove", &all[0]]).assert_success();
    assert_eq!(said.stdout, format!("removed {}\n", all[0]));
    folder.run(["calls", "show", &all[0]]).assert_failure(1, "there is no call");
    folder.run(["calls", "remove", &all[0]]).assert_failure(1, "there is no call");
    folder.run(["calls", "remove"]).assert_failure(2, "<ID>");
    assert_eq!(ids(&left()), [&*all[2], &*all[1]]);

    assert_eq!(folder.json(&["calls", "purge", "--before", "1h"])["removed"], 0);
    let said = folder.run(["calls", "purge", "--before", "0s", "--search", "tokyo"]).assert_success().stdout;
    assert!(said.starts_with("removed 1 matching calls from before "), "{said}");
    assert_eq!(ids(&left()), [&all[2]]);
    folder.run(["calls", "purge", "--search", "tokyo"]).assert_failure(2, "--before");
    assert_eq!(folder.json(&["calls", "remove", &all[2]]), json!({"removed": [all[2]]}));
    assert_eq!(ids(&left()), [""; 0]);
}
