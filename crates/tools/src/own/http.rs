//! Tools that send one HTTP request, `kind = "http"`:
//!
//! ```toml
//! [[tool]]
//! kind = "http"
//! name = "find_tickets"
//! description = "Finds tickets by words"
//! method = "POST"                                      # default: GET
//! url = "https://tickets.example.org/api/{project}/search?limit={limit}"
//! headers = { Authorization = "Bearer {secret:tickets}", Accept = "application/json" }
//! body = { words = "{words}", note = "asked for {words}" }
//! result_pointer = "/hits"                             # JSON pointer into the response
//! timeout_s = 20                                       # default: 30
//!
//! [tool.parameters]
//! type = "object"
//! required = ["project", "words"]
//! properties.project = { type = "string" }
//! properties.words = { type = "string" }
//! properties.limit = { type = "integer" }
//! ```
//!
//! - `{name}` is replaced by the value of that parameter: text unchanged, other values as JSON. Write `{{`
//!   and `}}` for literal braces. Every placeholder must have a parameter and every parameter a placeholder.
//! - In the URL, values are percent-encoded. Scheme and host cannot contain placeholders. A value in the path
//!   is required, and must not be empty, `.` or `..`. A query parameter whose value is missing is omitted.
//! - A header whose value is missing is omitted. `{secret:NAME}` is replaced by a secret. Such a header is
//!   only sent to the URL's own host, and the secret is masked if the server echoes it.
//! - A `body` that is a table or a list is sent as JSON: a string that consists of one placeholder becomes
//!   the value itself, and a member or element whose value is missing is omitted. Text is sent unchanged;
//!   with the `Content-Type` `application/x-www-form-urlencoded`, values are percent-encoded.
//! - `result_pointer` selects a part of the JSON response as the result; `""` selects all of it. Without it,
//!   the result is `{status, headers, body}`. A status of 400 or above is an error.
//! - The host may be private only if `tools.http_request.allow` lists it, or the definition sets
//!   `allow_private_network = true`.
//!
//! Such a tool requires the permission `INTERNET`, and with `allow_private_network` also `network.private`.
//! Tools with the methods GET and HEAD are annotated as read-only.

mod body_template;
mod secret_masking;
mod text_template;
mod url_template;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use reqwest::Method;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use serde::Deserialize;
use serde_json::Value;
use toolway_core::{Arguments, CallContext, Tool, ToolSpec};
use toolway_secrets::{SecretError, SecretReader};
use toolway_types::{Code, JsonObject, RawJson, SpecDocument, ToolError, ToolOutput};

use super::OwnToolError;
use crate::web::{
    GuardedClient, WebErrorKind, WebRequest, render_response, request_header, response_json, status_error,
};
use body_template::BodyTemplate;
use secret_masking::{json_part, mask_response};
use text_template::{SecretMap, TextTemplate};
use url_template::UrlTemplate;

/// Default timeout of a request.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Fields of a definition that are specific to HTTP requests. Not `Debug`, because a header may contain a
/// secret.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HttpDefinition {
    method: Option<String>,
    url: String,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    body: Option<Value>,
    result_pointer: Option<String>,
    timeout_s: Option<f64>,
    #[serde(default)]
    allow_private_network: bool,
}

impl HttpDefinition {
    /// Creates the tool from this and the common fields of its definition.
    ///
    /// # Errors
    /// [`OwnToolError`] with the problem.
    pub(super) fn into_tool(
        self,
        mut spec: SpecDocument,
        client: Arc<GuardedClient>,
        secrets: Arc<dyn SecretReader>,
    ) -> Result<Arc<dyn Tool>, OwnToolError> {
        let method = method(self.method.as_deref())?;
        let address = UrlTemplate::parse(&self.url)?;
        let headers = headers(self.headers, secrets.as_ref())?;
        let is_form = headers.iter().any(|(name, value)| is_form(name, value));
        let body = self.body.map(|body| BodyTemplate::parse(body, is_form)).transpose()?;
        if body.is_some() && matches!(method, Method::GET | Method::HEAD) {
            return Err(format!("body: a {method} request cannot have a body").into());
        }
        if self
            .result_pointer
            .as_deref()
            .is_some_and(|pointer| !pointer.is_empty() && !pointer.starts_with('/'))
        {
            return Err("result_pointer must be \"\" or start with /".into());
        }
        let parts = HttpRequestTemplate {
            method,
            address,
            headers,
            body,
            result_pointer: self.result_pointer,
            allow_private_network: self.allow_private_network,
        };
        parts.check_placeholders(&spec)?;
        spec.timeout_ms = Some(timeout_ms(self.timeout_s)?);
        parts.describe(&mut spec);
        let spec = Arc::new(ToolSpec::compile(spec).map_err(|bad| bad.to_string())?);
        Ok(Arc::new(HttpTool { spec, template: parts, client, secrets }))
    }
}

