//! Tests the host that reaches a phone through `adb`: with the real program and its server, a real shell, and
//! a fake phone that is as strict as Android about commands and permissions.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking")]

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use toolway_android::bundle::{Bundle, BundleValue};
use toolway_android::host::adb::{AdbHost, AdbProgram};
use toolway_android::host::{
    AuthorizationScreen, CallFailure, ChangedPackages, DeclarationEntry, HostCall, ManifestMetaData,
    PackageChanges, ProviderDeclaration, ProviderHost,
};
use toolway_android::{cetp, mcp};
use toolway_fake_phone::{
    AdbServer, ExtraEscaping, ExtraValue, FakePhone, PhoneApp, PhoneSetup, ProviderReply, ProviderSetup,
    ReceivedCall, apps,
};

const CALCULATOR: &[u8] = include_bytes!("../../crates/android/fixtures/calculator/calculator.apk");
const AUTHORITY: &str = apps::NOTES_AUTHORITY;

type ProviderAnswerFn = Box<dyn Fn(&ReceivedCall) -> ProviderReply + Send + Sync>;

/// A phone with the open app, whose provider answers as the test says.
struct AdbHostHarness {
    adb: AdbServer,
    phone: FakePhone,
    host: AdbHost,
    answer: Arc<Mutex<ProviderAnswerFn>>,
}

impl AdbHostHarness {
    fn new() -> Self {
        Self::with_setup(PhoneSetup::default())
    }

    fn with_setup(setup: PhoneSetup) -> Self {
        let (adb, phone) = (AdbServer::start(), FakePhone::start(setup));
        adb.connect(&phone);
        let answer: Arc<Mutex<ProviderAnswerFn>> =
            Arc::new(Mutex::new(Box::new(|_| ProviderReply::success("{}"))));
        let answering = Arc::clone(&answer);
        phone.install(apps::notes(move |received| answering.lock()(received)));
        let host = adb_host(&adb, None);
        Self { adb, phone, host, answer }
    }

    fn set_reply(&self, reply: ProviderReply) {
        *self.answer.lock() = Box::new(move |_| reply.clone());
    }

    fn host_call(
        &self,
        authority: &str,
        method: &str,
        extras: Option<Bundle>,
    ) -> Result<Option<Bundle>, CallFailure> {
        self.host.call(&call(authority, method, extras))
    }
}

fn adb_host(adb: &AdbServer, serial: Option<&str>) -> AdbHost {
    let program = AdbProgram { path: adb.program(), environment: adb.environment() };
    AdbHost::new(program, serial.map(str::to_owned))
}

fn call(authority: &str, method: &str, extras: Option<Bundle>) -> HostCall {
    HostCall {
        authority: authority.to_owned(),
        method: method.to_owned(),
        extras,
        timeout: Duration::from_secs(20),
    }
}

fn execute_extras(args: &str) -> Bundle {
    Bundle::new().with("tool_name", "find").with("args", args).with("request_id", "0198-a")
}

