use super::*;
use crate::tools::ToolDefinition;

/// The calls of pieces, as id, name and arguments.
fn assemble(pieces: &[&str], finish: Option<FinishReason>) -> Vec<(String, String, String, bool)> {
    assemble_for(&[], pieces, finish)
}

/// The same, where the request has these tools.
fn assemble_for(
    tools: &[&str],
    pieces: &[&str],
    finish: Option<FinishReason>,
) -> Vec<(String, String, String, bool)> {
    let tools = tools.iter().map(|name| Arc::new(ToolDefinition::new(*name, "", None))).collect();
    let mut calls = ToolCallAssembler::new(Arc::new(ToolSet::new(tools)));
    let mut out = ModelEventQueue::new();
    for piece in pieces {
        calls.push_delta(&serde_json::from_str(piece).unwrap(), false, &mut out).unwrap();
    }
    let ended = calls.finish(finish.as_ref()).into_iter();
    let all: Vec<_> = ended
        .map(|call| {
            let id = call.data.map(|data| data.to_value()["id"].as_str().unwrap_or("-").to_owned());
            (id.unwrap_or_default(), call.name, call.arguments, call.is_cut)
        })
        .collect();
    // What was told adds up to what came.
    for (at, (_, name, arguments, _)) in all.iter().enumerate() {
        let started = out.iter().filter_map(|event| match event {
            ModelEvent::ToolCallStarted { index, name } if *index == at => Some(name.as_str()),
            _ => None,
        });
        assert!(started.eq(Some(name.as_str()).filter(|_| !arguments.is_empty())) || arguments.is_empty());
        let told = out.iter().filter_map(|event| match event {
            ModelEvent::ToolCallArguments { index, delta } if *index == at => Some(delta.as_str()),
            _ => None,
        });
        assert_eq!(told.collect::<String>(), if name.is_empty() { "" } else { arguments });
    }
    all
}

fn complete_calls(all: &[(&str, &str, &str)]) -> Vec<(String, String, String, bool)> {
    all.iter()
        .map(|(id, name, arguments)| ((*id).into(), (*name).into(), (*arguments).into(), false))
        .collect()
}

#[test]
fn calls_are_distinguished_by_any_field_that_the_server_sends() {
    let stop = || Some(FinishReason::ToolCalls);
    // By index, several at once, in any order.
    let by_index = [
        r#"{"index":1,"id":"b","function":{"name":"t","arguments":"{"}}"#,
        r#"{"index":0,"id":"a","function":{"name":"t"}}"#,
        r#"{"index":1,"function":{"arguments":"}"}}"#,
        r#"{"index":0,"function":{"arguments":"{}"}}"#,
    ];
    assert_eq!(assemble(&by_index, stop()), complete_calls(&[("b", "t", "{}"), ("a", "t", "{}")]));
    // By id alone, repeated with each piece.
    let by_id = [
        r#"{"id":"a","function":{"name":"t","arguments":"{"}}"#,
        r#"{"id":"b","function":{"name":"t","arguments":"{}"}}"#,
        r#"{"id":"a","function":{"arguments":"}"}}"#,
    ];
    assert_eq!(assemble(&by_id, stop()), complete_calls(&[("a", "t", "{}"), ("b", "t", "{}")]));
    // By nothing: the name repeated until the arguments are whole, then another call.
    let by_order = [
        r#"{"function":{"name":"t","arguments":"{\"a\":"}}"#,
        r#"{"function":{"name":"t","arguments":"1}"}}"#,
        r#"{"function":{"name":"t","arguments":{"a":2}}}"#,
        r#"{"function":{"name":"u"}}"#,
    ];
    assert_eq!(
        assemble(&by_order, stop()),
        complete_calls(&[("", "t", "{\"a\":1}"), ("", "t", "{\"a\":2}"), ("", "u", "")])
    );
}

