mod probing;

use std::io::Cursor;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::{LintFinding, LintLevel, ProbeReport, ToolCheckResult, lint_manifest, lint_provider, probe};
use crate::bundle::{self, Bundle};
use crate::dialect::ProviderDialect;
use crate::host::memory::{MemoryApp, MemoryHost};
use crate::host::{CallFailure, HostCall};
use crate::manifest::Apk;
use crate::provider::{ProviderState, ToolProvider};
use crate::provider_client::ProviderClient;
use crate::scan::scan;

const SECOND: Duration = Duration::from_secs(5);

fn manifest_of(apk: &[u8]) -> Vec<LintFinding> {
    lint_manifest(&Apk::read(Cursor::new(apk), None).unwrap().manifest)
}

/// Formats findings as `level location: message`, one per line.
fn lines(findings: &[LintFinding]) -> Vec<String> {
    findings.iter().map(|it| format!("{:?} {}: {}", it.level, it.location, it.message)).collect()
}

#[track_caller]
fn has(findings: &[LintFinding], level: LintLevel, place: &str, what: &str) {
    let found =
        findings.iter().any(|it| it.level == level && it.location == place && it.message.contains(what));
    assert!(found, "{level:?} {place}: {what}\n{:#?}", lines(findings));
}

#[test]
fn the_tutorials_manifest_has_two_known_problems() {
    let findings = manifest_of(include_bytes!("../../fixtures/tutorial/tutorial.apk"));
    let errors: Vec<_> = findings.iter().filter(|it| it.level == LintLevel::Error).cloned().collect();
    assert_eq!(errors.len(), 2, "{:#?}", lines(&errors));
    has(&errors, LintLevel::Error, "<receiver .cetp.BootReceiver>", "it handles BOOT_COMPLETED");
    has(
        &errors,
        LintLevel::Error,
        "<permission com.clawseed.permission.ACCESS_TOOLS>",
        "Android can't install two apps with different signers",
    );
    assert!(findings.iter().all(|it| it.level != LintLevel::Warning), "{:#?}", lines(&findings));
    has(&findings, LintLevel::Note, "<application>", "its tools get the prefix finance__");
}

#[test]
fn an_open_provider_causes_a_warning() {
    let findings = manifest_of(include_bytes!("../../fixtures/open/open.apk"));
    assert_eq!(
        lines(&findings),
        [
            "Warning <provider .Tools>: any app can call it: it requires no permission",
            "Note <application>: its tools get the prefix notes__, unless another provider already has it",
        ]
    );
    assert_eq!(
        findings[0].hint.as_deref(),
        Some("android:permission=\"com.clawseed.permission.ACCESS_TOOLS\"")
    );
}

#[test]
fn a_consumer_manifest_without_queries_is_reported_a7() {
    let findings = manifest_of(include_bytes!("../../fixtures/consumer/consumer.apk"));
    assert_eq!(
        lines(&findings),
        [
            "Error <queries>: the entry for CETP providers is missing: Android 11 and newer hide them from this app",
            "Error <queries>: the entry for providers of the MCP dialects is missing: Android 11 and newer \
             hide them from this app",
            "Warning <queries>: the entry for providers with the MIME type of MCP is missing: Android 11 and \
             newer hide them from this app",
        ]
    );
}

#[test]
fn every_problem_of_a_manifest_is_found() {
    let findings = manifest_of(include_bytes!("../../fixtures/broken/broken.apk"));
    let error = |place: &str, what: &str| has(&findings, LintLevel::Error, place, what);
    error("<service .NotExported>", "it is not exported");
    has(&findings, LintLevel::Warning, "<service .NotExported>", "its version was compiled to a float");
    error("<provider .Private>", "it is not exported");
    has(&findings, LintLevel::Warning, "<provider .Private>", "android:initOrder is below 100");
    error("<service .Foreign>", "android:exported is missing: Android 12");
    error("<service .Foreign>", "its authority com.example.other.tools has no <provider> in this app");
    error("<service .Foreign>", "\"one\" is not a number");
    error("<service .Silent>", "its authority is missing");
    has(&findings, LintLevel::Warning, "<service .Silent>", "its protocol version is missing");
    has(
        &findings,
        LintLevel::Warning,
        "<provider .Guarded>",
        "only reading or only writing requires a permission",
    );
    has(&findings, LintLevel::Warning, "<application>", "its tools get the prefix broken__");
    has(&findings, LintLevel::Note, "<application>", "the app does not start when the phone boots");
    assert!(findings.is_sorted_by_key(|it| it.level));
}

#[test]
fn mcp_apps_are_checked_by_their_dialect() {
    let weather = manifest_of(include_bytes!("../../fixtures/weather/weather.apk"));
    assert!(weather.iter().all(|it| it.level == LintLevel::Note), "{:#?}", lines(&weather));
    has(&weather, LintLevel::Note, "<provider .McpToolProvider>", "its tools may have side effects");
    let calculator = manifest_of(include_bytes!("../../fixtures/calculator/calculator.apk"));
    assert!(calculator.iter().all(|it| it.level == LintLevel::Note), "{:#?}", lines(&calculator));
}