#[test]
fn all_declared_providers_are_found() {
    let bench = AdbHostHarness::new();
    bench.phone.install(apps::finance());
    bench.phone.install(apps::weather());
    let never = |_: &ReceivedCall| ProviderReply::Null;
    bench.phone.install(
        PhoneApp::new("com.example.calculator", CALCULATOR).provider(
            ProviderSetup::new("com.example.calculator.tools", ".Tools", never)
                .guarded(mcp::PERMISSION)
                .action(mcp::ACTION),
        ),
    );
    // An installed app without tools.
    bench.phone.install(PhoneApp::new("com.example.quiet", apps::WEATHER_APK));
    let mut found = bench.host.discover(None).unwrap();
    found.sort_by(|a, b| a.package.cmp(&b.package));
    let declared = |package: &str, label: &str, component: &str, entry| ProviderDeclaration {
        package: format!("com.example.{package}"),
        label: Some(label.to_owned()),
        // As printed by `apksigner verify --print-certs`.
        certificate: Some("e85886ee43f4371a7d6444ff612af38f505aed5c1eb89ce50754d972778f7262".to_owned()),
        component: format!("com.example.{package}{component}"),
        exported: true,
        entry,
    };
    let cetp = |authority: &str| DeclarationEntry::CetpService {
        authority: Some(ManifestMetaData::Text(authority.to_owned())),
        version: Some(ManifestMetaData::Int(1)),
    };
    assert_eq!(
        found,
        [
            declared(
                "calculator",
                "Calculator",
                ".Tools",
                DeclarationEntry::McpAction { authorities: "com.example.calculator.tools".to_owned() }
            ),
            declared(
                "finance",
                "Finance",
                ".clawseed.ToolProviderService",
                cetp("com.example.finance.clawseed.tools")
            ),
            declared("notes", "Notes", ".Discovery", cetp(AUTHORITY)),
            declared(
                "weather",
                "Weather",
                ".McpToolProvider",
                DeclarationEntry::McpMimeType { authorities: "com.example.weather.mcptool".to_owned() }
            ),
        ]
    );
    let one = bench.host.discover(Some(&["com.example.weather".to_owned()])).unwrap();
    assert_eq!(one.len(), 1);
    let owner = bench.host.resolve("com.example.finance.clawseed.tools").unwrap().unwrap();
    assert_eq!(owner.package, "com.example.finance");
    assert_eq!(owner.class, "com.example.finance.clawseed.FinanceToolProvider");
    assert!(owner.exported);
    assert_eq!(owner.read_permission.as_deref(), Some(cetp::PERMISSION));
    assert_eq!(bench.host.resolve("com.example.nobody").unwrap(), None);
    assert_eq!(bench.host.unreadable_apps(), []);
}

#[test]
fn an_invalid_apk_is_reported_and_does_not_affect_others() {
    let bench = AdbHostHarness::new();
    bench.phone.install(PhoneApp { apk: b"no zip".to_vec(), ..apps::finance() });
    let found = bench.host.discover(None).unwrap();
    assert_eq!(found.len(), 2);
    let unread = bench.host.unreadable_apps();
    assert_eq!(unread.len(), 1);
    assert_eq!(unread[0].0, "com.example.finance");
    assert!(unread[0].1.starts_with("not an APK"), "{unread:?}");
}

#[test]
fn a_reinstalled_app_is_read_again() {
    let bench = AdbHostHarness::new();
    assert_eq!(bench.host.discover(None).unwrap()[0].label.as_deref(), Some("Notes"));
    bench.phone.install(PhoneApp { apk: apps::WEATHER_APK.to_vec(), ..apps::notes(|_| ProviderReply::Null) });
    // The same version under the same name; only the path differs.
    assert_eq!(bench.host.discover(None).unwrap(), []);
}

#[test]
fn values_arrive_unchanged_with_both_escaping_styles() {
    for escaping in [ExtraEscaping::Raw, ExtraEscaping::Backslash] {
        let bench = AdbHostHarness::with_setup(PhoneSetup { escaping, ..PhoneSetup::default() });
        for text in [
            "{}",
            r#"{"a":"b","c":[1,2,{"d":null}]}"#,
            r#"{"path":"C:\\x\\\"y\"","re":"\\d+:\\w"}"#,
            "it's; $(reboot) `id` \"x\" $HOME * ~ # & | > < ! \\",
            "two\nlines\tand a tab",
            "smile \u{1f600} – ü",
            "",
            " ",
            "--extra",
            "a:s:b",
            "\\",
            "':'",
        ] {
            let got = bench.host_call(AUTHORITY, cetp::EXECUTE_TOOL, Some(execute_extras(text)));
            assert_eq!(got, Ok(Some(Bundle::new().with("status", "success").with("data", "{}"))), "{text:?}");
            let received = bench.phone.received_calls().pop().unwrap();
            assert_eq!(received.method, "execute_tool");
            assert_eq!(received.text("args"), Some(text), "{escaping:?}");
            assert_eq!(received.text("tool_name"), Some("find"));
            assert_eq!(received.extras.len(), 3);
        }
    }
}

