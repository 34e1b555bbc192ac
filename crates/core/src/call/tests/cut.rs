//! What a model is given of a result, and what everybody else is.

use toolway_types::{Code, Outcome, ToolError, ToolOutput};

use crate::testkit::{World, answering, call, document, error, text, tool};
use crate::{Call, Caller, Door, EngineSettings, Finished};

const MIB: usize = 1 << 20;

async fn through(world: &World, door: Door, name: &str) -> Finished {
    let caller = Caller { door, ..Caller::local_owner() };
    world.engine.call(Call { caller, ..call(name, "{}") }).await
}

fn recorded(world: &World, finished: &Finished) -> usize {
    match world.recorder.of(finished.id)[0].outcome.as_ref() {
        Outcome::Success(output) => output.size(),
        Outcome::Error(error) => error.message.len(),
    }
}

#[tokio::test(start_paused = true)]
async fn r19_fifteen_megabytes_are_64_kib_for_a_model_and_all_of_it_in_the_record() {
    let bytes = 15 * MIB;
    let world = World::new(vec![answering("scan", &"x".repeat(bytes))]);
    let finished = through(&world, Door::Agent, "scan").await;
    let left_out = bytes - 64 * 1024;
    let note = format!(
        "[cut: {left_out} bytes more were left out; the record of call {} has more of it]",
        finished.id
    );
    assert_eq!(text(&finished), format!("{}\n{note}", "x".repeat(64 * 1024)));
    assert_eq!(recorded(&world, &finished), bytes, "what is kept of it is the record's affair");
    for door in [Door::Rest, Door::WebSocket, Door::Mcp, Door::Local] {
        assert_eq!(text(&through(&world, door, "scan").await).len(), bytes, "{door:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn r19_errors_and_unknown_names_are_cut_too() {
    let fails = tool(document("fails"), |_, _| {
        std::future::ready(Err(ToolError::new(Code::ToolFailed, "e".repeat(MIB))))
    });
    let world = World::new(vec![fails]);
    for name in ["fails", &"n".repeat(MIB)] {
        let finished = through(&world, Door::Agent, name).await;
        let message = &error(&finished).message;
        assert!(message.len() < 65 * 1024 && message.contains("[cut: "), "{}", message.len());
        assert!(recorded(&world, &finished) >= MIB);
    }
}

#[tokio::test(start_paused = true)]
async fn r19_an_outcome_that_is_given_again_is_cut_again() {
    let world = World::new(vec![answering("scan", &"x".repeat(MIB))]);
    let keyed = |door| {
        let caller = Caller { door, ..Caller::local_owner() };
        world.engine.call(Call { caller, idempotency_key: Some("k".into()), ..call("scan", "{}") })
    };
    let first = keyed(Door::Rest).await;
    assert_eq!(text(&first).len(), MIB);
    let again = keyed(Door::Agent).await;
    assert_eq!(again.id, first.id);
    assert!(text(&again).starts_with(&"x".repeat(64 * 1024)) && text(&again).len() < 65 * 1024);
    assert_eq!(text(&keyed(Door::Rest).await).len(), MIB, "what was kept is whole");
}

#[tokio::test(start_paused = true)]
async fn the_owner_sets_how_much_a_model_is_given() {
    let settings = EngineSettings { model_text_bytes: 10, ..EngineSettings::default() };
    let world =
        World::with(settings, vec![answering("scan", "0123456789ab"), answering("ring", "0123456789")]);
    let finished = through(&world, Door::Agent, "scan").await;
    assert!(text(&finished).starts_with("0123456789\n[cut: 2 bytes more"), "{}", text(&finished));
    assert_eq!(text(&through(&world, Door::Agent, "ring").await), "0123456789");
}

#[tokio::test(start_paused = true)]
async fn a_result_beyond_every_bound_is_an_error_for_all() {
    let settings = EngineSettings { output_bytes: 100, ..EngineSettings::default() };
    let scan = tool(document("scan"), |_, _| std::future::ready(Ok(ToolOutput::text("x".repeat(101)))));
    let world = World::with(settings, vec![scan]);
    assert_eq!(error(&through(&world, Door::Agent, "scan").await).code, Code::OutputTooLarge);
}
