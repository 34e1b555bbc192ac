//! Cost of a request and a response in each adapter: writing the body of a request with 40 cached tools, and decoding
//! one delta of a stream. `cargo bench -p toolway-models`

#![allow(clippy::print_stdout, reason = "printing its figures is what it is for")]

use std::error::Error;
use std::fmt::Write as _;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use toolway_models::build_provider;
use toolway_models::config::ProviderConfig;
use toolway_models::replay::replay;
use toolway_models::transport::ProviderHttpClient;
use toolway_models::{
    ModelMessage, ModelOptions, ModelRequest, ProviderKind, ToolChoice, ToolDefinition, ToolSet,
};
use toolway_types::RawJson;

/// Words in the stream that is read.
const STREAM_WORDS: u32 = 2_000;

#[expect(clippy::disallowed_methods, reason = "it measures")]
fn now() -> Instant {
    Instant::now()
}

/// Warm-up time before a measurement.
const WARM_UP: Duration = Duration::from_millis(300);

/// The middle of the times that it takes, once it has run for a while: a processor that was idle is slow at first.
fn median_time(mut work: impl FnMut()) -> Duration {
    let began = now();
    while began.elapsed() < WARM_UP {
        work();
    }
    let mut times: Vec<_> = (0..200)
        .map(|_| {
            let began = now();
            work();
            began.elapsed()
        })
        .collect();
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// Forty tools of usual size, and a short conversation.
fn request() -> Result<ModelRequest, Box<dyn Error>> {
    let parameters = r#"{"type":"object","properties":{"path":{"type":"string","description":"Where the file is, from the root of what may be read."},"encoding":{"type":"string","enum":["utf-8","latin-1"],"default":"utf-8"},"lines":{"type":"object","properties":{"from":{"type":"integer","minimum":1},"to":{"type":"integer"}},"required":["from"]}},"required":["path"]}"#;
    let description = "Reads a file and gives its text, or the part of it that was asked for. ".repeat(3);
    let tools = (0..40).map(|n| {
        let parameters = Some(RawJson::parse(parameters)?);
        Ok(Arc::new(ToolDefinition::new(format!("phone__read_file_{n}"), description.clone(), parameters)))
    });
    let tools = tools.collect::<Result<Vec<_>, serde_json::Error>>()?;
    let messages = (0..10).flat_map(|n| {
        [
            ModelMessage::user(format!("Question {n}?")),
            ModelMessage::assistant(format!("Answer {n}, which is a little longer.")),
        ]
    });
    Ok(ModelRequest {
        model: "m".into(),
        system: "Be short.".to_owned(),
        messages: messages.chain([ModelMessage::user("And now?")]).collect(),
        tools: Arc::new(ToolSet::new(tools)),
        tool_choice: ToolChoice::Auto,
        output: None,
        options: ModelOptions::default(),
    })
}

/// An answer of many words.
fn stream(kind: ProviderKind) -> Result<String, std::fmt::Error> {
    let mut stream = String::new();
    for n in 0..STREAM_WORDS {
        match kind {
            ProviderKind::OpenaiResponses => write!(
                stream,
                "event: response.output_text.delta\ndata: {{\"type\":\"response.output_text.delta\",\"item_id\":\"msg_0123456789abcdef\",\"output_index\":0,\"content_index\":0,\"delta\":\" word{n}\",\"logprobs\":[],\"sequence_number\":{n},\"obfuscation\":\"abcdef\"}}\n\n"
            )?,
            ProviderKind::Anthropic => write!(
                stream,
                "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":\" word{n}\"}}}}\n\n"
            )?,
            ProviderKind::Gemini => write!(
                stream,
                "data: {{\"candidates\":[{{\"content\":{{\"parts\":[{{\"text\":\" word{n}\"}}],\"role\":\"model\"}},\"index\":0}}],\"usageMetadata\":{{\"promptTokenCount\":10,\"candidatesTokenCount\":{n},\"totalTokenCount\":{n}}},\"modelVersion\":\"m\",\"responseId\":\"0123456789\"}}\n\n"
            )?,
            ProviderKind::Openai | ProviderKind::Compatible => write!(
                stream,
                "data: {{\"id\":\"chatcmpl-0123456789abcdef\",\"object\":\"chat.completion.chunk\",\"created\":1764288000,\"model\":\"m\",\"service_tier\":\"default\",\"system_fingerprint\":\"fp_1\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\" word{n}\"}},\"logprobs\":null,\"finish_reason\":null}}],\"usage\":null,\"obfuscation\":\"abcdef\"}}\n\n"
            )?,
        }
    }
    Ok(stream)
}

fn main() -> Result<(), Box<dyn Error>> {
    let request = request()?;
    for kind in ProviderKind::ALL {
        let config = ProviderConfig::new("bench", kind, "http://localhost".parse()?);
        let adapter =
            build_provider(config.clone(), ProviderHttpClient::new(|| Err("nothing is asked".to_owned())));
        let size = adapter.request_body(&request)?.get().len();
        let body = median_time(|| drop(black_box(adapter.request_body(&request))));
        println!(
            "{:<34} {:>12.3} µs ({size} bytes)",
            format!("body_of_40_tools_{kind}"),
            body.as_secs_f64() * 1e6
        );

        let (config, stream) = (Arc::new(config), stream(kind)?);
        let read =
            median_time(|| drop(black_box(replay(&config, &request, stream.as_bytes().chunks(16 * 1024)))));
        let word = read.as_secs_f64() * 1e6 / f64::from(STREAM_WORDS);
        println!("{:<34} {word:>12.3} µs", format!("read_a_word_{kind}"));
    }
    Ok(())
}
