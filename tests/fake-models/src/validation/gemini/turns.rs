//! Validates dependencies between contents: responses and calls, calls and signatures.

use serde_json::Value;

use super::GeminiCheckResult;
use crate::error::ProviderApiError;
use crate::script::FakeModel;
use crate::signatures;
use crate::validation::fields::{list, text};

/// Returns the names of the calls or responses in a content.
fn names<'a>(content: Option<&'a Value>, field: &str) -> Vec<&'a str> {
    let parts = content.map(|content| list(content, "parts")).unwrap_or_default().iter();
    parts.filter_map(|part| part.get(field)).map(|inner| text(inner, "name")).collect()
}

pub(super) fn calls_and_responses(body: &Value) -> GeminiCheckResult {
    let contents = list(body, "contents");
    for (number, content) in contents.iter().enumerate() {
        let role = text(content, "role");
        if !["", "user", "model"].contains(&role) {
            return Err(ProviderApiError::invalid("Please use a valid role: user, model."));
        }
        let calls = names(Some(content), "functionCall");
        let before = number.checked_sub(1).and_then(|before| contents.get(before));
        if !calls.is_empty() {
            let follows = before.is_some_and(|before| text(before, "role") != "model");
            if role != "model" || !follows {
                return Err(ProviderApiError::invalid(
                    "Please ensure that function call turn comes immediately after a user turn or after a function \
                     response turn.",
                ));
            }
            let responses = names(contents.get(number + 1), "functionResponse");
            if responses.len() != calls.len() {
                return Err(ProviderApiError::invalid(
                    "Please ensure that the number of function response parts is equal to the number of function \
                     call parts of the function call turn.",
                ));
            }
            // Responses are matched by order; the name only shows mistakes.
            if let Some(name) = responses.iter().find(|name| !calls.contains(name)) {
                return Err(ProviderApiError::invalid(format!(
                    "Please ensure that function response turn answers the functions of the function call turn: \
                     {name} was not called."
                )));
            }
        }
        let responses = names(Some(content), "functionResponse");
        if !responses.is_empty() && names(before, "functionCall").is_empty() {
            return Err(ProviderApiError::invalid(
                "Please ensure that function response turn comes immediately after a function call turn.",
            ));
        }
    }
    Ok(())
}

/// Checks that the first call of each step in the current turn has its signature, and that all signatures are
/// genuine.
pub(super) fn check_signatures(body: &Value, model: &FakeModel) -> GeminiCheckResult {
    let contents = list(body, "contents");
    let speaks = |content: &Value| {
        let said = |part: &Value| part.get("text").is_some() || part.get("inlineData").is_some();
        text(content, "role") != "model"
            && names(Some(content), "functionResponse").is_empty()
            && list(content, "parts").iter().any(said)
    };
    let current = contents.iter().rposition(speaks).unwrap_or(0);
    for (number, content) in contents.iter().enumerate() {
        let mut first = true;
        for (index, part) in list(content, "parts").iter().enumerate() {
            let signature = part.get("thoughtSignature").and_then(Value::as_str);
            if let Some(call) = part.get("functionCall") {
                let args = call.get("args").cloned().unwrap_or_else(|| Value::Object(serde_json::Map::new()));
                let right = signatures::sign_call(text(call, "name"), &args);
                let wanted = model.thinks && first && number >= current;
                first = false;
                match signature {
                    Some(given) if signatures::is_valid_signature(given, &right) => {}
                    Some(_) => return Err(ProviderApiError::invalid("Corrupted thought signature.")),
                    None if wanted => {
                        let name = text(call, "name");
                        return Err(ProviderApiError::invalid(format!(
                            "Function call is missing a thought_signature in functionCall parts. This is required for \
                             tools to work correctly, and missing thought_signature may lead to degraded model \
                             performance. Additional data, function call `default_api:{name}` , position {number}."
                        )));
                    }
                    None => {}
                }
            } else if signature
                .is_some_and(|given| !signatures::is_valid_signature(given, &signatures::sign_text()))
            {
                return Err(ProviderApiError::invalid(format!(
                    "Corrupted thought signature. (contents[{number}].parts[{index}])"
                )));
            }
        }
    }
    Ok(())
}
