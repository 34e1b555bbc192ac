//! Typical requests to a model, as the calls that it makes: the time, a file, a web page, chains of calls,
//! and very many parallel calls.

use futures_util::future::join_all;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::watch;
use toolway_device::Tool;
use toolway_tests::caller::ChatCaller;
use toolway_tests::device::{self, NumberArgs};
use toolway_tests::process::TestFolder;
use toolway_tests::runs::RunLog;

use crate::held_server::HeldServer;
use crate::support::{
    call_as_owner, call_record, call_tool, create_client, path_text, toml_string, waiting_tool,
    write_settings, write_sibling_file,
};

/// Returns the time of the file system's clock, which is independent of the gateway's.
fn file_system_seconds(folder: &TestFolder) -> i64 {
    let modified = std::fs::metadata(write_sibling_file(folder, "now", "now")).unwrap().modified().unwrap();
    Timestamp::try_from(modified).unwrap().as_second()
}

/// "What time is it?"
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_time_is_returned() {
    let folder = TestFolder::new();
    let gateway = folder.serve(&[]).await;
    let somebody = create_client(&gateway, "assistant").await;
    let before = file_system_seconds(&folder);
    let said = folder.run(["tools", "call", "get_current_time"]).await.expect_success().stdout;
    let there =
        call_tool(&gateway, &somebody.token, "get_current_time", json!({"timezone": "America/New_York"}))
            .await;
    let after = file_system_seconds(&folder);
    let there = there["result"].as_str().unwrap();
    assert!(there.ends_with("-05:00") || there.ends_with("-04:00"), "{there}");
    for said in [said.trim(), there] {
        let said = said.parse::<Timestamp>().unwrap().as_second();
        // The file system's clock may be some milliseconds late.
        assert!((before..=after + 1).contains(&said), "{said} is not from {before} to {after}");
    }
    let in_words = json!({"timezone": "UTC", "format": "human_readable"});
    let in_words = call_tool(&gateway, &somebody.token, "get_current_time", in_words).await;
    assert!(in_words["result"].as_str().unwrap().contains("UTC"), "{in_words}");

    let nowhere =
        call_tool(&gateway, &somebody.token, "get_current_time", json!({"timezone": "Europe/Berln"})).await;
    assert_eq!(
        (&nowhere["status"], &nowhere["error_type"], &nowhere["code"]),
        (&json!("error"), &json!("validation_error"), &json!("invalid_arguments"))
    );
    assert!(nowhere["message"].as_str().unwrap().contains("Europe/Berlin"), "{nowhere}");
}

