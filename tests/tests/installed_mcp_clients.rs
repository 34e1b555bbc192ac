//! Desktop clients keep the command that `toolway mcp install` wrote into their files. The commands of version 0.1 must
//! work with the present program.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "helpers of tests fail by panicking")]

use std::fs;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use toolway_tests::process::{GatewayProcess, TestFolder};
use toolway_tests::with_timeout;

/// Every flag that version 0.1 wrote.
const FLAGS: &[&str] = &[
    "--agent",
    "--ca",
    "--client",
    "--data-dir",
    "--gateway",
    "--insecure",
    "--key",
    "--only",
    "--read-only",
];

fn entries() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/mcp-install-0.1/entries.json");
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// The arguments of a client's entry.
fn arguments(entry: &Value) -> Vec<String> {
    let servers = entry.get("mcpServers").or_else(|| entry.get("servers")).unwrap();
    let arguments = servers["toolway"]["args"].as_array().unwrap();
    arguments.iter().map(|argument| argument.as_str().unwrap().to_owned()).collect()
}

/// Runs the command as a client does; gives the names of the tools that it lists.
async fn list_tools(folder: &TestFolder, gateway: &GatewayProcess, arguments: &[String]) -> Vec<String> {
    let fill = |argument: &String| {
        argument
            .replace("DATA_FOLDER", folder.data_path().to_str().unwrap())
            .replace("GATEWAY", &gateway.url())
            .replace("KEY", gateway.ready["key"].as_str().unwrap())
    };
    let mut command = tokio::process::Command::new(folder.command([""; 0]).as_std().get_program());
    command.args(arguments.iter().map(fill)).env_clear().kill_on_drop(true);
    let mut client = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let version = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let messages = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": version}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}),
    ];
    let mut stdin = client.stdin.take().unwrap();
    for message in messages {
        stdin.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }
    let mut lines = BufReader::new(client.stdout.take().unwrap()).lines();
    let listing = async {
        while let Some(line) = lines.next_line().await.unwrap() {
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["id"] == 2 {
                let tools = message["result"]["tools"].as_array().unwrap().clone();
                return tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect();
            }
        }
        Vec::new()
    };
    let tools = with_timeout("a list of tools", listing).await;
    drop(stdin);
    let status = with_timeout("the end of an MCP client's command", client.wait()).await.unwrap();
    assert!(status.success(), "{arguments:?}: {status}");
    tools
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_command_that_version_0_1_wrote_still_works() {
    let folder = TestFolder::new();
    let gateway = folder.serve(&["--tls", "on"]).await;
    folder.run(["agents", "set", "cook", "--tools", "builtin/*"]).await.expect_success();
    for (name, entry) in entries().as_object().unwrap() {
        let arguments = arguments(entry);
        // The token of the client, as that command made it.
        let mut install = vec!["mcp", "install", "--client", name, "--print", "--yes"];
        if arguments.iter().any(|argument| argument == "--agent") {
            install.extend(["--agent", "cook"]);
        }
        folder.run(install).await.expect_success();

        let tools = list_tools(&folder, &gateway, &arguments).await;
        match name.as_str() {
            "with-key" => assert_eq!(tools, ["get_current_time"]),
            _ => assert!(tools.contains(&"write_file".to_owned()), "{name}: {tools:?}"),
        }
    }
}

#[test]
fn the_commands_have_every_flag() {
    let entries = entries();
    let mut flags: Vec<String> = entries.as_object().unwrap().values().flat_map(arguments).collect();
    flags.retain(|argument| argument.starts_with("--"));
    flags.sort_unstable();
    flags.dedup();
    assert_eq!(flags, FLAGS);
}
