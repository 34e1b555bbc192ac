//! Failed calls: retries and error messages.

use super::*;

#[tokio::test]
async fn a_missing_process_is_started_and_the_call_repeated() {
    let awake = Arc::new(Mutex::new(false));
    let (sleeps, wakes) = (Arc::clone(&awake), Arc::clone(&awake));
    let answer = executing(move |call| {
        if *sleeps.lock() {
            good(call)
        } else {
            Err(CallFailure::UnknownAuthority("Unknown authority com.s".into()))
        }
    });
    let phone = BridgeHarness::with(vec![MemoryApp::cetp("com.s", answer)]);
    phone.host.on_wake(move |_| {
        *wakes.lock() = true;
        true
    });
    phone.wait_for_scan(1).await;
    phone.call("s__get_data", json!({})).await.unwrap();
}

#[tokio::test]
async fn an_app_is_opened_only_for_calls_and_only_if_configured() {
    let missing = |_: &HostCall| Err(CallFailure::UnknownAuthority("Unknown authority".into()));
    for launch_apps in [false, true] {
        let tries = Arc::new(Mutex::new(0));
        let counted = Arc::clone(&tries);
        let answer = executing(move |_| {
            *counted.lock() += 1;
            Err(CallFailure::UnknownAuthority("Unknown authority".into()))
        });
        let options = BridgeOptions { launch_apps, ..options() };
        let apps = vec![MemoryApp::cetp("com.s", answer), MemoryApp::cetp("com.never", missing)];
        let phone = BridgeHarness::start(apps, Arc::new(NoPrompt), ProviderNames::default(), options);
        phone.host.on_wake(|_| true);
        let opened = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&opened);
        phone.host.on_open(move |package, action| {
            seen.lock().push((package.to_owned(), action.is_some()));
            true
        });
        let overview = phone.wait_for_scan(2).await;
        assert!(matches!(state(&overview, "com.never"), ProviderState::Unavailable { .. }));
        assert!(opened.lock().is_empty(), "not to list");
        let error = phone.call_error("s__get_data").await;
        assert_eq!((error.code, error.retryable), (Code::ToolFailed, true));
        let expected: Vec<(String, bool)> = if launch_apps { vec![("com.s".into(), false)] } else { vec![] };
        assert_eq!(*opened.lock(), expected);
        assert_eq!(*tries.lock(), if launch_apps { 3 } else { 2 });
        phone
            .wait_for_overview("its row", |overview| {
                matches!(state(overview, "com.s"), ProviderState::Unavailable { .. })
            })
            .await;
        assert!(phone.names().is_empty());
    }
}

#[tokio::test]
async fn a_call_waits_for_the_process_of_an_opened_app_and_is_repeated_once() {
    let started_at = Arc::new(Mutex::new(None::<Instant>));
    let is_running = {
        let started_at = Arc::clone(&started_at);
        move || started_at.lock().is_some_and(|at| at.elapsed() >= Duration::from_millis(300))
    };
    let tries = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&tries);
    let runs = is_running.clone();
    let answer = executing(move |call| {
        *counted.lock() += 1;
        if runs() { good(call) } else { Err(CallFailure::UnknownAuthority("Unknown authority".into())) }
    });
    let options = BridgeOptions { launch_apps: true, ..options() };
    let apps = vec![MemoryApp::cetp("com.s", answer)];
    let phone = BridgeHarness::start(apps, Arc::new(NoPrompt), ProviderNames::default(), options);
    phone.host.on_wake(move |_| is_running());
    phone.host.on_open(move |_, _| {
        *started_at.lock() = Some(Instant::now());
        true
    });
    phone.wait_for_scan(1).await;
    phone.call("s__get_data", json!({})).await.unwrap();
    assert_eq!(*tries.lock(), 3, "before and after the system was asked to start it, and when it was there");
}

#[tokio::test]
async fn an_opened_app_that_does_not_start_fails_before_the_deadline_of_the_call() {
    let missing = executing(|_| Err(CallFailure::UnknownAuthority("Unknown authority".into())));
    let options = BridgeOptions { launch_apps: true, ..options() };
    let apps = vec![MemoryApp::cetp("com.s", missing)];
    let phone = BridgeHarness::start(apps, Arc::new(NoPrompt), ProviderNames::default(), options);
    phone.host.on_open(|_, _| true);
    phone.wait_for_scan(1).await;
    let time = Duration::from_millis(400);
    let began = Instant::now();
    let error = phone.call_within("s__get_data", json!({}), time).await.unwrap_err();
    assert_eq!((error.code, error.retryable), (Code::ToolFailed, true));
    assert!(error.message.contains("can't be started"), "{error}");
    assert!(began.elapsed() >= time * 9 / 10, "it waits as long as it may");
}

