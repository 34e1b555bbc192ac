//! Adapters over HTTP: what a server sees, waiting, asking again, and ending a request at once.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use tokio::sync::{mpsc, oneshot};
use toolway_models::build_provider;
use toolway_models::config::{ProviderConfig, ProviderTimeouts};
use toolway_models::transport::ProviderHttpClient;
use toolway_models::{
    FinishReason, MessagePart, ModelErrorKind, ModelEvent, ModelOptions, ModelProvider, ModelRequest,
    ProviderKind, ReasoningEffort,
};

use super::server::{ScriptedServer, SocketAction, answer, event, stream_head};
use super::support::{format_response, request};

const HELLO: &str = r#"{"model":"m","choices":[{"index":0,"delta":{"content":"Hello"}}]}"#;
const STOP: &str = r#"{"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;

fn hello() -> Vec<SocketAction> {
    vec![stream_head(), event(HELLO), event(STOP), event("[DONE]")]
}

/// Waits are as long as they would be without chance.
fn http() -> ProviderHttpClient {
    ProviderHttpClient::new(|| Err("there are no authorities here".to_owned())).with_jitter_source(|| 0.0)
}

fn adapter(server: &ScriptedServer, change: impl FnOnce(&mut ProviderConfig)) -> Arc<dyn ModelProvider> {
    let base_url = server.base_url.parse().unwrap();
    let mut config = ProviderConfig::new("mine", ProviderKind::Compatible, base_url)
        .with_key("sk-0123456789", "the file key.txt");
    config.retries.initial_backoff = Duration::from_millis(1);
    change(&mut config);
    build_provider(config, http())
}

async fn ask(adapter: &dyn ModelProvider, request: ModelRequest) -> String {
    let mut stream = adapter.stream(Arc::new(request));
    let mut replayed = toolway_models::replay::ReplayedResponse::default();
    while let Some(event) = stream.next().await {
        match event {
            Ok(event) => replayed.events.push(event),
            Err(error) => {
                assert_eq!(replayed.error.replace(error), None);
            }
        }
    }
    format_response(&replayed)
}

#[tokio::test]
async fn a_request_and_its_answer() {
    let server = ScriptedServer::start(vec![hello()]).await;
    let adapter = adapter(&server, |config| {
        config.headers.insert("x-title", "toolway".parse().unwrap());
    });
    let said = ask(&*adapter, request()).await;
    assert_eq!(said, "started m\ntext \"Hello\"\npart text \"Hello\"\nfinished Stop\n");
    let seen = server.requests().remove(0);
    let (head, body) = seen.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{head}");
    for header in [
        "authorization: Bearer sk-0123456789",
        "content-type: application/json",
        "accept: text/event-stream, application/json",
        "x-title: toolway",
    ] {
        assert!(head.contains(header), "{head}");
    }
    assert_eq!(body, adapter.request_body(&request()).unwrap().get());
}

