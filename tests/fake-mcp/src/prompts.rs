//! Prompts: with and without arguments, with a resource, with an image, one that asks the person first, and
//! one that can be added and removed.

use rmcp::model::{
    ContentBlock, GetPromptRequestParams, GetPromptResponse, GetPromptResult, Prompt, PromptArgument,
    PromptMessage, ResourceContents, Role,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};

use crate::client_input::{self, InputOutcome};
use crate::sample_image::PNG;
use crate::state::FakeMcpState;

const SIMPLE: &str = "test_simple_prompt";
const ARGUMENTS: &str = "test_prompt_with_arguments";
const RESOURCE: &str = "test_prompt_with_embedded_resource";
const IMAGE: &str = "test_prompt_with_image";
const ASKING: &str = "test_input_required_result_prompt";
const SOMETIMES: &str = "test_sometimes_prompt";

pub(crate) fn list_prompts(with_sometimes: bool) -> Vec<Prompt> {
    let argument =
        |name: &str, about: &str| PromptArgument::new(name).with_description(about).with_required(true);
    let mut all = vec![
        Prompt::new(SIMPLE, Some("A prompt without arguments"), None).with_title("Simple"),
        Prompt::new(
            ARGUMENTS,
            Some("A prompt with two arguments"),
            Some(vec![argument("arg1", "First test argument"), argument("arg2", "Second test argument")]),
        ),
        Prompt::new(
            RESOURCE,
            Some("A prompt with a resource in it"),
            Some(vec![argument("resourceUri", "URI of the resource to embed")]),
        ),
        Prompt::new(IMAGE, Some("A prompt with an image in it"), None),
        Prompt::new(ASKING, Some("A prompt that asks the person for its context"), None),
    ];
    if with_sometimes {
        all.push(Prompt::new(SOMETIMES, Some("Is there now"), None));
    }
    all
}

pub(crate) async fn get(
    state: &FakeMcpState,
    request: GetPromptRequestParams,
    cx: &RequestContext<RoleServer>,
) -> Result<GetPromptResponse, ErrorData> {
    let argument = |name: &str| -> Result<String, ErrorData> {
        let value =
            request.arguments.as_ref().and_then(|arguments| arguments.get(name)).and_then(Value::as_str);
        let missing = || ErrorData::invalid_params(format!("the argument {name} is missing"), None);
        value.map(str::to_owned).ok_or_else(missing)
    };
    let user = |text: &str| PromptMessage::new_text(Role::User, text);
    let messages = match request.name.as_str() {
        SIMPLE => vec![user("This is a simple prompt for testing.")],
        ARGUMENTS => {
            let (first, second) = (argument("arg1")?, argument("arg2")?);
            vec![user(&format!("Prompt with arguments: arg1='{first}', arg2='{second}'"))]
        }
        RESOURCE => {
            let resource =
                ResourceContents::text("Embedded resource content for testing.", argument("resourceUri")?);
            vec![
                PromptMessage::new(Role::User, ContentBlock::resource(resource)),
                user("Please process the embedded resource above."),
            ]
        }
        IMAGE => vec![
            PromptMessage::new(Role::User, ContentBlock::image(PNG, "image/png")),
            user("Please analyze the image above."),
        ],
        ASKING => {
            let question = json!({
                "method": "elicitation/create",
                "params": {
                    "message": "What context should the prompt use?",
                    "requestedSchema": {
                        "type": "object",
                        "properties": {"context": {"type": "string"}},
                        "required": ["context"]
                    }
                }
            });
            let questions = client_input::questions([("user_context", question)]);
            match client_input::request_input(cx, request.input_responses.as_ref(), questions).await? {
                InputOutcome::InputRequired(questions) => {
                    return Ok(client_input::input_required(questions, None).into());
                }
                InputOutcome::Answers(answers) => {
                    vec![user(&format!("Use this context: {}", json!(answers)))]
                }
            }
        }
        SOMETIMES if state.changes.has_prompt() => vec![user("Now.")],
        name => return Err(ErrorData::invalid_params(format!("there is no prompt {name}"), None)),
    };
    Ok(GetPromptResult::new(messages).into())
}
