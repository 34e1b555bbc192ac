//! Checks how a CETP provider handles calls. Its tools are read-only (CETP, section 1), so they may be
//! called. Tools of the MCP dialects may act and are called only on request.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};
use toolway_types::{CallId, JsonObject, RawJson, SpecDocument};

use super::authorization::{is_action, lint_required, lint_screen};
use super::probe_arguments::{declared_arguments, wrong_arguments};
use super::tool_check::{ToolCheck, ToolCheckResult};
use super::{LintFinding, LintFindings};
use crate::bundle::Bundle;
use crate::cetp;
use crate::dialect::ProviderDialect;
use crate::execution::run_once;
use crate::failure::{AuthorizationRequired, ProviderFailure};
use crate::host::CallFailure;
use crate::provider::{ProviderState, ToolProvider};
use crate::provider_client::{ProviderCallError, ProviderCallOptions, ProviderClient};

/// Maximum number of tools of one provider that are called.
const MAX_TOOLS: usize = 32;
/// A name that no provider has.
const UNKNOWN_NAME: &str = "toolway_check_no_such_tool";
/// Maximum number of different authorization screens of one provider that are looked for.
const MAX_SCREENS: usize = 8;

/// Result of a probe.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProbeReport {
    /// Findings, the most severe first.
    pub findings: Vec<LintFinding>,
    /// Steps that were skipped, with the reasons.
    pub skipped: Vec<String>,
    /// Number of calls.
    pub calls: usize,
    /// Each listed tool, with what ran of it.
    pub tools: Vec<ToolCheck>,
}

impl ProbeReport {
    /// Returns true if at least one tool was reached by a call. Otherwise nothing is known about the tools.
    #[must_use]
    pub fn has_checked_tools(&self) -> bool {
        self.tools.iter().any(|tool| tool.result.is_checked())
    }
}

/// Result of one call.
type ProbeResult = Result<RawJson, ProbeError>;

enum ProbeError {
    Provider(ProviderFailure),
    NoAnswer(ProviderCallError),
}

struct ProviderProbe<'a> {
    client: &'a ProviderClient,
    provider: &'a ToolProvider,
    timeout: Duration,
    findings: LintFindings,
    calls: usize,
    /// Actions whose screens have been looked for.
    screens: BTreeSet<String>,
}

/// Calls a provider's tools without arguments, with wrong ones and with those that its schemas declare, and calls
/// unknown methods and tools. `act` includes tools that may act. A provider that requires authorization is not
/// called; only its authorization screen is looked for.
pub async fn probe(
    reach: &ProviderClient,
    provider: &ToolProvider,
    timeout: Duration,
    act: bool,
) -> ProbeReport {
    let mut skipped = Vec::new();
    let mut tools: Vec<ToolCheck> = provider.tools.iter().map(|tool| ToolCheck::new(&tool.name)).collect();
    let mut probe = ProviderProbe {
        client: reach,
        provider,
        timeout,
        findings: LintFindings::default(),
        calls: 0,
        screens: BTreeSet::new(),
    };
    match (&provider.state, provider.dialect) {
        (ProviderState::AuthorizationRequired { intent, .. }, _) => {
            probe.probe_screen(intent.as_deref(), &provider.authority).await;
            skipped.push("no tool called: the app requires authorization before it lists tools".to_owned());
        }
        (_, ProviderDialect::Cetp) => {
            probe.probe_protocol().await;
            for (tool, check) in provider.tools.iter().zip(&mut tools).take(MAX_TOOLS) {
                probe.probe_tool(tool, check).await;
            }
        }
        _ if act => {
            for (tool, check) in provider.tools.iter().zip(&mut tools).take(MAX_TOOLS) {
                probe.probe_acting_tool(&tool.name, check, &mut skipped).await;
            }
        }
        (_, dialect) => skipped.push(format!(
            "no tool called: tools of the dialect {dialect} may have side effects; use --execute to call them"
        )),
    }
    if let Some(rest @ 1..) = provider.tools.len().checked_sub(MAX_TOOLS) {
        skipped.push(format!("{rest} tools not called: a check calls at most {MAX_TOOLS}"));
    }
    ProbeReport { findings: probe.findings.sorted(), skipped, calls: probe.calls, tools }
}

