//! Assigns answers to requests.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::api::ApiKind;
use crate::quirks::ApiQuirks;
use crate::received_request::{ParsedRequest, ReceivedRequest};
use crate::scripted_response::ScriptedResponse;

/// An answer and the requests that get it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ScriptLine {
    /// Matching requests; by default any.
    pub when: RequestMatcher,
    /// Number of requests; 0 for any number.
    #[serde(default = "once")]
    pub times: u32,
    /// The answer.
    pub answer: ScriptedResponse,
}

fn once() -> u32 {
    1
}

/// Conditions on requests. All of them must match.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RequestMatcher {
    /// The API.
    pub api: Option<ApiKind>,
    /// The model.
    pub model: Option<String>,
    /// The request ends with tool results, the last of which is of this tool. With `*` at the end: of a tool
    /// with this prefix.
    pub last_result: Option<String>,
    /// The request ends with a user message.
    pub ends_with_user: bool,
    /// The last user message contains this text.
    pub user_has: Option<String>,
    /// The system message contains this text.
    pub system_has: Option<String>,
    /// The request has this tool.
    pub offers: Option<String>,
    /// Number of tool rounds since the last user message.
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
    /// The offered models; by default [`FakeModel::defaults`].
    pub models: Vec<FakeModel>,
    /// The answers. The first unused line that matches a request wins.
    pub lines: Vec<ScriptLine>,
    /// Differences of the `compatible` API from OpenAI's.
    pub quirks: ApiQuirks,
    /// True if the APIs validate requests as in reality. `compatible` never does.
    #[serde(default = "yes")]
    pub checks: bool,
}

fn yes() -> bool {
    true
}

/// A model that every API offers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FakeModel {
    /// Its id.
    pub id: String,
    /// Context size in tokens.
    #[serde(default = "context_tokens")]
    pub context_tokens: u64,
    /// True if it thinks before it answers and requires its signatures (Gemini: calls without their
    /// `thoughtSignature` are refused; OpenAI: `max_tokens` and `temperature` are refused).
    #[serde(default)]
    pub thinks: bool,
}

fn context_tokens() -> u64 {
    200_000
}

impl FakeModel {
    /// Returns the default models: `fake-model`, and `fake-thinker`, which thinks.
    #[must_use]
    pub fn defaults() -> Vec<Self> {
        let model = |id: &str, thinks| Self { id: id.to_owned(), context_tokens: context_tokens(), thinks };
        vec![model("fake-model", false), model("fake-thinker", true)]
    }
}

impl RequestMatcher {
    /// Matches requests that end with a user message.
    #[must_use]
    pub fn user() -> Self {
        Self { ends_with_user: true, ..Self::default() }
    }

    /// Matches requests that end with a result of this tool (`*` at the end: of a tool with this prefix).
    #[must_use]
    pub fn result_of(tool: impl Into<String>) -> Self {
        Self { last_result: Some(tool.into()), ..Self::default() }
    }

    /// Matches requests whose last user message contains this text.
    #[must_use]
    pub fn user_has(text: impl Into<String>) -> Self {
        Self { user_has: Some(text.into()), ..Self::default() }
    }

    /// Returns true if a request matches.
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

/// Function that computes answers.
pub(crate) type ResponseCallback = Arc<dyn Fn(&ReceivedRequest) -> Option<ScriptedResponse> + Send + Sync>;

/// The lines of a server with their state.
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

    /// Returns the number of unused lines for single requests.
    pub(crate) fn unused_lines(&self) -> usize {
        let waits =
            |rule: &&ScriptRule| matches!(rule, ScriptRule::Line { line, used } if *used < line.times);
        self.rules.iter().filter(waits).count()
    }

    /// Returns the answer to a request.
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

/// Parses a JSON body; returns a string if it is not JSON.
pub(crate) fn body_json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes)
        .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(bytes).into_owned()))
}