/// "Read my notes file."
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn notes_are_written_and_read() {
    let folder = TestFolder::new();
    let notes = write_sibling_file(&folder, "documents/old.txt", "Old notes").with_file_name("notes.txt");
    let letters = write_sibling_file(&folder, "letters/ada.txt", "Dear Ada");
    write_settings(
        &folder,
        &format!(
            "[tools.files]\nfolders = [{{ name = \"documents\", path = {}, write = true }}, {{ name = \"letters\", \
             path = {} }}]\n",
            toml_string(path_text(notes.parent().unwrap())),
            toml_string(path_text(letters.parent().unwrap()))
        ),
    );
    let gateway = folder.serve(&[]).await;
    let write = json!({"path": "documents/notes.txt", "content": "Milk\nEggs\n"});
    let written = folder.run_json(&["tools", "call", "write_file", &write.to_string()]).await;
    assert_eq!(written["result"], json!({"path": "documents/notes.txt", "bytes_written": 10}));
    assert_eq!(std::fs::read_to_string(&notes).unwrap(), "Milk\nEggs\n");

    let somebody = create_client(&gateway, "assistant").await;
    let chat = ChatCaller::connect(gateway.address(), &somebody.token).await;
    let more = json!({"path": "documents/notes.txt", "content": "Brötchen\n", "mode": "append"});
    assert_eq!(chat.call("write_file", more).await["result"]["bytes_written"], 10);
    // By its name, by its absolute path, and through every entry point.
    for path in ["documents/notes.txt", path_text(&notes)] {
        let args = json!({"path": path});
        let shown = folder.run(["tools", "call", "read_file", &args.to_string()]).await.expect_success();
        assert_eq!(shown.stdout.trim_end(), "Milk\nEggs\nBrötchen");
        for read in [
            call_tool(&gateway, &somebody.token, "read_file", args.clone()).await,
            chat.call("read_file", args).await,
        ] {
            assert_eq!(
                (&read["status"], &read["result"]),
                (&json!("success"), &json!("Milk\nEggs\nBrötchen\n"))
            );
        }
    }
    // A path without a configured folder goes into the gateway's own folder.
    chat.call("write_file", json!({"path": "trips/rome.txt", "content": "Spring"})).await;
    assert_eq!(
        std::fs::read_to_string(folder.data_path().join("files/shared/trips/rome.txt")).unwrap(),
        "Spring"
    );
    let list = chat.call("list_files", json!({"recursive": true})).await.to_string();
    for name in ["trips/rome.txt", "documents", "letters"] {
        assert!(list.contains(name), "{name} is not in {list}");
    }

    let missing = chat.call("read_file", json!({"path": "documents/none.txt"})).await;
    assert_eq!(
        (&missing["code"], &missing["message"]),
        (&json!("file_not_found"), &json!("File not found: documents/none.txt"))
    );
    assert_eq!(chat.call("read_file", json!({"path": "letters/ada.txt"})).await["result"], "Dear Ada");
    let refused = chat.call("write_file", json!({"path": "letters/ada.txt", "content": "x"})).await;
    assert_eq!((&refused["error_type"], &refused["code"]), (&json!("permission_denied"), &json!("denied")));
    assert!(refused["message"].as_str().unwrap().contains("for reading only"), "{refused}");
    assert_eq!(std::fs::read_to_string(&letters).unwrap(), "Dear Ada");
}

/// "Fetch the latest Bitcoin price."
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_price_is_fetched() {
    let (folder, server) = (TestFolder::new(), HeldServer::start().await);
    write_settings(&folder, &format!("[tools.http_request]\nallow = [{}]\n", toml_string(&server.host())));
    let gateway = folder.serve(&[]).await;
    let price = json!({"url": server.url("/price")});
    let fetched = folder.run_json(&["tools", "call", "http_request", &price.to_string()]).await;
    assert_eq!(fetched["result"]["status"], 200, "{fetched}");
    assert_eq!(fetched["result"]["headers"]["content-type"], "application/json", "{fetched}");
    let body: Value = serde_json::from_str(fetched["result"]["body"].as_str().unwrap()).unwrap();
    assert_eq!(body["bitcoin"]["usd"], 64250.5);

    let send = json!({"url": server.url("/echo"), "method": "POST", "headers": {"X-Said": "please"}, "body": "{\"a\":1}"});
    let sent = call_as_owner(&gateway, "http_request", send).await;
    let body: Value = serde_json::from_str(sent["result"]["body"].as_str().unwrap()).unwrap();
    assert_eq!(body, json!({"method": "POST", "said": "please", "body": "{\"a\":1}"}));

    let gone = call_as_owner(&gateway, "http_request", json!({"url": server.url("/status/404")})).await;
    assert_eq!((&gone["status"], &gone["result"]["status"]), (&json!("success"), &json!(404)));
    let failed = call_as_owner(&gateway, "http_request", json!({"url": server.url("/status/503")})).await;
    assert_eq!((&failed["error_type"], &failed["code"]), (&json!("execution_error"), &json!("http_status")));
    let said = failed["message"].as_str().unwrap();
    assert!(said.contains("503") && said.contains("this is 503"), "{failed}");
    // Nothing else on this computer is accessible, in particular not the gateway itself.
    let inside =
        call_as_owner(&gateway, "http_request", json!({"url": format!("{}/health", gateway.url())})).await;
    assert_eq!((&inside["error_type"], &inside["code"]), (&json!("permission_denied"), &json!("denied")));
    assert_eq!(inside["dispatched"], false);
}

