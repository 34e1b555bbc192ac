//! Hanging and hostile apps, which must not affect others.

use super::*;

#[tokio::test]
async fn a_hanging_provider_delays_no_other_provider_a1() {
    let (release, hold) = release_gate();
    let hung = move |_: &HostCall| {
        let _ = hold.lock().recv();
        Ok(None)
    };
    let phone =
        BridgeHarness::with(vec![MemoryApp::cetp("com.hung", hung), MemoryApp::cetp("com.quick", good)]);
    let overview = phone.wait_for_scan(1).await;
    assert_eq!(overview.providers[0].package, "com.quick");
    assert_eq!(phone.names(), ["quick__get_data"]);
    phone.call("quick__get_data", json!({})).await.unwrap();
    drop(release);
    let overview = phone.wait_for_scan(2).await;
    assert!(
        matches!(state(&overview, "com.hung"), ProviderState::Unavailable { reason } if reason.contains("null"))
    );
}

#[tokio::test]
async fn a_provider_that_never_answers_is_reported_after_its_timeout() {
    let (_release, hold) = release_gate();
    let hung = move |_: &HostCall| {
        let _ = hold.lock().recv();
        Ok(None)
    };
    let options = BridgeOptions { list_timeout: Duration::from_millis(50), ..options() };
    let phone = BridgeHarness::start(
        vec![MemoryApp::cetp("com.hung", hung)],
        Arc::new(NoPrompt),
        ProviderNames::default(),
        options,
    );
    let overview = phone.wait_for_scan(1).await;
    assert!(
        matches!(state(&overview, "com.hung"), ProviderState::Unavailable { reason } if reason.contains("in time"))
    );
}

