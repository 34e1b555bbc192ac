//! `http_request`: makes an HTTP request to a URL (seed, "Built-in Tools", 4). Where it may go and how much it
//! reads is the guarded client's affair.

use std::sync::Arc;

use async_trait::async_trait;
use reqwest::Method;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use serde::Deserialize;
use serde_json::{Value, json};
use toolway_core::{Arguments, CallContext, SpecError, Tool, ToolSpec};
use toolway_types::{Code, JsonObject, RawJson, SpecDocument, ToolError, ToolOutput};

use crate::web::{
    GuardedClient, WebRequest, parse_url, render_response, request_header, response_json, status_error,
};

/// How long one request may take, in milliseconds.
const TIMEOUT_MS: u64 = 30_000;

/// Makes the tool.
///
/// # Errors
/// [`BadSpec`] would be a mistake in this file.
pub fn http_request(client: Arc<GuardedClient>) -> Result<Arc<dyn Tool>, SpecError> {
    let spec = Arc::new(ToolSpec::from_program(document())?);
    Ok(Arc::new(HttpRequestTool { spec, client }))
}

fn document() -> SpecDocument {
    let parameters = json!({
        "type": "object",
        "properties": {
            "url": {
                "type": "string",
                "description": "The URL to request, http or https"
            },
            "method": {
                "type": "string",
                "enum": ["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD"],
                "default": "GET",
                "description": "HTTP method"
            },
            "headers": {
                "type": "object",
                "additionalProperties": { "type": "string" },
                "description": "Key-value pairs of HTTP headers"
            },
            "body": {
                "type": "string",
                "description": "Request body (for POST, PUT, PATCH and DELETE); sent as JSON where it is JSON \
                                and no Content-Type is given"
            }
        },
        "required": ["url"],
        "additionalProperties": false
    });
    let annotations = json!({
        "readOnlyHint": false,
        "destructiveHint": true,
        "idempotentHint": false,
        "openWorldHint": true
    });
    SpecDocument {
        description: Some("Make an HTTP request to a URL".to_owned()),
        parameters: Some(RawJson::from(&parameters)),
        title: Some("HTTP request".to_owned()),
        annotations: Some(RawJson::from(&annotations)),
        permissions: vec!["INTERNET".to_owned()],
        timeout_ms: Some(TIMEOUT_MS),
        ..SpecDocument::named("http_request")
    }
}

struct HttpRequestTool {
    spec: Arc<ToolSpec>,
    client: Arc<GuardedClient>,
}

#[derive(Deserialize)]
struct HttpRequestArguments {
    url: String,
    method: Option<String>,
    #[serde(default)]
    headers: JsonObject,
    body: Option<String>,
}

#[async_trait]
impl Tool for HttpRequestTool {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    async fn execute(&self, arguments: Arguments, cx: &CallContext) -> Result<ToolOutput, ToolError> {
        let given = serde_json::from_value(Value::Object(arguments.into_object()))
            .map_err(|error| invalid(error.to_string()))?;
        let request = build_request(given)?;
        let asked = request.url.clone();
        let answer = self.client.send(request, &|| cx.mark_dispatched()).await?;
        let shown = render_response(&answer);
        if answer.status.is_server_error() {
            return Err(status_error(&answer, &shown));
        }
        Ok(ToolOutput::structured(response_json(&answer, shown, &asked)))
    }

    fn marks_dispatch(&self) -> bool {
        true
    }
}

fn invalid(message: impl Into<String>) -> ToolError {
    ToolError::new(Code::InvalidArguments, message)
}

fn build_request(given: HttpRequestArguments) -> Result<WebRequest, ToolError> {
    let method = given.method.as_deref().unwrap_or("GET");
    let method = Method::from_bytes(method.as_bytes())
        .map_err(|_| invalid(format!("{method:?} is not a method that can be used")))?;
    let mut request = WebRequest::new(method, parse_url(given.url.trim())?);
    for (name, value) in &given.headers {
        let Some(value) = value.as_str() else {
            return Err(invalid(format!("the value of header {name} is not a string")));
        };
        request_header(&mut request.headers, name, value, false).map_err(|bad| invalid(bad.to_string()))?;
    }
    // Models like to fill in every field; nothing is no body.
    request.body = given.body.filter(|body| !body.is_empty()).map(String::into_bytes);
    if let Some(body) = &request.body {
        if matches!(request.method, Method::GET | Method::HEAD) {
            let method = &request.method;
            return Err(invalid(format!("a {method} request has no body"))
                .with_hint("Put what is asked for into the URL, or use POST"));
        }
        set_default_content_type(&mut request.headers, body);
    }
    Ok(request)
}

/// Says what a body is, where the caller did not.
fn set_default_content_type(headers: &mut HeaderMap, body: &[u8]) {
    let starts = body.iter().find(|byte| !byte.is_ascii_whitespace());
    let is_json =
        matches!(starts, Some(b'{' | b'[')) && serde_json::from_slice::<serde::de::IgnoredAny>(body).is_ok();
    let kind = if is_json { "application/json" } else { "text/plain; charset=utf-8" };
    headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static(kind));
}

#[cfg(test)]
mod tests;