/// "Do this, then that with the result": 25 rounds with tools of the gateway and of a device.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chain_of_twenty_five_calls_works() {
    const ROUNDS: usize = 25;
    let folder = TestFolder::new();
    let gateway = folder.serve(&[]).await;
    let double =
        Tool::typed("double", "Doubles a number", async |args: NumberArgs, _| Ok(json!({"n": args.n * 2})));
    let builder = device::builder(&gateway.url(), &gateway.token, "box").tools([double]);
    let _device = device::start(builder).await;
    let somebody = create_client(&gateway, "assistant").await;
    let chat = ChatCaller::connect(gateway.address(), &somebody.token).await;

    let mut last = json!({"n": 1});
    let mut made = Vec::new();
    for round in 0..ROUNDS {
        let (name, args) = match round % 3 {
            0 => {
                let number = last["n"].to_string();
                ("write_file", json!({"path": format!("step-{number}.txt"), "content": number}))
            }
            1 => ("read_file", json!({"path": last["path"]})),
            _ => ("box__double", json!({"n": last.as_str().unwrap().parse::<u64>().unwrap()})),
        };
        let answer = chat.call(name, args).await;
        assert_eq!(answer["status"], "success", "round {round}: {answer}");
        last = answer["result"].clone();
        made.push(answer);
    }
    assert_eq!(last, json!({"path": "step-256.txt", "bytes_written": 3}), "eight doublings");
    assert_eq!(std::fs::read_to_string(folder.data_path().join("files/shared/step-256.txt")).unwrap(), "256");

    call_record(&gateway, &somebody.token, &made[ROUNDS - 1]).await;
    let list = folder.run_json(&["calls", "list", "--principal", &somebody.id, "--limit", "50"]).await;
    let ids = |calls: &[Value]| calls.iter().map(|it| it["call_id"].clone()).collect::<Vec<_>>();
    made.reverse();
    assert_eq!(ids(list["calls"].as_array().unwrap()), ids(&made), "each is recorded once, the newest first");
}

/// Very many parallel calls from several connections to a device and to a server do not delay others.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_calls_in_flight_do_not_delay_others() {
    const CONNECTIONS: u64 = 4;
    const EACH: u64 = 25;
    let (folder, server, runs) = (TestFolder::new(), HeldServer::start().await, RunLog::default());
    write_settings(&folder, &format!("[tools.http_request]\nallow = [{}]\n", toml_string(&server.host())));
    let gateway = folder.serve(&[]).await;
    let (go, gone) = watch::channel(false);
    let tools = [waiting_tool("wait", &runs, &gone)];
    let _device = device::start(device::builder(&gateway.url(), &gateway.token, "box").tools(tools)).await;

    let busy = create_client(&gateway, "busy").await;
    let callers =
        join_all((0..CONNECTIONS).map(|_| ChatCaller::connect(gateway.address(), &busy.token))).await;
    let mut started = Vec::new();
    for (caller, place) in callers.iter().zip(0..) {
        for n in place * EACH..(place + 1) * EACH {
            started.push((caller, n, caller.send_call("box__wait", json!({"n": n})).await));
            let url = json!({"url": server.url(&format!("/held?{n}"))});
            started.push((caller, n, caller.send_call("http_request", url).await));
        }
    }
    runs.wait_for_count(100).await;
    server.wait_for_held(100).await;

    let other = create_client(&gateway, "other").await;
    let chat = ChatCaller::connect(gateway.address(), &other.token).await;
    for _ in 0..20 {
        assert_eq!(chat.call("get_current_time", json!({})).await["status"], "success");
    }
    assert_eq!(call_tool(&gateway, &other.token, "get_current_time", json!({})).await["status"], "success");
    let answered: usize = callers.iter().map(ChatCaller::answer_count).sum();
    assert_eq!(answered, 0, "all the others are in flight");

    go.send_replace(true);
    server.release_held();
    for (caller, n, id) in started {
        let answer = caller.wait_for_answer(&id).await.unwrap();
        let result = &answer["result"];
        assert!(result["n"] == n || result["body"] == json!(n.to_string()), "the answer to {n}: {answer}");
    }
    for caller in &callers {
        let answers = caller.answers();
        assert_eq!(answers.len(), usize::try_from(EACH * 2).unwrap());
        assert!(answers.values().all(|it| it.len() == 1), "one answer each");
    }
    assert_eq!(runs.arguments(), (0..CONNECTIONS * EACH).collect::<Vec<_>>(), "each ran once");
}
