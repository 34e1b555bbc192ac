use super::*;

async fn next(reader: &mut EventReader) -> Option<String> {
    let event = tokio::time::timeout(std::time::Duration::from_secs(20), reader.next_event()).await;
    event.expect("an event in time").map(|event| String::from_utf8(event.to_vec()).unwrap())
}

#[tokio::test]
async fn an_event_has_the_number_of_its_stream_and_each_line_as_data() {
    let stream = EventStream::new(EventIds::Request(3), false);
    let mut reader = stream.read().unwrap();
    stream.push("{\"a\":\n1}".to_owned());
    assert_eq!(next(&mut reader).await.unwrap(), "id: 1/3\ndata: {\"a\":\ndata: 1}\n\n");
    stream.close();
    assert_eq!(next(&mut reader).await, None);
    assert!(stream.is_done());
}

#[tokio::test]
async fn only_a_primed_stream_starts_with_an_event_without_data() {
    let primed = EventStream::new(EventIds::Session, true);
    let mut reader = primed.read().unwrap();
    assert_eq!(next(&mut reader).await.unwrap(), "id: 0\nretry: 3000\ndata:\n\n");
    for plain in [EventStream::new(EventIds::Session, false), EventStream::new(EventIds::None, true)] {
        plain.push("{}".to_owned());
        assert!(next(&mut plain.read().unwrap()).await.unwrap().ends_with("data: {}\n\n"));
    }
}

#[tokio::test]
async fn a_client_that_comes_again_gets_the_events_after_the_one_it_names() {
    let stream = EventStream::new(EventIds::Session, false);
    let mut first = stream.read().unwrap();
    for message in ["a", "b", "c"] {
        stream.push(message.to_owned());
    }
    assert_eq!(next(&mut first).await.unwrap(), "id: 1\ndata: a\n\n");
    assert_eq!(next(&mut first).await.unwrap(), "id: 2\ndata: b\n\n");
    let mut again = stream.resume(1);
    assert_eq!(next(&mut first).await, None, "the earlier reader has ended");
    assert_eq!(next(&mut again).await.unwrap(), "id: 2\ndata: b\n\n");
    assert_eq!(next(&mut again).await.unwrap(), "id: 3\ndata: c\n\n");
}

#[tokio::test]
async fn a_second_reader_gets_events_as_soon_as_the_first_has_left() {
    let stream = EventStream::new(EventIds::Session, false);
    let first = stream.read().unwrap();
    let mut second = stream.read().unwrap();
    stream.push("a".to_owned());
    assert!(futures_util::FutureExt::now_or_never(second.next_event()).is_none());
    drop(first);
    assert_eq!(next(&mut second).await.unwrap(), "id: 1\ndata: a\n\n");
}

#[tokio::test]
async fn unread_messages_are_bounded_by_number_and_size_and_the_newest_stays() {
    let stream = EventStream::new(EventIds::Session, false);
    for number in 0..1_000 {
        stream.push(number.to_string());
    }
    assert_eq!(next(&mut stream.read().unwrap()).await.unwrap(), "id: 745\ndata: 744\n\n");
    let large = "x".repeat(1 << 20);
    stream.push(large.clone());
    assert_eq!(stream.stored_bytes(), large.len());
    let readers: Vec<_> = (0..100).filter_map(|_| stream.read()).collect();
    assert_eq!(readers.len(), 32);
}

#[test]
fn an_id_names_a_number_and_maybe_a_request() {
    assert_eq!(EventId::parse("7"), Some(EventId { index: 7, request: None }));
    assert_eq!(EventId::parse("7/2"), Some(EventId { index: 7, request: Some(2) }));
    for other in ["", "x", "7/", "/2", "7/2/1", "-1"] {
        assert_eq!(EventId::parse(other), None, "{other}");
    }
}
