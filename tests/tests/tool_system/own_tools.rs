//! The owner's own tools, defined while the gateway runs.

use serde_json::json;
use toolway_tests::caller::ChatCaller;
use toolway_tests::process::TestFolder;
use toolway_tests::rest;

use crate::held_server::HeldServer;
use crate::support::{call_tool, create_client, listed_tools, path_text, write_sibling_file};

const HELLO_DEFINITION: &str = "[[tool]]\nname = \"hello\"\ndescription = \"Says hello\"\nprogram = \"/bin/sh\"\nargs = [\"-c\", \
                     \"echo hello $1\", \"sh\", \"{who}\"]\nread_only = true\n[tool.parameters]\ntype = \
                     \"object\"\nrequired = [\"who\"]\nproperties.who = { type = \"string\" }\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_is_callable_as_soon_as_it_is_defined() {
    let (folder, server) = (TestFolder::new(), HeldServer::start().await);
    let gateway = folder.serve(&[]).await;
    let somebody = create_client(&gateway, "assistant").await;
    let chat = ChatCaller::connect(gateway.address(), &somebody.token).await;
    assert_eq!(chat.call("own__hello", json!({"who": "you"})).await["code"], "tool_not_available");
    let hello = write_sibling_file(&folder, "hello.toml", HELLO_DEFINITION);
    folder.run(["tools", "add", path_text(&hello)]).await.expect_success();
    // An argument stays one argument, regardless of its content.
    let greeted = chat.call("own__hello", json!({"who": "$(id); rm -rf / #"})).await;
    assert_eq!(greeted["result"]["stdout"], "hello $(id); rm -rf / #\n", "{greeted}");
    let refused = chat.call("own__hello", json!({})).await;
    assert_eq!(
        (&refused["error_type"], &refused["code"]),
        (&json!("validation_error"), &json!("invalid_arguments"))
    );

    let price = format!(
        "[[tool]]\nkind = \"http\"\nname = \"price\"\ndescription = \"Tells a price\"\nurl = \
         \"{}?of={{coin}}\"\nresult_pointer = \"/bitcoin/usd\"\nallow_private_network = true\n[tool.parameters]\ntype = \"object\"\nrequired = \
         [\"coin\"]\nproperties.coin = {{ type = \"string\" }}\n",
        server.url("/price")
    );
    let price = write_sibling_file(&folder, "price.toml", &price);
    folder.run(["tools", "add", path_text(&price)]).await.expect_success();
    let told = call_tool(&gateway, &somebody.token, "own__price", json!({"coin": "bit & coin"})).await;
    assert_eq!(told["result"], 64250.5, "{told}");

    folder.run(["tools", "remove", "hello"]).await.expect_success();
    assert_eq!(chat.call("own__hello", json!({"who": "you"})).await["code"], "tool_not_available");
    assert!(listed_tools(&gateway, &somebody.token).await.contains(&"own__price".to_owned()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_invalid_definition_is_refused_and_the_others_are_active() {
    let folder = TestFolder::new();
    let mut gateway = folder.serve(&[]).await;
    folder
        .run(["tools", "add", path_text(&write_sibling_file(&folder, "hello.toml", HELLO_DEFINITION))])
        .await
        .expect_success();
    for (text_of_it, line, said) in [
        (
            "# mine\n[[tool]]\nname = \"Bad Name\"\ndescription = \"x\"\nprogram = \"/bin/sh\"\n",
            2,
            "snake_case",
        ),
        (
            "\n\n[[tool]]\nname = \"gone\"\ndescription = \"x\"\nprogram = \"/no/such/program\"\n",
            3,
            "/no/such/program",
        ),
        ("[[tool]]\nname = \"read_file\"\ndescription = \"x\"\nprogram = \"/bin/sh\"\n", 1, "read_file"),
        (
            "[[tool]]\nname = \"odd\"\ndescription = \"x\"\nprogram = \"/bin/sh\"\nparameters = \"[]\"\n",
            1,
            "odd",
        ),
        ("[[tool]]\nname = \"slip\"\ndescription = \"x\"\nprogam = \"/bin/sh\"\n", 4, "progam"),
        (
            "[[tool]]\nname = \"web\"\nkind = \"http\"\ndescription = \"x\"\nurl = \"https://{host}/\"\n",
            1,
            "host",
        ),
        ("[[tool\n", 1, "bad.toml"),
    ] {
        let bad = write_sibling_file(&folder, "bad.toml", text_of_it);
        let refused = folder.run(["tools", "add", path_text(&bad)]).await;
        assert_eq!(refused.code, 1, "{text_of_it}: {refused:#?}");
        let place = format!("bad.toml:{line}: ");
        assert!(
            refused.stderr.contains(&place) && refused.stderr.contains(said),
            "{place}{said}: {refused:#?}"
        );
        assert_eq!(listed_tools(&gateway, &gateway.token).await.len(), 7, "{text_of_it}");
    }
    // An invalid file that was added by hand does not affect the others.
    let by_hand = folder.data_path().join("tools/by-hand.toml");
    std::fs::write(&by_hand, "\n[[tool]]\nname = \"Nope\"\n").unwrap();
    let more = folder.data_path().join("tools/more.toml");
    std::fs::write(&more, HELLO_DEFINITION.replace("\"hello\"\nd", "\"hello_again\"\nd")).unwrap();
    let (status, _) =
        rest::send_request(gateway.address(), &gateway.token, "POST", "/api/reload", None).await;
    assert_eq!(status, 204);
    let names = listed_tools(&gateway, &gateway.token).await;
    assert!(
        names.contains(&"own__hello".to_owned()) && names.contains(&"own__hello_again".to_owned()),
        "{names:?}"
    );
    assert_eq!(names.len(), 8);
    gateway.program.wait_for_stderr("by-hand.toml:2").await;
    let found = folder.run(["doctor"]).await;
    assert!(found.code == 1 && found.stdout.contains("by-hand.toml:2"), "{found:#?}");
}