/// Scans a provider with two tools, which answers calls with this function.
async fn listed(
    tools: Value,
    answer: impl Fn(&str, &str) -> Result<Option<Bundle>, CallFailure> + Send + Sync + 'static,
) -> (ProviderClient, ToolProvider) {
    let data = json!({ "tools": tools }).to_string();
    let success = |data: &str| Ok(Some(Bundle::new().with("status", "success").with("data", data)));
    let text = |call: &HostCall, key: &str| match call.extras.as_ref().and_then(|extras| extras.get(key)) {
        Some(bundle::BundleValue::Text(text)) => text.clone(),
        _ => String::new(),
    };
    let app = MemoryApp::cetp("com.example.notes", move |call| match call.method.as_str() {
        "list_tools" => success(&data),
        "execute_tool" => answer(&text(call, "tool_name"), &text(call, "args")),
        _ => error("TOOL_NOT_FOUND", "unknown method"),
    });
    let host = MemoryHost::default();
    host.install(app);
    let reach = ProviderClient::new(Arc::new(host));
    let provider = scan(&reach, None, SECOND).await.unwrap().remove(0);
    (reach, provider)
}

fn error(code: &str, message: &str) -> Result<Option<Bundle>, CallFailure> {
    let bundle =
        Bundle::new().with("status", "error").with("error_code", code).with("error_message", message);
    Ok(Some(bundle))
}

fn tools() -> Value {
    let text = json!({"type": "string", "description": "What to look for"});
    json!([
        {"name": "find", "description": "Finds", "parameters":
            {"type": "object", "properties": {"text": text}, "required": ["text"]}},
        {"name": "all", "description": "All"},
    ])
}

#[tokio::test]
async fn a_provider_that_checks_its_arguments_has_no_findings() {
    let (reach, provider) = listed(tools(), |tool, args| match tool {
        "find" if args.contains(":\"") && !args.contains("not") => error("TOOL_NOT_FOUND", "unreachable"),
        "find" => error("INVALID_ARGS", "text is required and a string"),
        "all" => Ok(Some(Bundle::new().with("status", "success").with("data", "[]"))),
        "" => error("INVALID_ARGS", "missing tool_name"),
        _ => error("TOOL_NOT_FOUND", "unknown tool"),
    })
    .await;
    let probed = probe(&reach, &provider, SECOND, false).await;
    assert_eq!(probed.findings, []);
    assert_eq!(probed.skipped, Vec::<String>::new());
    assert_eq!(probed.calls, 6, "a method, a tool, no tool, `find` in two ways, `all` in one");
    let checked = |tool: &str, result| (tool.to_owned(), result);
    assert_eq!(
        results(&probed),
        [checked("find", ToolCheckResult::ArgumentsRejected), checked("all", ToolCheckResult::Ran)]
    );
    assert!(probed.has_checked_tools());
}

#[tokio::test]
async fn missing_argument_checks_are_reported() {
    let success = || Ok(Some(Bundle::new().with("status", "success").with("data", "{}")));
    let (reach, provider) = listed(tools(), move |tool, _| match tool {
        "all" => Ok(None),
        _ => success(),
    })
    .await;
    let findings = probe(&reach, &provider, SECOND, false).await.findings;
    has(
        &findings,
        LintLevel::Warning,
        "com.example.notes.clawseed.tools",
        "an unknown tool returned success",
    );
    has(&findings, LintLevel::Warning, "execute_tool", "a call without tool_name returned success");
    has(&findings, LintLevel::Warning, "tool find", "it runs although required arguments are missing");
    has(&findings, LintLevel::Warning, "tool find", "it accepts arguments that violate its schema");
    has(&findings, LintLevel::Error, "tool all", "a call without arguments returned a malformed answer");
}

#[tokio::test]
async fn schemas_and_names_are_checked() {
    let (_, mut provider) = listed(
        json!([
            {"name": "a_tool_with_a_name_that_is_much_longer_than_it_should_be", "description": "x", "parameters":
                {"properties": {"n": {"type": "integer"}}, "required": ["n", "missing"]}},
            {"name": "silent"},
        ]),
        |_, _| Ok(None),
    )
    .await;
    provider.prefix = Some("notes".to_owned());
    let findings = lint_provider(&provider);
    let long = "tool a_tool_with_a_name_that_is_much_longer_than_it_should_be";
    has(&findings, LintLevel::Error, long, "missing is required but not defined in \"properties\"");
    has(&findings, LintLevel::Warning, long, "is too long for models");
    has(&findings, LintLevel::Warning, long, "its schema has no \"type\"");
    has(&findings, LintLevel::Note, long, "n has no description");
    has(&findings, LintLevel::Warning, "tool silent", "it has no description");
}

#[tokio::test]
async fn an_intent_other_than_an_action_is_an_error() {
    let (_, mut provider) = listed(tools(), |_, _| Ok(None)).await;
    provider.state = ProviderState::AuthorizationRequired {
        message: "Not yet".to_owned(),
        hint: None,
        intent: Some("intent:#Intent;action=x;end".to_owned()),
    };
    let findings = lint_provider(&provider);
    has(&findings, LintLevel::Error, &provider.authority, "not an action");
    has(
        &findings,
        LintLevel::Warning,
        &provider.authority,
        "resolution_hint is missing, so users do not know what to do",
    );
}

fn results(probed: &ProbeReport) -> Vec<(String, ToolCheckResult)> {
    probed.tools.iter().map(|it| (it.tool.clone(), it.result)).collect()
}

#[tokio::test]
async fn tools_that_may_act_are_called_only_on_request() {
    let (reach, mut provider) = listed(tools(), |_, _| Ok(None)).await;
    provider.dialect = ProviderDialect::McpA;
    let probed = probe(&reach, &provider, SECOND, false).await;
    assert_eq!(probed.calls, 0);
    assert_eq!(
        probed.skipped,
        ["no tool called: tools of the dialect mcp-a may have side effects; use --execute to call them"]
    );
    assert_eq!(probe(&reach, &provider, SECOND, true).await.calls, 2);
}
