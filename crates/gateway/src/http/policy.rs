//! `/api/policy`: which rules hold, making and removing rules, and which rule decides over a call.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use toolway_core::policy::definition::RuleDefinition;
use toolway_core::{EntryPoint, PolicyExplanation, ToolLookup};
use toolway_types::{Principal, PrincipalId, RawJson, Role};
use utoipa::ToSchema;

use super::error::ErrorResponse;
use super::policy_schema::PolicyRuleSchema;
use super::resources::{ApiRoutes, resources};
use super::token_input::{ShortTextSchema, optional_whole, read_text};
use super::{ApiError, JsonBody, PathParams};
use crate::access::{AuthenticatedOwner, OWNER_ID};
use crate::rules::{PlacedRule, RuleError, RuleOrigin};
use crate::state::AppState;

pub(super) fn routes() -> ApiRoutes {
    resources!(show, put, remove, test)
}

/// A rule, and where it stands.
#[derive(Debug, Serialize, ToSchema)]
struct PolicyRuleView {
    /// Its name.
    name: String,
    /// `settings` or `database`.
    origin: &'static str,
    /// File and line, where it stands in a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    place: Option<String>,
    /// What it says.
    #[schema(value_type = Object)]
    rule: RawJson,
}

impl PolicyRuleView {
    fn of(placed: &PlacedRule) -> Self {
        let (origin, place) = match &placed.origin {
            RuleOrigin::Settings { place } => ("settings", place.clone()),
            RuleOrigin::Database => ("database", None),
        };
        let definition = RuleDefinition { name: None, ..placed.definition.clone() };
        Self {
            name: placed.name.clone(),
            origin,
            place,
            rule: RawJson::from_value(&definition).unwrap_or_default(),
        }
    }
}

/// The rules that hold.
#[derive(Debug, Serialize, ToSchema)]
struct PolicyView {
    /// What becomes of a call that no rule fits: `allow`, `deny` or `ask`.
    #[schema(value_type = String)]
    default: RawJson,
    /// Sources whose word on what their tools do is believed.
    trusted_sources: Vec<String>,
    /// `flag` or `ask`.
    #[schema(value_type = String)]
    changed_tools: RawJson,
    /// The rules, in the order in which they are tried.
    rules: Vec<PolicyRuleView>,
}

/// Show the policy
#[utoipa::path(
    get,
    path = "/api/policy",
    tag = "policy",
    responses((status = 200, description = "The rules that hold.", body = PolicyView))
)]
async fn show(_: AuthenticatedOwner, State(app): State<Arc<AppState>>) -> Json<PolicyView> {
    let defaults = app.rules.defaults().await;
    Json(PolicyView {
        default: RawJson::from_value(&defaults.default).unwrap_or_default(),
        trusted_sources: defaults.trusted_sources.clone(),
        changed_tools: RawJson::from_value(&defaults.changed_tools).unwrap_or_default(),
        rules: app.rules.list().iter().map(PolicyRuleView::of).collect(),
    })
}

/// A rule to make.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct PutRuleRequest {
    /// What it says.
    #[schema(value_type = PolicyRuleSchema)]
    rule: RawJson,
    /// How many of the rules made here come before it; at the end where nothing is said.
    #[schema(minimum = 0, maximum = 65535)]
    #[serde(default, deserialize_with = "optional_whole")]
    before: Option<u16>,
}

/// Make or change a rule
///
/// Rules of the settings come first, then those made here. One that stands in the settings is changed there.
#[utoipa::path(
    put,
    path = "/api/policy/rules/{name}",
    tag = "policy",
    params(("name" = inline(ShortTextSchema), Path, description = "The rule's name.")),
    request_body = PutRuleRequest,
    responses(
        (status = 200, description = "The rule was changed."),
        (status = 201, description = "The rule was made."),
        (status = 409, description = "It stands in the settings.", body = ErrorResponse),
        (status = 503, description = "It could not be kept.", body = ErrorResponse),
    )
)]
async fn put(
    _: AuthenticatedOwner,
    State(app): State<Arc<AppState>>,
    PathParams(name): PathParams<String>,
    JsonBody(body): JsonBody<PutRuleRequest>,
) -> Result<StatusCode, ApiError> {
    let name = read_text("name", name)?;
    let definition: RuleDefinition =
        read(&body.rule).map_err(|error| ApiError::malformed(format!("rule: {error}")).with_hint(RULES))?;
    if definition.name.as_ref().is_some_and(|inner| *inner != name) {
        return Err(ApiError::malformed("rule.name is not the name in the path").with_hint("leave it out"));
    }
    let is_new = app.rules.put(&name, definition, body.before.map(usize::from)).await.map_err(rule_error)?;
    tracing::info!(rule = name, "a policy rule was made or changed");
    Ok(if is_new { StatusCode::CREATED } else { StatusCode::OK })
}

