//! Tests of `toolway devices show` with a device that bridges apps, some of them malicious.

use serde_json::json;
use toolway_device::{
    AppProvider, AppProviderInfo, AppProviderNote, AppProviderNoteKind, AppProviderScope, AppProviderState,
    ConnectionStatus, Device, DeviceHandle, NoArguments, RunningDevice, Tool, dialect,
};

use crate::support::{CliHarness, wait_until};

/// Starts a device in this process with these tools.
fn device(
    runtime: &tokio::runtime::Runtime,
    folder: &CliHarness,
    url: &str,
    id: &str,
    tools: &[&str],
) -> RunningDevice {
    let token = std::fs::read_to_string(folder.file("owner.token")).unwrap();
    let tools = tools.iter().map(|name| Tool::typed(*name, "", |_: NoArguments, _| async { Ok(()) }));
    let builder = Device::builder(url).token(token.trim().to_owned()).device_id(id).name(id).tools(tools);
    let device = builder.platform("Android 15").app_version("1.2.0").build().unwrap();
    runtime.block_on(async {
        let running = device.start();
        let mut states = running.handle().status();
        let known =
            |now: &ConnectionStatus| matches!(now, ConnectionStatus::Connected(live) if live.tools.is_some());
        states.wait_for(known).await.unwrap();
        running
    })
}

/// Sends the report and waits until the gateway has received it.
fn report_providers(folder: &CliHarness, handle: &DeviceHandle, id: &str, apps: Vec<AppProvider>) {
    let count = apps.len();
    handle.set_app_providers(apps);
    wait_until(|| {
        let listed = folder.json(&["devices", "list"]);
        let mut all = listed["devices"].as_array().unwrap().iter();
        all.find(|device| device["id"] == id && device["app_providers"] == count).map(|_| ())
    });
}

fn finance_provider() -> AppProvider {
    let note = |kind, tool: Option<&str>, reason: &str| AppProviderNote {
        kind,
        tool: tool.map(str::to_owned),
        reason: reason.to_owned(),
    };
    let scope = |name: &str, description: Option<&str>| AppProviderScope {
        name: name.to_owned(),
        description: description.map(str::to_owned),
    };
    AppProvider {
        authority: "com.example.finance.clawseed.tools".to_owned(),
        package: "com.example.finance".to_owned(),
        label: "Finance".to_owned(),
        prefix: Some("finance".to_owned()),
        dialect: dialect::CETP.to_owned(),
        version: Some(1),
        state: AppProviderState::AuthorizationRequired,
        reason: Some("it wants to be asked first".to_owned()),
        hint: Some("open Finance and allow access".to_owned()),
        info: Some(AppProviderInfo {
            name: "Finance tools".to_owned(),
            description: Some("Holdings and spending".to_owned()),
            scopes: vec![scope("holdings", Some("What you hold")), scope("spending", None)],
        }),
        tools: vec!["finance__spend".to_owned()],
        notes: vec![
            note(AppProviderNoteKind::Refused, Some("broken"), "its schema does not compile"),
            note(AppProviderNoteKind::Flagged, None, "it declares no version"),
        ],
    }
}

#[test]
fn a_device_is_shown_with_its_tools_and_every_app() {
    let folder = CliHarness::new();
    let gateway = folder.serve_without_event(&[]);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let running = device(&runtime, &folder, &gateway.url(), "phone", &["finance__spend", "battery"]);
    let plain = folder.run(["devices", "show", "phone"]).assert_success();
    for line in ["id          phone", "status      online", "platform    Android 15", "program     1.2.0"] {
        assert!(plain.stdout.contains(line), "{line:?} is not in {plain:#?}");
    }
    assert!(
        plain.stdout.ends_with("tools       phone__battery\n            phone__finance__spend\n"),
        "nothing is said of apps where there are none: {plain:#?}"
    );
    assert!(!folder.run(["devices", "list"]).assert_success().stdout.contains("apps"));

    report_providers(&folder, running.handle(), "phone", vec![finance_provider(), AppProvider::default()]);
    let shown = folder.run(["devices", "show", "phone"]).assert_success().stdout;
    let (device, apps) = shown.split_once("\n\n").unwrap();
    assert!(device.lines().last().unwrap().starts_with("apps        2, as of 20"), "{shown}");
    assert_eq!(
        apps,
        "app          Finance\n\
         package      com.example.finance\n\
         authority    com.example.finance.clawseed.tools\n\
         protocol     cetp, version 1\n\
         state        authorization required\n\
         reason       it wants to be asked first\n\
         hint         open Finance and allow access\n\
         prefix       finance\n\
         description  Finance tools: Holdings and spending\n\
         scopes       holdings: What you hold\n\
        \x20            spending\n\
         tools        1\n\
         refused      broken: its schema does not compile\n\
         flagged      it declares no version\n\
         \n\
         app        \n\
         package    \n\
         authority  \n\
         protocol   \n\
         state      ready\n\
         tools      0\n"
    );
    let listed = folder.run(["devices", "list"]).assert_success().stdout;
    assert!(listed.lines().next().unwrap().contains("tools  apps  running"), "{listed}");
    // With --json, the output is the REST response.
    let raw = folder.json(&["devices", "show", "phone"]);
    assert_eq!(raw["tool_names"], json!(["phone__battery", "phone__finance__spend"]));
    assert_eq!(raw["app_provider_report"]["providers"][0]["notes"][0]["tool"], "broken");
    assert_eq!((&raw["app_providers"], &raw["id"]), (&json!(2), &json!("phone")));
    // The tools leave with the device; the report on its apps stays.
    runtime.block_on(running.stop()).unwrap();
    let away = folder.run(["devices", "show", "phone"]).assert_success().stdout;
    assert!(away.contains("status      offline\n") && away.contains("tools       (none now)\n"), "{away}");
    assert!(away.contains("\napp          Finance\n"), "{away}");
}