fn method(said: Option<&str>) -> Result<Method, String> {
    match said.unwrap_or("GET") {
        "GET" => Ok(Method::GET),
        "HEAD" => Ok(Method::HEAD),
        "POST" => Ok(Method::POST),
        "PUT" => Ok(Method::PUT),
        "PATCH" => Ok(Method::PATCH),
        "DELETE" => Ok(Method::DELETE),
        _ => Err("method must be GET, HEAD, POST, PUT, PATCH or DELETE".to_owned()),
    }
}

fn headers(
    given: BTreeMap<String, String>,
    secrets: &dyn SecretReader,
) -> Result<Vec<(String, TextTemplate)>, OwnToolError> {
    let mut headers = Vec::new();
    let mut tried = HeaderMap::new();
    for (name, value) in given {
        request_header(&mut tried, &name, "", false).map_err(|bad| format!("headers: {bad}"))?;
        let value = TextTemplate::parse(&value).map_err(|problem| format!("headers: {name}: {problem}"))?;
        for secret in value.secret_names() {
            // A secret that exists but cannot be read now may be readable when it is needed.
            if let Err(SecretError::Unknown(secret)) = secrets.read_named(secret) {
                return Err(OwnToolError::UnknownSecret { header: name, secret });
            }
        }
        headers.push((name, value));
    }
    Ok(headers)
}

fn is_form(name: &str, value: &TextTemplate) -> bool {
    let value = value.fill(&JsonObject::new(), &SecretMap::new(), str::to_owned).unwrap_or_default();
    name.eq_ignore_ascii_case(CONTENT_TYPE.as_str())
        && value.to_ascii_lowercase().starts_with("application/x-www-form-urlencoded")
}

fn timeout_ms(seconds: Option<f64>) -> Result<u64, String> {
    let timeout = match seconds {
        None => TIMEOUT,
        Some(seconds) => Duration::try_from_secs_f64(seconds)
            .ok()
            .filter(|timeout| timeout.as_millis() > 0)
            .ok_or("timeout_s must be a number of seconds above 0")?,
    };
    Ok(u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX))
}

/// The templates of a validated definition.
struct HttpRequestTemplate {
    method: Method,
    address: UrlTemplate,
    headers: Vec<(String, TextTemplate)>,
    body: Option<BodyTemplate>,
    result_pointer: Option<String>,
    allow_private_network: bool,
}

impl HttpRequestTemplate {
    /// Checks that every placeholder has a parameter and every parameter has a placeholder. An argument
    /// without a placeholder would be ignored silently.
    fn check_placeholders(&self, spec: &SpecDocument) -> Result<(), String> {
        let schema = spec.parameters.as_ref().map(RawJson::to_value).unwrap_or_default();
        let parameters: BTreeSet<&str> = match schema.get("properties") {
            Some(Value::Object(properties)) => properties.keys().map(String::as_str).collect(),
            _ => BTreeSet::new(),
        };
        let required: BTreeSet<&str> = match schema.get("required") {
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            _ => BTreeSet::new(),
        };
        let in_body = self.body.as_ref().map(BodyTemplate::placeholders).unwrap_or_default();
        let in_headers = self.headers.iter().flat_map(|(_, value)| value.placeholders());
        let holes: BTreeSet<&str> = self.address.placeholders().chain(in_headers).chain(in_body).collect();
        if let Some(hole) = holes.iter().find(|hole| !parameters.contains(*hole)) {
            return Err(format!("{{{hole}}} is not a parameter"));
        }
        if let Some(idle) = parameters.iter().find(|name| !holes.contains(*name)) {
            return Err(format!("the parameter {idle:?} is unused; add {{{idle}}} to url, headers or body"));
        }
        let needed_in_body = self.body.as_ref().map(BodyTemplate::required_placeholders).unwrap_or_default();
        let mut needed = self.address.required_placeholders().chain(needed_in_body);
        match needed.find(|name| !required.contains(name)) {
            Some(name) => {
                Err(format!("the parameter {name:?} must be required, because the path or body contains it"))
            }
            None => Ok(()),
        }
    }

