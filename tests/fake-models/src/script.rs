//! Which request gets which answer.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::api::ApiKind;
use crate::quirks::ApiQuirks;
use crate::received_request::{ParsedRequest, ReceivedRequest};
use crate::scripted_response::ScriptedResponse;

/// An answer, and which requests it is for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ScriptLine {
    /// Which requests; any where nothing is said.
    pub when: RequestMatcher,
    /// How many of them; 0 for as many as come.
    #[serde(default = "once")]
    pub times: u32,
    /// The answer.
    pub answer: ScriptedResponse,
}

fn once() -> u32 {
    1
}

/// Which requests a line is for: those of which all that is said here holds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RequestMatcher {
    /// They come through this API.
    pub api: Option<ApiKind>,
    /// They name this model.
    pub model: Option<String>,
    /// They end with results of tools, the last of them of this tool. With `*` at the end: a tool whose name begins
    /// so.
    pub last_result: Option<String>,
    /// They end with a person's message.
    pub ends_with_user: bool,
    /// The last message of a person has this in it.
    pub user_has: Option<String>,
    /// The system message has this in it.
    pub system_has: Option<String>,
    /// They offer this tool.
    pub offers: Option<String>,
    /// So many rounds of results stand after the last message of a person.
    pub rounds: Option<usize>,
}

/// What a server is told to do: models, answers, quirks. As JSON it is what the program `fake-models` reads.
///
/// ```json
/// {"lines": [
///   {"when": {"ends_with_user": true},
///    "answer": {"steps": [{"text": "One moment."},
///                         {"tool_call": {"name": "lamp__switch", "arguments": {"on": true}}}]}},
///   {"when": {"last_result": "lamp__switch"}, "times": 0, "answer": {"steps": [{"text": "It is on."}]}}
/// ]}
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ResponseScript {
    /// The models that are offered; [`Model::usual`] where none stands here.
    pub models: Vec<FakeModel>,
    /// The answers. Of those that a request fits, the first that is not used up counts.
    pub lines: Vec<ScriptLine>,
    /// How the `compatible` API differs from OpenAI's.
    pub quirks: ApiQuirks,
    /// Whether the APIs check requests, as they do in life. `compatible` never does.
    #[serde(default = "yes")]
    pub checks: bool,
}

fn yes() -> bool {
    true
}

/// A model that is offered, through every API.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FakeModel {
    /// Its id.
    pub id: String,
    /// How many tokens it can read.
    #[serde(default = "context_tokens")]
    pub context_tokens: u64,
    /// Whether it thinks before it answers and wants to see its signatures again (Gemini: calls without their
    /// `thoughtSignature` are refused; OpenAI: `max_tokens` and `temperature` are refused).
    #[serde(default)]
    pub thinks: bool,
}

fn context_tokens() -> u64 {
    200_000
}

impl FakeModel {
    /// The models of a server that is told nothing else: `fake-model`, and `fake-thinker`, which thinks.
    #[must_use]
    pub fn defaults() -> Vec<Self> {
        let model = |id: &str, thinks| Self { id: id.to_owned(), context_tokens: context_tokens(), thinks };
        vec![model("fake-model", false), model("fake-thinker", true)]
    }
}

impl RequestMatcher {
    /// Requests that end with a person's message.
    #[must_use]
    pub fn user() -> Self {
        Self { ends_with_user: true, ..Self::default() }
    }

    /// Requests that end with a result of this tool (`*` at the end: of one whose name begins so).
    #[must_use]
    pub fn result_of(tool: impl Into<String>) -> Self {
        Self { last_result: Some(tool.into()), ..Self::default() }
    }

    /// Requests whose last message of a person has this in it.
    #[must_use]
    pub fn user_has(text: impl Into<String>) -> Self {
        Self { user_has: Some(text.into()), ..Self::default() }
    }

    /// Whether this is one of them.
    #[must_use]
    pub fn matches(&self, api: ApiKind, said: &ParsedRequest) -> bool {
        let last_is_user = said.last().is_some_and(|last| last.role == "user");
        self.api.is_none_or(|wanted| wanted == api)
            && self.model.as_ref().is_none_or(|wanted| *wanted == said.model)
            && self.last_result.as_ref().is_none_or(|wanted| {
                said.new_results().last().is_some_and(|result| name_matches(wanted, &result.name))
            })
            && (!self.ends_with_user || last_is_user)
            && self.user_has.as_ref().is_none_or(|wanted| said.last_user_text().contains(wanted))
            && self.system_has.as_ref().is_none_or(|wanted| said.system.contains(wanted))
            && self.offers.as_ref().is_none_or(|wanted| said.tools.contains(wanted))
            && self.rounds.is_none_or(|wanted| said.rounds() == wanted)
    }
}

fn name_matches(pattern: &str, name: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == name, |start| name.starts_with(start))
}

/// What computes answers.
pub(crate) type ResponseCallback = Arc<dyn Fn(&ReceivedRequest) -> Option<ScriptedResponse> + Send + Sync>;

/// The lines of a server as they stand.
#[derive(Default)]
pub(crate) struct ScriptRules {
    rules: Vec<ScriptRule>,
}

enum ScriptRule {
    Line { line: Box<ScriptLine>, used: u32 },
    Computed(ResponseCallback),
}

impl fmt::Debug for ScriptRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptRules").field("count", &self.rules.len()).finish()
    }
}

impl ScriptRules {
    pub(crate) fn add(&mut self, line: ScriptLine) {
        self.rules.push(ScriptRule::Line { line: Box::new(line), used: 0 });
    }

    pub(crate) fn compute(&mut self, respond: ResponseCallback) {
        self.rules.push(ScriptRule::Computed(respond));
    }

    pub(crate) fn clear(&mut self) {
        self.rules.clear();
    }

    /// How many lines for single requests have not been used.
    pub(crate) fn unused_lines(&self) -> usize {
        let waits =
            |rule: &&ScriptRule| matches!(rule, ScriptRule::Line { line, used } if *used < line.times);
        self.rules.iter().filter(waits).count()
    }

    /// The answer to a request.
    pub(crate) fn answer(&mut self, request: &ReceivedRequest) -> Option<ScriptedResponse> {
        self.rules.iter_mut().find_map(|rule| match rule {
            ScriptRule::Line { line, used } => {
                let left = line.times == 0 || *used < line.times;
                let chosen = left && line.when.matches(request.api, &request.said);
                chosen.then(|| {
                    *used += 1;
                    line.answer.clone()
                })
            }
            ScriptRule::Computed(respond) => respond(request),
        })
    }
}

/// The text of a JSON body; a string where it is none.
pub(crate) fn body_json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes)
        .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(bytes).into_owned()))
}
