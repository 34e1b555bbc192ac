//! Asking the user, opening the app's screen, and repeating the call.

use super::*;

#[tokio::test]
async fn a_denied_call_is_not_retried_and_opens_no_app_a4() {
    let calls = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&calls);
    let denied = executing(move |_| {
        *counted.lock() += 1;
        Ok(Some(error("PERMISSION_DENIED", "Unauthorized caller")))
    });
    let security = executing(|_| Err(CallFailure::Security("Permission Denial: opening provider".into())));
    let asked = Arc::new(ScriptedPrompt::default());
    let phone = BridgeHarness::start(
        vec![MemoryApp::cetp("com.denied", denied), MemoryApp::cetp("com.security", security)],
        Arc::clone(&asked) as Arc<dyn AuthorizationPrompt>,
        ProviderNames::default(),
        BridgeOptions { launch_apps: true, ..options() },
    );
    phone.host.on_open(|package, _| panic!("{package} was opened"));
    phone.wait_for_scan(2).await;
    let error = phone.call_error("denied__get_data").await;
    assert_eq!((error.code, error.message.as_str()), (Code::Denied, "Unauthorized caller"));
    assert_eq!(*calls.lock(), 1);
    let error = phone.call_error("security__get_data").await;
    assert_eq!(error.code, Code::Denied);
    assert!(error.message.contains("Permission Denial"));
    assert!(asked.requests.lock().is_empty());
}

/// A user who agrees or declines, and returns once the app was opened.
#[derive(Default)]
struct ScriptedPrompt {
    declines: bool,
    requests: Mutex<Vec<AuthorizationRequest>>,
    offers: Mutex<Vec<AuthorizationRequest>>,
}

#[async_trait::async_trait]
impl AuthorizationPrompt for ScriptedPrompt {
    async fn request_consent(&self, request: &AuthorizationRequest) -> AuthorizationConsent {
        self.requests.lock().push(request.clone());
        if self.declines { AuthorizationConsent::Declined } else { AuthorizationConsent::Agreed }
    }

    async fn wait_for_return(&self, _: &AuthorizationRequest) {}

    fn notify_authorization_required(&self, request: &AuthorizationRequest) {
        self.offers.lock().push(request.clone());
    }
}

/// An app that requires authorization, is authorized once it was opened, and counts its calls.
struct GuardedApp {
    allowed: Arc<Mutex<bool>>,
    ids: Arc<Mutex<Vec<String>>>,
}

impl GuardedApp {
    fn app(intent: Option<&'static str>) -> (Self, MemoryApp) {
        let this = Self { allowed: Arc::default(), ids: Arc::default() };
        let (allowed, ids) = (Arc::clone(&this.allowed), Arc::clone(&this.ids));
        let answer = executing(move |call| {
            let Some(BundleValue::Text(id)) = call.extras.as_ref().unwrap().get("request_id") else {
                panic!()
            };
            ids.lock().push(id.clone());
            if *allowed.lock() {
                return Ok(Some(success("[1]")));
            }
            let mut answer = error("AUTH_REQUIRED", "Not authorized").with("resolution_hint", "Open the app");
            if let Some(intent) = intent {
                answer.insert("authorize_intent", intent);
            }
            Ok(Some(answer))
        });
        (this, MemoryApp::cetp("com.guarded", answer))
    }
}

#[tokio::test]
async fn after_authorization_the_call_is_retried_once_with_the_same_id_a6() {
    let (guarded, app) = GuardedApp::app(Some("com.guarded.ALLOW"));
    let asked = Arc::new(ScriptedPrompt::default());
    let prompt = Arc::clone(&asked) as Arc<dyn AuthorizationPrompt>;
    let phone = BridgeHarness::start(vec![app], prompt, ProviderNames::default(), options());
    let allowed = Arc::clone(&guarded.allowed);
    phone.host.on_open(move |package, action| {
        assert_eq!((package, action), ("com.guarded", Some("com.guarded.ALLOW")));
        *allowed.lock() = true;
        true
    });
    phone.wait_for_scan(1).await;
    let output = phone.call("guarded__get_data", json!({})).await.unwrap();
    assert_eq!(output.structured.unwrap().get(), "[1]");
    let ids = guarded.ids.lock().clone();
    assert_eq!(ids.len(), 2, "once before, once after");
    assert_eq!(ids[0], ids[1]);
    let request = asked.requests.lock()[0].clone();
    assert_eq!((request.tool.as_deref(), request.hint.as_deref()), (Some("get_data"), Some("Open the app")));
}

