//! What this crate's tests share: models that say what a script says, tools made of closures, a keeper in memory, and
//! a world of all that.

mod memory;
mod model;
mod world;

pub(crate) use model::{Act, Gate, Script, Scripted, calls, cut_call, finished, says, text, usage};
pub(crate) use world::{
    Heard, World, WorldParts, agent, answering, assert_passed, client, document, endless, failing, owner,
    phone_caller, settle, tool,
};
