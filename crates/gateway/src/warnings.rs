//! Warnings about a running gateway, for its owner.

use toolway_api::gateway::GatewayWarning;

use crate::state::AppState;

fn warning(subject: &str, message: String, hint: &str) -> GatewayWarning {
    GatewayWarning { subject: subject.to_owned(), message, hint: Some(hint.to_owned()) }
}

impl AppState {
    /// Returns the current warnings.
    pub(crate) fn warnings(&self) -> Vec<GatewayWarning> {
        let settings = self.settings.warnings().into_iter();
        let mut warnings: Vec<_> = settings
            .map(|it| GatewayWarning { subject: it.key, message: it.problem, hint: Some(it.hint) })
            .collect();
        let abandoned = self.engine.abandoned_runs();
        if abandoned > 0 {
            warnings.push(warning(
                "calls",
                format!("{abandoned} cancelled runs of tools still execute"),
                "the tools block past their deadlines, and each uses a thread until it ends",
            ));
        }
        warnings.extend(self.gateway_tools.defined_tools().refused.iter().map(|refused| {
            let hint = "correct the definition; the other tools are active";
            warning("tools", refused.to_string(), hint)
        }));
        warnings.extend(self.rules.invalid_stored().iter().map(|rule| {
            let hint = "rename or remove one of them; `toolway policy list` shows them";
            warning("policy.rules", rule.to_string(), hint)
        }));
        warnings.extend(self.chat.problems().into_iter().map(|problem| {
            GatewayWarning {
                subject: "files".to_owned(),
                message: problem.to_string(),
                hint: Some(
                    problem
                        .hint
                        .unwrap_or_else(|| "correct the file; its previous version stays active".to_owned()),
                ),
            }
        }));
        for agent in self.chat.agents.list() {
            let name = &agent.definition.name;
            warnings.extend(agent.problems.into_iter().map(|problem| {
                let hint = "see `toolway agents show`";
                warning("agents", format!("the agent {name:?}: {problem}"), hint)
            }));
        }
        if let Some(fault) = self.tls.as_ref().and_then(|tls| tls.fault()) {
            warnings.push(warning(
                "tls",
                format!("the changed certificate file is invalid: {fault}"),
                "correct the file; the previous certificate stays active",
            ));
        }
        let health = self.store.health();
        if health.failing || health.records_lost > 0 {
            let lost = health.records_lost;
            let state = if health.failing { "cannot be written" } else { "works again" };
            let why = health.last_error.map(|fault| fault.text).unwrap_or_default();
            warnings.push(warning(
                "store",
                format!("the database {state}; {lost} records of calls were lost ({why})"),
                "check the free space, and other programs that use the database; see `toolway doctor`",
            ));
        }
        warnings
    }
}