    /// Adds the derived permissions, annotations and timeout to a spec.
    fn describe(&self, spec: &mut SpecDocument) {
        let mut needs = |permission: &str| {
            if !spec.permissions.iter().any(|named| named == permission) {
                spec.permissions.push(permission.to_owned());
            }
        };
        needs("INTERNET");
        if self.allow_private_network {
            needs("network.private");
        }
        if !matches!(self.method, Method::GET | Method::HEAD) {
            return;
        }
        let said = spec.annotations.as_ref().map(RawJson::to_value).unwrap_or_default();
        let mut said = if let Value::Object(said) = said { said } else { JsonObject::new() };
        if !said.contains_key("readOnlyHint") && said.get("destructiveHint") != Some(&Value::Bool(true)) {
            said.insert("readOnlyHint".to_owned(), true.into());
            spec.annotations = Some(RawJson::from(&Value::Object(said)));
        }
    }

    /// Creates the request for these arguments.
    fn request(&self, arguments: &JsonObject, secrets: &SecretMap) -> Result<WebRequest, ToolError> {
        let invalid = |message: String| ToolError::new(Code::InvalidArguments, message);
        let mut request = WebRequest::new(self.method.clone(), self.address.fill(arguments)?);
        request.own_host = self.allow_private_network;
        for (name, template) in &self.headers {
            let Some(value) = template.fill(arguments, secrets, str::to_owned) else { continue };
            let secret = template.secret_names().next().is_some();
            request_header(&mut request.headers, name, &value, secret)
                .map_err(|bad| invalid(bad.to_string()))?;
        }
        if let Some(body) = &self.body {
            request.body = Some(body.fill(arguments)?);
            let kind = HeaderValue::from_static(body.media_type());
            request.headers.entry(CONTENT_TYPE).or_insert(kind);
        }
        Ok(request)
    }
}

struct HttpTool {
    spec: Arc<ToolSpec>,
    template: HttpRequestTemplate,
    client: Arc<GuardedClient>,
    secrets: Arc<dyn SecretReader>,
}

#[async_trait]
impl Tool for HttpTool {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    async fn execute(&self, arguments: Arguments, cx: &CallContext) -> Result<ToolOutput, ToolError> {
        let secrets = self.load_secrets().await?;
        let request = self.template.request(&arguments.into_object(), &secrets)?;
        let asked = request.url.clone();
        let sent = self.client.send(request, &|| cx.mark_dispatched()).await;
        let answer = sent.map_err(|error| {
            let refused = error.kind == WebErrorKind::Refused;
            let error = ToolError::from(error);
            if refused && !self.template.allow_private_network {
                let hint = error.hint.clone().unwrap_or_default();
                return error.with_hint(format!(
                    "{hint}, or with allow_private_network = true in the tool's definition"
                ));
            }
            error
        })?;
        let shown = mask_response(render_response(&answer), &secrets);
        if answer.status.is_client_error() || answer.status.is_server_error() {
            return Err(status_error(&answer, &shown));
        }
        let given = match &self.template.result_pointer {
            None => response_json(&answer, shown, &asked),
            Some(pointer) => json_part(&answer, pointer, &secrets)?,
        };
        Ok(ToolOutput::structured(given))
    }

    fn marks_dispatch(&self) -> bool {
        true
    }
}

impl HttpTool {
    /// Reads the secrets of the headers. They may be in files.
    async fn load_secrets(&self) -> Result<SecretMap, ToolError> {
        let names: BTreeSet<Arc<str>> =
            self.template.headers.iter().flat_map(|(_, value)| value.secret_names().cloned()).collect();
        if names.is_empty() {
            return Ok(SecretMap::new());
        }
        let secrets = Arc::clone(&self.secrets);
        let read = move || {
            let named = |name: Arc<str>| secrets.read_named(&name).map(|secret| (name, secret));
            names.into_iter().map(named).collect::<Result<SecretMap, _>>()
        };
        let failed = |why: String| ToolError::new(Code::ToolFailed, why);
        match tokio::task::spawn_blocking(read).await {
            Ok(Ok(known)) => Ok(known),
            Ok(Err(error)) => Err(failed(format!("A secret of this tool cannot be read: {error}"))),
            Err(_) => Err(failed("The secrets of this tool can't be read".to_owned())),
        }
    }
}

#[cfg(test)]
mod tests;
