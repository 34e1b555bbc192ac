//! A fault injector: each recorded answer is cut at every byte, and comes in pieces of several sizes. Whatever happens,
//! nothing panics, the answer ends in an error or is finished, and no call counts as whole that was not.

use toolway_models::replay::ReplayedResponse;
use toolway_models::{MessagePart, ModelEvent, ProviderKind};

use super::recorded_responses::recorded_responses;
use super::support::{format_response, replay_body};

/// The whole calls of an answer, by name and arguments.
fn whole_calls(replayed: &ReplayedResponse) -> Vec<(String, String)> {
    let calls = replayed.events.iter().filter_map(|event| match event {
        ModelEvent::Part(MessagePart::ToolCall(call)) if !call.is_cut => {
            Some((call.name.clone(), call.arguments.clone()))
        }
        _ => None,
    });
    calls.collect()
}

fn is_finished(replayed: &ReplayedResponse) -> bool {
    let finished = replayed.events.iter().filter(|event| matches!(event, ModelEvent::Finished(_))).count();
    assert!(finished <= 1);
    finished == 1
}

#[test]
fn pieces_make_no_difference() {
    for kind in ProviderKind::ALL {
        for (name, body) in recorded_responses(kind) {
            let whole = format_response(&replay_body(kind, &body, body.len()));
            for piece in [1, 7, 4096] {
                assert_eq!(
                    format_response(&replay_body(kind, &body, piece)),
                    whole,
                    "{kind} {name} in pieces of {piece}"
                );
            }
        }
    }
}

/// Bodies up to this size come in pieces of each size after every cut, larger ones in each size after every third.
const SMALL_BODY_BYTES: usize = 1000;

fn check_cuts_everywhere(kind: ProviderKind) {
    for (name, body) in recorded_responses(kind) {
        let whole = replay_body(kind, &body, body.len());
        for at in 0..body.len() {
            for (turn, piece) in [1, 7, 4096].into_iter().enumerate() {
                if body.len() <= SMALL_BODY_BYTES || at % 3 == turn {
                    check_cuts(kind, &name, &body[..at], piece, &whole);
                }
            }
        }
    }
}

#[test]
fn an_openai_stream_cut_at_any_point_is_incomplete_m12() {
    check_cuts_everywhere(ProviderKind::Openai);
}

#[test]
fn a_responses_stream_cut_at_any_point_is_incomplete_m12() {
    check_cuts_everywhere(ProviderKind::OpenaiResponses);
}

#[test]
fn a_compatible_servers_stream_cut_at_any_point_is_incomplete_m12() {
    check_cuts_everywhere(ProviderKind::Compatible);
}

#[test]
fn an_anthropic_stream_cut_at_any_point_is_incomplete_m12() {
    check_cuts_everywhere(ProviderKind::Anthropic);
}

#[test]
fn a_gemini_stream_cut_at_any_point_is_incomplete_m12() {
    check_cuts_everywhere(ProviderKind::Gemini);
}

fn check_cuts(kind: ProviderKind, name: &str, body: &[u8], piece: usize, whole: &ReplayedResponse) {
    let what = || format!("{kind} {name} cut after {} bytes, in pieces of {piece}", body.len());
    let replayed = replay_body(kind, body, piece);
    let finished = is_finished(&replayed);
    assert!(finished != replayed.error.is_some(), "{}: neither an end nor an error, or both", what());
    // Calls that count as whole are the first ones of the whole answer, letter by letter.
    let (calls, all) = (whole_calls(&replayed), whole_calls(whole));
    assert!(all.starts_with(&calls), "{}: {calls:?} are not of {all:?}", what());
    if finished {
        // All was said; only numbers may be missing.
        let told = |replayed: &ReplayedResponse| {
            let told = replayed.events.iter().filter(|event| !matches!(event, ModelEvent::Usage(_)));
            format_response(&ReplayedResponse { events: told.cloned().collect(), error: None })
        };
        assert_eq!(told(&replayed), told(whole), "{}", what());
    }
}

#[test]
fn bytes_that_are_changed_on_the_way_break_nothing() {
    for kind in ProviderKind::ALL {
        for (_, body) in recorded_responses(kind) {
            for at in (0..body.len()).step_by(7) {
                for byte in [b'\n', b'"', b'}', 0xFF] {
                    let mut changed = body.clone();
                    changed[at] = byte;
                    let replayed = replay_body(kind, &changed, 64);
                    assert!(is_finished(&replayed) || replayed.error.is_some());
                }
            }
        }
    }
}
