//! The host that reaches a phone through `adb`: with the real program and its own server, a real shell, and a phone
//! that is as strict as Android in what its commands take and whom they let through.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking")]

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use toolway_android::bundle::{Bundle, Value};
use toolway_android::host::adb::{AdbHost, AdbProgram};
use toolway_android::host::{
    CallFailure, Changed, Declaration, Entry, HostCall, MetaData, PackageChanges, ProviderHost,
};
use toolway_android::{cetp, mcp};
use toolway_fake_phone::{Adb, App, Escaping, FakePhone, ProviderSetup, Received, Reply, Setup, Typed, apps};

const CALCULATOR: &[u8] = include_bytes!("../../crates/android/fixtures/calculator/calculator.apk");
const AUTHORITY: &str = apps::NOTES_AUTHORITY;

type Answer = Box<dyn Fn(&Received) -> Reply + Send + Sync>;

/// A phone with the open app on it, whose provider answers as it is told.
struct Bench {
    adb: Adb,
    phone: FakePhone,
    host: AdbHost,
    answer: Arc<Mutex<Answer>>,
}

impl Bench {
    fn new() -> Self {
        Self::with(Setup::default())
    }

    fn with(setup: Setup) -> Self {
        let (adb, phone) = (Adb::start(), FakePhone::start(setup));
        adb.connect(&phone);
        let answer: Arc<Mutex<Answer>> = Arc::new(Mutex::new(Box::new(|_| Reply::success("{}"))));
        let answering = Arc::clone(&answer);
        phone.install(apps::notes(move |received| answering.lock()(received)));
        let host = host(&adb, None);
        Self { adb, phone, host, answer }
    }

    fn answers(&self, reply: Reply) {
        *self.answer.lock() = Box::new(move |_| reply.clone());
    }

    fn call(
        &self,
        authority: &str,
        method: &str,
        extras: Option<Bundle>,
    ) -> Result<Option<Bundle>, CallFailure> {
        self.host.call(&call(authority, method, extras))
    }
}

fn host(adb: &Adb, serial: Option<&str>) -> AdbHost {
    let program = AdbProgram { path: adb.program(), environment: adb.environment() };
    AdbHost::new(program, serial.map(str::to_owned))
}

fn call(authority: &str, method: &str, extras: Option<Bundle>) -> HostCall {
    HostCall {
        authority: authority.to_owned(),
        method: method.to_owned(),
        extras,
        patience: Duration::from_secs(20),
    }
}

fn execute(args: &str) -> Bundle {
    Bundle::new().with("tool_name", "find").with("args", args).with("request_id", "0198-a")
}

