//! What was decided outlives the gateway, and a call that it took with it is closed once.

use serde_json::{Value, json};
use toolway_tests::process::{Folder, Gateway};
use toolway_tests::{rest, until};

use crate::changed::{flags, known, lamp};
use crate::support::{answer, beside, call, calling, client, listed, questions, settings, text, watch};

const ASKS: &str = "[[approval.rules]]\nmode = \"always\"\nwhen = { tools = [\"builtin/write_file\"] }\n";

async fn restarted(gateway: &Gateway) -> Vec<Value> {
    let page = rest::get(gateway.address(), &gateway.token, "/api/calls?status=gateway_restarted").await;
    page["calls"].as_array().unwrap().clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_kill_9_all_that_was_decided_is_still_there() {
    let folder = Folder::new();
    settings(&folder, ASKS);
    let gateway = folder.serve(&[]).await;
    let (granted, asked) = (client(&gateway, "granted").await, client(&gateway, "asked").await);
    folder.run(["grants", "add", "builtin/write_file", "--for", "granted"]).await.done();
    let deny =
        ["policy", "add", "no-lists", "--effect", "deny", "--tool", "builtin/list_files", "--role", "client"];
    folder.run(deny).await.done();
    let hello = "[[tool]]\nname = \"hello\"\ndescription = \"Says hello\"\nprogram = \"/bin/echo\"\n";
    folder.run(["tools", "add", text(&beside(&folder, "hello.toml", hello))]).await.done();
    let device = lamp(&gateway, "Switches the lamp").await;
    known(&folder).await;
    device.stop().await.unwrap();
    let device = lamp(&gateway, "Switches everything").await;
    until("a flag", async || (flags(&folder).await == ["changed"]).then_some(())).await;
    let watching = watch(&folder).await;
    // This one waits for a person when the gateway dies, and is on disk by then.
    let waiting = calling(&folder, "write_file", &json!({"path": "never.txt", "content": "x"}));
    let call_id = questions(&folder, 1).await[0]["call_id"].as_str().unwrap().to_owned();
    until("its record", async || {
        let path = format!("/api/calls/{call_id}");
        let (status, call) = rest::ask(gateway.address(), &gateway.token, "GET", &path, None).await;
        (status == 200).then(|| assert_eq!(call["status"], "open", "{call}"))
    })
    .await;
    gateway.kill().await;
    let (code, said) = waiting.end().await;
    assert_eq!(code, 1, "whoever called is told: {said}");
    assert_eq!(watching.end().await.0, 1);
    device.stop().await.unwrap();

    let gateway = folder.serve(&[]).await;
    let closed = restarted(&gateway).await;
    assert_eq!(closed.len(), 1, "{closed:?}");
    assert_eq!(
        (&closed[0]["call_id"], &closed[0]["status"], &closed[0]["error_type"]),
        (&json!(call_id), &json!("error"), &json!("execution_error"))
    );
    assert_eq!(closed[0].get("approved_by"), None);
    let write = async |gateway: &Gateway, token: &str| {
        call(gateway, token, "write_file", json!({"path": "a.txt", "content": "x"})).await
    };
    assert_eq!(write(&gateway, &granted.token).await["status"], "success");
    assert_eq!(
        write(&gateway, &asked.token).await["code"],
        "approval_unavailable",
        "nobody watches any more"
    );
    assert_eq!(folder.json(&["approvals", "list"]).await["approvals"], json!([]), "no question is left");
    assert!(!listed(&gateway, &granted.token).await.contains(&"list_files".to_owned()));
    assert!(listed(&gateway, &gateway.token).await.contains(&"own__hello".to_owned()));
    assert_eq!(call(&gateway, &granted.token, "own__hello", json!({})).await["status"], "success");
    let _device = lamp(&gateway, "Switches everything").await;
    assert_eq!(flags(&folder).await, ["changed"]);
    let diff = folder.run(["tools", "diff", "lamp__switch"]).await.done().stdout;
    assert!(diff.contains("Switches the lamp") && diff.contains("Switches everything"), "{diff}");
    assert!(!folder.path().join("files/shared/never.txt").exists());

    // Once more, and it is not closed a second time; and what is taken back is gone for good.
    let grants = folder.json(&["grants", "list"]).await;
    folder.run(["grants", "revoke", grants["grants"][0]["id"].as_str().unwrap()]).await.done();
    gateway.kill().await;
    let gateway = folder.serve(&[]).await;
    assert_eq!(restarted(&gateway).await, closed);
    assert_eq!(write(&gateway, &granted.token).await["code"], "approval_unavailable");
    let _watching = watch(&folder).await;
    let answering = async { answer(&folder, &questions(&folder, 1).await[0], &["--grant"]).await };
    let (again, ()) = tokio::join!(write(&gateway, &asked.token), answering);
    assert_eq!(again["status"], "success", "{again}");
}
