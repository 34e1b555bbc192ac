//! Completion of the arguments of prompts and of resource templates.

use rmcp::ErrorData;
use rmcp::model::{CompleteRequestParams, CompleteResult, CompletionInfo, Reference};

const CITIES: [&str; 5] = ["paris", "park", "party", "perth", "test-city"];
const NUMBERS: [&str; 4] = ["1", "12", "123", "2"];

/// Returns the words that start with the typed text. Those of the second argument are prefixed with the
/// first.
pub(crate) fn complete(request: &CompleteRequestParams) -> Result<CompleteResult, ErrorData> {
    let words: &[&str] = match &request.r#ref {
        Reference::Prompt(prompt) if prompt.name == "test_prompt_with_arguments" => &CITIES,
        Reference::Resource(resource) if resource.uri == crate::resources::TEMPLATE => &NUMBERS,
        _ => return Err(ErrorData::invalid_params("nothing to complete by this name", None)),
    };
    let first = request.context.as_ref().and_then(|context| context.get_argument("arg1"));
    let prefix = first.filter(|_| request.argument.name == "arg2").map(|first| format!("{first}-"));
    let values: Vec<String> = words
        .iter()
        .map(|word| format!("{}{word}", prefix.as_deref().unwrap_or_default()))
        .filter(|word| word.starts_with(&request.argument.value))
        .collect();
    let info =
        CompletionInfo::with_all_values(values).map_err(|error| ErrorData::internal_error(error, None))?;
    Ok(CompleteResult::new(info))
}
