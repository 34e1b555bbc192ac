//! Tests of the report on calls: which tools ran, the ids of calls, and authorization screens.

use parking_lot::Mutex;

use super::*;
use crate::bundle::BundleValue;
use crate::host::AuthorizationScreen;

#[tokio::test]
async fn a_provider_that_refuses_the_caller_is_not_checked() {
    let (reach, provider) =
        listed(tools(), |_, _| error("PERMISSION_DENIED", "this Android version does not tell who calls"))
            .await;
    let probed = probe(&reach, &provider, SECOND, false).await;
    assert_eq!(probed.findings, []);
    assert!(!probed.has_checked_tools());
    assert_eq!(
        results(&probed),
        [("find".to_owned(), ToolCheckResult::Denied), ("all".to_owned(), ToolCheckResult::Denied)]
    );
    assert_eq!(probed.tools[0].reason.as_deref(), Some("this Android version does not tell who calls"));
}

#[tokio::test]
async fn a_tool_runs_with_the_values_that_its_schema_declares() {
    let ran = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&ran);
    let list = json!([{"name": "read", "description": "Reads", "parameters": {"type": "object", "properties": {
        "kind": {"type": "string", "enum": ["a", "b"], "description": "k"},
        "count": {"type": "integer", "default": 3, "description": "c"},
        "text": {"type": "string", "examples": ["x"], "description": "t"},
        "rest": {"type": "string", "description": "r"}
    }, "required": ["kind", "count", "text"]}}]);
    let (reach, provider) = listed(list, move |tool, args| match tool {
        "" => error("INVALID_ARGS", "missing tool_name"),
        "read" if args == r#"{"count":3,"kind":"a","text":"x"}"# => {
            seen.lock().push(args.to_owned());
            Ok(Some(Bundle::new().with("status", "success").with("data", "1")))
        }
        "read" => error("INVALID_ARGS", "no"),
        _ => error("TOOL_NOT_FOUND", "no"),
    })
    .await;
    let probed = probe(&reach, &provider, SECOND, false).await;
    assert_eq!(lines(&probed.findings), Vec::<String>::new());
    assert_eq!(results(&probed), [("read".to_owned(), ToolCheckResult::Ran)]);
    assert_eq!(ran.lock().len(), 1);
}

#[tokio::test]
async fn every_call_of_a_check_has_a_uuid() {
    let ids = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&ids);
    let app = MemoryApp::cetp("com.example.notes", move |call| {
        if let Some(BundleValue::Text(id)) = call.extras.as_ref().and_then(|extras| extras.get("request_id"))
        {
            seen.lock().push(id.clone());
        }
        match call.method.as_str() {
            "list_tools" => {
                let list = json!({"tools": tools()}).to_string();
                Ok(Some(Bundle::new().with("status", "success").with("data", list.as_str())))
            }
            _ => error("INVALID_ARGS", "no"),
        }
    });
    let host = MemoryHost::default();
    host.install(app);
    let reach = ProviderClient::new(Arc::new(host));
    let provider = scan(&reach, None, SECOND).await.unwrap().remove(0);
    probe(&reach, &provider, SECOND, false).await;
    let mut ids = ids.lock().clone();
    assert_eq!(ids.len(), 4, "an unknown tool, `find` in two ways, `all` in one");
    assert!(ids.iter().all(|id| uuid::Uuid::parse_str(id).is_ok()), "{ids:?}");
    ids.dedup();
    assert_eq!(ids.len(), 4, "each call has its own");
}

/// A provider whose tools require authorization with this action, on a phone with this screen for it.
async fn requiring(intent: &'static str, screen: AuthorizationScreen) -> ProbeReport {
    let list = json!({"tools": tools()}).to_string();
    let app = MemoryApp::cetp("com.example.notes", move |call| match call.method.as_str() {
        "list_tools" => Ok(Some(Bundle::new().with("status", "success").with("data", list.as_str()))),
        _ => Ok(Some(
            Bundle::new()
                .with("status", "error")
                .with("error_code", "AUTH_REQUIRED")
                .with("error_message", "Not yet")
                .with("authorize_intent", intent),
        )),
    });
    let host = MemoryHost::default();
    host.install(app);
    host.on_find_screen(move |package, action| {
        assert_eq!((package, action), ("com.example.notes", intent));
        screen.clone()
    });
    let reach = ProviderClient::new(Arc::new(host));
    let provider = scan(&reach, None, SECOND).await.unwrap().remove(0);
    probe(&reach, &provider, SECOND, false).await
}

#[tokio::test]
async fn the_authorize_intent_of_a_call_is_resolved() {
    let missing = requiring("com.example.MISSPELLED", AuthorizationScreen::Missing).await;
    has(&missing.findings, LintLevel::Error, "tool find", "no activity of this app has the action");
    has(&missing.findings, LintLevel::Warning, "tool find", "resolution_hint is missing");
    assert_eq!(missing.findings.len(), 2, "once for all tools: {:#?}", lines(&missing.findings));
    assert_eq!(results(&missing)[1], ("all".to_owned(), ToolCheckResult::AuthorizationRequired));
    assert!(!missing.has_checked_tools());
    let closed = AuthorizationScreen::Closed { class: ".Allow".into(), reason: "it is not exported".into() };
    let closed = requiring("com.example.ALLOW", closed).await;
    has(&closed.findings, LintLevel::Error, "tool find", "other apps can't open .Allow");
    let found = requiring("com.example.ALLOW", AuthorizationScreen::Found { class: ".Allow".into() }).await;
    assert!(found.findings.iter().all(|it| it.level != LintLevel::Error), "{:#?}", lines(&found.findings));
    let uri = requiring("intent:#Intent;action=x;end", AuthorizationScreen::Missing).await;
    has(&uri.findings, LintLevel::Error, "tool find", "not an action");
}

#[tokio::test]
async fn the_authorize_intent_of_the_listing_is_resolved_without_a_call() {
    let (_, mut provider) = listed(tools(), |_, _| Ok(None)).await;
    let host = MemoryHost::default();
    host.on_find_screen(|_, _| AuthorizationScreen::Missing);
    provider.tools.clear();
    provider.state = ProviderState::AuthorizationRequired {
        message: "Not yet".to_owned(),
        hint: Some("Open Notes".to_owned()),
        intent: Some("com.example.MISSPELLED".to_owned()),
    };
    let probed = probe(&ProviderClient::new(Arc::new(host)), &provider, SECOND, false).await;
    has(&probed.findings, LintLevel::Error, &provider.authority, "no activity of this app has the action");
    assert_eq!(probed.calls, 0);
    assert!(!probed.has_checked_tools());
}
