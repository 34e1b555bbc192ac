use secrecy::SecretString;
use serde_json::json;
use toolway_core::{CallRequest, Caller, Engine, EngineParts, RawArguments, Registry, SourceRetention};
use toolway_types::{Outcome, SystemClock};

use super::*;
use crate::web::WebSettings;
use crate::web::testing::{ScriptedResolver, StubServer, allowing, answer, loopback_client, redirect, tls};
use toolway_secrets::SecretLocation;

struct FixedSecretReader;

impl SecretReader for FixedSecretReader {
    fn read(&self, location: &SecretLocation) -> Result<SecretString, SecretError> {
        let SecretLocation::Secret(name) = location else { panic!("{location}") };
        match &**name {
            "key" => Ok("s3cret-key".to_owned().into()),
            "broken" => Ok("two\nlines".to_owned().into()),
            "gone" => Err(SecretError::Unreadable {
                location: SecretLocation::Env("GONE".to_owned()),
                problem: "it is not set".to_owned(),
            }),
            _ => Err(SecretError::Unknown(name.clone())),
        }
    }
}

fn spec(required: &[&str], parameters: &[&str]) -> SpecDocument {
    let properties: JsonObject = parameters.iter().map(|name| ((*name).to_owned(), json!({}))).collect();
    let parameters = json!({"type": "object", "required": required, "properties": properties});
    SpecDocument {
        description: Some("Made for a test.".to_owned()),
        parameters: Some(RawJson::from(&parameters)),
        ..SpecDocument::named("ask")
    }
}

fn define(toml: &str, spec: SpecDocument, client: GuardedClient) -> Result<Arc<dyn Tool>, OwnToolError> {
    let definition: HttpDefinition = toml::from_str(toml).map_err(|error| error.message().to_owned())?;
    definition.into_tool(spec, Arc::new(client), Arc::new(FixedSecretReader))
}

fn tool(toml: &str, spec: SpecDocument) -> Arc<dyn Tool> {
    define(toml, spec, loopback_client()).unwrap_or_else(|problem| panic!("{problem}"))
}

#[track_caller]
fn refused(toml: &str, required: &[&str], parameters: &[&str]) -> String {
    match define(toml, spec(required, parameters), loopback_client()) {
        Ok(_) => panic!("taken: {toml}"),
        Err(problem) => problem.to_string(),
    }
}

async fn call(tool: Arc<dyn Tool>, arguments: Value) -> Result<Value, ToolError> {
    let registry = Registry::new();
    let lease = registry.lease(toolway_types::Slug::own(), SourceRetention::Names);
    lease.replace(vec![tool]);
    let engine = Engine::new(EngineParts::new(registry, Arc::new(SystemClock)));
    let raw = RawArguments::Json(RawJson::from(&arguments));
    let finished = engine.call(CallRequest::new("own__ask", raw, Caller::local_owner())).await;
    match Outcome::clone(&finished.outcome) {
        Outcome::Success(output) => Ok(output.structured.unwrap().to_value()),
        Outcome::Error(error) => Err(error),
    }
}

