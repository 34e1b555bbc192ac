//! The tools as the engine runs them.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use toolway_core::{
    CallRequest, Caller, Engine, EngineParts, Lease, RawArguments, Registry, SourceRetention,
};
use toolway_types::{RawJson, ResultEnvelope, Slug, SystemClock};

use super::super::{AgentFolders, FileAccess, list_tool, read_tool, write_tool};
use super::harness::{FileAccessHarness, assert_no_parts};

struct FileToolsHarness {
    engine: Arc<Engine>,
    world: FileAccessHarness,
    _lease: Lease,
}

impl FileToolsHarness {
    fn new() -> Self {
        Self::with_agent_folders(&[])
    }

    /// Creates the tools, with folders of their own for these agents.
    fn with_agent_folders(agents: &[&str]) -> Self {
        let world = FileAccessHarness::new();
        let folders = world.access.folders().to_vec();
        let access = FileAccess::new(&world.at("data"), folders).unwrap();
        let access = Arc::new(access.with_agent_folders(AgentFolders::new(agents.iter().copied())));
        let registry = Registry::new();
        let lease = registry.lease(Slug::builtin(), SourceRetention::Names);
        lease.replace(vec![
            read_tool(access.clone()).unwrap(),
            write_tool(access.clone()).unwrap(),
            list_tool(access).unwrap(),
        ]);
        let engine = Engine::new(EngineParts::new(registry, Arc::new(SystemClock)));
        Self { engine, world, _lease: lease }
    }

    fn call(&self, agent: Option<&str>, name: &str, arguments: Value) -> CallRequest {
        let caller = Caller { agent: agent.map(Into::into), ..Caller::local_owner() };
        CallRequest::new(name, RawArguments::Json(RawJson::from(&arguments)), caller)
    }

    async fn run(&self, agent: Option<&str>, name: &str, arguments: Value) -> Value {
        let finished = self.engine.call(self.call(agent, name, arguments)).await;
        json!(ResultEnvelope(&finished.outcome))
    }
}

#[tokio::test]
async fn agents_read_what_they_wrote() {
    let desk = FileToolsHarness::with_agent_folders(&["helper"]);
    let helper = Some("helper");
    let written = desk.run(helper, "write_file", json!({"path": "a.txt", "content": "x\n"})).await;
    let result = json!({"path": "a.txt", "bytes_written": 2});
    assert_eq!(written, json!({"status": "success", "result": result}));
    let append = json!({"path": "a.txt", "content": "y\n", "mode": "append"});
    assert_eq!(desk.run(helper, "write_file", append).await["status"], "success");
    let read = desk.run(helper, "read_file", json!({"path": "a.txt"})).await;
    assert_eq!(read, json!({"status": "success", "result": "x\ny\n"}));
    // Another agent, and no agent.
    for other in [Some("second"), None] {
        let read = desk.run(other, "read_file", json!({"path": "a.txt"})).await;
        assert_eq!(read["message"], "File not found: a.txt");
        assert_eq!(
            (&read["error_type"], &read["code"]),
            (&json!("execution_error"), &json!("file_not_found"))
        );
    }
    let listed = desk.run(helper, "list_files", json!({})).await;
    assert_eq!(listed["result"]["entries"][2]["name"], "a.txt");
}

#[tokio::test]
async fn agents_and_calls_without_an_agent_share_one_folder_by_default() {
    let desk = FileToolsHarness::new();
    let callers = [Some("helper"), Some("second"), None];
    for writer in callers {
        let note = json!({"path": "note.txt", "content": format!("of {writer:?}")});
        assert_eq!(desk.run(writer, "write_file", note).await["status"], "success");
        for reader in callers {
            let read = desk.run(reader, "read_file", json!({"path": "note.txt"})).await;
            assert_eq!(read["result"], format!("of {writer:?}"), "{reader:?}");
        }
    }
}

