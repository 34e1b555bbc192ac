//! Sessions, messages and turns as they are shown. Times are milliseconds since the Unix epoch.

use toolway_agent::conversations::{
    MessageList, MessageView, SessionDetail, SessionList, SessionSummary, TurnSummary,
};

use crate::http::schema_wrapper::shown_as;

shown_as! {
    /// A session.
    SessionView(SessionSummary) {
        /// Its id.
        id: String,
        /// Its title, where it has one.
        #[schema(required = false)]
        title: String,
        /// Who gave it: `nobody`, `model` or `person`.
        title_by: String,
        /// The agent that was last talked to in it.
        agent: String,
        /// Whose it is: a token's id, or `owner`.
        principal: String,
        /// When it began.
        created_ms: i64,
        /// When something was last said in it.
        updated_ms: i64,
        /// How many messages it has.
        messages: u64,
        /// Whether a turn runs in it.
        running: bool,
    }

    /// A page of sessions.
    SessionListView(SessionList) {
        /// Those in which something was said last first.
        sessions: Vec<SessionView>,
        /// What to give as `before` for the next page.
        #[schema(required = false)]
        next: String,
    }

    /// A message.
    MessageViewed(MessageView) {
        /// Its number in the session, from 1.
        seq: u64,
        /// The turn in which it was said.
        turn: String,
        /// `user`, `assistant` or `tool`.
        role: String,
        /// When it was kept.
        created_ms: i64,
        /// Whether it ended before it was whole.
        #[schema(required = false)]
        cut: bool,
        /// Its parts: objects whose `type` is `text`, `image`, `thinking`, `tool_call` or `tool_result`.
        parts: Vec<serde_json::Map<String, serde_json::Value>>,
    }

    /// Some of a session's messages.
    MessageListView(MessageList) {
        /// The oldest first.
        messages: Vec<MessageViewed>,
        /// Whether there are older ones.
        has_more: bool,
    }

    /// A turn.
    TurnViewed(TurnSummary) {
        /// Its id, under which its calls are recorded.
        id: String,
        /// The number of the message that it answers.
        answers: u64,
        /// `running`, `done`, `aborted`, `failed` or `interrupted`.
        state: String,
        /// Whether its answer was taken out for another.
        #[schema(required = false)]
        replaced: bool,
        /// When it began.
        started_ms: i64,
        /// When it ended.
        #[schema(required = false)]
        ended_ms: i64,
        /// Why it failed, for programs.
        #[schema(required = false)]
        code: String,
        /// Why it failed, in words.
        #[schema(required = false)]
        message: String,
        /// Why the model's last answer ended.
        #[schema(required = false)]
        finish: String,
        /// How often a model was asked.
        rounds: u32,
        /// How many tools were called.
        calls: u32,
        /// Tokens of all its requests; numbers that were not reported are null.
        #[schema(value_type = Object)]
        usage: serde_json::Value,
        /// What they cost; null where that is not known.
        cost: Option<f64>,
        /// The currency of `cost`.
        #[schema(required = false)]
        currency: String,
    }

    /// A session with the newest of what was said in it.
    SessionDetailView(SessionDetail) {
        /// Its id.
        id: String,
        /// Its title, where it has one.
        #[schema(required = false)]
        title: String,
        /// Who gave it: `nobody`, `model` or `person`.
        title_by: String,
        /// The agent that was last talked to in it.
        agent: String,
        /// Whose it is: a token's id, or `owner`.
        principal: String,
        /// When it began.
        created_ms: i64,
        /// When something was last said in it.
        updated_ms: i64,
        /// How many messages it has.
        messages: u64,
        /// Whether a turn runs in it.
        running: bool,
        /// The newest messages, the oldest of them first.
        history: Vec<MessageViewed>,
        /// Whether there are older ones.
        has_more: bool,
        /// The newest turns, the oldest of them first.
        turns: Vec<TurnViewed>,
    }
}
