//! The list of tools: content, names and changes.

use super::*;

#[tokio::test]
async fn a_provider_is_found_named_listed_and_called() {
    let phone = BridgeHarness::with(vec![MemoryApp::cetp("com.example.finance", good).label("Finance")]);
    let overview = phone.wait_for_scan(1).await;
    assert_eq!(overview.providers[0].state, ProviderState::Ready);
    assert_eq!(phone.names(), ["finance__get_data"]);
    let tools = phone.device.handle().tools();
    assert_eq!(tools[0].spec().annotations.as_ref().unwrap().get(), r#"{"readOnlyHint":true}"#);
    let output = phone.call("finance__get_data", json!({"a": 1})).await.unwrap();
    assert_eq!(output.structured.unwrap().get(), r#"{"a":1}"#);
    assert_eq!(phone.kept.lock().len(), 1, "the name is kept");
}

#[tokio::test]
async fn only_changed_packages_are_scanned_again() {
    let asked = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&asked);
    let counting = move |call: &HostCall| {
        *counted.lock() += usize::from(call.method == "list_tools");
        good(call)
    };
    let phone = BridgeHarness::with(vec![MemoryApp::cetp("com.stays", counting)]);
    phone.wait_for_scan(1).await;
    phone.host.install(MemoryApp::cetp("com.comes", good));
    phone.wait_for_scan(2).await;
    assert_eq!(phone.names(), ["comes__get_data", "stays__get_data"]);
    let replaced = |call: &HostCall| match call.method.as_str() {
        "list_tools" => Ok(Some(success(r#"{"tools":[{"name":"other","description":"d"}]}"#))),
        _ => good(call),
    };
    phone.host.install(MemoryApp::cetp("com.comes", replaced));
    phone
        .wait_for_overview("the new tool", |overview| {
            overview.providers.iter().any(|p| p.tools.iter().any(|t| t.name == "other"))
        })
        .await;
    assert_eq!(phone.names(), ["comes__other", "stays__get_data"]);
    phone.host.remove("com.comes");
    phone.wait_for_scan(1).await;
    assert_eq!(phone.names(), ["stays__get_data"]);
    assert_eq!(*asked.lock(), 1, "who did not change is not asked again");
}

#[tokio::test]
async fn a_tool_unknown_to_its_app_causes_a_new_list() {
    let lists = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&lists);
    let forgetful = move |call: &HostCall| match call.method.as_str() {
        "list_tools" => {
            let mut lists = counted.lock();
            *lists += 1;
            let name = if *lists == 1 { "old" } else { "new" };
            Ok(Some(success(&format!(r#"{{"tools":[{{"name":"{name}","description":"d"}}]}}"#))))
        }
        _ => Ok(Some(error("TOOL_NOT_FOUND", "Unknown tool: old"))),
    };
    let phone = BridgeHarness::with(vec![MemoryApp::cetp("com.f", forgetful)]);
    phone.wait_for_scan(1).await;
    let error = phone.call_error("f__old").await;
    assert_eq!((error.code, error.message.as_str()), (Code::ToolFailed, "Unknown tool: old"));
    phone
        .wait_for_overview("the new list", |overview| {
            overview.providers[0].tools.iter().any(|tool| tool.name == "new")
        })
        .await;
    assert_eq!(phone.names(), ["f__new"]);
}

#[tokio::test]
async fn names_do_not_depend_on_which_app_answers_first_a10() {
    let (release, hold) = release_gate();
    let slow = move |call: &HostCall| {
        if call.method == "list_tools" {
            let _ = hold.lock().recv();
        }
        good(call)
    };
    let phone = BridgeHarness::with(vec![
        MemoryApp::cetp("com.a", slow).label("Notes"),
        MemoryApp::cetp("com.b", good).label("Notes"),
    ]);
    phone.wait_for_scan(1).await;
    let first = phone.names();
    drop(release);
    phone.wait_for_scan(2).await;
    let names = phone.names();
    let prompt = Arc::new(NoPrompt);
    let apps =
        vec![MemoryApp::cetp("com.a", good).label("Notes"), MemoryApp::cetp("com.b", good).label("Notes")];
    let quick = BridgeHarness::start(apps, prompt, ProviderNames::default(), options());
    quick.wait_for_scan(2).await;
    assert_eq!(quick.names(), names);
    assert!(names.contains(&first[0]) && !names.contains(&"notes__get_data".to_owned()), "{names:?}");
}

#[tokio::test]
async fn tools_of_a_disconnected_phone_return_with_it() {
    let phone = BridgeHarness::with(vec![MemoryApp::cetp("com.a", good)]);
    phone.wait_for_scan(1).await;
    phone.host.set_fault(Some(HostError::new("no device").hint("plug it in")));
    phone.bridge.rescan();
    let overview = phone.wait_for_overview("the fault", |overview| overview.fault.is_some()).await;
    assert!(
        matches!(&overview.fault, Some(ScanError::Host(error)) if error.hint.as_deref() == Some("plug it in"))
    );
    assert!(phone.names().is_empty());
    phone.host.set_fault(None);
    phone.wait_for_overview("its return", |overview| overview.fault.is_none()).await;
    assert_eq!(phone.names(), ["a__get_data"]);
}

#[tokio::test]
async fn the_devices_own_tools_have_precedence() {
    let host = MemoryHost::new();
    host.install(MemoryApp::cetp("com.a", good));
    let device = Device::builder("http://127.0.0.1:9").token("none").build().unwrap();
    let own = |name: &str| Tool::new(toolway_device::SpecDocument::named(name), |_, _| async { Ok("own") });
    let bridge = ProviderBridge::start(BridgeDeps {
        host: Arc::new(host),
        device: device.handle(),
        other_tools: vec![own("camera"), own("a__get_data")],
        prompt: Arc::new(NoPrompt),
        names: ProviderNames::default(),
        save_names: Box::new(|_| Ok(())),
        options: options(),
    });
    let mut overview = bridge.overview();
    overview.wait_for(|overview| overview.providers.len() == 1).await.unwrap();
    let names: Vec<String> = device.handle().tools().iter().map(|tool| tool.name().to_owned()).collect();
    assert_eq!(names, ["camera", "a__get_data"]);
    let output =
        device.handle().tools()[1].run_local(&json!({}), CancellationToken::new(), None).await.unwrap();
    assert_eq!(output.joined_text(), "own");
    bridge.stop().await;
}

#[tokio::test]
async fn a_description_is_requested_again_only_after_a_change() {
    let asked = Arc::new(Mutex::new(0));
    let app = || {
        let counted = Arc::clone(&asked);
        MemoryApp::cetp("com.a", move |call| {
            if call.method != "get_provider_info" {
                return good(call);
            }
            *counted.lock() += 1;
            Ok(Some(success(r#"{"provider_name":"A"}"#)))
        })
    };
    let phone = BridgeHarness::with(vec![app()]);
    let first = phone.wait_for_scan(1).await.changes;
    phone.bridge.rescan();
    let again = phone.wait_for_overview("another scan", |overview| overview.changes > first).await;
    assert_eq!(again.providers[0].info.as_ref().unwrap().name.as_deref(), Some("A"), "and it is still known");
    assert_eq!(*asked.lock(), 1);
    phone.host.install(app());
    phone.wait_for_overview("a third", |overview| overview.changes > again.changes).await;
    assert_eq!(*asked.lock(), 2);
}

#[tokio::test]
async fn a_name_that_cannot_be_stored_is_not_given() {
    let host = MemoryHost::new();
    host.install(MemoryApp::cetp("com.a", good));
    let device = Device::builder("http://127.0.0.1:9").token("none").build().unwrap();
    let full = Arc::new(Mutex::new(true));
    let disk = Arc::clone(&full);
    let bridge = ProviderBridge::start(BridgeDeps {
        host: Arc::new(host.clone()),
        device: device.handle(),
        other_tools: Vec::new(),
        prompt: Arc::new(NoPrompt),
        names: ProviderNames::default(),
        save_names: Box::new(move |_| if *disk.lock() { Err("the disk is full".to_owned()) } else { Ok(()) }),
        options: options(),
    });
    let mut overview = bridge.overview();
    let shown = overview.wait_for(|overview| overview.providers.len() == 1).await.unwrap().clone();
    assert!(
        matches!(&shown.providers[0].state, ProviderState::Unavailable { reason } if reason.contains("the disk is full"))
    );
    assert!(device.handle().tools().is_empty());
    *full.lock() = false;
    bridge.rescan();
    overview.wait_for(|overview| overview.providers[0].state == ProviderState::Ready).await.unwrap();
    assert_eq!(device.handle().tools().len(), 1);
}

#[tokio::test]
async fn an_app_with_an_unknown_signer_is_refused() {
    let phone = BridgeHarness::with(vec![MemoryApp::cetp("com.a", good).certificate(None)]);
    let overview = phone.wait_for_scan(1).await;
    let ProviderState::Refused { reason, hint, .. } = state(&overview, "com.a") else {
        panic!("{overview:?}")
    };
    assert!(reason.contains("its signer is unknown") && hint.as_ref().unwrap().contains("v2"), "{reason}");
    assert!(phone.names().is_empty());
}