#[tokio::test]
async fn refusals_before_the_first_word_are_tried_again_and_told() {
    let server = ScriptedServer::start(vec![
        answer(
            429,
            "retry-after-ms: 5\r\n",
            r#"{"error":{"message":"slower","code":"rate_limit_exceeded"}}"#,
        ),
        answer(503, "", ""),
        // An answer that begins and says nothing is none either.
        vec![
            stream_head(),
            event(r#"{"choices":[]}"#),
            event(r#"{"error":{"type":"overloaded_error","message":"Overloaded"}}"#),
        ],
        hello(),
    ])
    .await;
    let said = ask(&*adapter(&server, |_| {}), request()).await;
    assert_eq!(
        said,
        "retrying 1 in 5ms: mine: the rate limit is exceeded (HTTP 429): slower\n\
         retrying 2 in 2ms: mine: failed or is overloaded (HTTP 503)\n\
         retrying 3 in 4ms: mine: failed or is overloaded: Overloaded\n\
         started m\ntext \"Hello\"\npart text \"Hello\"\nfinished Stop\n"
    );
    assert_eq!(server.requests().len(), 4);
}

#[tokio::test]
async fn attempts_are_bounded_and_so_is_a_wait() {
    let server = ScriptedServer::start((0..3).map(|_| answer(500, "", "")).collect()).await;
    let said = ask(&*adapter(&server, |config| config.retries.max_attempts = 2), request()).await;
    assert!(
        said.ends_with("error Overloaded: mine: failed or is overloaded (HTTP 500) | 2 attempts failed.\n"),
        "{said}"
    );
    assert_eq!(server.requests().len(), 2);

    let server = ScriptedServer::start(vec![answer(429, "retry-after: 3600\r\n", "")]).await;
    let said = ask(&*adapter(&server, |_| {}), request()).await;
    assert_eq!(
        said,
        "error RateLimited: mine: the rate limit is exceeded (HTTP 429) | The provider asks to wait for 60 min.\n"
    );
}

#[tokio::test]
async fn a_request_is_not_retried_after_the_first_token_m12() {
    let server = ScriptedServer::start(vec![
        vec![
            stream_head(),
            event(HELLO),
            event(r#"{"error":{"type":"overloaded_error","message":"Overloaded"}}"#),
        ],
        hello(),
    ])
    .await;
    let said = ask(&*adapter(&server, |_| {}), request()).await;
    assert_eq!(
        said,
        "started m\ntext \"Hello\"\nerror Overloaded: mine: failed or is overloaded: Overloaded | -\n"
    );
    // Nor where the connection just ends.
    let server = ScriptedServer::start(vec![vec![stream_head(), event(HELLO)], hello()]).await;
    let said = ask(&*adapter(&server, |_| {}), request()).await;
    assert!(
        said.starts_with("started m\ntext \"Hello\"\nerror Network: mine: the response is incomplete"),
        "{said}"
    );
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn an_answer_that_was_said_needs_no_proper_end() {
    // The body is longer by its length than what comes of it.
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 9999\r\n\r\n";
    for (events, end) in
        [(vec![event(HELLO), event(STOP)], "finished Stop\n"), (vec![event(HELLO)], "error Network")]
    {
        let mut script = vec![SocketAction::Bytes(head.as_bytes().to_vec())];
        script.extend(events);
        let server = ScriptedServer::start(vec![script]).await;
        let said = ask(&*adapter(&server, |_| {}), request()).await;
        assert!(said.contains(end), "{said}");
    }
}

#[tokio::test]
async fn a_refused_key_is_not_tried_again_and_says_where_it_is_set() {
    let server =
        ScriptedServer::start(vec![answer(401, "", r#"{"error":"no such key: sk-0123456789"}"#)]).await;
    let said = ask(&*adapter(&server, |_| {}), request()).await;
    assert!(
        said.starts_with("error Auth: mine: refused the key (HTTP 401): no such key: [redacted] |"),
        "{said}"
    );
    assert!(said.contains("The key comes from the file key.txt."), "{said}");
}

#[tokio::test]
async fn a_model_that_is_not_there_is_told_with_close_names() {
    let server = ScriptedServer::start(vec![
        answer(404, "", r#"{"error":{"message":"The model `m-1` does not exist","code":"model_not_found"}}"#),
        answer(200, "", r#"{"data":[{"id":"m-10"},{"id":"zzz"}]}"#),
    ])
    .await;
    let said = ask(&*adapter(&server, |_| {}), request()).await;
    assert!(said.ends_with("| Similar models: m-10.\n"), "{said}");
    assert!(server.requests()[1].starts_with("GET /v1/models HTTP/1.1\r\n"));
    assert!(server.requests()[1].contains("authorization: Bearer sk-0123456789"));
}

#[tokio::test]
async fn the_list_of_models() {
    let server =
        ScriptedServer::start(vec![answer(200, "", r#"{"data":[{"id":"m","context_length":8}]}"#)]).await;
    let models = adapter(&server, |_| {}).list_models().await.unwrap();
    assert_eq!((models[0].id.as_str(), models[0].context_tokens), ("m", Some(8)));
    let server = ScriptedServer::start(vec![answer(403, "", "")]).await;
    assert_eq!(adapter(&server, |_| {}).list_models().await.unwrap_err().kind, ModelErrorKind::Auth);
}

#[tokio::test]
async fn dropping_the_stream_ends_the_request_at_once() {
    let (told, mut hung) = mpsc::unbounded_channel();
    let server =
        ScriptedServer::start(vec![vec![stream_head(), event(HELLO), SocketAction::WaitForHangUp(told)]])
            .await;
    let adapter = adapter(&server, |_| {});
    let mut stream = adapter.stream(Arc::new(request()));
    assert!(matches!(stream.next().await, Some(Ok(ModelEvent::Started { .. }))));
    assert!(matches!(stream.next().await, Some(Ok(ModelEvent::Text(_)))));
    drop(stream);
    let ended = tokio::time::timeout(Duration::from_secs(5), hung.recv()).await;
    assert_eq!(ended, Ok(Some(())), "the connection is closed");
    // The same before anything came.
    let (told, mut hung) = mpsc::unbounded_channel();
    let (waits, go) = oneshot::channel();
    let server = ScriptedServer::start(vec![vec![
        SocketAction::Bytes(Vec::new()),
        SocketAction::WaitForHangUp(told),
        SocketAction::Wait(go),
    ]])
    .await;
    let adapter = self::adapter(&server, |_| {});
    let asked = adapter.stream(Arc::new(request()));
    let asked = tokio::spawn(async move { asked.into_future().await.0.is_some() });
    while server.requests().is_empty() {
        tokio::task::yield_now().await;
    }
    asked.abort();
    assert_eq!(tokio::time::timeout(Duration::from_secs(5), hung.recv()).await, Ok(Some(())));
    drop(waits);
}

#[tokio::test]
async fn silence_is_waited_for_no_longer_than_allowed() {
    let short = Duration::from_millis(50);
    let quick = move |config: &mut ProviderConfig| {
        config.timeouts = ProviderTimeouts {
            first_byte: short,
            first_token: short,
            idle: short,
            ..ProviderTimeouts::default()
        };
        config.retries.max_attempts = 1;
    };
    // Before the headers, where it may think and where not, before the first word, between two words.
    let server = ScriptedServer::start(vec![vec![SocketAction::Silence]]).await;
    let thinks = ModelOptions { reasoning: Some(ReasoningEffort::High), ..ModelOptions::default() };
    let said = ask(&*adapter(&server, quick), ModelRequest { options: thinks, ..request() }).await;
    assert!(said.contains("no response") && said.contains("timeouts.first_token_s"), "{said}");
    let server = ScriptedServer::start(vec![vec![SocketAction::Silence]]).await;
    let said = ask(&*adapter(&server, quick), request()).await;
    assert_eq!(
        said,
        "error Timeout: mine: no response within 0.05 s | If this model needs more time, increase timeouts.first_byte_s of \"mine\".\n"
    );
    let server =
        ScriptedServer::start(vec![vec![stream_head(), event(r#"{"choices":[]}"#), SocketAction::Silence]])
            .await;
    let said = ask(&*adapter(&server, quick), request()).await;
    assert!(said.contains("no output within 0.05 s") && said.contains("timeouts.first_token_s"), "{said}");
    let server = ScriptedServer::start(vec![vec![stream_head(), event(HELLO), SocketAction::Silence]]).await;
    let said = ask(&*adapter(&server, quick), request()).await;
    assert!(
        said.starts_with(
            "started m\ntext \"Hello\"\nerror Timeout: mine: the response stopped within 0.05 s"
        ),
        "{said}"
    );
}

#[tokio::test]
async fn an_answer_that_is_not_streamed_is_understood() {
    let body = r#"{"model":"m","choices":[{"index":0,"message":{"content":"Hi"},"finish_reason":"stop"}]}"#;
    let server = ScriptedServer::start(vec![answer(200, "content-type: application/json\r\n", body)]).await;
    let said = ask(&*adapter(&server, |_| {}), request()).await;
    assert_eq!(said, "started m\ntext \"Hi\"\npart text \"Hi\"\nfinished Stop\n");
}

#[tokio::test]
async fn what_is_no_answer_of_this_api_is_said() {
    for (body, expected) in [
        ("<html><title>Log in</title></html>", "the response is a web page"),
        (r#"{"hello":1}"#, "the response has no choices"),
        ("data: {\"choices\":3}\n\n", "the response does not match the API"),
        ("", "the response is incomplete"),
    ] {
        let server = ScriptedServer::start(vec![answer(200, "", body)]).await;
        let said = ask(&*adapter(&server, |config| config.retries.max_attempts = 1), request()).await;
        assert!(said.starts_with("error ") && said.contains(expected), "{body}: {said}");
    }
    let server = ScriptedServer::start(vec![answer(302, "location: http://127.0.0.1:9/login\r\n", "")]).await;
    let said = ask(&*adapter(&server, |_| {}), request()).await;
    assert!(said.contains("responded with 302 and redirects to http://127.0.0.1:9/login"), "{said}");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let place = listener.local_addr().unwrap();
    drop(listener);
    let config =
        ProviderConfig::new("mine", ProviderKind::Openai, format!("http://{place}").parse().unwrap());
    let mut config = config;
    config.retries.max_attempts = 1;
    let said = ask(&*build_provider(config, http()), request()).await;
    assert_eq!(
        said,
        format!(
            "error Network: mine: {place} refused the connection: nothing listens there | Start the server, or check base_url.\n"
        )
    );
    let secure =
        ProviderConfig::new("mine", ProviderKind::Openai, format!("https://{place}").parse().unwrap());
    let said = ask(&*build_provider(secure, http()), request()).await;
    assert!(
        said.starts_with("error Network: mine: TLS can't be set up: there are no authorities here"),
        "{said}"
    );
}

#[tokio::test]
async fn a_connection_is_used_again_after_an_answer() {
    // One connection for both requests: the server takes no second one.
    let body = format!("data: {HELLO}\n\ndata: {STOP}\n\ndata: [DONE]\n\n");
    let chunked = format!(
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n",
        body.len()
    );
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
    let served = tokio::spawn(async move {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
        let (mut socket, _) = listener.accept().await.unwrap();
        for _ in 0..2 {
            let mut seen = Vec::new();
            while !seen.ends_with(b"}") {
                let mut buffer = [0; 4096];
                let count = socket.read(&mut buffer).await.unwrap();
                seen.extend_from_slice(&buffer[..count]);
            }
            socket.write_all(chunked.as_bytes()).await.unwrap();
        }
    });
    let config = ProviderConfig::new("mine", ProviderKind::Compatible, base_url.parse().unwrap());
    let adapter = build_provider(config, http());
    for _ in 0..2 {
        let mut stream = adapter.stream(Arc::new(request()));
        // Nobody polls beyond the end.
        while let Some(event) = stream.next().await {
            if event.unwrap() == ModelEvent::Finished(FinishReason::Stop) {
                break;
            }
        }
    }
    tokio::time::timeout(Duration::from_secs(5), served).await.unwrap().unwrap();
}

#[tokio::test]
async fn words_come_as_they_are_said() {
    let (go, wait) = oneshot::channel();
    let server = ScriptedServer::start(vec![vec![
        stream_head(),
        event(HELLO),
        SocketAction::Wait(wait),
        event(STOP),
        event("[DONE]"),
    ]])
    .await;
    let adapter = adapter(&server, |_| {});
    let mut stream = adapter.stream(Arc::new(request()));
    assert!(matches!(stream.next().await, Some(Ok(ModelEvent::Started { .. }))));
    assert_eq!(stream.next().await, Some(Ok(ModelEvent::Text("Hello".to_owned()))));
    go.send(()).unwrap();
    assert_eq!(stream.next().await, Some(Ok(ModelEvent::Part(MessagePart::text("Hello")))));
    assert_eq!(stream.next().await, Some(Ok(ModelEvent::Finished(FinishReason::Stop))));
    assert_eq!(stream.next().await, None);
}

/// Says hello over TLS, with a certificate of its own; gives its address and the roots that trust it.
async fn secure_server() -> (String, rustls::RootCertStore) {
    let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
    let mut roots = rustls::RootCertStore::empty();
    roots.add(made.cert.der().clone()).unwrap();
    let key = rustls::pki_types::PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()).into();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let settings =
        rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let settings = settings.unwrap().with_no_client_auth();
    let settings = settings.with_single_cert(vec![made.cert.der().clone()], key).unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(settings));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("https://{}/v1", listener.local_addr().unwrap());
    tokio::spawn(async move {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
        while let Ok((socket, _)) = listener.accept().await {
            let Ok(mut socket) = acceptor.accept(socket).await else { continue };
            let _ = socket.read(&mut [0; 65536]).await;
            let body = format!("data: {HELLO}\n\ndata: {STOP}\n\ndata: [DONE]\n\n");
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
            let _ = socket.write_all(format!("{head}{body}").as_bytes()).await;
            let _ = socket.shutdown().await;
        }
    });
    (base_url, roots)
}

#[tokio::test]
async fn https_trusts_whom_it_is_told_to_and_asks_when_it_first_matters() {
    let (base_url, roots) = secure_server().await;
    let client = |roots: rustls::RootCertStore| {
        ProviderHttpClient::new(move || {
            let provider = Arc::new(rustls::crypto::ring::default_provider());
            let settings =
                rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
            let settings = settings.map_err(|error| error.to_string())?;
            Ok(settings.with_root_certificates(roots.clone()).with_no_client_auth())
        })
    };
    let config =
        |base_url: &str| ProviderConfig::new("mine", ProviderKind::Compatible, base_url.parse().unwrap());
    let said = ask(&*build_provider(config(&base_url), client(roots)), request()).await;
    assert!(said.ends_with("finished Stop\n"), "{said}");
    let said =
        ask(&*build_provider(config(&base_url), client(rustls::RootCertStore::empty())), request()).await;
    assert!(said.starts_with("error Network: mine: TLS failed with 127.0.0.1:"), "{said}");
    assert!(said.contains("UnknownIssuer"), "{said}");
}