#[tokio::test]
async fn a_call_has_a_uuid_for_the_app_even_if_its_own_id_is_none() {
    let ids = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&ids);
    let answer = executing(move |call| {
        let Some(BundleValue::Text(id)) = call.extras.as_ref().unwrap().get("request_id") else { panic!() };
        seen.lock().push(id.clone());
        good(call)
    });
    let phone = BridgeHarness::with(vec![MemoryApp::cetp("com.s", answer)]);
    phone.wait_for_scan(1).await;
    // The id of a call without a gateway is `local`.
    phone.call("s__get_data", json!({})).await.unwrap();
    assert!(uuid::Uuid::parse_str(&ids.lock()[0]).is_ok(), "{ids:?}");
}

#[tokio::test]
async fn only_read_only_calls_are_repeated_after_a_crash() {
    let tries = Arc::new(Mutex::new(Vec::new()));
    let of_cetp = Arc::clone(&tries);
    let dies = executing(move |call| {
        let Some(BundleValue::Text(id)) = call.extras.as_ref().unwrap().get("request_id") else { panic!() };
        of_cetp.lock().push(id.clone());
        Err(CallFailure::Died("its process is gone".into()))
    });
    let of_mcp = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&of_mcp);
    let acts = move |call: &HostCall| match call.method.as_str() {
        "get_tool_info" => Ok(Some(
            Bundle::new().with("success", true).with("tool_name", "pay").with("tool_description", "Pays"),
        )),
        _ => {
            *counted.lock() += 1;
            Err(CallFailure::Died("its process is gone".into()))
        }
    };
    let entry = DeclarationEntry::McpMimeType { authorities: "com.acts.tool".into() };
    let apps =
        vec![MemoryApp::cetp("com.reads", dies), MemoryApp::new("com.acts", "com.acts.tool", entry, acts)];
    let phone = BridgeHarness::with(apps);
    phone.wait_for_scan(2).await;
    let tools = phone.device.handle().tools();
    let pay = tools.iter().find(|tool| tool.name() == "acts__pay").unwrap();
    assert_eq!(pay.spec().annotations, None, "what may act does not claim to read");
    let error = phone.call_error("reads__get_data").await;
    assert!(error.retryable);
    let ids = tries.lock().clone();
    assert_eq!(ids.len(), 2);
    assert_eq!(ids[0], ids[1]);
    let error = phone.call_error("acts__pay").await;
    assert_eq!((error.code, error.dispatched, error.retryable), (Code::ToolFailed, true, false));
    assert_eq!(*of_mcp.lock(), 1);
}

#[tokio::test]
async fn every_failure_has_its_message() {
    type HostReply = Result<Option<Bundle>, CallFailure>;
    let cases: Vec<(&str, HostReply, Code, &str)> = vec![
        (
            "invalid",
            Ok(Some(error("INVALID_ARGS", "start_date is missing"))),
            Code::InvalidArguments,
            "start_date",
        ),
        ("limited", Ok(Some(error("RATE_LIMITED", "slow down"))), Code::RateLimited, "slow down"),
        ("internal", Ok(Some(error("INTERNAL_ERROR", "no database"))), Code::ToolFailed, "no database"),
        ("null", Ok(None), Code::ToolFailed, "null"),
        ("empty", Ok(Some(Bundle::new())), Code::ToolFailed, "status"),
        ("cut", Ok(Some(success("{\"a\":"))), Code::ToolFailed, "not JSON"),
        (
            "large",
            Err(CallFailure::TooLarge("data parcel size 1048600 bytes".into())),
            Code::ToolFailed,
            "1048600",
        ),
        (
            "huge",
            Ok(Some(success(&format!("\"{}\"", "x".repeat(10 << 20))))),
            Code::ToolFailed,
            "10485762 bytes",
        ),
        (
            "threw",
            Err(CallFailure::Threw {
                class: "java.lang.IllegalStateException".into(),
                message: "oops".into(),
            }),
            Code::ToolFailed,
            "java.lang.IllegalStateException: oops",
        ),
        (
            "unsupported",
            Err(CallFailure::Unsupported("maps can't be passed".into())),
            Code::ToolFailed,
            "maps",
        ),
        (
            "away",
            Err(CallFailure::Host(HostError::new("the phone is gone"))),
            Code::Network,
            "the phone is gone",
        ),
    ];
    let apps = cases.iter().map(|(name, answer, ..)| {
        let answer = answer.clone();
        MemoryApp::cetp(&format!("com.{name}"), executing(move |_| answer.clone()))
    });
    let phone = BridgeHarness::with(apps.collect());
    phone.wait_for_scan(cases.len()).await;
    for (name, _, code, words) in &cases {
        let error = phone.call_error(&format!("{name}__get_data")).await;
        assert_eq!(error.code, *code, "{name}");
        assert!(error.message.contains(words), "{name}: {}", error.message);
    }
}