#[test]
fn texts_of_apps_cannot_imitate_other_fields() {
    let folder = CliHarness::new();
    let gateway = folder.serve_without_event(&[]);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let running = device(&runtime, &folder, &gateway.url(), "phone", &["battery"]);
    let evil = "x\nstate  ready\r\u{1b}[2J\u{202e}\u{0}\u{200b}";
    let text = || evil.to_owned();
    let app = AppProvider {
        authority: text(),
        package: text(),
        label: text(),
        prefix: Some(text()),
        dialect: text(),
        version: Some(-1),
        state: AppProviderState::Refused,
        reason: Some(text()),
        hint: Some(text()),
        info: Some(AppProviderInfo {
            name: text(),
            description: Some(text()),
            scopes: vec![AppProviderScope { name: text(), description: Some(text()) }],
        }),
        tools: vec![text()],
        notes: vec![AppProviderNote {
            kind: AppProviderNoteKind::Refused,
            tool: Some(text()),
            reason: text(),
        }],
    };
    report_providers(&folder, running.handle(), "phone", vec![app]);
    let shown = folder.run(["devices", "show", "phone"]).assert_success().stdout;
    let (_, app) = shown.split_once("\n\n").unwrap();
    let safe = r"x\nstate  ready\r\u{1b}[2J\u{202e}\u{0}\u{200b}";
    let expected = [
        ("app", safe.to_owned()),
        ("package", safe.to_owned()),
        ("authority", safe.to_owned()),
        ("protocol", format!("{safe}, version -1")),
        ("state", "refused".to_owned()),
        ("reason", safe.to_owned()),
        ("hint", safe.to_owned()),
        ("prefix", safe.to_owned()),
        ("description", format!("{safe}: {safe}")),
        ("scopes", format!("{safe}: {safe}")),
        ("tools", "1".to_owned()),
        ("refused", format!("{safe}: {safe}")),
    ];
    let expected: String = expected.iter().map(|(label, value)| format!("{label:<13}{value}\n")).collect();
    assert_eq!(app, expected);
}

#[test]
fn a_device_is_found_by_its_id_or_unique_name() {
    let folder = CliHarness::new();
    let gateway = folder.serve_without_event(&[]);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let _running: Vec<RunningDevice> =
        ["one", "two"].map(|id| device(&runtime, &folder, &gateway.url(), id, &["battery"])).into();
    folder.run(["devices", "rename", "two", "Kitchen tablet"]).assert_success();
    assert_eq!(folder.json(&["devices", "show", "Kitchen tablet"])["id"], "two");
    // An id takes precedence over a name.
    folder.run(["devices", "rename", "two", "one"]).assert_success();
    assert_eq!(folder.json(&["devices", "show", "one"])["id"], "one");
    folder.run(["devices", "rename", "two", "Mine"]).assert_success();
    folder.run(["devices", "rename", "one", "Mine"]).assert_success();
    let said =
        folder.run(["devices", "show", "Mine"]).assert_failure(1, "several devices have the name \"Mine\"");
    assert!(said.stderr.contains("one, two"), "{said:#?}");
    folder.run(["devices", "show", "nobody"]).assert_failure(1, "there is no device \"nobody\"");
}
