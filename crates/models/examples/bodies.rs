//! Writes the bodies of requests, one a line, so that a test can compare them with the requests of the providers' SDKs:
//! `{"kind", "conversation", "schema", "model", "version", "body"}`. Every conversation is sent with every set
//! of tools, to a model of each provider kind. The output is deterministic and uses no network.

#![allow(clippy::print_stdout, reason = "writing lines is what it is for")]

use std::error::Error;
use std::io::{BufWriter, Write};

use serde::Serialize;
use toolway_models::{ANTHROPIC_VERSION, ModelRequest, ProviderKind, ToolChoice};
use toolway_types::RawJson;

#[path = "../tests/corpus/mod.rs"]
#[allow(clippy::unwrap_used, clippy::panic, reason = "the corpus is written for tests")]
mod corpus;

use corpus::{conversations, models, schemas};

/// One line.
#[derive(Serialize)]
struct RequestBodyLine<'a> {
    kind: ProviderKind,
    conversation: &'a str,
    /// The name of the set of tools; null where there are none.
    schema: Option<&'a str>,
    model: &'a str,
    /// The header `anthropic-version`.
    version: Option<&'a str>,
    body: &'a RawJson,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut out = BufWriter::new(std::io::stdout().lock());
    for kind in ProviderKind::ALL {
        let provider = models::provider_of(kind);
        let ids = models::ids(kind);
        let sets = schemas::tool_sets(provider.limits().max_tools);
        let conversations: Vec<_> = ids.iter().map(|model| conversations::all(kind, model)).collect();
        for at in 0..conversations.first().map_or(0, Vec::len) {
            for (turn, (schema, tools)) in sets.iter().enumerate() {
                let Some((model, all)) = ids.iter().zip(&conversations).nth((at + turn) % ids.len()) else {
                    continue;
                };
                let Some((conversation, asked)) = all.get(at) else { continue };
                let request = ModelRequest { tools: tools.clone(), ..asked.clone() };
                if matches!(&request.tool_choice, ToolChoice::Tool(name) if tools.get(name).is_none()) {
                    continue;
                }
                let line = RequestBodyLine {
                    kind,
                    conversation,
                    schema: (!tools.is_empty()).then_some(*schema),
                    model,
                    version: (kind == ProviderKind::Anthropic).then_some(ANTHROPIC_VERSION),
                    body: &provider.request_body(&request)?,
                };
                serde_json::to_writer(&mut out, &line)?;
                out.write_all(b"\n")?;
            }
        }
    }
    Ok(out.flush()?)
}
