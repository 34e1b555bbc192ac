//! A call's outcome as MCP says it: a result of `tools/call`, written as JSON so that what the tool gave stays as it
//! was written. A failure is a result as well, in the envelope's words.

use rmcp::model::{CallToolResult, ProtocolVersion, ResultType};
use serde_json::value::RawValue;
use toolway_core::Finished;
use toolway_types::{ContentPart, Envelope, Outcome, RawJson, ToolOutput};

use crate::verbatim::Verbatim;

/// How an answer is written for one client.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Form<'a> {
    /// Whether the client speaks 2026-07-28 or later, where a result says what it is and who gave it, and structured
    /// results may be other than objects.
    pub(crate) is_modern: bool,
    /// Who gives it (`_meta`'s server info), as JSON.
    pub(crate) server: &'a str,
}

/// What a result has at its top, in the order in which it is written.
#[derive(Default)]
struct Fields<'a>(Vec<(std::borrow::Cow<'a, str>, std::borrow::Cow<'a, str>)>);

/// Whether a version is of the era in which each request stands for itself.
pub(crate) fn is_modern(version: &ProtocolVersion) -> bool {
    version.as_str() >= ProtocolVersion::V_2026_07_28.as_str()
}

/// The result of an ended call.
pub(crate) fn of(finished: &Finished, form: Form<'_>, verbatim: &Verbatim) -> CallToolResult {
    let original = finished.original.as_ref().and_then(|original| rewrite(original, form));
    carry(&original.unwrap_or_else(|| write(&finished.outcome, form)), verbatim)
}

/// A result that is written as this JSON object.
fn carry(json: &str, verbatim: &Verbatim) -> CallToolResult {
    let mut result = CallToolResult::success(Vec::new());
    result.is_error = None;
    // A type is a string, and may be any.
    result.result_type = serde_json::from_value::<ResultType>(verbatim.result(json).into()).ok();
    result
}

/// An upstream's own result, with what its version has and the client's has not, or the other way round.
fn rewrite(original: &RawJson, form: Form<'_>) -> Option<String> {
    let mut fields = Fields::of(original.get())?;
    fields.0.retain(|(key, _)| key != "resultType");
    if !form.is_modern {
        fields.drop_structured_unless_object();
    }
    if fields.get("content").is_none() {
        fields.0.push(("content".into(), "[]".into()));
    }
    Some(fields.written(form))
}

/// An outcome in MCP's form.
fn write(outcome: &Outcome, form: Form<'_>) -> String {
    let mut fields = Fields::default();
    match outcome {
        Outcome::Success(output) => fields.fill(output, form),
        Outcome::Error(_) => {
            let envelope = serde_json::to_string(&Envelope(outcome)).unwrap_or_default();
            fields.push("content", json(&[ContentPart::text(envelope)]));
            fields.push("isError", "true".to_owned());
        }
    }
    fields.written(form)
}

fn json<T: serde::Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned())
}

impl<'a> Fields<'a> {
    /// Those of a JSON object.
    fn of(text: &'a str) -> Option<Self> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Fields<'de>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Fields<'de>, A::Error> {
                let mut fields = Fields::default();
                while let Some((key, value)) =
                    map.next_entry::<std::borrow::Cow<'de, str>, &'de RawValue>()?
                {
                    fields.0.push((key, value.get().into()));
                }
                Ok(fields)
            }
        }
        serde::Deserializer::deserialize_map(&mut serde_json::Deserializer::from_str(text), Visitor).ok()
    }

    fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_ref())
    }

    fn push(&mut self, key: &'static str, value: String) {
        self.0.push((key.into(), value.into()));
    }

    fn fill(&mut self, output: &ToolOutput, form: Form<'_>) {
        match &output.structured {
            // For clients that read text alone.
            Some(value) if output.content.is_empty() => {
                self.push("content", json(&[ContentPart::text(value.get())]));
            }
            _ => self.push("content", json(&output.content)),
        }
        if let Some(value) = &output.structured {
            self.push("structuredContent", value.get().to_owned());
        }
        if !form.is_modern {
            self.drop_structured_unless_object();
        }
        self.push("isError", "false".to_owned());
    }

    /// Before 2026-07-28 a structured result is an object.
    fn drop_structured_unless_object(&mut self) {
        self.0.retain(|(key, value)| key != "structuredContent" || value.starts_with('{'));
    }

    fn written(mut self, form: Form<'_>) -> String {
        if form.is_modern {
            self.0.insert(0, ("resultType".into(), "\"complete\"".into()));
            self.say_server(form.server);
        }
        let mut text = String::with_capacity(64 + self.0.iter().map(|(_, value)| value.len()).sum::<usize>());
        text.push('{');
        for (at, (key, value)) in self.0.iter().enumerate() {
            if at > 0 {
                text.push(',');
            }
            text.push_str(&json(key.as_ref()));
            text.push(':');
            text.push_str(value);
        }
        text.push('}');
        text
    }

    /// Says who gave the result, unless it says so itself.
    fn say_server(&mut self, server: &str) {
        const KEY: &str = "io.modelcontextprotocol/serverInfo";
        let said = format!("\"{KEY}\":{server}");
        let Some((_, meta)) = self.0.iter_mut().find(|(key, _)| key == "_meta") else {
            self.push("_meta", format!("{{{said}}}"));
            return;
        };
        let says_it = Fields::of(meta).is_some_and(|fields| fields.get(KEY).is_some());
        let inside = meta.trim_start().strip_prefix('{').map(str::trim_start).unwrap_or("}");
        if !says_it {
            let comma = if inside.starts_with('}') { "" } else { "," };
            *meta = format!("{{{said}{comma}{inside}").into();
        }
    }
}

#[cfg(test)]
mod tests;