#[tokio::test]
async fn a_complete_definition_sends_its_request_and_returns_the_selected_part() {
    let server =
        StubServer::start(|_| answer("200 OK", &[], br#"{"hits": [{"id": 1}], "key": "s3cret-key"}"#)).await;
    let toml = format!(
        r#"
        method = "POST"
        url = "{}"
        headers = {{ Authorization = "Bearer {{secret:key}}", X-For = "{{words}}", X-Page = "{{page}}" }}
        body = {{ words = "{{words}}", limit = "{{limit}}", note = "for {{words}}" }}
        result_pointer = "/hits"
        timeout_s = 20
        "#,
        server.url("/api/{project}/search?limit={limit}&page={page}")
    );
    let tool = tool(&toml, spec(&["project", "words"], &["project", "words", "limit", "page"]));
    assert_eq!(tool.spec().timeout(), Some(Duration::from_secs(20)));
    assert_eq!(tool.spec().document().permissions, ["INTERNET"]);
    let result = call(tool, json!({"project": "a/b", "words": "x", "limit": 3})).await.unwrap();
    assert_eq!(result, json!([{"id": 1}]));
    let seen = server.single_request();
    assert_eq!((seen.method.as_str(), seen.target.as_str()), ("POST", "/api/a%2Fb/search?limit=3"));
    assert_eq!(seen.header("authorization"), Some("Bearer s3cret-key"));
    assert_eq!((seen.header("x-for"), seen.header("x-page")), (Some("x"), None));
    assert_eq!(seen.header("content-type"), Some("application/json"));
    let body: Value = serde_json::from_slice(&seen.body).unwrap();
    assert_eq!(body, json!({"words": "x", "limit": 3, "note": "for x"}));
}

#[tokio::test]
async fn without_a_pointer_the_result_is_status_headers_and_body() {
    let server = StubServer::start(|_| answer("201 Created", &["X-A: 1"], b"made")).await;
    let tool = tool(&format!("url = {:?}", server.url("/")), spec(&[], &[]));
    assert_eq!(tool.spec().annotations().read_only_hint, Some(true));
    assert_eq!(tool.spec().timeout(), Some(Duration::from_secs(30)));
    let result = call(tool, json!({})).await.unwrap();
    assert_eq!(
        result,
        json!({"status": 201, "headers": {"content-length": "4", "x-a": "1"}, "body": "made"})
    );
}

#[tokio::test]
async fn secrets_are_sent_only_to_their_host_and_masked_in_responses_e11() {
    let other = StubServer::start(|seen| {
        let body = format!("{:?} {:?} s3cret-key", seen.header("accept"), seen.header("authorization"));
        answer("200 OK", &[], body.as_bytes())
    })
    .await;
    let to = other.url("/");
    let server = StubServer::start(move |seen| match seen.target.as_str() {
        "/away" => redirect(302, &to),
        "/fails" => answer("500 Oh", &["X-Echo: s3cret-key"], b"your key s3cret-key"),
        _ => answer("200 OK", &["X-Echo: s3cret-key"], br#"{"echo": ["Bearer s3cret-key"]}"#),
    })
    .await;
    let define = |path: &str, more: &str| {
        let url = server.url(path);
        let headers = r#"{ Accept = "{secret:key}", Authorization = "Bearer {secret:key}" }"#;
        tool(&format!("url = {url:?}\nheaders = {headers}\n{more}"), spec(&[], &[]))
    };
    let result = call(define("/away", ""), json!({})).await.unwrap();
    assert_eq!(result["body"], r#"Some("*/*") None [secret key]"#);
    let result = call(define("/", ""), json!({})).await.unwrap();
    assert_eq!(result["headers"]["x-echo"], "[secret key]");
    assert_eq!(result["body"], r#"{"echo": ["Bearer [secret key]"]}"#);
    let result = call(define("/", "result_pointer = \"/echo\""), json!({})).await.unwrap();
    assert_eq!(result, json!(["Bearer [secret key]"]));
    let error = call(define("/fails", ""), json!({})).await.unwrap_err();
    assert!(!format!("{error:?}").contains("s3cret-key"), "{error:?}");
}

#[tokio::test]
async fn an_unusable_secret_is_reported_without_its_text() {
    let define = |name: &str| {
        let toml = format!("url = \"http://127.0.0.1:1/\"\nheaders = {{ X-Key = \"{{secret:{name}}}\" }}");
        tool(&toml, spec(&[], &[]))
    };
    let error = call(define("gone"), json!({})).await.unwrap_err();
    assert_eq!(
        (error.code, error.message.as_str()),
        (
            Code::ToolFailed,
            "A secret of this tool cannot be read: no secret in the environment variable GONE: it is not set"
        )
    );
    let error = call(define("broken"), json!({})).await.unwrap_err();
    assert_eq!(
        error.message,
        "the value of header X-Key has characters in it that no header may have, such as line breaks"
    );
}

#[tokio::test]
async fn an_error_status_is_an_error() {
    for (line, retryable) in
        [("404 Not Found", false), ("429 Too Many Requests", true), ("502 Bad Gateway", true)]
    {
        let server = StubServer::start(move |_| answer(line, &[], br#"{"why": "so"}"#)).await;
        let tool = tool(&format!("url = {:?}\nresult_pointer = \"\"", server.url("/")), spec(&[], &[]));
        let error = call(tool, json!({})).await.unwrap_err();
        assert_eq!((error.code, error.retryable, error.dispatched), (Code::HttpStatus, retryable, true));
        assert!(error.message.starts_with(&format!("The server answered {line}\n")), "{}", error.message);
        assert!(error.message.ends_with(r#"{"why": "so"}"#));
    }
}

#[tokio::test]
async fn a_response_without_the_selected_part_is_an_error() {
    for (body, pointer, expected) in [
        (r#"{"a": {"b": null}}"#, "/a/b", Ok(json!(null))),
        (r#"{"a": [1, 2]}"#, "/a/1", Ok(json!(2))),
        (r#"{"a/b": 1}"#, "/a~1b", Ok(json!(1))),
        (" 5\n", "", Ok(json!(5))),
        ("", "", Ok(json!(null))),
        ("", "/a", Err("The response (200 OK) has no value at \"/a\"")),
        (r#"{"a": 1}"#, "/b", Err("The response (200 OK) has no value at \"/b\"")),
        ("<html>", "/b", Err("The response (200 OK) is not JSON: expected value at line 1 column 1")),
    ] {
        let server = StubServer::start(move |_| answer("200 OK", &[], body.as_bytes())).await;
        let tool =
            tool(&format!("url = {:?}\nresult_pointer = {pointer:?}", server.url("/")), spec(&[], &[]));
        match (call(tool, json!({})).await, expected) {
            (Ok(found), Ok(value)) => assert_eq!(found, value, "{body} {pointer}"),
            (Err(error), Err(words)) => {
                assert_eq!((error.code, error.message.as_str()), (Code::ToolFailed, words));
            }
            (found, expected) => panic!("{body} {pointer}: {found:?}, not {expected:?}"),
        }
    }
    let server = StubServer::start(|_| answer("200 OK", &[], &[b' '; 100])).await;
    let settings = WebSettings { body_bytes: 10, ..allowing(&["127.0.0.1"]) };
    let client = GuardedClient::new(settings, tls(), ScriptedResolver::of(&[]));
    let tool = define(&format!("url = {:?}\nresult_pointer = \"\"", server.url("/")), spec(&[], &[]), client)
        .ok()
        .unwrap();
    assert_eq!(call(tool, json!({})).await.unwrap_err().code, Code::OutputTooLarge);
}

#[tokio::test]
async fn a_private_host_needs_the_owners_permission_e11() {
    let server = StubServer::start(|seen| match seen.target.as_str() {
        "/away" => redirect(302, "http://169.254.169.254/"),
        _ => answer("200 OK", &[], b"\"in\""),
    })
    .await;
    let define = |path: &str, private: bool| {
        let client = GuardedClient::new(WebSettings::default(), tls(), ScriptedResolver::of(&[]));
        let toml =
            format!("url = {:?}\nresult_pointer = \"\"\nallow_private_network = {private}", server.url(path));
        define(&toml, spec(&[], &[]), client).ok().unwrap()
    };
    let error = call(define("/", false), json!({})).await.unwrap_err();
    assert_eq!(error.code, Code::Denied);
    assert!(error.hint.unwrap().ends_with(", or with allow_private_network = true in the tool's definition"));
    let private = define("/", true);
    assert_eq!(private.spec().document().permissions, ["INTERNET", "network.private"]);
    assert_eq!(call(private, json!({})).await.unwrap(), json!("in"));
    assert_eq!(call(define("/away", true), json!({})).await.unwrap_err().code, Code::Denied);
}

#[test]
fn read_only_methods_are_annotated_unless_the_owner_sets_annotations() {
    let hint = |method: &str, annotations: Option<Value>| {
        let annotations = annotations.as_ref().map(RawJson::from);
        let toml = format!("method = {method:?}\nurl = \"https://a.example/\"");
        let tool = tool(&toml, SpecDocument { annotations, ..spec(&[], &[]) });
        tool.spec().annotations().read_only_hint
    };
    assert_eq!(hint("GET", None), Some(true));
    assert_eq!(hint("HEAD", Some(json!({"openWorldHint": true}))), Some(true));
    assert_eq!(hint("GET", Some(json!({"readOnlyHint": false}))), Some(false));
    assert_eq!(hint("GET", Some(json!({"destructiveHint": true}))), None);
    assert_eq!(hint("POST", None), None);
    assert_eq!(hint("POST", Some(json!({"readOnlyHint": true}))), Some(true));
}

#[test]
fn an_invalid_definition_is_refused_with_the_reason() {
    let url = "url = \"https://a.example/{id}?q={q}\"";
    for (more, required, parameters, problem) in [
        ("", &["id"][..], &["id"][..], "{q} is not a parameter"),
        (
            "",
            &["id"],
            &["id", "q", "idle"],
            "the parameter \"idle\" is unused; add {idle} to url, headers or body",
        ),
        (
            "",
            &["q"],
            &["id", "q"],
            "the parameter \"id\" must be required, because the path or body contains it",
        ),
        ("method = \"GET\"\nbody = \"x\"", &["id"], &["id", "q"], "body: a GET request cannot have a body"),
        ("method = \"TRACE\"", &["id"], &["id", "q"], "method must be GET, HEAD, POST, PUT, PATCH or DELETE"),
        ("result_pointer = \"hits\"", &["id"], &["id", "q"], "result_pointer must be \"\" or start with /"),
        ("timeout_s = 0", &["id"], &["id", "q"], "timeout_s must be a number of seconds above 0"),
        ("timeout_s = -1.5", &["id"], &["id", "q"], "timeout_s must be a number of seconds above 0"),
        (
            "headers = { Host = \"x\" }",
            &["id"],
            &["id", "q"],
            "headers: header Host is set by the client itself and can't be given",
        ),
        (
            "headers = { X-A = \"1\", x-a = \"2\" }",
            &["id"],
            &["id", "q"],
            "headers: header x-a is given twice",
        ),
        (
            "headers = { X-A = \"{secret:none}\" }",
            &["id"],
            &["id", "q"],
            "headers: X-A: there is no secret named \"none\"",
        ),
        (
            "headers = { X-A = \"geheim {\" }",
            &["id"],
            &["id", "q"],
            "headers: X-A: an unclosed brace; write {{ and }} for literal braces",
        ),
        ("headers = { X-A = \"{z}\" }", &["id"], &["id", "q"], "{z} is not a parameter"),
        (
            "method = \"POST\"\nbody = 2026-01-01",
            &["id"],
            &["id", "q"],
            "body: JSON has no dates; write the date as text",
        ),
        (
            "follow = true",
            &["id"],
            &["id", "q"],
            "unknown field `follow`, expected one of `method`, `url`, `headers`, `body`, `result_pointer`, `timeout_s`, `allow_private_network`",
        ),
    ] {
        assert_eq!(refused(&format!("{url}\n{more}"), required, parameters), problem, "{more}");
    }
    let text = "method = \"POST\"\nurl = \"https://a.example/\"\nbody = \"say {x}\"";
    assert!(refused(text, &[], &["x"]).starts_with("the parameter \"x\" must be required"));
    assert_eq!(refused("method = \"GET\"", &[], &[]), "missing field `url`");
}
