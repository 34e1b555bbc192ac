//! Checks how a CETP provider handles calls. Its tools are read-only (CETP, section 1), so they may be
//! called. Tools of the MCP dialects may act and are called only on request.

use std::time::Duration;

use serde_json::{Value, json};
use toolway_types::{JsonObject, RawJson, SpecDocument};

use super::{LintFinding, LintFindings};
use crate::bundle::Bundle;
use crate::cetp;
use crate::dialect::ProviderDialect;
use crate::execution::run_once;
use crate::failure::ProviderFailure;
use crate::provider::ToolProvider;
use crate::provider_client::{ProviderCallOptions, ProviderClient};

/// Maximum number of tools of one provider that are called.
const MAX_TOOLS: usize = 32;
/// A name that no provider has.
const UNKNOWN_NAME: &str = "toolway_check_no_such_tool";
const REQUEST_ID: &str = "toolway-check";

/// Result of a probe.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProbeReport {
    /// Findings, the most severe first.
    pub findings: Vec<LintFinding>,
    /// Steps that were skipped, with the reasons.
    pub skipped: Vec<String>,
    /// Number of calls.
    pub calls: usize,
}

/// Result of one call.
type ProbeResult = Result<RawJson, ProbeError>;

enum ProbeError {
    Provider(ProviderFailure),
    NoAnswer(String),
}

struct ProviderProbe<'a> {
    client: &'a ProviderClient,
    provider: &'a ToolProvider,
    timeout: Duration,
    findings: LintFindings,
    calls: usize,
}

/// Calls a provider's tools without arguments and with wrong ones, and calls unknown methods and tools. `act`
/// includes tools that may act.
pub async fn probe(
    reach: &ProviderClient,
    provider: &ToolProvider,
    timeout: Duration,
    act: bool,
) -> ProbeReport {
    let mut skipped = Vec::new();
    let mut probe =
        ProviderProbe { client: reach, provider, timeout, findings: LintFindings::default(), calls: 0 };
    match provider.dialect {
        ProviderDialect::Cetp => {
            probe.probe_protocol().await;
            for tool in provider.tools.iter().take(MAX_TOOLS) {
                probe.probe_tool(tool).await;
            }
            if let Some(rest @ 1..) = provider.tools.len().checked_sub(MAX_TOOLS) {
                skipped.push(format!("{rest} tools not called: a check calls at most {MAX_TOOLS}"));
            }
        }
        _ if act => probe.probe_acting_tools(&mut skipped).await,
        dialect => skipped.push(format!(
            "no tool called: tools of the dialect {dialect} may have side effects; use --execute to call them"
        )),
    }
    ProbeReport { findings: probe.findings.sorted(), skipped, calls: probe.calls }
}

impl ProviderProbe<'_> {
    async fn ask(&mut self, method: &str, extras: Option<Bundle>) -> ProbeResult {
        self.calls += 1;
        let effort = ProviderCallOptions { repeatable: true, launch: false, optional: false };
        match self.client.call(self.provider, method, extras, self.timeout, effort).await {
            Ok(answer) => cetp::read_result(answer.as_ref()).map_err(ProbeError::Provider),
            Err(unreached) => Err(ProbeError::NoAnswer(unreached.to_string())),
        }
    }

    async fn execute(&mut self, tool: &str, args: &Value) -> ProbeResult {
        self.ask(cetp::EXECUTE_TOOL, Some(cetp::execute_extras(tool, &args.to_string(), REQUEST_ID))).await
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

    async fn probe_tool(&mut self, tool: &SpecDocument) {
        let place = format!("tool {}", tool.name);
        let schema = tool.parameters.as_ref().map_or(Value::Null, RawJson::to_value);
        let requires = schema.get("required").and_then(Value::as_array).is_some_and(|all| !all.is_empty());
        let empty = self.execute(&tool.name, &json!({})).await;
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
        let Some(wrong) = wrong_arguments(&schema) else { return };
        let taken = self.execute(&tool.name, &wrong).await;
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

    /// Calls tools that may act, once each, without arguments.
    async fn probe_acting_tools(&mut self, skipped: &mut Vec<String>) {
        for tool in self.provider.tools.iter().take(MAX_TOOLS) {
            let place = format!("tool {}", tool.name);
            self.calls += 1;
            let none = JsonObject::new();
            match run_once(self.client, self.provider, &tool.name, &none, REQUEST_ID, self.timeout).await {
                Ok(_) => {}
                // Nothing was sent, for example because it can't be passed from here.
                Err(error) if !error.dispatched => {
                    self.calls -= 1;
                    skipped.push(format!("{}: {}", tool.name, error.message));
                }
                Err(error) => {
                    self.findings.note(
                        &place,
                        format!("a call without arguments returned: {}", error.message),
                        "",
                    );
                }
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
        Err(ProbeError::NoAnswer(why)) => why.clone(),
    }
}

/// Creates arguments with other types than the schema declares; `None` if it declares none.
fn wrong_arguments(schema: &Value) -> Option<Value> {
    let properties = schema.get("properties")?.as_object()?;
    let wrong: JsonObject = properties
        .iter()
        .filter_map(|(name, property)| {
            let wrong = match property.get("type")?.as_str()? {
                "string" => json!({"not": "a string"}),
                "array" | "object" | "boolean" | "integer" | "number" => {
                    json!("toolway check: not of its type")
                }
                _ => return None,
            };
            Some((name.clone(), wrong))
        })
        .collect();
    (!wrong.is_empty()).then_some(Value::Object(wrong))
}
