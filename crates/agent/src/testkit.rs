//! Helpers for this crate's tests: scripted models, tools from closures, a conversation store in memory, and
//! a harness that combines them.

mod harness;
mod memory_store;
mod scripted_provider;

pub(crate) use harness::{
    ConversationHarness, ConversationHarnessBuilder, TurnEventLog, agent, answering, assert_passed, client,
    document, endless, failing, owner, phone_caller, settle, testing_zones, tool,
};
pub(crate) use scripted_provider::{
    ModelScript, ScriptGate, ScriptStep, ScriptedProvider, cut_call_answer, finished, text, text_answer,
    tool_call_answer, usage,
};
