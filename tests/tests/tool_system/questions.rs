//! Questions to the owner in other processes than the gateway's and the caller's, and stored answers.

use serde_json::{Value, json};
use toolway_tests::process::TestFolder;

use crate::support::{
    TestToken, answer_question, call_as_owner, call_record, call_tool, create_client, start_approvals_watch,
    start_cli_call, wait_for_outcome, wait_for_questions, write_settings,
};

/// Writing waits for approval.
const WRITE_APPROVAL_RULE: &str =
    "[[approval.rules]]\nmode = \"always\"\nwhen = { tools = [\"builtin/write_file\"] }\n";

fn note_args(name: &str) -> Value {
    json!({"path": format!("{name}.txt"), "content": name})
}

fn is_written(folder: &TestFolder, name: &str) -> bool {
    folder.data_path().join(format!("files/shared/{name}.txt")).exists()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_is_answered_from_another_process() {
    let folder = TestFolder::new();
    write_settings(&folder, WRITE_APPROVAL_RULE);
    let gateway = folder.serve(&[]).await;
    let mut watching = start_approvals_watch(&folder).await;
    let asking = start_cli_call(&folder, "write_file", &note_args("granted"));
    let [question] = &wait_for_questions(&folder, 1).await[..] else { panic!("one question") };
    assert_eq!(
        (&question["kind"], &question["tool_id"], &question["principal"], &question["arguments"]),
        (&json!("approval"), &json!("builtin/write_file"), &json!("owner"), &note_args("granted"))
    );
    assert!(!is_written(&folder, "granted"));
    let asked = watching.next_line().await.unwrap();
    let id = question["id"].as_str().unwrap();
    assert!(asked.contains("asked") && asked.contains(id) && asked.contains("builtin/write_file"), "{asked}");
    answer_question(&folder, question, &["--grant"]).await;
    let over = watching.next_line().await.unwrap();
    assert!(over.contains("over") && over.contains(id) && over.contains("granted"), "{over}");
    let granted = wait_for_outcome(asking).await;
    assert_eq!((&granted["status"], &granted["result"]["path"]), (&json!("success"), &json!("granted.txt")));
    assert!(is_written(&folder, "granted"));
    assert_eq!(call_record(&gateway, &gateway.token, &granted).await["approved_by"], "owner");

    // A refusal ends the call without running it.
    let asking = start_cli_call(&folder, "write_file", &note_args("denied"));
    answer_question(&folder, &wait_for_questions(&folder, 1).await[0], &["--deny"]).await;
    let denied = wait_for_outcome(asking).await;
    assert_eq!((&denied["error_type"], &denied["code"]), (&json!("permission_denied"), &json!("denied")));
    assert_eq!(denied["dispatched"], false);
    assert!(!is_written(&folder, "denied"));
    // Tools without approval do not wait.
    assert_eq!(
        call_as_owner(&gateway, "read_file", json!({"path": "granted.txt"})).await["result"],
        "granted"
    );
    folder
        .run(["approvals", "answer", id, "--grant"])
        .await
        .expect_failure(1, "no question with this id is open");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_questions_are_open_at_the_same_time_e1() {
    let folder = TestFolder::new();
    write_settings(&folder, WRITE_APPROVAL_RULE);
    let gateway = folder.serve(&[]).await;
    let somebody = create_client(&gateway, "script").await;
    let _watching = start_approvals_watch(&folder).await;
    let names = ["first", "second", "third"];
    let calls = names.map(|name| call_tool(&gateway, &somebody.token, "write_file", note_args(name)));
    let answering = async {
        let open = wait_for_questions(&folder, 3).await;
        let of = |name: &str| open.iter().find(|it| it["arguments"] == note_args(name)).unwrap();
        // In another order than they were asked, and one only after the others have ended.
        answer_question(&folder, of("third"), &["--grant"]).await;
        answer_question(&folder, of("first"), &["--deny"]).await;
        let left = wait_for_questions(&folder, 1).await;
        assert_eq!(left[0]["id"], of("second")["id"]);
        answer_question(&folder, of("second"), &["--grant"]).await;
    };
    let [first, second, third] = calls;
    let (first, second, third, ()) = tokio::join!(first, second, third, answering);
    assert_eq!((&first["code"], is_written(&folder, "first")), (&json!("denied"), false));
    assert_eq!((&second["status"], is_written(&folder, "second")), (&json!("success"), true));
    assert_eq!((&third["status"], is_written(&folder, "third")), (&json!("success"), true));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_grant_allows_later_calls_until_it_is_revoked_e8() {
    let folder = TestFolder::new();
    write_settings(&folder, WRITE_APPROVAL_RULE);
    let gateway = folder.serve(&[]).await;
    let somebody = create_client(&gateway, "script").await;
    let other = create_client(&gateway, "other").await;
    let write =
        async |token: &str, name: &str| call_tool(&gateway, token, "write_file", note_args(name)).await;
    // Without a watcher it fails at once with a hint.
    let refused = write(&somebody.token, "early").await;
    assert_eq!(
        (&refused["error_type"], &refused["code"]),
        (&json!("permission_denied"), &json!("approval_unavailable"))
    );
    let hint = format!("toolway grants add builtin/write_file --for {}", somebody.id);
    assert!(refused["hint"].as_str().unwrap().contains(&hint), "{refused}");

    let _watching = start_approvals_watch(&folder).await;
    let asked = async |of: &TestToken, name: &str, flags: &[&str]| {
        let answering = async {
            let open = wait_for_questions(&folder, 1).await;
            assert_eq!(open[0]["principal"], json!(of.id));
            answer_question(&folder, &open[0], flags).await;
        };
        tokio::join!(write(&of.token, name), answering).0
    };
    let first = asked(&somebody, "first", &["--grant", "--scope", "always"]).await;
    assert_eq!(first["status"], "success", "{first}");
    let grants = folder.run_json(&["grants", "list"]).await;
    let [grant] = &grants["grants"].as_array().unwrap()[..] else { panic!("one grant: {grants}") };
    assert_eq!(
        (&grant["decision"], &grant["tool"], &grant["principal"]),
        (&json!("granted"), &json!("builtin/write_file"), &json!(somebody.id))
    );
    let id = grant["id"].as_str().unwrap();
    let second = write(&somebody.token, "second").await;
    assert_eq!(second["status"], "success", "nobody is asked: {second}");
    assert_eq!(call_record(&gateway, &gateway.token, &second).await["approved_by"], format!("grant:{id}"));
    assert_eq!(asked(&other, "others", &["--deny"]).await["code"], "denied", "it is not everybody's");

    folder.run(["grants", "revoke", id]).await.expect_success();
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
async fn a_permission_question_names_the_permission_and_a_denial_explains_itself_e2() {
    let folder = TestFolder::new();
    write_settings(&folder, "[[permissions.rules]]\npermission = \"files.*\"\nstate = \"ask\"\n");
    let gateway = folder.serve(&[]).await;
    let _watching = start_approvals_watch(&folder).await;
    for (flags, code, said) in [
        (&["--deny"][..], "denied", "Permission files.write was denied by the user"),
        (&["--deny-always"][..], "denied_always", "files.write"),
    ] {
        let answering = async {
            let open = wait_for_questions(&folder, 1).await;
            assert_eq!(
                (&open[0]["kind"], &open[0]["permission"]),
                (&json!("permission"), &json!("files.write"))
            );
            answer_question(&folder, &open[0], flags).await;
        };
        let (refused, ()) = tokio::join!(call_as_owner(&gateway, "write_file", note_args("a")), answering);
        assert_eq!((&refused["error_type"], &refused["code"]), (&json!("permission_denied"), &json!(code)));
        assert!(refused["message"].as_str().unwrap().contains(said), "{refused}");
    }
    // From then on without a question, until it is revoked.
    let kept = call_as_owner(&gateway, "write_file", note_args("a")).await;
    assert_eq!(kept["code"], "denied_always");
    assert!(kept["hint"].as_str().unwrap().contains("toolway grants revoke"), "{kept}");
    let grants = folder.run_json(&["grants", "list"]).await;
    folder.run(["grants", "revoke", grants["grants"][0]["id"].as_str().unwrap()]).await.expect_success();
    let answering =
        async { answer_question(&folder, &wait_for_questions(&folder, 1).await[0], &["--grant"]).await };
    let (granted, ()) = tokio::join!(call_as_owner(&gateway, "write_file", note_args("a")), answering);
    assert_eq!(granted["status"], "success", "{granted}");
}
