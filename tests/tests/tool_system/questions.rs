//! Questions to the owner, from other processes than the gateway's and the caller's; and the answers that are kept.

use serde_json::{Value, json};
use toolway_tests::process::Folder;

use crate::support::{
    Token, answer, call, calling, client, outcome, own_call, questions, record, settings, watch,
};

/// Writing waits for approval.
const ASKS: &str = "[[approval.rules]]\nmode = \"always\"\nwhen = { tools = [\"builtin/write_file\"] }\n";

fn note(name: &str) -> Value {
    json!({"path": format!("{name}.txt"), "content": name})
}

fn is_written(folder: &Folder, name: &str) -> bool {
    folder.path().join(format!("files/shared/{name}.txt")).exists()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_is_answered_from_another_process_while_somebody_watches() {
    let folder = Folder::new();
    settings(&folder, ASKS);
    let gateway = folder.serve(&[]).await;
    let mut watching = watch(&folder).await;
    let asking = calling(&folder, "write_file", &note("granted"));
    let [question] = &questions(&folder, 1).await[..] else { panic!("one question") };
    assert_eq!(
        (&question["kind"], &question["tool_id"], &question["principal"], &question["arguments"]),
        (&json!("approval"), &json!("builtin/write_file"), &json!("owner"), &note("granted"))
    );
    assert!(!is_written(&folder, "granted"));
    let asked = watching.line().await.unwrap();
    let id = question["id"].as_str().unwrap();
    assert!(asked.contains("asked") && asked.contains(id) && asked.contains("builtin/write_file"), "{asked}");
    answer(&folder, question, &["--grant"]).await;
    let over = watching.line().await.unwrap();
    assert!(over.contains("over") && over.contains(id) && over.contains("granted"), "{over}");
    let granted = outcome(asking).await;
    assert_eq!((&granted["status"], &granted["result"]["path"]), (&json!("success"), &json!("granted.txt")));
    assert!(is_written(&folder, "granted"));
    assert_eq!(record(&gateway, &gateway.token, &granted).await["approved_by"], "owner");

    // A no ends the call, and it does not run.
    let asking = calling(&folder, "write_file", &note("denied"));
    answer(&folder, &questions(&folder, 1).await[0], &["--deny"]).await;
    let denied = outcome(asking).await;
    assert_eq!((&denied["error_type"], &denied["code"]), (&json!("permission_denied"), &json!("denied")));
    assert_eq!(denied["dispatched"], false);
    assert!(!is_written(&folder, "denied"));
    // What needs no approval does not wait for it.
    assert_eq!(own_call(&gateway, "read_file", json!({"path": "granted.txt"})).await["result"], "granted");
    folder.run(["approvals", "answer", id, "--grant"]).await.failed(1, "no question with this id is open");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn e1_several_questions_wait_side_by_side() {
    let folder = Folder::new();
    settings(&folder, ASKS);
    let gateway = folder.serve(&[]).await;
    let somebody = client(&gateway, "script").await;
    let _watching = watch(&folder).await;
    let names = ["first", "second", "third"];
    let calls = names.map(|name| call(&gateway, &somebody.token, "write_file", note(name)));
    let answering = async {
        let open = questions(&folder, 3).await;
        let of = |name: &str| open.iter().find(|it| it["arguments"] == note(name)).unwrap();
        // Not in the order in which they were asked, and one not at all until the others are done.
        answer(&folder, of("third"), &["--grant"]).await;
        answer(&folder, of("first"), &["--deny"]).await;
        let left = questions(&folder, 1).await;
        assert_eq!(left[0]["id"], of("second")["id"]);
        answer(&folder, of("second"), &["--grant"]).await;
    };
    let [first, second, third] = calls;
    let (first, second, third, ()) = tokio::join!(first, second, third, answering);
    assert_eq!((&first["code"], is_written(&folder, "first")), (&json!("denied"), false));
    assert_eq!((&second["status"], is_written(&folder, "second")), (&json!("success"), true));
    assert_eq!((&third["status"], is_written(&folder, "third")), (&json!("success"), true));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn e8_a_grant_lets_the_next_call_run_until_it_is_revoked() {
    let folder = Folder::new();
    settings(&folder, ASKS);
    let gateway = folder.serve(&[]).await;
    let somebody = client(&gateway, "script").await;
    let other = client(&gateway, "other").await;
    let write = async |token: &str, name: &str| call(&gateway, token, "write_file", note(name)).await;
    // With nobody there it ends at once, and says how to grant it.
    let refused = write(&somebody.token, "early").await;
    assert_eq!(
        (&refused["error_type"], &refused["code"]),
        (&json!("permission_denied"), &json!("approval_unavailable"))
    );
    let hint = format!("toolway grants add builtin/write_file --for {}", somebody.id);
    assert!(refused["hint"].as_str().unwrap().contains(&hint), "{refused}");

    let _watching = watch(&folder).await;
    let asked = async |of: &Token, name: &str, flags: &[&str]| {
        let answering = async {
            let open = questions(&folder, 1).await;
            assert_eq!(open[0]["principal"], json!(of.id));
            answer(&folder, &open[0], flags).await;
        };
        tokio::join!(write(&of.token, name), answering).0
    };
    let first = asked(&somebody, "first", &["--grant", "--scope", "always"]).await;
    assert_eq!(first["status"], "success", "{first}");
    let grants = folder.json(&["grants", "list"]).await;
    let [grant] = &grants["grants"].as_array().unwrap()[..] else { panic!("one grant: {grants}") };
    assert_eq!(
        (&grant["decision"], &grant["tool"], &grant["principal"]),
        (&json!("granted"), &json!("builtin/write_file"), &json!(somebody.id))
    );
    let id = grant["id"].as_str().unwrap();
    let second = write(&somebody.token, "second").await;
    assert_eq!(second["status"], "success", "nobody is asked: {second}");
    assert_eq!(record(&gateway, &gateway.token, &second).await["approved_by"], format!("grant:{id}"));
    assert_eq!(asked(&other, "others", &["--deny"]).await["code"], "denied", "it is not everybody's");

    folder.run(["grants", "revoke", id]).await.done();
    assert_eq!(asked(&somebody, "third", &["--deny"]).await["code"], "denied", "it is asked again");
    let never = asked(&somebody, "third", &["--deny-always"]).await;
    assert_eq!(
        (&never["error_type"], &never["code"]),
        (&json!("permission_denied"), &json!("denied_always"))
    );
    let kept = write(&somebody.token, "third").await;
    assert_eq!(kept["code"], "denied_always", "nobody is asked: {kept}");
    assert!(kept["hint"].as_str().unwrap().contains("toolway grants revoke"), "{kept}");
    assert!(!is_written(&folder, "third") && !is_written(&folder, "early") && !is_written(&folder, "others"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn e2_a_permission_is_asked_for_by_its_name_and_denied_in_words() {
    let folder = Folder::new();
    settings(&folder, "[[permissions.rules]]\npermission = \"files.*\"\nstate = \"ask\"\n");
    let gateway = folder.serve(&[]).await;
    let _watching = watch(&folder).await;
    for (flags, code, said) in [
        (&["--deny"][..], "denied", "Permission files.write was denied by the user"),
        (&["--deny-always"][..], "denied_always", "files.write"),
    ] {
        let answering = async {
            let open = questions(&folder, 1).await;
            assert_eq!(
                (&open[0]["kind"], &open[0]["permission"]),
                (&json!("permission"), &json!("files.write"))
            );
            answer(&folder, &open[0], flags).await;
        };
        let (refused, ()) = tokio::join!(own_call(&gateway, "write_file", note("a")), answering);
        assert_eq!((&refused["error_type"], &refused["code"]), (&json!("permission_denied"), &json!(code)));
        assert!(refused["message"].as_str().unwrap().contains(said), "{refused}");
    }
    // From then on without a question, until it is taken back.
    let kept = own_call(&gateway, "write_file", note("a")).await;
    assert_eq!(kept["code"], "denied_always");
    assert!(kept["hint"].as_str().unwrap().contains("toolway grants revoke"), "{kept}");
    let grants = folder.json(&["grants", "list"]).await;
    folder.run(["grants", "revoke", grants["grants"][0]["id"].as_str().unwrap()]).await.done();
    let answering = async { answer(&folder, &questions(&folder, 1).await[0], &["--grant"]).await };
    let (granted, ()) = tokio::join!(own_call(&gateway, "write_file", note("a")), answering);
    assert_eq!(granted["status"], "success", "{granted}");
}
