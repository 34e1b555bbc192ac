use super::*;

fn listing(tools: &[&str]) -> UpstreamToolList {
    let raw: Vec<_> = tools.iter().map(|tool| RawJson::parse(tool).unwrap()).collect();
    compile_tools(&SpecCache::default(), &raw, 3, 10_000, true)
}

#[test]
fn specs_are_the_bytes_that_the_server_wrote() {
    let listing = listing(&[
        r#"{"name":"t","title":"T","description":"d","inputSchema":{"type":"object","$defs":{"x":{"minimum":1.0}},"$anchor":"a"},"outputSchema":{"type":"object","b":1e2},"annotations":{"readOnlyHint":true,"x":0.10}}"#,
    ]);
    let document = listing.tools[0].0.document();
    let raw = |raw: &Option<RawJson>| raw.as_ref().unwrap().get().to_owned();
    assert_eq!(raw(&document.parameters), r#"{"type":"object","$defs":{"x":{"minimum":1.0}},"$anchor":"a"}"#);
    assert_eq!(raw(&document.output_schema), r#"{"type":"object","b":1e2}"#);
    assert_eq!(raw(&document.annotations), r#"{"readOnlyHint":true,"x":0.10}"#);
    assert_eq!((document.title.as_deref(), document.description.as_deref()), (Some("T"), Some("d")));
}

#[test]
fn one_invalid_tool_is_skipped_and_the_rest_are_listed_m3() {
    let long = format!(r#"{{"name":"{}"}}"#, "x".repeat(300));
    let listing = listing(&[
        r#"{"name":"good","inputSchema":{"type":"object"}}"#,
        r#"{"name":"bad_type","inputSchema":{"type":"array"}}"#,
        r#"{"name":"bad_schema","inputSchema":{"type":"object","properties":{"a":{"type":5}}}}"#,
        r#"{"name":"good","inputSchema":{"type":"object"}}"#,
        r#"{"name":""}"#,
        &long,
        r#"{"nam":"e"}"#,
        "7",
        r#"{"name":"marked","inputSchema":{"type":"object","x-mcp-header":"X"}}"#,
        r#"{"name":"tasks","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}}"#,
        r#"{"name":"root_any_of","inputSchema":{"type":"object","anyOf":[{"required":["a"]}]}}"#,
    ]);
    let names: Vec<_> = listing.tools.iter().map(|(spec, _)| spec.name().as_str()).collect();
    assert_eq!(names, ["good", "root_any_of", "tasks"]);
    let left_out: Vec<_> =
        listing.skipped.iter().map(|tool| tool.name.chars().take(10).collect::<String>()).collect();
    let long = "x".repeat(10);
    assert_eq!(left_out, ["bad_type", "bad_schema", "good", "", &long, "", "", "marked"]);
    assert!(
        listing.skipped.iter().all(|tool| !tool.reason.is_empty() && tool.name.chars().count() <= MAX_NAME)
    );
}

#[test]
fn lists_are_bounded() {
    let tools: Vec<_> = (0..200).map(|number| format!(r#"{{"name":"t{number}"}}"#)).collect();
    let tools: Vec<_> = tools.iter().map(String::as_str).collect();
    let listing = listing(&tools);
    assert_eq!((listing.tools.len(), listing.skipped.len()), (3, MAX_SKIPPED));
    let large = format!(r#"{{"name":"large","description":"{}"}}"#, "x".repeat(10_000));
    let listing = self::listing(&[&large, r#"{"name":"small"}"#]);
    assert_eq!((listing.tools.len(), listing.skipped[0].name.as_str()), (1, "large"));
}

#[test]
fn patterns_of_a_servers_tools_are_bounded() {
    let large = r#"{"name":"large","inputSchema":{"type":"object","properties":{"a":{"pattern":"[\\p{L}\\p{N}]{100}|x"}}}}"#;
    let listing = listing(&[large, r#"{"name":"small"}"#]);
    assert_eq!(listing.tools.len(), 1);
    assert_eq!(listing.skipped[0].name, "large");
    let reason = &listing.skipped[0].reason;
    assert!(reason.contains("at /properties/a/pattern, which would take more than"), "{reason}");
}