#[tokio::test]
async fn an_app_that_refuses_twice_is_not_called_a_third_time_a6() {
    let (guarded, app) = GuardedApp::app(None);
    let prompt = Arc::new(ScriptedPrompt::default());
    let phone = BridgeHarness::start(vec![app], prompt, ProviderNames::default(), options());
    phone.host.on_open(|package, action| {
        assert_eq!((package, action), ("com.guarded", None), "without an intent the app itself is offered");
        true
    });
    phone.wait_for_scan(1).await;
    let error = phone.call_error("guarded__get_data").await;
    assert_eq!(error.code, Code::AuthRequired);
    assert_eq!(error.hint.as_deref(), Some("Open the app"));
    assert_eq!(guarded.ids.lock().len(), 2);
}

#[tokio::test]
async fn an_authorize_intent_opens_only_in_the_providers_own_package_a5() {
    let (guarded, app) = GuardedApp::app(Some("android.settings.SETTINGS"));
    let asked = Arc::new(ScriptedPrompt::default());
    let prompt = Arc::clone(&asked) as Arc<dyn AuthorizationPrompt>;
    let phone = BridgeHarness::start(vec![app], prompt, ProviderNames::default(), options());
    let opened = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&opened);
    phone.host.on_open(move |package, action| {
        seen.lock().push((package.to_owned(), action.map(str::to_owned)));
        // The package has no such screen and no start screen.
        false
    });
    phone.wait_for_scan(1).await;
    let error = phone.call_error("guarded__get_data").await;
    assert_eq!(error.code, Code::AuthRequired);
    assert!(error.message.contains("no screen"), "{error}");
    assert_eq!(error.authorize_intent.unwrap().get(), r#""android.settings.SETTINGS""#);
    let of = |action: Option<&str>| ("com.guarded".to_owned(), action.map(str::to_owned));
    assert_eq!(
        *opened.lock(),
        [of(Some("android.settings.SETTINGS")), of(None)],
        "only ever with the package set, then the app's start screen"
    );
    assert_eq!(guarded.ids.lock().len(), 1, "not called again");
}

#[tokio::test]
async fn an_authorize_intent_without_a_screen_opens_the_start_screen() {
    let (guarded, app) = GuardedApp::app(Some("com.guarded.MISSPELLED"));
    let prompt = Arc::new(ScriptedPrompt::default());
    let phone = BridgeHarness::start(vec![app], prompt, ProviderNames::default(), options());
    let opened = Arc::new(Mutex::new(Vec::new()));
    let (seen, allowed) = (Arc::clone(&opened), Arc::clone(&guarded.allowed));
    phone.host.on_open(move |package, action| {
        seen.lock().push((package.to_owned(), action.map(str::to_owned)));
        let is_start = action.is_none();
        *allowed.lock() = is_start;
        is_start
    });
    phone.wait_for_scan(1).await;
    let output = phone.call("guarded__get_data", json!({})).await.unwrap();
    assert_eq!(output.structured.unwrap().get(), "[1]");
    let of = |action: Option<&str>| ("com.guarded".to_owned(), action.map(str::to_owned));
    assert_eq!(*opened.lock(), [of(Some("com.guarded.MISSPELLED")), of(None)]);
}

#[tokio::test]
async fn a_user_who_declines_is_asked_once() {
    let (guarded, app) = GuardedApp::app(Some("com.guarded.ALLOW"));
    let asked = Arc::new(ScriptedPrompt { declines: true, ..ScriptedPrompt::default() });
    let prompt = Arc::clone(&asked) as Arc<dyn AuthorizationPrompt>;
    let phone = BridgeHarness::start(vec![app], prompt, ProviderNames::default(), options());
    phone.host.on_open(|package, _| panic!("{package} was opened"));
    phone.wait_for_scan(1).await;
    let error = phone.call_error("guarded__get_data").await;
    assert_eq!(error.code, Code::AuthRequired);
    assert!(error.message.contains("declined to open"), "{error}");
    assert_eq!(guarded.ids.lock().len(), 1);
    assert_eq!(asked.requests.lock().len(), 1);
}

/// A user who waits until they are told to agree.
struct SlowPrompt {
    agree: tokio::sync::Semaphore,
    asked: watch::Sender<usize>,
}

#[async_trait::async_trait]
impl AuthorizationPrompt for SlowPrompt {
    async fn request_consent(&self, _: &AuthorizationRequest) -> AuthorizationConsent {
        self.asked.send_modify(|asked| *asked += 1);
        self.agree.acquire().await.unwrap().forget();
        AuthorizationConsent::Agreed
    }

    async fn wait_for_return(&self, _: &AuthorizationRequest) {}

    fn notify_authorization_required(&self, _: &AuthorizationRequest) {}
}

