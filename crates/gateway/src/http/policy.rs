//! `/api/policy`: policy rules, and the rule that decides about a call.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use serde::Serialize;
use toolway_api::openapi::ShortTextSchema;
use toolway_api::policy::{
    PermissionDecision, PolicyDecision, PolicyRuleView, PolicyView, PutRuleRequest, TestPolicyRequest,
    TestPolicyResponse,
};
use toolway_api::{DefinitionOrigin, ErrorResponse};
use toolway_core::policy::definition::RuleDefinition;
use toolway_core::{EntryPoint, PolicyExplanation, ToolLookup, suggestion_hint};
use toolway_types::RawJson;

use super::resources::{ApiRoutes, resources};
use super::token_input::read_text;
use super::{ApiError, JsonBody, PathParams};
use crate::access::AccessControl;
use crate::http::AuthenticatedOwner;
use crate::rules::PolicyRules;
use crate::rules::{PlacedRule, RuleError, RuleOrigin};
use toolway_core::{Engine, Registry};

pub(super) fn routes() -> ApiRoutes {
    resources!(show, put, remove, test)
}

fn rule_view(placed: &PlacedRule) -> PolicyRuleView {
    let origin = match &placed.origin {
        RuleOrigin::Settings { location } => {
            let (path, line) =
                location.as_ref().map(|(path, line)| (path.display().to_string(), *line)).unzip();
            DefinitionOrigin { path, line, ..DefinitionOrigin::new("settings") }
        }
        RuleOrigin::Database => DefinitionOrigin::new("database"),
    };
    let definition = RuleDefinition { name: None, ..placed.definition.clone() };
    PolicyRuleView {
        name: placed.name.clone(),
        origin,
        rule: RawJson::from_value(&definition).unwrap_or_default(),
    }
}

fn decision_view(explanation: PolicyExplanation) -> PolicyDecision {
    let permissions = explanation.permissions.into_iter().map(|permission| PermissionDecision {
        permission: permission.permission,
        state: serialized_name(&permission.state),
    });
    PolicyDecision {
        effect: serialized_name(&explanation.effect),
        rule: explanation.rule,
        reason: explanation.reason,
        definition: explanation.definition.and_then(|definition| RawJson::from_value(&definition).ok()),
        requires_approval: explanation.asks,
        caller_may_answer: explanation.caller_may_answer,
        read_only: explanation.read_only,
        permissions: permissions.collect(),
    }
}

/// The text that an enum is serialized as.
fn serialized_name(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(name)) => name,
        _ => String::new(),
    }
}

/// Show the policy
#[utoipa::path(
    get,
    path = "/api/policy",
    tag = "policy",
    operation_id = "get_policy",
    responses((status = 200, description = "The active rules.", body = PolicyView))
)]
async fn show(_: AuthenticatedOwner, State(rules): State<Arc<PolicyRules>>) -> Json<PolicyView> {
    let defaults = rules.defaults().await;
    Json(PolicyView {
        default: serialized_name(&defaults.default),
        trusted_sources: defaults.trusted_sources.clone(),
        changed_tools: serialized_name(&defaults.changed_tools),
        rules: rules.list().iter().map(rule_view).collect(),
    })
}

/// Create or change a rule
///
/// Rules in the settings come first. They can be changed only there.
#[utoipa::path(
    put,
    path = "/api/policy/rules/{name}",
    tag = "policy",
    operation_id = "put_policy_rule",
    params(("name" = inline(ShortTextSchema), Path, description = "The rule's name.")),
    request_body = PutRuleRequest,
    responses(
        (status = 200, description = "Changed."),
        (status = 201, description = "Created."),
        (status = 409, description = "The rule is in the settings.", body = ErrorResponse),
        (status = 503, description = "The database failed.", body = ErrorResponse),
    )
)]
async fn put(
    _: AuthenticatedOwner,
    State(rules): State<Arc<PolicyRules>>,
    PathParams(name): PathParams<String>,
    JsonBody(body): JsonBody<PutRuleRequest>,
) -> Result<StatusCode, ApiError> {
    let name = read_text("name", name)?;
    let definition: RuleDefinition =
        read(&body.rule).map_err(|error| ApiError::malformed(format!("rule: {error}")).with_hint(RULES))?;
    if definition.name.as_ref().is_some_and(|inner| *inner != name) {
        return Err(ApiError::malformed("rule.name differs from the name in the path").with_hint("remove it"));
    }
    let is_new = rules.put(&name, definition, body.before.map(usize::from)).await.map_err(rule_error)?;
    tracing::info!(rule = name, "policy rule created or changed");
    Ok(if is_new { StatusCode::CREATED } else { StatusCode::OK })
}

