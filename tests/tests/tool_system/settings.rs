//! Settings that are edited while the gateway runs.

use serde_json::json;
use toolway_tests::caller::ChatCaller;
use toolway_tests::process::{GatewayProcess, TestFolder};
use toolway_tests::{poll_until, rest};

use crate::held_server::HeldServer;
use crate::support::{
    call_as_owner, call_tool, create_client, listed_tools, path_text, toml_string, write_settings,
    write_sibling_file,
};

/// Returns the timeout of `find_tools`.
async fn find_tools_timeout(gateway: &GatewayProcess) -> u64 {
    let shown = rest::get_json(gateway.address(), &gateway.token, "/api/tools/find_tools").await;
    shown["timeout_ms"].as_u64().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_valid_edited_file_applies_without_a_restart() {
    let (folder, server) = (TestFolder::new(), HeldServer::start().await);
    let letter = write_sibling_file(&folder, "letters/ada.txt", "Dear Ada");
    write_settings(&folder, "");
    let mut gateway = folder.serve(&[]).await;
    let somebody = create_client(&gateway, "script").await;
    let chat = ChatCaller::connect(gateway.address(), &somebody.token).await;
    let ask = json!({"url": server.url("/price")});
    let read = json!({"path": "letters/ada.txt"});
    let time = async || chat.call("get_current_time", json!({})).await["result"].clone();
    assert!(time().await.is_string());
    assert_eq!(chat.call("http_request", ask.clone()).await["code"], "denied");
    assert_eq!(chat.call("read_file", read.clone()).await["code"], "file_not_found");

    // All settings that apply at once, together.
    let rich = format!(
        "[[policy.rules]]\nname = \"no lists\"\neffect = \"deny\"\nwhen = {{ tools = [\"*/list_files\"] }}\n\
         [[approval.rules]]\nmode = \"always\"\nwhen = {{ tools = [\"*/write_file\"] }}\n\
         [tools.files]\nfolders = [{{ name = \"letters\", path = {} }}]\n\
         [tools.http_request]\nallow = [{}]\n\
         [timeouts.tools]\n\"builtin/find_tools\" = 1.5\n\
         [[hooks]]\nname = \"late\"\nkind = \"command\"\nprogram = \"/bin/sh\"\nargs = [\"-c\", \"read -r q; echo \
         '{{\\\"decision\\\":\\\"replace\\\",\\\"result\\\":\\\"late\\\"}}'\"]\nstages = [\"after\"]\ntools = \
         [\"*/get_current_time\"]\non_failure = \"open\"\ntimeout_ms = 30000\n",
        toml_string(path_text(letter.parent().unwrap())),
        toml_string(&server.host()),
    );
    write_settings(&folder, &rich);
    // Timeouts are applied last.
    poll_until("other settings", async || (find_tools_timeout(&gateway).await == 1500).then_some(())).await;
    assert!(!listed_tools(&gateway, &somebody.token).await.contains(&"list_files".to_owned()));
    assert_eq!(chat.call("list_files", json!({})).await["code"], "tool_not_available");
    let write = json!({"path": "a.txt", "content": "x"});
    assert_eq!(chat.call("write_file", write.clone()).await["code"], "approval_unavailable");
    assert_eq!(chat.call("read_file", read.clone()).await["result"], "Dear Ada");
    assert_eq!(chat.call("http_request", ask.clone()).await["result"]["status"], 200);
    assert_eq!(time().await, "late");

    // An invalid file is reported with its line and changes nothing.
    write_settings(&folder, "[[policy.rules]]\neffect = \"deny\"\n[approval]\ndefault = \"sometimes\"\n");
    gateway.program.wait_for_stderr("invalid setting, which prevents the next start").await;
    let wrong = folder.run(["config", "check"]).await;
    assert_eq!(wrong.code, 1, "{wrong:#?}");
    assert!(format!("{wrong:?}").contains("approval.default"), "{wrong:#?}");
    let still = async |gateway: &GatewayProcess| {
        assert_eq!(chat.call("list_files", json!({})).await["code"], "tool_not_available");
        assert_eq!(time().await, "late");
        assert_eq!(listed_tools(gateway, &somebody.token).await.len(), 5);
    };
    still(&gateway).await;
    // So is a file that is well-formed but unusable.
    write_settings(
        &folder,
        "[[hooks]]\nname = \"gone\"\nkind = \"command\"\nprogram = \"/no/such/program\"\non_failure = \"open\"\n",
    );
    gateway.program.wait_for_stderr("cannot apply the settings").await;
    still(&gateway).await;

    write_settings(&folder, "");
    poll_until("the settings of before", async || (find_tools_timeout(&gateway).await == 5000).then_some(()))
        .await;
    assert_ne!(time().await, "late");
    assert!(listed_tools(&gateway, &somebody.token).await.contains(&"list_files".to_owned()));
    assert_eq!(chat.call("read_file", read).await["code"], "file_not_found");
    assert_eq!(call_as_owner(&gateway, "http_request", ask).await["code"], "denied");
    assert_eq!(call_tool(&gateway, &somebody.token, "write_file", write).await["status"], "success");
}