#[test]
fn numbers_and_flags_keep_their_type_if_the_phone_supports_it() {
    let extras = || {
        Bundle::from_iter([
            ("flag".to_owned(), BundleValue::Boolean(true)),
            ("long".to_owned(), BundleValue::Long(-5)),
            ("double".to_owned(), BundleValue::Double(0.5)),
            ("nothing".to_owned(), BundleValue::Null),
        ])
    };
    for escaping in [ExtraEscaping::Raw, ExtraEscaping::Backslash] {
        let bench = AdbHostHarness::with_setup(PhoneSetup { escaping, ..PhoneSetup::default() });
        bench.host_call(AUTHORITY, "m", Some(extras())).unwrap();
        let received = bench.phone.received_calls().pop().unwrap();
        let all: Vec<_> = received.extras.into_iter().collect();
        assert_eq!(
            all,
            [
                ("double".to_owned(), ExtraValue::Double(0.5)),
                ("flag".to_owned(), ExtraValue::Boolean(true)),
                ("long".to_owned(), ExtraValue::Long(-5)),
            ]
        );
        let int = bench.host_call(AUTHORITY, "m", Some(extras().with("int", 7)));
        match escaping {
            ExtraEscaping::Backslash => {
                int.unwrap();
                assert_eq!(bench.phone.received_calls().pop().unwrap().extras["int"], ExtraValue::Int(7));
            }
            ExtraEscaping::Raw => assert_eq!(
                int,
                Err(CallFailure::Unsupported(
                    "int is an int, which the adb shell of Android 10 and older can't pass".to_owned()
                ))
            ),
        }
    }
}

#[test]
fn a_call_without_extras_gives_an_empty_bundle() {
    let bench = AdbHostHarness::new();
    bench.host_call(AUTHORITY, cetp::LIST_TOOLS, None).unwrap();
    let received = bench.phone.received_calls();
    assert_eq!(received.len(), 1, "one call, and no probe");
    assert!(received[0].extras.is_empty());
}

#[test]
fn errors_of_a_provider_arrive_complete() {
    let bench = AdbHostHarness::new();
    bench.set_reply(ProviderReply::bundle(&[
        ("status", "error"),
        ("error_code", "AUTH_REQUIRED"),
        ("error_message", "Not allowed yet, status=success, data={}"),
        ("resolution_hint", "Open Notes, then allow it"),
        ("authorize_intent", "com.example.notes.ALLOW"),
    ]));
    let got = bench.host_call(AUTHORITY, cetp::LIST_TOOLS, None).unwrap().unwrap();
    let expected = Bundle::new()
        .with("status", "error")
        .with("error_code", "AUTH_REQUIRED")
        .with("error_message", "Not allowed yet, status=success, data={}")
        .with("resolution_hint", "Open Notes, then allow it")
        .with("authorize_intent", "com.example.notes.ALLOW");
    assert_eq!(got, expected);
}

