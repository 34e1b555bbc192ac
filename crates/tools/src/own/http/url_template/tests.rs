use serde_json::{Value, json};

use super::*;

#[track_caller]
fn url(template: &str, arguments: Value) -> String {
    let arguments = arguments.as_object().unwrap();
    UrlTemplate::parse(template).unwrap().fill(arguments).unwrap().as_str().to_owned()
}

fn refused(template: &str, arguments: Value) -> String {
    let error = UrlTemplate::parse(template).unwrap().fill(arguments.as_object().unwrap()).unwrap_err();
    assert_eq!(error.code, Code::InvalidArguments);
    error.message
}

#[test]
fn values_are_percent_encoded() {
    let template = "https://a.example:8443/v1/{id}/x-{id}?q={q}&fixed=a%20b&n={n}";
    assert_eq!(
        url(template, json!({"id": "../a b/ü?#", "q": "x&admin=1#%", "n": 5})),
        "https://a.example:8443/v1/..%2Fa%20b%2F%C3%BC%3F%23/x-..%2Fa%20b%2F%C3%BC%3F%23?\
         q=x%26admin%3D1%23%25&fixed=a%20b&n=5"
    );
    assert_eq!(url("https://a.example", json!({})), "https://a.example/");
    assert_eq!(
        url("https://a.example?{k}={v}", json!({"k": "a=b", "v": [1]})),
        "https://a.example/?a%3Db=%5B1%5D"
    );
    assert_eq!(url("https://a.example/a/", json!({})), "https://a.example/a/");
}

#[test]
fn query_parts_without_a_value_are_omitted() {
    let template = "https://a.example/?a={a}&fixed=1&b={b}";
    assert_eq!(url(template, json!({"a": null, "b": ""})), "https://a.example/?fixed=1&b=");
    assert_eq!(url("https://a.example/?a={a}", json!({})), "https://a.example/");
}

#[test]
fn argument_values_cannot_change_the_path_or_host_of_a_url_e11() {
    let template = "https://a.example/users/{id}/items";
    for bad in ["", ".", ".."] {
        let words = refused(template, json!({"id": bad}));
        assert_eq!(words, "id can't be empty, \".\" or \"..\": it would be another path");
    }
    assert_eq!(
        refused("https://a.example/.{x}", json!({"x": "."})),
        "x can't be empty, \".\" or \"..\": it would be another path"
    );
    assert_eq!(
        refused("https://a.example/%2e{x}", json!({"x": "."})),
        "x can't be empty, \".\" or \"..\": it would be another path"
    );
    assert_eq!(refused(template, json!({})), "id is needed for the URL");
    for odd in
        ["/evil.example", "//evil.example", "@evil.example", "\\evil.example", "%2e%2e", "a\r\nb", ":80"]
    {
        let url = url("https://a.example/{x}", json!({"x": odd}));
        assert!(url.starts_with("https://a.example/%") || url == "https://a.example/a%0D%0Ab", "{url}");
    }
    assert!(refused("https://a.example/{x}", json!({"x": "a".repeat(9000)})).contains("at most 8192"));
}

#[test]
fn scheme_and_host_are_fixed() {
    for (template, problem) in [
        ("https://{host}/", "url: scheme and host cannot contain placeholders"),
        ("{scheme}://a.example/", "url: scheme and host cannot contain placeholders"),
        ("https://a.example:{port}/", "url: scheme and host cannot contain placeholders"),
        ("https://a.example{x}", "url: scheme and host cannot contain placeholders"),
        ("{url}", "url: scheme and host cannot contain placeholders"),
        ("https://a.example/#{x}", "url: text after # is never sent; write %23 for a literal #"),
        ("https://a.example/{x", "url: an unclosed brace; write {{ and }} for literal braces"),
        (
            "https://a.example/?k={secret:key}",
            "url: secrets are only allowed in headers, because a URL is shown and logged",
        ),
        ("ftp://a.example/{x}", "url: Only http and https URLs are supported, not ftp:"),
        ("a.example/{x}", "url: The URL is invalid: relative URL without a base"),
        (
            "https://u:p@a.example/",
            "url: The URL contains a user name or password; pass them in a header instead",
        ),
    ] {
        assert_eq!(UrlTemplate::parse(template).unwrap_err(), problem, "{template}");
    }
}