#[test]
fn everything_that_is_declared_is_found() {
    let bench = Bench::new();
    bench.phone.install(apps::finance());
    bench.phone.install(apps::weather());
    let never = |_: &Received| Reply::Null;
    bench.phone.install(
        App::new("com.example.calculator", CALCULATOR).provider(
            ProviderSetup::new("com.example.calculator.tools", ".Tools", never)
                .guarded(mcp::PERMISSION)
                .action(mcp::ACTION),
        ),
    );
    // One that is there and offers nothing.
    bench.phone.install(App::new("com.example.quiet", apps::WEATHER_APK));
    let mut found = bench.host.discover(None).unwrap();
    found.sort_by(|a, b| a.package.cmp(&b.package));
    let declared = |package: &str, label: &str, component: &str, entry| Declaration {
        package: format!("com.example.{package}"),
        label: Some(label.to_owned()),
        // As `apksigner verify --print-certs` has it.
        certificate: Some("e85886ee43f4371a7d6444ff612af38f505aed5c1eb89ce50754d972778f7262".to_owned()),
        component: format!("com.example.{package}{component}"),
        exported: true,
        entry,
    };
    let cetp = |authority: &str| Entry::CetpService {
        authority: Some(MetaData::Text(authority.to_owned())),
        version: Some(MetaData::Int(1)),
    };
    assert_eq!(
        found,
        [
            declared(
                "calculator",
                "Calculator",
                ".Tools",
                Entry::McpAction { authorities: "com.example.calculator.tools".to_owned() }
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
                Entry::McpMimeType { authorities: "com.example.weather.mcptool".to_owned() }
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
    assert_eq!(bench.host.unread(), []);
}

#[test]
fn an_apk_that_is_none_is_told_and_keeps_nobody_else_from_being_found() {
    let bench = Bench::new();
    bench.phone.install(App { apk: b"no zip".to_vec(), ..apps::finance() });
    let found = bench.host.discover(None).unwrap();
    assert_eq!(found.len(), 2);
    let unread = bench.host.unread();
    assert_eq!(unread.len(), 1);
    assert_eq!(unread[0].0, "com.example.finance");
    assert!(unread[0].1.starts_with("it is no APK"), "{unread:?}");
}

#[test]
fn an_app_that_is_installed_anew_is_read_anew() {
    let bench = Bench::new();
    assert_eq!(bench.host.discover(None).unwrap()[0].label.as_deref(), Some("Notes"));
    bench.phone.install(App { apk: apps::WEATHER_APK.to_vec(), ..apps::notes(|_| Reply::Null) });
    // The same version under the same name: only the path is another one.
    assert_eq!(bench.host.discover(None).unwrap(), []);
}

#[test]
fn values_arrive_as_they_were_in_both_styles() {
    for escaping in [Escaping::Raw, Escaping::Backslash] {
        let bench = Bench::with(Setup { escaping, ..Setup::default() });
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
            let got = bench.call(AUTHORITY, cetp::EXECUTE_TOOL, Some(execute(text)));
            assert_eq!(got, Ok(Some(Bundle::new().with("status", "success").with("data", "{}"))), "{text:?}");
            let received = bench.phone.received().pop().unwrap();
            assert_eq!(received.method, "execute_tool");
            assert_eq!(received.text("args"), Some(text), "{escaping:?}");
            assert_eq!(received.text("tool_name"), Some("find"));
            assert_eq!(received.extras.len(), 3);
        }
    }
}

#[test]
fn numbers_and_flags_keep_their_type_where_the_phone_can() {
    let extras = || {
        Bundle::from_iter([
            ("flag".to_owned(), Value::Boolean(true)),
            ("long".to_owned(), Value::Long(-5)),
            ("double".to_owned(), Value::Double(0.5)),
            ("nothing".to_owned(), Value::Null),
        ])
    };
    for escaping in [Escaping::Raw, Escaping::Backslash] {
        let bench = Bench::with(Setup { escaping, ..Setup::default() });
        bench.call(AUTHORITY, "m", Some(extras())).unwrap();
        let received = bench.phone.received().pop().unwrap();
        let all: Vec<_> = received.extras.into_iter().collect();
        assert_eq!(
            all,
            [
                ("double".to_owned(), Typed::Double(0.5)),
                ("flag".to_owned(), Typed::Boolean(true)),
                ("long".to_owned(), Typed::Long(-5)),
            ]
        );
        let int = bench.call(AUTHORITY, "m", Some(extras().with("int", 7)));
        match escaping {
            Escaping::Backslash => {
                int.unwrap();
                assert_eq!(bench.phone.received().pop().unwrap().extras["int"], Typed::Int(7));
            }
            Escaping::Raw => assert_eq!(
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
    let bench = Bench::new();
    bench.call(AUTHORITY, cetp::LIST_TOOLS, None).unwrap();
    let received = bench.phone.received();
    assert_eq!(received.len(), 1, "one call, and no probe");
    assert!(received[0].extras.is_empty());
}

#[test]
fn errors_of_a_provider_come_whole() {
    let bench = Bench::new();
    bench.answers(Reply::bundle(&[
        ("status", "error"),
        ("error_code", "AUTH_REQUIRED"),
        ("error_message", "Not allowed yet, status=success, data={}"),
        ("resolution_hint", "Open Notes, then allow it"),
        ("authorize_intent", "com.example.notes.ALLOW"),
    ]));
    let got = bench.call(AUTHORITY, cetp::LIST_TOOLS, None).unwrap().unwrap();
    let expected = Bundle::new()
        .with("status", "error")
        .with("error_code", "AUTH_REQUIRED")
        .with("error_message", "Not allowed yet, status=success, data={}")
        .with("resolution_hint", "Open Notes, then allow it")
        .with("authorize_intent", "com.example.notes.ALLOW");
    assert_eq!(got, expected);
}

#[test]
fn a_large_answer_comes_whole() {
    let bench = Bench::new();
    let data = format!(r#"{{"text":"{}"}}"#, "ü:\\\\ ".repeat(150_000));
    bench.answers(Reply::success(&data));
    let got = bench.call(AUTHORITY, cetp::LIST_TOOLS, None).unwrap().unwrap();
    assert_eq!(got.get("data"), Some(&data.into()));
    bench.answers(Reply::success(&"x".repeat(5 << 20)));
    assert_eq!(
        bench.call(AUTHORITY, cetp::LIST_TOOLS, None),
        Err(CallFailure::TooLarge("the answer has more than 4194304 bytes".to_owned()))
    );
}

#[test]
fn no_bundle_is_none_on_every_phone() {
    for escaping in [Escaping::Raw, Escaping::Backslash] {
        let bench = Bench::with(Setup { escaping, ..Setup::default() });
        bench.answers(Reply::Null);
        assert_eq!(bench.call(AUTHORITY, cetp::LIST_TOOLS, None), Ok(None));
    }
}

#[test]
fn what_is_thrown_is_told_apart() {
    let bench = Bench::new();
    let thrown = |reply| {
        bench.answers(reply);
        bench.call(AUTHORITY, cetp::LIST_TOOLS, None).unwrap_err()
    };
    assert_eq!(
        thrown(Reply::Throws("java.lang.IllegalStateException: the database is locked".to_owned())),
        CallFailure::Threw {
            class: "java.lang.IllegalStateException".to_owned(),
            message: "the database is locked".to_owned()
        }
    );
    assert!(matches!(thrown(Reply::Dies), CallFailure::Died(_)));
    assert_eq!(
        thrown(Reply::Throws(
            "android.os.TransactionTooLargeException: data parcel size 2000000 bytes".to_owned()
        )),
        CallFailure::TooLarge("data parcel size 2000000 bytes".to_owned())
    );
    assert!(matches!(thrown(Reply::Prints("Killed\n".to_owned())), CallFailure::Threw { .. }));
    assert_eq!(
        bench.call("com.example.nobody", cetp::LIST_TOOLS, None),
        Err(CallFailure::UnknownAuthority("Could not find provider: com.example.nobody".to_owned()))
    );
}

#[test]
fn a4_a_guarded_provider_is_refused_with_the_way_out_and_never_runs() {
    let bench = Bench::new();
    bench.phone.install(apps::finance());
    assert_eq!(
        bench.call("com.example.finance.clawseed.tools", cetp::LIST_TOOLS, None),
        Err(CallFailure::Security(
            "Permission Denial: opening provider com.example.finance.clawseed.FinanceToolProvider from (null) \
             (pid=4712, uid=2000) requires com.clawseed.permission.ACCESS_TOOLS or \
             com.clawseed.permission.ACCESS_TOOLS. adb's shell holds no permission of apps"
                .to_owned()
        ))
    );
    let private = ProviderSetup::new("com.example.private", ".Private", |_| Reply::Null).private();
    bench.phone.install(App::new("com.example.private", apps::WEATHER_APK).provider(private));
    let refused = bench.call("com.example.private", cetp::LIST_TOOLS, None).unwrap_err();
    assert!(
        matches!(&refused, CallFailure::Security(why) if why.contains("that is not exported from UID 10123")),
        "{refused:?}"
    );
    assert_eq!(bench.phone.received(), []);
    assert!(bench.host.way_out().contains("the bridge app on the phone"));
}

#[test]
fn a_shell_of_root_s_is_let_through() {
    let bench = Bench::with(Setup { is_root: true, user: 10, ..Setup::default() });
    let answer = |_: &Received| Reply::success("{\"tools\":[]}");
    let guarded = ProviderSetup::new("com.example.guarded", ".P", answer).guarded(cetp::PERMISSION);
    bench.phone.install(App::new("com.example.guarded", apps::WEATHER_APK).provider(guarded));
    assert!(bench.call("com.example.guarded", cetp::LIST_TOOLS, None).unwrap().is_some());
    assert_eq!(bench.phone.received()[0].user, 10, "the apps of whoever is in front");
    let info = bench.host.info().unwrap();
    assert!(info.is_root);
    assert_eq!((info.model.as_str(), info.api_level), ("Fake Phone", Some(35)));
    assert_eq!(info.serial, bench.phone.serial());
}

#[test]
fn an_mcp_tool_is_read_but_its_map_can_t_be_sent() {
    let bench = Bench::new();
    bench.phone.install(apps::weather());
    let got = bench.call("com.example.weather.mcptool", mcp::GET_TOOL_INFO, None).unwrap().unwrap();
    assert_eq!(got.get("success"), Some(&true.into()));
    assert_eq!(got.get("tool_name"), Some(&"get_weather_forecast".into()));
    assert_eq!(got.get("tool_input_required"), Some(&Value::Other("java.lang.String[]".to_owned())));
    let extras = Bundle::from_iter([
        ("tool_name".to_owned(), "get_weather_forecast".into()),
        ("tool_arguments".to_owned(), Value::Map(vec![("location".to_owned(), "Bern".to_owned())])),
    ]);
    assert_eq!(
        bench.call("com.example.weather.mcptool", mcp::EXECUTE_TOOL, Some(extras)),
        Err(CallFailure::Unsupported(
            "tool_arguments is a map, which can't be passed over adb: tools of the MCP dialects can be called from \
             an app only"
                .to_owned()
        ))
    );
    assert_eq!(bench.phone.received().len(), 1);
    let info = call("com.example.weather.mcptool", mcp::GET_TOOL_INFO, None);
    let refused = bench.host.clone().for_calls().call(&info).unwrap_err();
    assert!(matches!(refused, CallFailure::Unsupported(_)), "{refused:?}");
    assert_eq!(bench.phone.received().len(), 1, "it is not even asked");
}

#[test]
fn a_call_that_hangs_ends_with_its_patience() {
    let bench = Bench::new();
    bench.host.info().unwrap();
    bench.answers(Reply::Hangs);
    let hanging =
        HostCall { patience: Duration::from_millis(300), ..call(AUTHORITY, cetp::LIST_TOOLS, None) };
    assert_eq!(bench.host.call(&hanging), Err(CallFailure::Overdue));
    assert_eq!(bench.phone.received().len(), 1);
}

#[test]
fn a_cable_that_is_pulled_in_mid_call_is_told_and_the_phone_comes_back() {
    let bench = Bench::new();
    bench.host.info().unwrap();
    let (called, wait) = std::sync::mpsc::sync_channel(1);
    *bench.answer.lock() = Box::new(move |_| {
        called.send(()).unwrap();
        Reply::Hangs
    });
    let host = bench.host.clone();
    let calling = std::thread::spawn(move || host.call(&call(AUTHORITY, cetp::LIST_TOOLS, None)));
    wait.recv_timeout(Duration::from_secs(20)).unwrap();
    bench.phone.unplug();
    let serial = bench.phone.serial();
    match calling.join().unwrap() {
        Err(CallFailure::Host(error)) => {
            assert_eq!(error.message, format!("the phone {serial} is not connected any more"));
        }
        other => panic!("{other:?}"),
    }
    bench.answers(Reply::success("{\"tools\":[]}"));
    let away = bench.call(AUTHORITY, cetp::LIST_TOOLS, None).unwrap_err();
    assert!(matches!(away, CallFailure::Host(_)), "{away:?}");
    bench.phone.plug();
    bench.adb.connect(&bench.phone);
    assert!(bench.call(AUTHORITY, cetp::LIST_TOOLS, None).unwrap().is_some());
}

#[test]
fn a_phone_that_has_not_allowed_this_computer_says_so() {
    let (adb, phone) = (Adb::start(), FakePhone::start(Setup { is_authorized: false, ..Setup::default() }));
    adb.connect(&phone);
    let error = host(&adb, None).info().unwrap_err();
    assert!(error.message.contains("has not allowed this computer yet"), "{error}");
    assert_eq!(
        error.hint.as_deref(),
        Some("unlock the phone and allow USB debugging in the question that it shows")
    );
}

#[test]
fn of_several_phones_one_has_to_be_named() {
    let (adb, one, other) =
        (Adb::start(), FakePhone::start(Setup::default()), FakePhone::start(Setup::default()));
    let nobody = host(&adb, None).info().unwrap_err();
    assert_eq!(nobody.message, "no phone is connected");
    adb.connect(&one);
    adb.connect(&other);
    let error = host(&adb, None).info().unwrap_err();
    assert!(error.message.starts_with("several phones are connected: 127.0.0.1:"), "{error}");
    assert!(error.message.contains(&format!("{} (Fake Phone)", one.serial())), "{error}");
    assert_eq!(error.hint.as_deref(), Some("say which with --serial SERIAL"));
    assert_eq!(host(&adb, Some(&other.serial())).info().unwrap().serial, other.serial());
    let wrong = host(&adb, Some("X")).info().unwrap_err();
    assert!(wrong.message.starts_with("the phone X is not connected; there are: "), "{wrong}");
}

#[test]
fn without_the_program_its_absence_is_told() {
    let program = AdbProgram { path: "/nowhere/adb".into(), environment: Vec::new() };
    let error = AdbHost::new(program, None).discover(None).unwrap_err();
    assert_eq!(error.message, "there is no program /nowhere/adb");
    assert!(error.hint.unwrap().contains("platform tools"));
}

#[test]
fn who_defines_a_permission_is_known() {
    let bench = Bench::new();
    assert_eq!(bench.host.permission(cetp::PERMISSION).unwrap(), None);
    bench.phone.install(apps::finance());
    let owner = bench.host.permission(cetp::PERMISSION).unwrap().unwrap();
    assert_eq!((owner.package.as_str(), owner.protection.as_str()), ("com.example.finance", "normal"));
}

#[test]
fn a5_a_screen_is_opened_in_its_own_app_only() {
    let bench = Bench::new();
    bench.phone.install(
        App::new("com.example.evil", apps::WEATHER_APK).activity("com.example.evil.STEAL", ".Steal"),
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
    assert_eq!(bench.phone.opened(), [screen, screen]);
}

#[test]
fn what_changes_on_the_phone_is_told_by_package() {
    let bench = Bench::new();
    bench.phone.install(apps::finance());
    let changes = PackageChanges::default();
    bench.host.watch(changes.clone()).unwrap();
    let heard = |what: &dyn Fn(&Changed) -> bool| {
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
    let names = |package: &'static str| move |changed: &Changed| matches!(changed, Changed::Packages(all) if all.contains(package));
    let everything = |changed: &Changed| matches!(changed, Changed::Everything);
    // Until its first look is through, a change may be part of what it started with.
    let mut at = 0;
    while !matches!(changes.take(), Some(Changed::Packages(_))) {
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
    changes.end();
}
