use super::*;

/// The calls of pieces, as id, name and arguments.
fn calls(pieces: &[&str], finish: Option<FinishReason>) -> Vec<(String, String, String, bool)> {
    let mut calls = Calls::new(Arc::default());
    let mut out = Events::new();
    for piece in pieces {
        calls.take(&serde_json::from_str(piece).unwrap(), false, &mut out).unwrap();
    }
    let ended = calls.end(finish.as_ref()).into_iter();
    let all: Vec<_> = ended
        .map(|call| {
            let id = call.data.map(|data| data.to_value()["id"].as_str().unwrap_or("-").to_owned());
            (id.unwrap_or_default(), call.name, call.arguments, call.is_cut)
        })
        .collect();
    // What was told adds up to what came.
    for (at, (_, name, arguments, _)) in all.iter().enumerate() {
        let told = out.iter().filter_map(|event| match event {
            ModelEvent::ToolCallArguments { index, delta } if *index == at => Some(delta.as_str()),
            _ => None,
        });
        assert_eq!(told.collect::<String>(), if name.is_empty() { "" } else { arguments });
    }
    all
}

fn whole(all: &[(&str, &str, &str)]) -> Vec<(String, String, String, bool)> {
    all.iter()
        .map(|(id, name, arguments)| ((*id).into(), (*name).into(), (*arguments).into(), false))
        .collect()
}

#[test]
fn pieces_are_told_apart_by_whatever_the_server_gives() {
    let stop = || Some(FinishReason::ToolCalls);
    // By index, several at once, in any order.
    let by_index = [
        r#"{"index":1,"id":"b","function":{"name":"t","arguments":"{"}}"#,
        r#"{"index":0,"id":"a","function":{"name":"t"}}"#,
        r#"{"index":1,"function":{"arguments":"}"}}"#,
        r#"{"index":0,"function":{"arguments":"{}"}}"#,
    ];
    assert_eq!(calls(&by_index, stop()), whole(&[("b", "t", "{}"), ("a", "t", "{}")]));
    // By id alone, repeated with each piece.
    let by_id = [
        r#"{"id":"a","function":{"name":"t","arguments":"{"}}"#,
        r#"{"id":"b","function":{"name":"t","arguments":"{}"}}"#,
        r#"{"id":"a","function":{"arguments":"}"}}"#,
    ];
    assert_eq!(calls(&by_id, stop()), whole(&[("a", "t", "{}"), ("b", "t", "{}")]));
    // By nothing: the name repeated until the arguments are whole, then another call.
    let by_order = [
        r#"{"function":{"name":"t","arguments":"{\"a\":"}}"#,
        r#"{"function":{"name":"t","arguments":"1}"}}"#,
        r#"{"function":{"name":"t","arguments":{"a":2}}}"#,
        r#"{"function":{"name":"u"}}"#,
    ];
    assert_eq!(
        calls(&by_order, stop()),
        whole(&[("", "t", "{\"a\":1}"), ("", "t", "{\"a\":2}"), ("", "u", "")])
    );
}

#[test]
fn a_new_id_begins_a_call_only_with_a_name() {
    // Some make up an id for each piece.
    let fresh_ids = [
        r#"{"index":0,"id":"a","function":{"name":"t","arguments":"{"}}"#,
        r#"{"index":0,"id":"b","function":{"arguments":"}"}}"#,
    ];
    assert_eq!(calls(&fresh_ids, None), whole(&[("a", "t", "{}")]));
}

#[test]
fn nothing_and_null_are_no_arguments() {
    let pieces = [r#"{"index":0,"id":"a","function":{"name":"t","arguments":null}}"#, r#"{"index":0}"#];
    assert_eq!(calls(&pieces, Some(FinishReason::ToolCalls)), whole(&[("a", "t", "")]));
    assert_eq!(calls(&pieces, None), whole(&[("a", "t", "")]));
    // Cut before the first of them.
    assert!(calls(&pieces, Some(FinishReason::Length))[0].3);
}

#[test]
fn m10_what_is_cut_depends_on_how_the_answer_ended() {
    let pieces = [r#"{"index":0,"id":"a","function":{"name":"t","arguments":"{\"a\":"}}"#];
    for (finish, is_cut) in [
        (Some(FinishReason::Stop), false),
        (Some(FinishReason::ToolCalls), false),
        (None, true),
        (Some(FinishReason::Length), true),
        (Some(FinishReason::Refused), true),
        (Some(FinishReason::Other("x".to_owned())), true),
    ] {
        assert_eq!(calls(&pieces, finish.clone())[0].3, is_cut, "{finish:?}");
    }
}

#[test]
fn the_number_of_calls_is_bounded() {
    let mut calls = Calls::new(Arc::default());
    let take = |calls: &mut Calls, index: usize| {
        let piece = format!(r#"{{"index":{index},"function":{{"name":"t"}}}}"#);
        calls.take(&serde_json::from_str(&piece).unwrap(), false, &mut Events::new())
    };
    for index in 0..MAX_CALLS {
        assert_eq!(take(&mut calls, index), Ok(()));
    }
    assert_eq!(take(&mut calls, MAX_CALLS), Err(TooManyCalls));
    assert_eq!(take(&mut calls, 0), Ok(()));
}