/// Reads a rule. It accepts whole numbers such as `5.0`: for JSON Schema, they are integers.
fn read(rule: &RawJson) -> Result<RuleDefinition, serde_json::Error> {
    let mut rule = rule.to_value();
    for value in rule.as_object_mut().into_iter().flat_map(|fields| fields.values_mut()) {
        let whole = value.as_f64().filter(|number| number.fract() == 0.0);
        if let Some(whole) = whole.filter(|number| (0.0..=f64::from(u32::MAX)).contains(number)) {
            #[allow(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "whole, and within the bounds checked here"
            )]
            let number = whole as u32;
            *value = number.into();
        }
    }
    serde_json::from_value(rule)
}

const RULES: &str = "docs/policy.md describes rules";

fn rule_error(error: RuleError) -> ApiError {
    let words = error.to_string();
    match error {
        RuleError::InSettings { .. } => ApiError::new(StatusCode::CONFLICT, "rule_in_settings", words)
            .with_hint("change the file; the gateway reloads it automatically"),
        RuleError::Unknown(_) => {
            ApiError::not_found("rule_not_found", words).with_hint("`toolway policy list` shows their names")
        }
        RuleError::Bad(problem) => {
            let place = problem.key.replace("policy.rules[0]", "rule");
            ApiError::malformed(format!("{place}: {}", problem.problem)).with_hint(RULES)
        }
        RuleError::Store(error) => error.into(),
    }
}

/// Remove a rule
#[utoipa::path(
    delete,
    path = "/api/policy/rules/{name}",
    tag = "policy",
    operation_id = "delete_policy_rule",
    params(("name" = String, Path, description = "The rule's name.")),
    responses(
        (status = 204, description = "Removed."),
        (status = 404, description = "The rule does not exist.", body = ErrorResponse),
        (status = 409, description = "The rule is in the settings.", body = ErrorResponse),
        (status = 503, description = "The database failed.", body = ErrorResponse),
    )
)]
async fn remove(
    _: AuthenticatedOwner,
    State(rules): State<Arc<PolicyRules>>,
    PathParams(name): PathParams<String>,
) -> Result<StatusCode, ApiError> {
    rules.remove(&name).await.map_err(rule_error)?;
    tracing::info!(rule = name, "policy rule removed");
    Ok(StatusCode::NO_CONTENT)
}

/// Test which rule decides
#[utoipa::path(
    post,
    path = "/api/policy/test",
    tag = "policy",
    operation_id = "test_policy",
    request_body = TestPolicyRequest,
    responses(
        (status = 200, description = "The decision and its reason.", body = TestPolicyResponse),
        (status = 404, description = "The tool or the token does not exist.", body = ErrorResponse),
    )
)]
async fn test(
    AuthenticatedOwner(owner): AuthenticatedOwner,
    State(access): State<Arc<AccessControl>>,
    State(engine): State<Arc<Engine>>,
    State(registry): State<Arc<Registry>>,
    JsonBody(body): JsonBody<TestPolicyRequest>,
) -> Result<Json<TestPolicyResponse>, ApiError> {
    let principal = match body.principal.as_deref() {
        None => owner.principal.clone(),
        Some(id) => access.tokens.principal(id).ok_or_else(|| {
            ApiError::not_found("token_not_found", format!("there is no token {id:?}"))
                .with_hint("`toolway tokens list` shows the ids")
        })?,
    };
    let agent = body.agent.map(|agent| read_text("agent", agent)).transpose()?;
    let caller = toolway_core::Caller {
        agent: agent.map(Arc::from),
        ..toolway_core::Caller::new(principal, EntryPoint::Rest)
    };
    let policy = engine.policy();
    // Finds tools that the caller may not use too: the question is about them.
    let snapshot = registry.snapshot();
    match snapshot.lookup(&body.tool, &caller, |_, _| true) {
        ToolLookup::Found(id, tool, _) => Ok(Json(TestPolicyResponse {
            decision: decision_view(policy.explain(&caller, &id, tool.spec())),
            tool_id: id.to_string(),
            principal: caller.principal.id.to_string(),
            role: caller.principal.role.to_string(),
        })),
        ToolLookup::Ambiguous(ids) => {
            let names: Vec<_> = ids.iter().map(|id| id.full_name().to_string()).collect();
            Err(no_such_tool(&body.tool)
                .with_hint(format!("several sources have this tool; use a full name: {}", names.join(", "))))
        }
        ToolLookup::Offline(id) => {
            Err(no_such_tool(&body.tool).with_hint(format!("its device {} is not connected", id.source)))
        }
        ToolLookup::Unknown => {
            let similar = suggestion_hint(&snapshot.similar_names(&body.tool, |_, _| true));
            Err(no_such_tool(&body.tool)
                .with_hint(similar.unwrap_or_else(|| "`toolway tools list` shows the tools".to_owned())))
        }
    }
}

fn no_such_tool(name: &str) -> ApiError {
    ApiError::not_found("tool_not_available", format!("Tool {name} is not available"))
}

#[cfg(test)]
mod tests;