/// Reads a rule. Whole numbers count however they are written: `5.0` is an integer to JSON Schema.
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

const RULES: &str = "docs/policy.md says how rules are written";

fn rule_error(error: RuleError) -> ApiError {
    let words = error.to_string();
    match error {
        RuleError::InSettings { .. } => ApiError::new(StatusCode::CONFLICT, "in_settings", words)
            .with_hint("change the file; the gateway reads it again by itself"),
        RuleError::Unknown(_) => {
            ApiError::not_found("rule_unknown", words).with_hint("`toolway policy list` shows their names")
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
    params(("name" = String, Path, description = "The rule's name.")),
    responses(
        (status = 204, description = "It holds no more."),
        (status = 404, description = "There is no such rule.", body = ErrorResponse),
        (status = 409, description = "It stands in the settings.", body = ErrorResponse),
        (status = 503, description = "It could not be kept.", body = ErrorResponse),
    )
)]
async fn remove(
    _: AuthenticatedOwner,
    State(app): State<Arc<AppState>>,
    PathParams(name): PathParams<String>,
) -> Result<StatusCode, ApiError> {
    app.rules.remove(&name).await.map_err(rule_error)?;
    tracing::info!(rule = name, "a policy rule was removed");
    Ok(StatusCode::NO_CONTENT)
}

/// Whose call of what.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct TestPolicyRequest {
    /// The tool's name.
    #[schema(value_type = ShortTextSchema)]
    tool: String,
    /// The id of a token, or `owner`; the owner where nothing is said.
    #[schema(value_type = Option<ShortTextSchema>)]
    principal: Option<String>,
    /// The agent in whose name the call would be made.
    #[schema(value_type = Option<ShortTextSchema>)]
    agent: Option<String>,
}

/// What would become of a call.
#[derive(Debug, Serialize, ToSchema)]
struct TestPolicyResponse {
    /// The tool's id.
    tool: String,
    /// Whose call.
    principal: String,
    /// With which role.
    role: String,
    /// Which rule decides, and why: `effect`, `rule`, `reason`, `definition`, `asks`, `caller_may_answer`,
    /// `read_only`, `permissions`.
    #[schema(value_type = Object)]
    decision: PolicyExplanation,
}

/// Ask which rule decides
#[utoipa::path(
    post,
    path = "/api/policy/test",
    tag = "policy",
    request_body = TestPolicyRequest,
    responses(
        (status = 200, description = "Which rule decides, and why.", body = TestPolicyResponse),
        (status = 404, description = "There is no such tool, or token.", body = ErrorResponse),
    )
)]
async fn test(
    AuthenticatedOwner(owner): AuthenticatedOwner,
    State(app): State<Arc<AppState>>,
    JsonBody(body): JsonBody<TestPolicyRequest>,
) -> Result<Json<TestPolicyResponse>, ApiError> {
    let principal = match body.principal.as_deref() {
        None => owner.principal.clone(),
        Some(id) => match app.access.tokens.by_id(id) {
            Some(token) => token.principal.clone(),
            None if id == OWNER_ID => {
                Arc::new(Principal { id: PrincipalId::from(OWNER_ID), role: Role::Owner, agent: None })
            }
            None => {
                return Err(ApiError::not_found("token_not_found", format!("there is no token {id:?}"))
                    .with_hint("`toolway tokens list` shows the ids"));
            }
        },
    };
    let agent = body.agent.map(|agent| read_text("agent", agent)).transpose()?;
    let caller = toolway_core::Caller {
        agent: agent.map(Arc::from),
        ..toolway_core::Caller::new(principal, EntryPoint::Rest)
    };
    let policy = app.engine.policy();
    // Also what the caller may not use is found: that is what is asked about.
    match app.registry.snapshot().lookup(&body.tool, &caller, |_, _| true) {
        ToolLookup::Found(id, tool, _) => Ok(Json(TestPolicyResponse {
            decision: policy.explain(&caller, &id, tool.spec()),
            tool: id.to_string(),
            principal: caller.principal.id.to_string(),
            role: caller.principal.role.to_string(),
        })),
        ToolLookup::Ambiguous(ids) => {
            let names: Vec<_> = ids.iter().map(|id| id.full_name().to_string()).collect();
            Err(no_such_rule(&body.tool).with_hint(format!("several sources have one: {}", names.join(", "))))
        }
        ToolLookup::Offline(id) => {
            Err(no_such_rule(&body.tool).with_hint(format!("{} has it, but is not connected", id.source)))
        }
        ToolLookup::Unknown => {
            Err(no_such_rule(&body.tool).with_hint("`toolway tools list` shows the tools"))
        }
    }
}

fn no_such_rule(name: &str) -> ApiError {
    ApiError::not_found("tool_not_available", format!("Tool {name} is not available"))
}