#[tokio::test]
async fn calls_that_wait_for_the_same_app_share_one_question() {
    let (guarded, app) = GuardedApp::app(Some("com.guarded.ALLOW"));
    let slow = Arc::new(SlowPrompt { agree: tokio::sync::Semaphore::new(0), asked: watch::Sender::new(0) });
    let prompt = Arc::clone(&slow) as Arc<dyn AuthorizationPrompt>;
    let phone = BridgeHarness::start(vec![app], prompt, ProviderNames::default(), options());
    let allowed = Arc::clone(&guarded.allowed);
    phone.host.on_open(move |_, _| {
        *allowed.lock() = true;
        true
    });
    phone.wait_for_scan(1).await;
    let release = async {
        slow.asked.subscribe().wait_for(|asked| *asked == 1).await.unwrap();
        while guarded.ids.lock().len() < 3 {
            tokio::task::yield_now().await;
        }
        slow.agree.add_permits(1);
    };
    let call = || phone.call("guarded__get_data", json!({}));
    let (a, b, c, ()) = tokio::join!(call(), call(), call(), release);
    for output in [a, b, c] {
        assert_eq!(output.unwrap().structured.unwrap().get(), "[1]");
    }
    assert_eq!(*slow.asked.borrow(), 1);
    assert_eq!(guarded.ids.lock().len(), 6, "each was made twice");
}

#[tokio::test]
async fn a_question_without_an_answer_times_out() {
    let (_guarded, app) = GuardedApp::app(None);
    let slow = Arc::new(SlowPrompt { agree: tokio::sync::Semaphore::new(0), asked: watch::Sender::new(0) });
    let options = BridgeOptions { consent_timeout: Duration::from_millis(30), ..options() };
    let phone = BridgeHarness::start(vec![app], slow, ProviderNames::default(), options);
    phone.wait_for_scan(1).await;
    let error = phone.call_error("guarded__get_data").await;
    assert_eq!(error.code, Code::AuthRequired);
    assert!(error.message.contains("in time"), "{error}");
}

#[tokio::test]
async fn an_app_that_lists_only_when_authorized_is_listed_afterwards() {
    let allowed = Arc::new(Mutex::new(false));
    let opened = Arc::clone(&allowed);
    let answer = move |call: &HostCall| {
        if *allowed.lock() {
            return good(call);
        }
        Ok(Some(error("AUTH_REQUIRED", "Sign in first").with("authorize_intent", "com.shy.ALLOW")))
    };
    let asked = Arc::new(ScriptedPrompt::default());
    let prompt = Arc::clone(&asked) as Arc<dyn AuthorizationPrompt>;
    let phone = BridgeHarness::start(
        vec![MemoryApp::cetp("com.shy", answer)],
        prompt,
        ProviderNames::default(),
        options(),
    );
    phone.host.on_open(move |_, _| {
        *opened.lock() = true;
        true
    });
    let overview = phone.wait_for_scan(1).await;
    assert!(
        matches!(state(&overview, "com.shy"), ProviderState::AuthorizationRequired { message, .. } if message == "Sign in first")
    );
    assert!(phone.names().is_empty());
    assert!(asked.requests.lock().is_empty(), "nobody is asked in the middle of a scan");
    let offers: Vec<_> =
        asked.offers.lock().iter().map(|offer| (offer.package.clone(), offer.tool.clone())).collect();
    assert_eq!(offers, [("com.shy".to_owned(), None)]);
    let authority = overview.providers[0].authority.clone();
    assert_eq!(phone.bridge.authorize(&authority).await, Some(AuthorizationOutcome::Returned));
    phone
        .wait_for_overview("the tools", |overview| overview.providers[0].state == ProviderState::Ready)
        .await;
    assert_eq!(phone.names(), ["shy__get_data"]);
    assert_eq!(phone.bridge.authorize(&authority).await, None, "it does not ask any more");
}

#[tokio::test]
async fn after_declining_the_user_is_not_asked_for_a_while() {
    let (guarded, app) = GuardedApp::app(Some("com.guarded.ALLOW"));
    let asked = Arc::new(ScriptedPrompt { declines: true, ..ScriptedPrompt::default() });
    let prompt = Arc::clone(&asked) as Arc<dyn AuthorizationPrompt>;
    let phone = BridgeHarness::start(vec![app], prompt, ProviderNames::default(), options());
    phone.wait_for_scan(1).await;
    for _ in 0..3 {
        assert_eq!(phone.call_error("guarded__get_data").await.code, Code::AuthRequired);
    }
    assert_eq!((asked.requests.lock().len(), guarded.ids.lock().len()), (1, 3));
}
