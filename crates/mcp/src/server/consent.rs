//! Consent of the person at the client: a question of the engine as a form, and the answer. The engine decides which
//! questions a caller may answer, and sends no others.

use std::collections::BTreeMap;
use std::sync::Arc;

use rmcp::model::{ElicitRequest, ElicitRequestParams, InputRequest, InputRequests, InputResponses};
use serde_json::{Value, json};
use toolway_core::Engine;
use toolway_core::consent::{ConsentDecision, ConsentScope, Question};

use super::client_scope::ClientScope;

/// A question to a client, and the engine that receives the answer.
pub(crate) struct ConsentRequest {
    pub(crate) engine: Arc<Engine>,
    pub(crate) question: Arc<Question>,
}

impl ConsentRequest {
    /// Returns true if the question still needs an answer.
    pub(crate) fn is_open(&self) -> bool {
        self.engine.questions().is_open(self.question.id)
    }

    /// Submits the choice of the person at this client.
    pub(crate) fn submit_answer(&self, client: &ClientScope, answers: &InputResponses) {
        let (choice, scope) = choice_of(answers);
        let principal = &client.caller.principal;
        if let Err(refused) = self.engine.questions().answer(self.question.id, principal, choice, scope) {
            // Another person may have answered meanwhile.
            tracing::debug!(%refused, tool = %self.question.tool, "an MCP client's answer to a question was not taken");
        }
    }
}

/// The key of the only question.
const KEY: &str = "consent";

/// The question as a form.
pub(crate) fn elicitation_form(question: &Question) -> Option<InputRequests> {
    let tool = question.tool.full_name();
    let ask = match question.kind.permission() {
        Some(permission) => format!("May {tool} use the permission {permission}?"),
        None => format!("May {tool} run?"),
    };
    let mut choices = vec![("allow", "Allow once")];
    if question.session.is_some() {
        choices.push(("allow_session", "Allow for this MCP session"));
    }
    choices.push(("deny", "Do not allow"));
    let options: Vec<Value> =
        choices.iter().map(|(word, title)| json!({"const": word, "title": title})).collect();
    let params: ElicitRequestParams = serde_json::from_value(json!({
        "mode": "form",
        "message": format!("{ask} {}\nArguments: {}", question.reason, question.arguments.get()),
        "requestedSchema": {
            "type": "object",
            "properties": {"decision": {"type": "string", "title": "Decision", "oneOf": options}},
            "required": ["decision"],
        },
    }))
    .ok()?;
    let request = ElicitRequest::new(params);
    Some(BTreeMap::from([(KEY.to_owned(), InputRequest::Elicitation(request))]))
}

/// The choice of the person. A closed form, a refusal or an invalid answer is no consent.
fn choice_of(answers: &InputResponses) -> (ConsentDecision, ConsentScope) {
    let answer = answers.get(KEY);
    let accepted = answer.and_then(|answer| answer.get("action")).and_then(Value::as_str) == Some("accept");
    let decision = answer.and_then(|answer| answer.pointer("/content/decision")).and_then(Value::as_str);
    match decision.filter(|_| accepted) {
        Some("allow") => (ConsentDecision::Granted, ConsentScope::Once),
        Some("allow_session") => (ConsentDecision::Granted, ConsentScope::Session),
        _ => (ConsentDecision::Denied, ConsentScope::Once),
    }
}
