//! The user is asked, the app's screen opened, the call made once more.

use super::*;

#[tokio::test]
async fn a4_a_denial_is_not_tried_again_and_opens_nothing() {
    let calls = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&calls);
    let denied = executing(move |_| {
        *counted.lock() += 1;
        Ok(Some(error("PERMISSION_DENIED", "Unauthorized caller")))
    });
    let security = executing(|_| Err(CallFailure::Security("Permission Denial: opening provider".into())));
    let asked = Arc::new(Asking::default());
    let phone = Phone::start(
        vec![App::cetp("com.denied", denied), App::cetp("com.security", security)],
        Arc::clone(&asked) as Arc<dyn AuthorizationPrompt>,
        Names::default(),
        Options { launch_apps: true, ..options() },
    );
    phone.host.on_open(|package, _| panic!("{package} was opened"));
    phone.scanned(2).await;
    let error = phone.fails("denied__get_data").await;
    assert_eq!((error.code, error.message.as_str()), (Code::Denied, "Unauthorized caller"));
    assert_eq!(*calls.lock(), 1);
    let error = phone.fails("security__get_data").await;
    assert_eq!(error.code, Code::Denied);
    assert!(error.message.contains("Permission Denial"));
    assert!(asked.requests.lock().is_empty());
}

/// A user who agrees, or does not, and comes back once the app was opened.
#[derive(Default)]
struct Asking {
    declines: bool,
    requests: Mutex<Vec<AuthorizationRequest>>,
    offers: Mutex<Vec<AuthorizationRequest>>,
}

#[async_trait::async_trait]
impl AuthorizationPrompt for Asking {
    async fn agree(&self, request: &AuthorizationRequest) -> Agreement {
        self.requests.lock().push(request.clone());
        if self.declines { Agreement::Declined } else { Agreement::Agreed }
    }

    async fn returned(&self, _: &AuthorizationRequest) {}

    fn offer(&self, request: &AuthorizationRequest) {
        self.offers.lock().push(request.clone());
    }
}

/// An app that wants to be allowed, is once it was opened, and counts its calls.
struct Guarded {
    allowed: Arc<Mutex<bool>>,
    ids: Arc<Mutex<Vec<String>>>,
}

