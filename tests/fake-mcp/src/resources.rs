//! Resources: two constant ones, one that is watched, one that can be added and removed, one that asks for a
//! password, and a template.

use rmcp::model::{
    InputRequests, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Resource,
    ResourceContents, ResourceTemplate,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::json;

use crate::client_input::{self, InputOutcome};
use crate::sample_image::PNG;
use crate::state::FakeMcpState;

/// The resource template.
pub(crate) const TEMPLATE: &str = "test://template/{id}/data";
/// The resource that changes.
pub(crate) const WATCHED: &str = "test://watched-resource";
const TEXT: &str = "test://static-text";
const BINARY: &str = "test://static-binary";
const ASKING: &str = "test://asking";
const SOMETIMES: &str = "test://sometimes";

pub(crate) fn list_resources(with_sometimes: bool) -> Vec<Resource> {
    let mut all = vec![
        Resource::new(TEXT, "static-text")
            .with_title("A text")
            .with_description("A text that stays as it is")
            .with_mime_type("text/plain"),
        Resource::new(BINARY, "static-binary")
            .with_description("An image that stays as it is")
            .with_mime_type("image/png"),
        Resource::new(WATCHED, "watched-resource")
            .with_description("Counts how often it has changed")
            .with_mime_type("text/plain"),
        Resource::new(ASKING, "asking")
            .with_description("Asks for a password before it can be read")
            .with_mime_type("text/plain"),
    ];
    if with_sometimes {
        all.push(
            Resource::new(SOMETIMES, "sometimes")
                .with_description("Is there now")
                .with_mime_type("text/plain"),
        );
    }
    all
}

pub(crate) fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new(TEMPLATE, "template")
            .with_title("Data by number")
            .with_description("The data that belongs to a number")
            .with_mime_type("application/json"),
    ]
}

pub(crate) async fn read(
    state: &FakeMcpState,
    request: ReadResourceRequestParams,
    cx: &RequestContext<RoleServer>,
) -> Result<ReadResourceResponse, ErrorData> {
    let uri = request.uri.as_str();
    let text = |text: &str, kind: &str| ResourceContents::text(text, uri).with_mime_type(kind);
    let contents = match uri {
        TEXT => text("This is the content of the static text resource.", "text/plain"),
        BINARY => ResourceContents::blob(PNG, uri).with_mime_type("image/png"),
        WATCHED => text(&format!("Changed {} times", state.changes.updates()), "text/plain"),
        SOMETIMES if state.changes.has_resource() => text("It is there.", "text/plain"),
        ASKING => {
            match client_input::request_input(cx, request.input_responses.as_ref(), password()).await? {
                InputOutcome::InputRequired(questions) => {
                    return Ok(client_input::input_required(questions, None).into());
                }
                InputOutcome::Answers(answers) => text(&json!(answers).to_string(), "text/plain"),
            }
        }
        _ => match id(uri) {
            Some(id) => {
                let data = json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")});
                text(&data.to_string(), "application/json")
            }
            None => {
                return Err(ErrorData::resource_not_found("Resource not found", Some(json!({"uri": uri}))));
            }
        },
    };
    Ok(ReadResourceResult::new(vec![contents]).into())
}

/// Returns the value of `{id}` in the template.
fn id(uri: &str) -> Option<&str> {
    let id = uri.strip_prefix("test://template/")?.strip_suffix("/data")?;
    (!id.is_empty() && !id.contains('/')).then_some(id)
}

fn password() -> InputRequests {
    client_input::questions([(
        "password",
        json!({
            "method": "elicitation/create",
            "params": {
                "message": "Which password?",
                "requestedSchema": {
                    "type": "object",
                    "properties": {"password": {"type": "string"}},
                    "required": ["password"]
                }
            }
        }),
    )])
}
