use serde_json::json;

use super::*;
use crate::testkit::{raw, success_text};
use crate::{CallDurations, FinishedCall};
use toolway_types::{Code, ResultEnvelope};

/// Truncates these parts for a model.
fn truncated(content: Vec<ContentPart>, limit: usize) -> (ToolOutput, CallId) {
    let id = CallId::new();
    let outcome = truncate_for_model(&Arc::new(Outcome::Success(ToolOutput::new(content, None))), limit, id);
    let Outcome::Success(output) = outcome.as_ref() else { panic!("{outcome:?}") };
    (output.clone(), id)
}

fn expected_note(bytes: usize, id: CallId) -> String {
    format!("[truncated: {bytes} more bytes; the record of call {id} contains more]")
}

fn texts(output: &ToolOutput) -> Vec<&str> {
    output.content.iter().filter_map(ContentPart::as_text).collect()
}

fn image() -> ContentPart {
    ContentPart::Image { data: "QUJD".repeat(1000), mime_type: "image/png".to_owned() }
}

#[test]
fn a_small_output_is_unchanged() {
    let structured = ToolOutput::new(vec![ContentPart::text("x".repeat(90))], Some(raw(r#"{"a":1}"#)));
    for (output, limit) in [
        (ToolOutput::text("x".repeat(100)), 100),
        (ToolOutput::default(), 0),
        (structured, 7),
        (ToolOutput::new(vec![image()], None), 0),
    ] {
        let outcome = Arc::new(Outcome::Success(output));
        assert!(Arc::ptr_eq(&truncate_for_model(&outcome, limit, CallId::new()), &outcome));
    }
    let error =
        Arc::new(Outcome::Error(ToolError::new(Code::ToolFailed, "x".repeat(50)).with_hint("y".repeat(50))));
    assert!(Arc::ptr_eq(&truncate_for_model(&error, 100, CallId::new()), &error));
}

#[test]
fn text_is_truncated_with_a_note() {
    let (output, id) = truncated(vec![ContentPart::text("x".repeat(1000))], 100);
    assert_eq!(texts(&output), ["x".repeat(100), expected_note(900, id)]);
    let (output, id) = truncated(vec![ContentPart::text("x".repeat(101))], 100);
    assert_eq!(texts(&output), ["x".repeat(100), expected_note(1, id)]);
    let (output, id) = truncated(vec![ContentPart::text("xy")], 0);
    assert_eq!(texts(&output), [expected_note(2, id)]);
}

#[test]
fn text_is_never_truncated_inside_a_character() {
    for limit in 0..30 {
        let whole = "aé€😀".repeat(5);
        let (output, id) = truncated(vec![ContentPart::text(&whole)], limit);
        let kept = match texts(&output).as_slice() {
            [kept, note] => {
                assert_eq!(*note, expected_note(whole.len() - kept.len(), id));
                (*kept).to_owned()
            }
            [note] => {
                assert_eq!(*note, expected_note(whole.len(), id));
                String::new()
            }
            other => panic!("{other:?}"),
        };
        assert!(whole.starts_with(&kept) && kept.len() <= limit && kept.len() + 4 > limit, "{limit}: {kept}");
    }
}

#[test]
fn the_first_of_several_parts_are_kept() {
    let part = |letter: &str, times: usize| ContentPart::text(letter.repeat(times));
    let (output, id) =
        truncated(vec![part("a", 40), image(), part("b", 40), part("c", 40), part("d", 1)], 100);
    assert_eq!(texts(&output), ["a".repeat(40), "b".repeat(40), "c".repeat(20), expected_note(21, id)]);
    assert_eq!(output.content[1], image(), "pictures stay, and where they are");

    let (output, id) = truncated(vec![part("a", 101), part("b", 1), image()], 100);
    assert_eq!(texts(&output), ["a".repeat(100), expected_note(2, id)], "what follows a cut is left out");
    assert_eq!(output.content.len(), 3);
}

#[test]
fn a_truncated_structured_value_becomes_text() {
    let value = json!({ "list": "x".repeat(200) }).to_string();
    let output = ToolOutput::new(vec![ContentPart::text("the same in words"), image()], Some(raw(&value)));
    let id = CallId::new();
    let outcome = truncate_for_model(&Arc::new(Outcome::Success(output)), 100, id);
    let Outcome::Success(output) = outcome.as_ref() else { panic!("{outcome:?}") };
    assert_eq!(output.structured, None);
    assert_eq!(texts(output), [&value[..100], &expected_note(value.len() - 100, id)]);
    assert_eq!(output.content.iter().filter(|part| part.as_text().is_none()).count(), 1);
    let envelope = serde_json::to_value(ResultEnvelope(&outcome)).unwrap();
    assert_eq!(envelope["result"], format!("{}\n{}", &value[..100], expected_note(value.len() - 100, id)));
}

/// Text beside a structured value is not read, so its length does not matter.
#[test]
fn text_beside_a_value_that_fits_is_not_counted() {
    let output = ToolOutput::new(vec![ContentPart::text("x".repeat(5000))], Some(raw(r#"{"a":1}"#)));
    let outcome = Arc::new(Outcome::Success(output));
    let given = truncate_for_model(&outcome, 100, CallId::new());
    assert_eq!(
        serde_json::to_value(ResultEnvelope(&given)).unwrap(),
        json!({"status": "success", "result": {"a": 1}})
    );
}

#[test]
fn text_inside_other_parts_counts_too() {
    let resource = |text: &str| ContentPart::Resource { resource: json!({"uri": "file:///a", "text": text}) };
    let (output, id) =
        truncated(vec![ContentPart::text("x".repeat(60)), resource(&"y".repeat(100)), image()], 100);
    assert_eq!(
        output.content,
        [
            ContentPart::text("x".repeat(60)),
            resource(&"y".repeat(40)),
            image(),
            ContentPart::text(expected_note(60, id))
        ]
    );
    let blob = ContentPart::Resource { resource: json!({"uri": "file:///a", "blob": "QUJD".repeat(1000)}) };
    assert_eq!(truncated(vec![blob.clone()], 10).0.content, [blob]);
    let link = |description: String| ContentPart::ResourceLink {
        uri: "file:///a".to_owned(),
        name: "a".to_owned(),
        description: Some(description),
        mime_type: None,
    };
    let (output, id) = truncated(vec![link("z".repeat(30))], 10);
    assert_eq!(output.content, [link("z".repeat(10)), ContentPart::text(expected_note(20, id))]);

    let beside = ToolOutput::new(vec![resource(&"y".repeat(100))], Some(raw("[1,2]")));
    let id = CallId::new();
    let outcome = truncate_for_model(&Arc::new(Outcome::Success(beside)), 50, id);
    let Outcome::Success(output) = outcome.as_ref() else { panic!("{outcome:?}") };
    assert_eq!(
        output.content,
        [ContentPart::text(format!("[1,2]\n{}", expected_note(55, id))), resource(&"y".repeat(45))],
        "the note has to be read"
    );
}

#[test]
fn errors_are_truncated() {
    let id = CallId::new();
    let cut = |error: &ToolError| {
        let outcome = truncate_for_model(&Arc::new(Outcome::Error(error.clone())), 100, id);
        outcome.error().unwrap().clone()
    };
    let long =
        ToolError::new(Code::FileNotFound, "m".repeat(150)).with_hint("h".repeat(30)).with_dispatched(true);
    let given = cut(&long);
    assert_eq!(given.message, format!("{}\n{}", "m".repeat(100), expected_note(80, id)));
    assert_eq!((given.hint, given.code, given.dispatched), (None, long.code, true));

    let hinted = ToolError::new(Code::ToolFailed, "m".repeat(50)).with_hint("h".repeat(80));
    let given = cut(&hinted);
    assert_eq!(given.message, format!("{}\n{}", "m".repeat(50), expected_note(30, id)));
    assert_eq!(given.hint, Some("h".repeat(50)));

    let intent = raw(&json!({"action": "i".repeat(60)}).to_string());
    let bytes = intent.get().len();
    let opens = ToolError {
        authorize_intent: Some(intent.clone()),
        ..ToolError::new(Code::AuthRequired, "m".repeat(50))
    };
    let given = cut(&opens);
    assert_eq!(given.authorize_intent, None, "half of it opens nothing");
    assert_eq!(given.message, format!("{}\n{}", "m".repeat(50), expected_note(bytes, id)));
    let fits = ToolError { message: "m".repeat(100 - bytes), ..opens };
    assert_eq!(cut(&fits).authorize_intent, Some(intent));
}

#[test]
fn the_recorded_outcome_is_not_truncated() {
    let outcome = Arc::new(Outcome::Success(ToolOutput::text("x".repeat(1000))));
    let id = CallId::new();
    let given = truncate_for_model(&outcome, 10, id);
    let finished = |outcome| FinishedCall { id, tool: None, outcome, durations: CallDurations::default() };
    assert_eq!(success_text(&finished(outcome)).len(), 1000);
    assert!(success_text(&finished(given)).len() < 200);
}