impl Guarded {
    fn app(intent: Option<&'static str>) -> (Self, App) {
        let this = Self { allowed: Arc::default(), ids: Arc::default() };
        let (allowed, ids) = (Arc::clone(&this.allowed), Arc::clone(&this.ids));
        let answer = executing(move |call| {
            let Some(Value::Text(id)) = call.extras.as_ref().unwrap().get("request_id") else { panic!() };
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
        (this, App::cetp("com.guarded", answer))
    }
}

#[tokio::test]
async fn a6_after_authorising_the_call_is_made_once_more_with_the_same_id() {
    let (guarded, app) = Guarded::app(Some("com.guarded.ALLOW"));
    let asked = Arc::new(Asking::default());
    let prompt = Arc::clone(&asked) as Arc<dyn AuthorizationPrompt>;
    let phone = Phone::start(vec![app], prompt, Names::default(), options());
    let allowed = Arc::clone(&guarded.allowed);
    phone.host.on_open(move |package, action| {
        assert_eq!((package, action), ("com.guarded", Some("com.guarded.ALLOW")));
        *allowed.lock() = true;
        true
    });
    phone.scanned(1).await;
    let output = phone.call("guarded__get_data", json!({})).await.unwrap();
    assert_eq!(output.structured.unwrap().get(), "[1]");
    let ids = guarded.ids.lock().clone();
    assert_eq!(ids.len(), 2, "once before, once after");
    assert_eq!(ids[0], ids[1]);
    let request = asked.requests.lock()[0].clone();
    assert_eq!((request.tool.as_deref(), request.hint.as_deref()), (Some("get_data"), Some("Open the app")));
}

#[tokio::test]
async fn a6_an_app_that_still_refuses_is_asked_no_third_time() {
    let (guarded, app) = Guarded::app(None);
    let prompt = Arc::new(Asking::default());
    let phone = Phone::start(vec![app], prompt, Names::default(), options());
    phone.host.on_open(|package, action| {
        assert_eq!((package, action), ("com.guarded", None), "without an intent the app itself is offered");
        true
    });
    phone.scanned(1).await;
    let error = phone.fails("guarded__get_data").await;
    assert_eq!(error.code, Code::AuthRequired);
    assert_eq!(error.hint.as_deref(), Some("Open the app"));
    assert_eq!(guarded.ids.lock().len(), 2);
}

#[tokio::test]
async fn a5_an_intent_is_opened_in_its_own_package_or_not_at_all() {
    let (guarded, app) = Guarded::app(Some("android.settings.SETTINGS"));
    let asked = Arc::new(Asking::default());
    let prompt = Arc::clone(&asked) as Arc<dyn AuthorizationPrompt>;
    let phone = Phone::start(vec![app], prompt, Names::default(), options());
    let opened = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&opened);
    phone.host.on_open(move |package, action| {
        seen.lock().push((package.to_owned(), action.map(str::to_owned)));
        // The package has no such screen.
        false
    });
    phone.scanned(1).await;
    let error = phone.fails("guarded__get_data").await;
    assert_eq!(error.code, Code::AuthRequired);
    assert!(error.message.contains("no screen"), "{error}");
    assert_eq!(error.authorize_intent.unwrap().get(), r#""android.settings.SETTINGS""#);
    let expected = [("com.guarded".to_owned(), Some("android.settings.SETTINGS".to_owned()))];
    assert_eq!(*opened.lock(), expected, "only ever with the package set, and its icon is not a way out");
    assert_eq!(guarded.ids.lock().len(), 1, "not called again");
}

#[tokio::test]
async fn a_user_who_declines_is_asked_once_and_nothing_is_opened() {
    let (guarded, app) = Guarded::app(Some("com.guarded.ALLOW"));
    let asked = Arc::new(Asking { declines: true, ..Asking::default() });
    let prompt = Arc::clone(&asked) as Arc<dyn AuthorizationPrompt>;
    let phone = Phone::start(vec![app], prompt, Names::default(), options());
    phone.host.on_open(|package, _| panic!("{package} was opened"));
    phone.scanned(1).await;
    let error = phone.fails("guarded__get_data").await;
    assert_eq!(error.code, Code::AuthRequired);
    assert!(error.message.contains("did not want"), "{error}");
    assert_eq!(guarded.ids.lock().len(), 1);
    assert_eq!(asked.requests.lock().len(), 1);
}

/// A user who thinks until they are told to agree.
struct Slow {
    agree: tokio::sync::Semaphore,
    asked: watch::Sender<usize>,
}

#[async_trait::async_trait]
impl AuthorizationPrompt for Slow {
    async fn agree(&self, _: &AuthorizationRequest) -> Agreement {
        self.asked.send_modify(|asked| *asked += 1);
        self.agree.acquire().await.unwrap().forget();
        Agreement::Agreed
    }

    async fn returned(&self, _: &AuthorizationRequest) {}

    fn offer(&self, _: &AuthorizationRequest) {}
}

#[tokio::test]
async fn calls_that_wait_for_the_same_app_ask_once_together() {
    let (guarded, app) = Guarded::app(Some("com.guarded.ALLOW"));
    let slow = Arc::new(Slow { agree: tokio::sync::Semaphore::new(0), asked: watch::Sender::new(0) });
    let prompt = Arc::clone(&slow) as Arc<dyn AuthorizationPrompt>;
    let phone = Phone::start(vec![app], prompt, Names::default(), options());
    let allowed = Arc::clone(&guarded.allowed);
    phone.host.on_open(move |_, _| {
        *allowed.lock() = true;
        true
    });
    phone.scanned(1).await;
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
async fn a_user_who_never_answers_ends_the_wait_not_the_call_for_ever() {
    let (_guarded, app) = Guarded::app(None);
    let slow = Arc::new(Slow { agree: tokio::sync::Semaphore::new(0), asked: watch::Sender::new(0) });
    let options = Options { person_patience: Duration::from_millis(30), ..options() };
    let phone = Phone::start(vec![app], slow, Names::default(), options);
    phone.scanned(1).await;
    let error = phone.fails("guarded__get_data").await;
    assert_eq!(error.code, Code::AuthRequired);
    assert!(error.message.contains("in time"), "{error}");
}

#[tokio::test]
async fn an_app_that_lists_only_when_allowed_is_shown_offered_and_listed_afterwards() {
    let allowed = Arc::new(Mutex::new(false));
    let opened = Arc::clone(&allowed);
    let answer = move |call: &HostCall| {
        if *allowed.lock() {
            return good(call);
        }
        Ok(Some(error("AUTH_REQUIRED", "Sign in first").with("authorize_intent", "com.shy.ALLOW")))
    };
    let asked = Arc::new(Asking::default());
    let prompt = Arc::clone(&asked) as Arc<dyn AuthorizationPrompt>;
    let phone = Phone::start(vec![App::cetp("com.shy", answer)], prompt, Names::default(), options());
    phone.host.on_open(move |_, _| {
        *opened.lock() = true;
        true
    });
    let overview = phone.scanned(1).await;
    assert!(
        matches!(state(&overview, "com.shy"), State::AuthorizationRequired { message, .. } if message == "Sign in first")
    );
    assert!(phone.names().is_empty());
    assert!(asked.requests.lock().is_empty(), "nobody is asked in the middle of a scan");
    let offers: Vec<_> =
        asked.offers.lock().iter().map(|offer| (offer.package.clone(), offer.tool.clone())).collect();
    assert_eq!(offers, [("com.shy".to_owned(), None)]);
    let authority = overview.providers[0].authority.clone();
    assert_eq!(phone.bridge.authorize(&authority).await, Some(Asked::Returned));
    phone.until("the tools", |overview| overview.providers[0].state == State::Ready).await;
    assert_eq!(phone.names(), ["shy__get_data"]);
    assert_eq!(phone.bridge.authorize(&authority).await, None, "it does not ask any more");
}

#[tokio::test]
async fn who_declined_is_left_alone_for_a_while() {
    let (guarded, app) = Guarded::app(Some("com.guarded.ALLOW"));
    let asked = Arc::new(Asking { declines: true, ..Asking::default() });
    let prompt = Arc::clone(&asked) as Arc<dyn AuthorizationPrompt>;
    let phone = Phone::start(vec![app], prompt, Names::default(), options());
    phone.scanned(1).await;
    for _ in 0..3 {
        assert_eq!(phone.fails("guarded__get_data").await.code, Code::AuthRequired);
    }
    assert_eq!((asked.requests.lock().len(), guarded.ids.lock().len()), (1, 3));
}