#[tokio::test]
async fn a_hanging_call_times_out_without_affecting_others() {
    let (release, hold) = release_gate();
    let hung = executing(move |_| {
        let _ = hold.lock().recv();
        Ok(None)
    });
    let phone =
        BridgeHarness::with(vec![MemoryApp::cetp("com.hung", hung), MemoryApp::cetp("com.quick", good)]);
    phone.wait_for_scan(2).await;
    for _ in 0..crate::worker_pool::MAX_STUCK_PER_PROVIDER {
        let error =
            phone.call_within("hung__get_data", json!({}), Duration::from_millis(20)).await.unwrap_err();
        assert_eq!(error.code, Code::Timeout);
    }
    let error = phone.call_error("hung__get_data").await;
    assert!(error.message.contains("hangs"), "{error}");
    assert!(error.retryable);
    phone.call("quick__get_data", json!({})).await.unwrap();
    drop(release);
}

#[tokio::test]
async fn a_call_that_may_have_acted_is_never_retryable() {
    type Answered = Result<Option<Bundle>, CallFailure>;
    let threw =
        || CallFailure::Threw { class: "java.lang.IllegalStateException".into(), message: "oops".into() };
    let failures: Vec<(&str, Answered, bool)> = vec![
        ("died", Err(CallFailure::Died("gone".into())), true),
        ("large", Err(CallFailure::TooLarge("1048600".into())), true),
        ("threw", Err(threw()), true),
        ("late", Err(CallFailure::TimedOut), true),
        ("null", Ok(None), true),
        ("failed", Ok(Some(Bundle::new().with("success", false).with("error_message", "no"))), true),
        ("security", Err(CallFailure::Security("no permission".into())), false),
        ("unsupported", Err(CallFailure::Unsupported("no maps".into())), false),
        ("missing", Err(CallFailure::UnknownAuthority("unknown".into())), false),
    ];
    let apps = failures.iter().map(|(name, answer, _)| {
        let (answer, authority) = (answer.clone(), format!("com.{name}.tool"));
        let entry = DeclarationEntry::McpMimeType { authorities: authority.clone() };
        MemoryApp::new(&format!("com.{name}"), &authority, entry, move |call| match call.method.as_str() {
            "get_tool_info" => Ok(Some(
                Bundle::new().with("success", true).with("tool_name", "pay").with("tool_description", "Pays"),
            )),
            _ => answer.clone(),
        })
    });
    let phone = BridgeHarness::with(apps.collect());
    phone.wait_for_scan(failures.len()).await;
    for (name, _, may_have_run) in &failures {
        let error = phone.call_error(&format!("{name}__pay")).await;
        assert_eq!(error.dispatched, *may_have_run, "{name}: {error:?}");
        assert!(!(error.dispatched && error.retryable), "{name}: {error:?}");
    }
}

#[tokio::test]
async fn a_slow_start_of_a_process_has_its_own_error() {
    let missing = executing(|_| Err(CallFailure::UnknownAuthority("Unknown authority com.s".into())));
    let phone = BridgeHarness::with(vec![MemoryApp::cetp("com.s", missing)]);
    let (release, hold) = release_gate();
    phone.host.on_wake(move |_| hold.lock().recv().is_ok());
    phone.wait_for_scan(1).await;
    let error = phone.call_within("s__get_data", json!({}), Duration::from_millis(50)).await.unwrap_err();
    assert!(error.message.contains("can't be started"), "{error}");
    drop(release);
}