#[test]
fn a_name_in_pieces_at_one_index_is_joined() {
    let stop = || Some(FinishReason::ToolCalls);
    for tools in [&[][..], &["get_weather"], &["get_weather", "get"]] {
        let halves = [
            r#"{"index":0,"id":"a","function":{"name":"get"}}"#,
            r#"{"index":0,"function":{"name":"_wea"}}"#,
            r#"{"index":0,"function":{"name":"ther","arguments":""}}"#,
            r#"{"index":0,"function":{"arguments":"{\"a\":"}}"#,
            r#"{"index":0,"function":{"arguments":"1}"}}"#,
        ];
        let expected = complete_calls(&[("a", "get_weather", "{\"a\":1}")]);
        assert_eq!(assemble_for(tools, &halves, stop()), expected, "{tools:?}");
    }
    // With its id in each piece, and beside another call.
    let two = [
        r#"{"index":0,"id":"a","function":{"name":"get_"}}"#,
        r#"{"index":1,"id":"b","function":{"name":"set_"}}"#,
        r#"{"index":0,"id":"a","function":{"name":"x","arguments":"{}"}}"#,
        r#"{"index":1,"id":"b","function":{"name":"y","arguments":"{}"}}"#,
    ];
    assert_eq!(assemble(&two, stop()), complete_calls(&[("a", "get_x", "{}"), ("b", "set_y", "{}")]));
    // Two tools without arguments, from a server that gives each call the same index.
    let same_index = [r#"{"index":0,"function":{"name":"on"}}"#, r#"{"index":0,"function":{"name":"off"}}"#];
    assert_eq!(
        assemble_for(&["on", "off"], &same_index, stop()),
        complete_calls(&[("", "on", ""), ("", "off", "")])
    );
    // A repeated name stays as it is.
    let repeated = [
        r#"{"index":0,"id":"a","function":{"name":"t"}}"#,
        r#"{"index":0,"id":"a","function":{"name":"t","arguments":"{}"}}"#,
        r#"{"index":0,"id":"a","function":{"name":"t","arguments":""}}"#,
    ];
    assert_eq!(assemble(&repeated, stop()), complete_calls(&[("a", "t", "{}")]));
}

#[test]
fn a_new_id_begins_a_call_only_with_a_name() {
    // Some make up an id for each piece.
    let fresh_ids = [
        r#"{"index":0,"id":"a","function":{"name":"t","arguments":"{"}}"#,
        r#"{"index":0,"id":"b","function":{"arguments":"}"}}"#,
    ];
    assert_eq!(assemble(&fresh_ids, None), complete_calls(&[("a", "t", "{}")]));
}

#[test]
fn empty_and_null_arguments_are_none() {
    let pieces = [r#"{"index":0,"id":"a","function":{"name":"t","arguments":null}}"#, r#"{"index":0}"#];
    assert_eq!(assemble(&pieces, Some(FinishReason::ToolCalls)), complete_calls(&[("a", "t", "")]));
    assert_eq!(assemble(&pieces, None), complete_calls(&[("a", "t", "")]));
    // Cut before the first of them.
    assert!(assemble(&pieces, Some(FinishReason::Length))[0].3);
}

#[test]
fn truncation_is_decided_by_the_finish_reason_m10() {
    let pieces = [r#"{"index":0,"id":"a","function":{"name":"t","arguments":"{\"a\":"}}"#];
    for (finish, is_cut) in [
        (Some(FinishReason::Stop), false),
        (Some(FinishReason::ToolCalls), false),
        (None, true),
        (Some(FinishReason::Length), true),
        (Some(FinishReason::Refused), true),
        (Some(FinishReason::Other("x".to_owned())), true),
    ] {
        assert_eq!(assemble(&pieces, finish.clone())[0].3, is_cut, "{finish:?}");
    }
}

#[test]
fn the_number_of_calls_is_limited() {
    let mut calls = ToolCallAssembler::new(Arc::default());
    let take = |calls: &mut ToolCallAssembler, index: usize| {
        let piece = format!(r#"{{"index":{index},"function":{{"name":"t"}}}}"#);
        calls.push_delta(&serde_json::from_str(&piece).unwrap(), false, &mut ModelEventQueue::new())
    };
    for index in 0..MAX_RESPONSE_ITEMS {
        assert_eq!(take(&mut calls, index), Ok(()));
    }
    assert_eq!(take(&mut calls, MAX_RESPONSE_ITEMS), Err(TooManyCalls));
    assert_eq!(take(&mut calls, 0), Ok(()));
}