#[test]
fn a_large_answer_arrives_complete() {
    let bench = AdbHostHarness::new();
    let data = format!(r#"{{"text":"{}"}}"#, "ü:\\\\ ".repeat(150_000));
    bench.set_reply(ProviderReply::success(&data));
    let got = bench.host_call(AUTHORITY, cetp::LIST_TOOLS, None).unwrap().unwrap();
    assert_eq!(got.get("data"), Some(&data.into()));
    bench.set_reply(ProviderReply::success(&"x".repeat(5 << 20)));
    assert_eq!(
        bench.host_call(AUTHORITY, cetp::LIST_TOOLS, None),
        Err(CallFailure::TooLarge("the answer has more than 4194304 bytes".to_owned()))
    );
}

#[test]
fn a_missing_bundle_is_none_on_every_phone() {
    for escaping in [ExtraEscaping::Raw, ExtraEscaping::Backslash] {
        let bench = AdbHostHarness::with_setup(PhoneSetup { escaping, ..PhoneSetup::default() });
        bench.set_reply(ProviderReply::Null);
        assert_eq!(bench.host_call(AUTHORITY, cetp::LIST_TOOLS, None), Ok(None));
    }
}

#[test]
fn exceptions_are_distinguished() {
    let bench = AdbHostHarness::new();
    let thrown = |reply| {
        bench.set_reply(reply);
        bench.host_call(AUTHORITY, cetp::LIST_TOOLS, None).unwrap_err()
    };
    assert_eq!(
        thrown(ProviderReply::Throws("java.lang.IllegalStateException: the database is locked".to_owned())),
        CallFailure::Threw {
            class: "java.lang.IllegalStateException".to_owned(),
            message: "the database is locked".to_owned()
        }
    );
    assert!(matches!(thrown(ProviderReply::Dies), CallFailure::Died(_)));
    assert_eq!(
        thrown(ProviderReply::Throws(
            "android.os.TransactionTooLargeException: data parcel size 2000000 bytes".to_owned()
        )),
        CallFailure::TooLarge("data parcel size 2000000 bytes".to_owned())
    );
    assert!(matches!(thrown(ProviderReply::Prints("Killed\n".to_owned())), CallFailure::Threw { .. }));
    assert_eq!(
        bench.host_call("com.example.nobody", cetp::LIST_TOOLS, None),
        Err(CallFailure::UnknownAuthority("Could not find provider: com.example.nobody".to_owned()))
    );
}

#[test]
fn a_guarded_provider_is_refused_with_a_hint_and_never_called_a4() {
    let bench = AdbHostHarness::new();
    bench.phone.install(apps::finance());
    assert_eq!(
        bench.host_call("com.example.finance.clawseed.tools", cetp::LIST_TOOLS, None),
        Err(CallFailure::Security(
            "Permission Denial: opening provider com.example.finance.clawseed.FinanceToolProvider from (null) \
             (pid=4712, uid=2000) requires com.clawseed.permission.ACCESS_TOOLS or \
             com.clawseed.permission.ACCESS_TOOLS. The adb shell has no app permissions"
                .to_owned()
        ))
    );
    let private = ProviderSetup::new("com.example.private", ".Private", |_| ProviderReply::Null).private();
    bench.phone.install(PhoneApp::new("com.example.private", apps::WEATHER_APK).provider(private));
    let refused = bench.host_call("com.example.private", cetp::LIST_TOOLS, None).unwrap_err();
    assert!(
        matches!(&refused, CallFailure::Security(why) if why.contains("that is not exported from UID 10123")),
        "{refused:?}"
    );
    assert_eq!(bench.phone.received_calls(), []);
    assert_eq!(bench.host.permission_hint(), "call it from the bridge app on the phone, or run `adb root`");
}

#[test]
fn adb_root_is_recommended_only_where_it_works() {
    let hint = |setup: PhoneSetup| {
        let bench = AdbHostHarness::with_setup(setup);
        bench.host.info().unwrap();
        bench.host.permission_hint()
    };
    let sold = PhoneSetup { is_debuggable: false, ..PhoneSetup::default() };
    assert_eq!(hint(sold), "call it from the bridge app on the phone, or use an emulator with a root shell");
    let rooted = PhoneSetup { is_root: true, ..PhoneSetup::default() };
    assert_eq!(hint(rooted), "call it from the bridge app on the phone");
}

#[test]
fn an_authorization_screen_is_found_without_opening_it() {
    let bench = AdbHostHarness::new();
    let find = |action: &str| bench.host.find_authorization_screen("com.example.notes", action).unwrap();
    let class = "com.example.notes.Allow".to_owned();
    assert_eq!(find("com.example.notes.ALLOW"), AuthorizationScreen::Found { class });
    assert_eq!(find("com.example.notes.MISSPELLED"), AuthorizationScreen::Missing);
    assert_eq!(find("'; am start -n com.example.notes/.Allow; '"), AuthorizationScreen::Missing);
    assert_eq!(bench.phone.opened_activities(), Vec::<String>::new());
}

#[test]
fn a_root_shell_needs_no_permission() {
    let bench = AdbHostHarness::with_setup(PhoneSetup { is_root: true, user: 10, ..PhoneSetup::default() });
    let answer = |_: &ReceivedCall| ProviderReply::success("{\"tools\":[]}");
    let guarded = ProviderSetup::new("com.example.guarded", ".P", answer).guarded(cetp::PERMISSION);
    bench.phone.install(PhoneApp::new("com.example.guarded", apps::WEATHER_APK).provider(guarded));
    assert!(bench.host_call("com.example.guarded", cetp::LIST_TOOLS, None).unwrap().is_some());
    assert_eq!(bench.phone.received_calls()[0].user, 10, "the apps of whoever is in front");
    let info = bench.host.info().unwrap();
    assert!(info.is_root);
    assert_eq!((info.model.as_str(), info.api_level), ("Fake Phone", Some(35)));
    assert_eq!(info.serial, bench.phone.serial());
}

#[test]
fn an_mcp_tool_is_listed_but_its_map_cannot_be_sent() {
    let bench = AdbHostHarness::new();
    bench.phone.install(apps::weather());
    let got = bench.host_call("com.example.weather.mcptool", mcp::GET_TOOL_INFO, None).unwrap().unwrap();
    assert_eq!(got.get("success"), Some(&true.into()));
    assert_eq!(got.get("tool_name"), Some(&"get_weather_forecast".into()));
    assert_eq!(got.get("tool_input_required"), Some(&BundleValue::Other("java.lang.String[]".to_owned())));
    let extras = Bundle::from_iter([
        ("tool_name".to_owned(), "get_weather_forecast".into()),
        ("tool_arguments".to_owned(), BundleValue::Map(vec![("location".to_owned(), "Bern".to_owned())])),
    ]);
    assert_eq!(
        bench.host_call("com.example.weather.mcptool", mcp::EXECUTE_TOOL, Some(extras)),
        Err(CallFailure::Unsupported(
            "tool_arguments is a map, which adb can't pass; call tools of the MCP dialects from an app"
                .to_owned()
        ))
    );
    assert_eq!(bench.phone.received_calls().len(), 1);
    let info = call("com.example.weather.mcptool", mcp::GET_TOOL_INFO, None);
    let refused = bench.host.clone().for_calls().call(&info).unwrap_err();
    assert!(matches!(refused, CallFailure::Unsupported(_)), "{refused:?}");
    assert_eq!(bench.phone.received_calls().len(), 1, "it is not even asked");
}

#[test]
fn a_hanging_call_ends_at_its_timeout() {
    let bench = AdbHostHarness::new();
    bench.host.info().unwrap();
    bench.set_reply(ProviderReply::Hangs);
    let hanging = HostCall { timeout: Duration::from_millis(300), ..call(AUTHORITY, cetp::LIST_TOOLS, None) };
    assert_eq!(bench.host.call(&hanging), Err(CallFailure::TimedOut));
    assert_eq!(bench.phone.received_calls().len(), 1);
}

#[test]
fn a_pulled_cable_is_reported_and_the_phone_comes_back() {
    let bench = AdbHostHarness::new();
    bench.host.info().unwrap();
    let (called, wait) = std::sync::mpsc::sync_channel(1);
    *bench.answer.lock() = Box::new(move |_| {
        called.send(()).unwrap();
        ProviderReply::Hangs
    });
    let host = bench.host.clone();
    let calling = std::thread::spawn(move || host.call(&call(AUTHORITY, cetp::LIST_TOOLS, None)));
    wait.recv_timeout(Duration::from_secs(20)).unwrap();
    bench.phone.unplug();
    let serial = bench.phone.serial();
    match calling.join().unwrap() {
        Err(CallFailure::Host(error)) => {
            assert_eq!(error.message, format!("the phone {serial} is no longer connected"));
        }
        other => panic!("{other:?}"),
    }
    bench.set_reply(ProviderReply::success("{\"tools\":[]}"));
    let away = bench.host_call(AUTHORITY, cetp::LIST_TOOLS, None).unwrap_err();
    assert!(matches!(away, CallFailure::Host(_)), "{away:?}");
    bench.phone.plug();
    bench.adb.connect(&bench.phone);
    assert!(bench.host_call(AUTHORITY, cetp::LIST_TOOLS, None).unwrap().is_some());
}

#[test]
fn an_unauthorized_phone_is_reported() {
    let (adb, phone) =
        (AdbServer::start(), FakePhone::start(PhoneSetup { is_authorized: false, ..PhoneSetup::default() }));
    adb.connect(&phone);
    let error = adb_host(&adb, None).info().unwrap_err();
    assert!(error.message.contains("has not allowed this computer yet"), "{error}");
    assert_eq!(error.hint.as_deref(), Some("unlock the phone and allow USB debugging in the dialog"));
}

#[test]
fn with_several_phones_one_must_be_selected() {
    let (adb, one, other) = (
        AdbServer::start(),
        FakePhone::start(PhoneSetup::default()),
        FakePhone::start(PhoneSetup::default()),
    );
    let nobody = adb_host(&adb, None).info().unwrap_err();
    assert_eq!(nobody.message, "no phone is connected");
    adb.connect(&one);
    adb.connect(&other);
    let error = adb_host(&adb, None).info().unwrap_err();
    assert!(error.message.starts_with("several phones are connected: 127.0.0.1:"), "{error}");
    assert!(error.message.contains(&format!("{} (Fake Phone)", one.serial())), "{error}");
    assert_eq!(error.hint.as_deref(), Some("select one with --serial SERIAL"));
    assert_eq!(adb_host(&adb, Some(&other.serial())).info().unwrap().serial, other.serial());
    let wrong = adb_host(&adb, Some("X")).info().unwrap_err();
    assert!(wrong.message.starts_with("the phone X is not connected; connected: "), "{wrong}");
}

#[test]
fn a_missing_adb_program_is_reported() {
    let program = AdbProgram { path: "/nowhere/adb".into(), environment: Vec::new() };
    let error = AdbHost::new(program, None).discover(None).unwrap_err();
    assert_eq!(error.message, "program not found: /nowhere/adb");
    assert!(error.hint.unwrap().contains("platform tools"));
}

#[test]
fn the_app_that_defines_a_permission_is_found() {
    let bench = AdbHostHarness::new();
    assert_eq!(bench.host.permission(cetp::PERMISSION).unwrap(), None);
    bench.phone.install(apps::finance());
    let owner = bench.host.permission(cetp::PERMISSION).unwrap().unwrap();
    assert_eq!((owner.package.as_str(), owner.protection.as_str()), ("com.example.finance", "normal"));
}

#[test]
fn an_authorization_screen_opens_only_in_the_providers_own_app_a5() {
    let bench = AdbHostHarness::new();
    bench.phone.install(
        PhoneApp::new("com.example.evil", apps::WEATHER_APK).activity("com.example.evil.STEAL", ".Steal"),
    );
    assert!(bench.host.open_authorization("com.example.notes", "com.example.notes.ALLOW").unwrap());
    assert!(!bench.host.open_authorization("com.example.notes", "com.example.evil.STEAL").unwrap());
    assert!(!bench.host.open_authorization("com.example.notes", "x -n com.example.evil/.Steal").unwrap());
    assert!(
        !bench
            .host
            .open_authorization("com.example.notes", "'; am start -n com.example.evil/.Steal; '")
            .unwrap()
    );
    assert!(bench.host.launch("com.example.notes").unwrap());
    assert!(!bench.host.launch("com.example.nobody").unwrap());
    assert!(!bench.host.wake(AUTHORITY).unwrap());
    let screen = "com.example.notes/com.example.notes.Allow";
    assert_eq!(bench.phone.opened_activities(), [screen, screen]);
}

#[test]
fn changes_on_the_phone_are_reported_by_package() {
    let bench = AdbHostHarness::new();
    bench.phone.install(apps::finance());
    let changes = PackageChanges::default();
    bench.host.watch(changes.clone()).unwrap();
    let heard = |what: &dyn Fn(&ChangedPackages) -> bool| {
        for _ in 0..3_000 {
            if let Some(changed) = changes.take()
                && what(&changed)
            {
                return;
            }
            std::thread::park_timeout(Duration::from_millis(10));
        }
        panic!("it was never told");
    };
    let names = |package: &'static str| move |changed: &ChangedPackages| matches!(changed, ChangedPackages::Packages(all) if all.contains(package));
    let everything = |changed: &ChangedPackages| matches!(changed, ChangedPackages::Everything);
    // Until its first check has ended, a change may be part of the initial state.
    let mut at = 0;
    while !matches!(changes.take(), Some(ChangedPackages::Packages(_))) {
        bench.phone.install(apps::weather());
        at += 1;
        assert!(at < 3_000);
        std::thread::park_timeout(Duration::from_millis(10));
    }
    bench.phone.uninstall("com.example.finance");
    heard(&names("com.example.finance"));
    bench.phone.unplug();
    heard(&everything);
    bench.phone.plug();
    bench.adb.connect(&bench.phone);
    heard(&everything);
    changes.close();
}
