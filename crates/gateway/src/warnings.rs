//! What the owner should know of a running gateway: put together from its parts, each in the same form.

use serde::Serialize;
use utoipa::ToSchema;

use crate::state::AppState;

/// Something that the owner should know.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct GatewayWarning {
    /// What it is about: the name of a setting, `agents`, `calls`, `files`, `tools`, `tls` or
    /// `store`.
    pub(crate) about: String,
    /// What is the matter.
    pub(crate) message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) hint: Option<String>,
}

impl GatewayWarning {
    fn new(about: &str, message: String, hint: &str) -> Self {
        Self { about: about.to_owned(), message, hint: Some(hint.to_owned()) }
    }
}

impl AppState {
    /// What the owner should know now.
    pub(crate) fn warnings(&self) -> Vec<GatewayWarning> {
        let settings = self.settings.warnings().into_iter();
        let mut warnings: Vec<_> = settings
            .map(|it| GatewayWarning { about: it.key, message: it.problem, hint: Some(it.hint) })
            .collect();
        let abandoned = self.engine.abandoned_runs();
        if abandoned > 0 {
            warnings.push(GatewayWarning::new(
                "calls",
                format!("{abandoned} runs of tools were told to stop and still run"),
                "a tool blocks past its deadline; each holds a thread until it ends",
            ));
        }
        warnings.extend(self.gateway_tools.defined_tools().refused.iter().map(|refused| {
            let hint = "put the definition right; the other tools are offered";
            GatewayWarning::new("tools", refused.to_string(), hint)
        }));
        warnings.extend(self.rules.invalid_stored().iter().map(|rule| {
            let hint = "give one of them another name, or remove it: `toolway policy list` shows them";
            GatewayWarning::new("policy.rules", rule.to_string(), hint)
        }));
        warnings.extend(self.chat.problems().into_iter().map(|problem| GatewayWarning {
            about: "files".to_owned(),
            message: problem.to_string(),
            hint: Some(problem.hint.unwrap_or_else(|| "put it right; what stood before stands".to_owned())),
        }));
        for agent in self.chat.agents.list() {
            let name = &agent.definition.name;
            warnings.extend(agent.problems.into_iter().map(|problem| {
                let hint = "`toolway agents show` says more";
                GatewayWarning::new("agents", format!("the agent {name:?}: {problem}"), hint)
            }));
        }
        if let Some(fault) = self.tls.as_ref().and_then(|tls| tls.fault()) {
            warnings.push(GatewayWarning::new(
                "tls",
                format!("the certificate file was changed and can't be used: {fault}"),
                "put it right; until then the certificate from before is served",
            ));
        }
        let health = self.store.health();
        if health.failing || health.records_lost > 0 {
            let lost = health.records_lost;
            let state = if health.failing { "can't be written to now" } else { "works again" };
            let why = health.last_error.map(|fault| fault.text).unwrap_or_default();
            warnings.push(GatewayWarning::new(
                "store",
                format!("the database {state}; {lost} records of calls were lost ({why})"),
                "check the room on the disk and who else uses the database; see `toolway doctor`",
            ));
        }
        warnings
    }
}