impl ProviderProbe<'_> {
    async fn ask(&mut self, method: &str, extras: Option<Bundle>) -> ProbeResult {
        self.calls += 1;
        let effort = ProviderCallOptions { repeatable: true, launch_until: None, optional: false };
        match self.client.call(self.provider, method, extras, self.timeout, effort).await {
            Ok(answer) => cetp::read_result(answer.as_ref()).map_err(ProbeError::Provider),
            Err(unreached) => Err(ProbeError::NoAnswer(unreached)),
        }
    }

    async fn execute(&mut self, tool: &str, args: &Value) -> ProbeResult {
        let call_id = CallId::new().to_string();
        self.ask(cetp::EXECUTE_TOOL, Some(cetp::execute_extras(tool, &args.to_string(), &call_id))).await
    }

    /// Checks the answers to unknown methods, unknown tools and missing arguments (CETP, sections 2.4 and
    /// 2.5).
    async fn probe_protocol(&mut self) {
        let taken = self.ask("toolway_check_no_such_method", None).await;
        self.expect_not_found("an unknown method", taken);
        let taken = self.execute(UNKNOWN_NAME, &json!({})).await;
        self.expect_not_found("an unknown tool", taken);
        let taken = self.ask(cetp::EXECUTE_TOOL, Some(Bundle::new().with("args", "{}"))).await;
        match taken {
            Err(ProbeError::Provider(
                ProviderFailure::InvalidArguments(_)
                | ProviderFailure::AuthorizationRequired(_)
                | ProviderFailure::Denied(_),
            )) => {}
            other => self.findings.warning(
                cetp::EXECUTE_TOOL,
                format!("a call without tool_name returned {}", describe_result(&other)),
                "return INVALID_ARGS",
            ),
        }
    }

    fn expect_not_found(&mut self, what: &str, taken: ProbeResult) {
        match taken {
            Err(ProbeError::Provider(
                ProviderFailure::NotFound(_)
                | ProviderFailure::AuthorizationRequired(_)
                | ProviderFailure::Denied(_),
            )) => {}
            other => self.findings.warning(
                &self.provider.authority,
                format!("{what} returned {}", describe_result(&other)),
                "return TOOL_NOT_FOUND",
            ),
        }
    }

    async fn probe_tool(&mut self, tool: &SpecDocument, check: &mut ToolCheck) {
        let place = format!("tool {}", tool.name);
        let schema = tool.parameters.as_ref().map_or(Value::Null, RawJson::to_value);
        let requires = schema.get("required").and_then(Value::as_array).is_some_and(|all| !all.is_empty());
        let empty = self.execute(&tool.name, &json!({})).await;
        self.record(&empty, check, &place).await;
        match &empty {
            Ok(_) if requires => self.findings.warning(
                &place,
                "it runs although required arguments are missing",
                "return INVALID_ARGS and name the missing arguments",
            ),
            Err(ProbeError::Provider(ProviderFailure::InvalidArguments(_))) if requires => {}
            Err(ProbeError::Provider(ProviderFailure::InvalidArguments(message))) => self.findings.error(
                &place,
                format!("its schema requires no arguments, but a call without arguments failed: {message}"),
                "list the required arguments in the schema",
            ),
            other => self.report_wrong_answer(&place, "without arguments", other),
        }
        if let Some(wrong) = wrong_arguments(&schema) {
            let taken = self.execute(&tool.name, &wrong).await;
            self.record(&taken, check, &place).await;
            match &taken {
                Ok(_) => self.findings.warning(
                    &place,
                    format!("it accepts arguments that violate its schema: {wrong}"),
                    "validate the arguments against the schema, and return INVALID_ARGS",
                ),
                Err(ProbeError::Provider(ProviderFailure::InvalidArguments(_))) => {}
                other => self.report_wrong_answer(&place, "with invalid arguments", other),
            }
        }
        let Some(declared) = requires.then(|| declared_arguments(&schema)).flatten() else { return };
        let taken = self.execute(&tool.name, &declared).await;
        self.record(&taken, check, &place).await;
        match &taken {
            Err(ProbeError::Provider(ProviderFailure::InvalidArguments(message))) => self.findings.warning(
                &place,
                format!("it rejects the values that its schema declares, {declared}: {message}"),
                "correct the schema's default, const, examples or enum",
            ),
            other => self.report_wrong_answer(&place, "with the values that its schema declares", other),
        }
    }

    /// Records the result of a call, and checks what the app says if it requires authorization.
    async fn record(&mut self, taken: &ProbeResult, check: &mut ToolCheck, place: &str) {
        match taken {
            Ok(_) => check.add(ToolCheckResult::Ran, None),
            Err(ProbeError::Provider(failure)) => {
                let result = match failure {
                    ProviderFailure::AuthorizationRequired(_) => ToolCheckResult::AuthorizationRequired,
                    ProviderFailure::Denied(_) => ToolCheckResult::Denied,
                    ProviderFailure::RateLimited(_) => ToolCheckResult::RateLimited,
                    ProviderFailure::InvalidArguments(_) => ToolCheckResult::ArgumentsRejected,
                    ProviderFailure::NotFound(_)
                    | ProviderFailure::Failed(_)
                    | ProviderFailure::Malformed(_) => ToolCheckResult::Failed,
                };
                check.add(result, Some(failure.to_string()));
                if let ProviderFailure::AuthorizationRequired(required) = failure {
                    self.probe_authorization(required, place).await;
                }
            }
            Err(ProbeError::NoAnswer(ProviderCallError::Call(CallFailure::Security(message)))) => {
                check.add(ToolCheckResult::Denied, Some(message.clone()));
            }
            Err(ProbeError::NoAnswer(why)) => check.add(ToolCheckResult::Failed, Some(why.to_string())),
        }
    }

    /// Checks an `AUTH_REQUIRED` answer of a tool: one of each action.
    async fn probe_authorization(&mut self, required: &AuthorizationRequired, place: &str) {
        let action = required.intent.clone().unwrap_or_default();
        if self.screens.len() >= MAX_SCREENS || self.screens.contains(&action) {
            return;
        }
        lint_required(required, place, &mut self.findings);
        self.probe_screen(required.intent.as_deref(), place).await;
        self.screens.insert(action);
    }

    /// Looks for the screen of an action, without opening it.
    async fn probe_screen(&mut self, intent: Option<&str>, place: &str) {
        let Some(intent) = intent.filter(|intent| is_action(intent)) else { return };
        let (package, action) = (self.provider.package.clone(), intent.to_owned());
        let found = self
            .client
            .ask_system(self.timeout, move |host| host.find_authorization_screen(&package, &action))
            .await;
        match found {
            Ok(Ok(screen)) => lint_screen(intent, &screen, place, &mut self.findings),
            Ok(Err(error)) => self.findings.note(place, format!("authorize_intent not checked: {error}"), ""),
            Err(error) => self.findings.note(place, format!("authorize_intent not checked: {error}"), ""),
        }
    }

    /// Reports failures that wrong arguments do not excuse.
    fn report_wrong_answer(&mut self, place: &str, how: &str, taken: &ProbeResult) {
        let said = || format!("a call {how} returned {}", describe_result(taken));
        match taken {
            Err(ProbeError::Provider(ProviderFailure::Malformed(_))) => self.findings.error(
                place,
                said(),
                "return status and data, or status, error_code and error_message",
            ),
            Err(ProbeError::Provider(ProviderFailure::Failed(_)) | ProbeError::NoAnswer(_)) => {
                self.findings.error(place, said(), "catch the exception and return a matching error code");
            }
            Err(ProbeError::Provider(ProviderFailure::NotFound(_))) => {
                self.findings.error(place, said(), "list only tools that the provider can run");
            }
            Err(ProbeError::Provider(ProviderFailure::RateLimited(_))) => {
                self.findings.note(place, said(), "check again later");
            }
            Ok(_)
            | Err(ProbeError::Provider(
                ProviderFailure::AuthorizationRequired(_)
                | ProviderFailure::Denied(_)
                | ProviderFailure::InvalidArguments(_),
            )) => {}
        }
    }

    /// Calls a tool that may act, once, without arguments.
    async fn probe_acting_tool(&mut self, tool: &str, check: &mut ToolCheck, skipped: &mut Vec<String>) {
        let place = format!("tool {tool}");
        let (none, call_id) = (JsonObject::new(), CallId::new().to_string());
        match run_once(self.client, self.provider, tool, &none, &call_id, self.timeout).await {
            Ok(_) => {
                self.calls += 1;
                check.add(ToolCheckResult::Ran, None);
            }
            // Nothing was sent, for example because it can't be passed from here.
            Err(error) if !error.dispatched => {
                skipped.push(format!("{tool}: {}", error.message));
                check.skip(error.message);
            }
            Err(error) => {
                self.calls += 1;
                self.findings.note(
                    &place,
                    format!("a call without arguments returned: {}", error.message),
                    "",
                );
                check.add(ToolCheckResult::Failed, Some(error.message));
            }
        }
    }
}

fn describe_result(taken: &ProbeResult) -> String {
    match taken {
        Ok(_) => "success".to_owned(),
        Err(ProbeError::Provider(failure)) => {
            let code = match failure {
                ProviderFailure::AuthorizationRequired(_) => "AUTH_REQUIRED",
                ProviderFailure::Denied(_) => "PERMISSION_DENIED",
                ProviderFailure::NotFound(_) => "TOOL_NOT_FOUND",
                ProviderFailure::InvalidArguments(_) => "INVALID_ARGS",
                ProviderFailure::RateLimited(_) => "RATE_LIMITED",
                ProviderFailure::Failed(_) => "INTERNAL_ERROR",
                ProviderFailure::Malformed(_) => "a malformed answer",
            };
            format!("{code} ({failure})")
        }
        Err(ProbeError::NoAnswer(why)) => why.to_string(),
    }
}