#[tokio::test]
async fn hostile_lists_do_not_affect_others() {
    let many: Vec<String> = (0..5_000)
        .map(|n| format!(r#"{{"name":"t{n}","description":"d","parameters":{{"type":"object"}}}}"#))
        .collect();
    let many = success(&format!(r#"{{"tools":[{}]}}"#, many.join(",")));
    let changing = Arc::new(Mutex::new(0));
    let apps = vec![
        MemoryApp::cetp("com.many", move |call| Ok((call.method == "list_tools").then(|| many.clone()))),
        MemoryApp::cetp("com.null", |_| Ok(None)),
        MemoryApp::cetp("com.odd", |_| Ok(Some(Bundle::new().with("status", 7)))),
        MemoryApp::cetp("com.big", |_| Ok(Some(success(&"[".repeat(10 << 20))))),
        MemoryApp::cetp("com.throws", |_| {
            Err(CallFailure::Threw { class: "java.lang.NullPointerException".into(), message: String::new() })
        }),
        MemoryApp::cetp("com.panics", |_| std::panic::resume_unwind(Box::new("no message"))),
        MemoryApp::cetp("com.large", |_| Err(CallFailure::TooLarge("data parcel size 1048600 bytes".into()))),
        MemoryApp::cetp("com.dies", |_| Err(CallFailure::Died("gone".into()))),
        MemoryApp::cetp("com.changes", move |call| {
            let mut number = changing.lock();
            *number += 1;
            Ok(Some(match call.method.as_str() {
                "list_tools" => {
                    success(&format!(r#"{{"tools":[{{"name":"tool_{number}","description":"d"}}]}}"#))
                }
                _ => success(&number.to_string()),
            }))
        }),
        MemoryApp::cetp("com.good", good),
    ];
    let phone = BridgeHarness::with(apps);
    let overview = phone.wait_for_scan(10).await;
    assert_eq!(provider(&overview, "com.many").tools.len(), bounds::TOOLS);
    for package in ["com.null", "com.odd", "com.big", "com.throws", "com.panics", "com.large", "com.dies"] {
        assert!(matches!(state(&overview, package), ProviderState::Unavailable { .. }), "{package}");
    }
    assert_eq!(provider(&overview, "com.changes").tools.len(), 1);
    assert!(phone.names().contains(&"good__get_data".to_owned()));
    phone.call("good__get_data", json!({})).await.unwrap();
}

#[tokio::test]
async fn two_hundred_providers_are_scanned_in_parallel() {
    // Each waits until all are being asked at the same time; sequential requests would never be answered.
    let barrier = Arc::new(std::sync::Barrier::new(200));
    let tools: Vec<String> = (0..10).map(|n| format!(r#"{{"name":"t{n}","description":"d"}}"#)).collect();
    let list = success(&format!(r#"{{"tools":[{}]}}"#, tools.join(",")));
    let apps = (0..200).map(|n| {
        let (barrier, list) = (Arc::clone(&barrier), list.clone());
        MemoryApp::cetp(&format!("com.example.p{n}"), move |call| {
            if call.method == "list_tools" {
                barrier.wait();
                return Ok(Some(list.clone()));
            }
            good(call)
        })
    });
    let phone = BridgeHarness::with(apps.collect());
    let overview = phone.wait_for_scan(200).await;
    assert!(overview.providers.iter().all(|provider| provider.state == ProviderState::Ready));
    assert_eq!(phone.names().len(), 2_000);
}

/// Answers that wait until they are released, and count themselves.
struct HeldReplies {
    release: Sender<()>,
    hold: Arc<Mutex<Receiver<()>>>,
}

impl HeldReplies {
    fn new() -> Self {
        let (release, hold) = release_gate();
        Self { release, hold }
    }

    fn when(
        &self,
        method: &'static str,
    ) -> impl Fn(&HostCall) -> Result<Option<Bundle>, CallFailure> + use<> {
        let hold = Arc::clone(&self.hold);
        move |call| {
            if call.method == method {
                let _ = hold.lock().recv();
            }
            good(call)
        }
    }
}

#[tokio::test]
async fn other_apps_can_be_added_and_removed_while_one_hangs_a1() {
    let held = HeldReplies::new();
    let phone = BridgeHarness::with(vec![
        MemoryApp::cetp("com.hung", held.when("list_tools")),
        MemoryApp::cetp("com.goes", good),
    ]);
    phone.wait_for_scan(1).await;
    phone.host.install(MemoryApp::cetp("com.comes", good));
    phone
        .wait_for_overview("who came", |overview| overview.providers.iter().any(|p| p.package == "com.comes"))
        .await;
    phone.host.remove("com.goes");
    phone
        .wait_for_overview("who went", |overview| overview.providers.iter().all(|p| p.package != "com.goes"))
        .await;
    assert_eq!(phone.names(), ["comes__get_data"]);
    drop(held.release);
    phone.wait_for_scan(2).await;
    assert_eq!(phone.names(), ["comes__get_data", "hung__get_data"]);
}

#[tokio::test]
async fn an_app_replaced_during_a_scan_is_scanned_again() {
    let held = HeldReplies::new();
    let phone = BridgeHarness::with(vec![
        MemoryApp::cetp("com.a", held.when("list_tools")),
        MemoryApp::cetp("com.b", good),
    ]);
    phone.wait_for_scan(1).await;
    phone.host.install(MemoryApp::cetp("com.a", |call| match call.method.as_str() {
        "list_tools" => Ok(Some(success(r#"{"tools":[{"name":"new","description":"d"}]}"#))),
        _ => good(call),
    }));
    phone.wait_for_scan(2).await;
    assert_eq!(phone.names(), ["a__new", "b__get_data"]);
    drop(held.release);
    // The old answer arrives now and is ignored; a rescan shows that nothing of it is left.
    phone.host.remove("com.b");
    phone.wait_for_scan(1).await;
    assert_eq!(phone.names(), ["a__new"]);
}

#[tokio::test]
async fn a_hanging_description_does_not_prevent_calls() {
    let held = HeldReplies::new();
    let phone = BridgeHarness::with(vec![MemoryApp::cetp("com.a", held.when("get_provider_info"))]);
    let overview = phone.wait_for_scan(1).await;
    assert_eq!((&overview.providers[0].state, &overview.providers[0].info), (&ProviderState::Ready, &None));
    phone.call("a__get_data", json!({})).await.unwrap();
    drop(held.release);
}

#[tokio::test]
async fn many_hanging_providers_of_one_app_do_not_affect_others() {
    let held = HeldReplies::new();
    let authorities: Vec<String> = (0..300).map(|n| format!("com.many.a{n}")).collect();
    let entry = DeclarationEntry::McpMimeType { authorities: authorities.join(";") };
    let owner = |authority: &String| {
        let owner = crate::host::AuthorityOwner {
            package: "com.many".into(),
            class: "P".into(),
            exported: true,
            read_permission: None,
            write_permission: None,
        };
        (authority.clone(), owner)
    };
    let many = MemoryApp::new("com.many", "com.many.a0", entry, held.when("get_tool_info"))
        .owners(authorities.iter().map(owner).collect());
    let phone = BridgeHarness::with(vec![many, MemoryApp::cetp("com.good", good)]);
    phone
        .wait_for_overview("the good one", |overview| {
            overview.providers.iter().any(|p| p.package == "com.good")
        })
        .await;
    phone.call("good__get_data", json!({})).await.unwrap();
    drop(held.release);
    let overview = phone.wait_for_scan(bounds::PROVIDERS_OF_ONE + 1).await;
    assert!(
        overview
            .providers
            .iter()
            .flat_map(|p| p.notes.to_vec())
            .any(|note| note.reason.contains("more than 16"))
    );
}
