use http::Request;

use super::*;

#[track_caller]
fn found(path: &str, headers: &[(&str, &str)]) -> Option<String> {
    let mut request = Request::get(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let (parts, ()) = request.body(()).unwrap().into_parts();
    find_token(&parts).map(Cow::into_owned)
}

const PROTOCOL: &str = "sec-websocket-protocol";

#[test]
fn the_first_token_found_wins() {
    let all = [("authorization", "Bearer header"), (PROTOCOL, "toolway.v2, bearer.protocol")];
    assert_eq!(found("/ws/chat?token=query", &all).as_deref(), Some("header"));
    assert_eq!(found("/ws/chat?token=query", &all[1..]).as_deref(), Some("protocol"));
    assert_eq!(found("/ws/chat?token=query", &[]).as_deref(), Some("query"));
    assert_eq!(found("/ws/chat", &[]), None);
}

#[test]
fn common_forms_of_the_header_are_accepted() {
    assert_eq!(found("/api", &[("authorization", "bearer  t ")]).as_deref(), Some("t"));
    let with_basic = [("authorization", "Basic eDp5"), ("authorization", "Bearer t")];
    assert_eq!(found("/api", &with_basic).as_deref(), Some("t"));
    assert_eq!(found("/ws/device", &[(PROTOCOL, "bearer.t,toolway.v2")]).as_deref(), Some("t"));
    assert_eq!(found("/ws/device?name=a&token=t%5F1&token=u", &[]).as_deref(), Some("t_1"));
}

#[test]
fn only_sockets_read_the_token_from_outside_the_header() {
    assert_eq!(found("/api/tools?token=t", &[]), None);
    assert_eq!(found("/api/tools", &[(PROTOCOL, "bearer.t")]), None);
    assert_eq!(found("/x/ws/chat?token=t", &[]), None);
    assert_eq!(found("/api", &[("authorization", "Basic eDp5")]), None);
    assert_eq!(found("/api", &[("authorization", "t")]), None);
}
