//! `http_request`: makes an HTTP request to a URL (docs/tools.md). [`GuardedClient`] restricts the
//! addresses and the size of the response.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use reqwest::Method;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolway_core::{CallContext, SpecError, Tool, ToolBuilder};
use toolway_types::{Code, ToolAnnotations, ToolError, ToolOutput};

use super::DESTRUCTIVE;
use crate::web::{
    GuardedClient, WebRequest, parse_url, render_response, request_header, response_json, status_error,
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct HttpRequestArguments {
    /// The URL to request, http or https
    url: String,
    /// HTTP method
    #[serde(default)]
    method: HttpMethod,
    /// Key-value pairs of HTTP headers
    headers: Option<BTreeMap<String, String>>,
    /// Request body (for POST, PUT, PATCH and DELETE); sent as JSON where it is JSON and no Content-Type is given
    body: Option<String>,
}

#[derive(Clone, Copy, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
enum HttpMethod {
    #[default]
    Get,
    Post,
    Put,
    Delete,
    Patch,
    Head,
}

impl From<HttpMethod> for Method {
    fn from(method: HttpMethod) -> Self {
        match method {
            HttpMethod::Get => Self::GET,
            HttpMethod::Post => Self::POST,
            HttpMethod::Put => Self::PUT,
            HttpMethod::Delete => Self::DELETE,
            HttpMethod::Patch => Self::PATCH,
            HttpMethod::Head => Self::HEAD,
        }
    }
}

/// The tool.
pub(super) fn tool(client: Arc<GuardedClient>) -> Result<Arc<dyn Tool>, SpecError> {
    ToolBuilder::new("http_request", "Make an HTTP request to a URL")
        .title("HTTP request")
        .annotations(&ToolAnnotations { open_world_hint: Some(true), ..DESTRUCTIVE })
        .permission("INTERNET")
        .timeout(Duration::from_secs(30))
        .marks_dispatch()
        .build(move |arguments: HttpRequestArguments, cx| {
            let client = client.clone();
            async move { send(&client, arguments, &cx).await }
        })
}

async fn send(
    client: &GuardedClient,
    arguments: HttpRequestArguments,
    cx: &CallContext,
) -> Result<ToolOutput, ToolError> {
    let request = build_request(arguments)?;
    let asked = request.url.clone();
    let answer = client.send(request, &|| cx.mark_dispatched()).await?;
    let shown = render_response(&answer);
    if answer.status.is_server_error() {
        return Err(status_error(&answer, &shown));
    }
    Ok(ToolOutput::structured(response_json(&answer, shown, &asked)))
}

fn invalid(message: impl Into<String>) -> ToolError {
    ToolError::new(Code::InvalidArguments, message)
}

fn build_request(given: HttpRequestArguments) -> Result<WebRequest, ToolError> {
    let mut request = WebRequest::new(given.method.into(), parse_url(given.url.trim())?);
    for (name, value) in given.headers.iter().flatten() {
        request_header(&mut request.headers, name, value, false).map_err(|bad| invalid(bad.to_string()))?;
    }
    // Models often fill in every field, so an empty body counts as none.
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

/// Sets the content type of a body, unless the caller has set it.
fn set_default_content_type(headers: &mut HeaderMap, body: &[u8]) {
    let starts = body.iter().find(|byte| !byte.is_ascii_whitespace());
    let is_json =
        matches!(starts, Some(b'{' | b'[')) && serde_json::from_slice::<serde::de::IgnoredAny>(body).is_ok();
    let kind = if is_json { "application/json" } else { "text/plain; charset=utf-8" };
    headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static(kind));
}

#[cfg(test)]
mod tests;
