//! A fault injector: each recorded answer is cut at every byte, and comes in pieces of several sizes. Whatever happens,
//! nothing panics, the answer ends in an error or is finished, and no call counts as whole that was not.

use toolway_models::replay::Replayed;
use toolway_models::{ModelEvent, Part, ProviderKind};

use super::answers::recorded;
use super::support::{answer, shown};

/// The whole calls of an answer, by name and arguments.
fn whole_calls(replayed: &Replayed) -> Vec<(String, String)> {
    let calls = replayed.events.iter().filter_map(|event| match event {
        ModelEvent::Part(Part::ToolCall(call)) if !call.is_cut => {
            Some((call.name.clone(), call.arguments.clone()))
        }
        _ => None,
    });
    calls.collect()
}

fn is_finished(replayed: &Replayed) -> bool {
    let finished = replayed.events.iter().filter(|event| matches!(event, ModelEvent::Finished(_))).count();
    assert!(finished <= 1);
    finished == 1
}

#[test]
fn pieces_make_no_difference() {
    for kind in ProviderKind::ALL {
        for (name, body) in recorded(kind) {
            let whole = shown(&answer(kind, &body, body.len()));
            for piece in [1, 7, 4096] {
                assert_eq!(shown(&answer(kind, &body, piece)), whole, "{kind} {name} in pieces of {piece}");
            }
        }
    }
}

/// Bodies up to this size come in pieces of each size after every cut, larger ones in each size after every third.
const SMALL: usize = 1000;

fn cut_everywhere(kind: ProviderKind) {
    for (name, body) in recorded(kind) {
        let whole = answer(kind, &body, body.len());
        for at in 0..body.len() {
            for (turn, piece) in [1, 7, 4096].into_iter().enumerate() {
                if body.len() <= SMALL || at % 3 == turn {
                    cut(kind, &name, &body[..at], piece, &whole);
                }
            }
        }
    }
}

#[test]
fn m12_an_answer_of_openai_that_is_cut_anywhere_is_no_whole_one() {
    cut_everywhere(ProviderKind::Openai);
}

#[test]
fn m12_an_answer_of_responses_that_is_cut_anywhere_is_no_whole_one() {
    cut_everywhere(ProviderKind::OpenaiResponses);
}

#[test]
fn m12_an_answer_of_a_compatible_server_that_is_cut_anywhere_is_no_whole_one() {
    cut_everywhere(ProviderKind::Compatible);
}

#[test]
fn m12_an_answer_of_anthropic_that_is_cut_anywhere_is_no_whole_one() {
    cut_everywhere(ProviderKind::Anthropic);
}

#[test]
fn m12_an_answer_of_gemini_that_is_cut_anywhere_is_no_whole_one() {
    cut_everywhere(ProviderKind::Gemini);
}

fn cut(kind: ProviderKind, name: &str, body: &[u8], piece: usize, whole: &Replayed) {
    let what = || format!("{kind} {name} cut after {} bytes, in pieces of {piece}", body.len());
    let replayed = answer(kind, body, piece);
    let finished = is_finished(&replayed);
    assert!(finished != replayed.error.is_some(), "{}: neither an end nor an error, or both", what());
    // Calls that count as whole are the first ones of the whole answer, letter by letter.
    let (calls, all) = (whole_calls(&replayed), whole_calls(whole));
    assert!(all.starts_with(&calls), "{}: {calls:?} are not of {all:?}", what());
    if finished {
        // All was said; only numbers may be missing.
        let told = |replayed: &Replayed| {
            let told = replayed.events.iter().filter(|event| !matches!(event, ModelEvent::Usage(_)));
            shown(&Replayed { events: told.cloned().collect(), error: None })
        };
        assert_eq!(told(&replayed), told(whole), "{}", what());
    }
}

#[test]
fn bytes_that_are_changed_on_the_way_break_nothing() {
    for kind in ProviderKind::ALL {
        for (_, body) in recorded(kind) {
            for at in (0..body.len()).step_by(7) {
                for byte in [b'\n', b'"', b'}', 0xFF] {
                    let mut changed = body.clone();
                    changed[at] = byte;
                    let replayed = answer(kind, &changed, 64);
                    assert!(is_finished(&replayed) || replayed.error.is_some());
                }
            }
        }
    }
}