#[tokio::test]
async fn wrong_arguments_are_validation_errors() {
    let desk = FileToolsHarness::new();
    let wrong = [
        ("read_file", json!({})),
        ("read_file", json!({"path": ""})),
        ("read_file", json!({"path": 5})),
        ("read_file", json!({"path": null})),
        ("read_file", json!({"path": "a", "offset": -1})),
        ("read_file", json!({"path": "a", "limit": 0})),
        ("read_file", json!({"path": "a", "limit": 1.5})),
        ("read_file", json!({"path": "a", "encoding": "utf-99"})),
        ("read_file", json!({"path": "a", "file": "b"})),
        ("write_file", json!({"path": "a"})),
        ("write_file", json!({"content": "a"})),
        ("write_file", json!({"path": "a", "content": "a", "mode": "truncate"})),
        ("write_file", json!({"path": "a", "content": {"a": 1}})),
        ("list_files", json!({"recursive": "yes"})),
        ("list_files", json!({"limit": 100_000})),
    ];
    for (name, arguments) in wrong {
        let answer = desk.run(None, name, arguments.clone()).await;
        assert_eq!(answer["error_type"], "validation_error", "{name} {arguments}: {answer}");
    }
    // 5.0 is a whole number in JSON Schema.
    desk.run(None, "write_file", json!({"path": "a", "content": "0123456789"})).await;
    let read = desk.run(None, "read_file", json!({"path": "a", "offset": 5.0, "limit": 1e3})).await;
    assert_eq!(read["result"], "56789", "{read}");
}

#[tokio::test]
async fn a_very_large_content_is_written() {
    let desk = FileToolsHarness::new();
    let content = "0123456789abcdef".repeat(1 << 20);
    let written = desk.run(None, "write_file", json!({"path": "big.txt", "content": content})).await;
    assert_eq!(written["result"]["bytes_written"], 16 << 20);
    let file = desk.world.at("data/files/shared/big.txt");
    assert_eq!(std::fs::metadata(file).unwrap().len(), 16 << 20);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lines_appended_at_once_stay_whole() {
    const TASKS: usize = 20;
    const LINES: usize = 50;
    let desk = Arc::new(FileToolsHarness::new());
    // Of all lengths, some longer than what is written at a time.
    let line = |task: usize, n: usize| format!("{task} {n} {}\n", "x".repeat(task * n * 7));
    let tasks = (0..TASKS).map(|task| {
        let desk = desk.clone();
        tokio::spawn(async move {
            for n in 0..LINES {
                let append = json!({"path": "docs/log.txt", "content": line(task, n), "mode": "append"});
                let answer = desk.run(None, "write_file", append).await;
                assert_eq!(answer["status"], "success", "{answer}");
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    let text = std::fs::read_to_string(desk.world.at("docs/log.txt")).unwrap();
    let mut next = [0; TASKS];
    for written in text.split_inclusive('\n') {
        let task: usize = written.split(' ').next().unwrap().parse().unwrap();
        assert_eq!(written, line(task, next[task]), "torn, lost or out of order");
        next[task] += 1;
    }
    assert_eq!(next, [LINES; TASKS]);
}

#[tokio::test]
async fn a_call_past_its_deadline_writes_nothing_any_more() {
    let desk = FileToolsHarness::new();
    let path = desk.world.at("docs/log.txt");
    std::fs::write(&path, "old\n").unwrap();
    let held = std::fs::File::options().append(true).open(&path).unwrap();
    held.lock().unwrap();
    let append = json!({"path": "docs/log.txt", "content": "late\n", "mode": "append"});
    let mut call = desk.call(None, "write_file", append.clone());
    call.timeout = Some(Duration::from_millis(100));
    let finished = desk.engine.call(call).await;
    assert_eq!(json!(ResultEnvelope(&finished.outcome))["code"], "timeout");
    drop(held);
    // Had it gone on, it would have the lock before or after this one.
    let answer = desk
        .run(None, "write_file", json!({"path": "docs/log.txt", "content": "new\n", "mode": "append"}))
        .await;
    assert_eq!(answer["status"], "success");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "old\nnew\n");
    assert_no_parts(&desk.world.at("docs"));
}

#[tokio::test]
async fn a_path_outside_the_folders_is_a_permission_error_e10() {
    let desk = FileToolsHarness::new();
    for path in ["/etc/passwd", "../../owner.token", "docs/../../data/toolway.db"] {
        let answer = desk.run(None, "read_file", json!({"path": path})).await;
        assert_eq!(answer["error_type"], "permission_denied", "{answer}");
    }
}
