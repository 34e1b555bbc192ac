use super::*;

#[test]
fn every_tool_is_read_only_and_has_a_description_and_an_output_schema() {
    let tools = tools();
    let names: Vec<_> = tools.iter().map(Tool::name).collect();
    assert_eq!(names.get(..4), Some(&["device_info", "disk_usage", "processes", "network_interfaces"][..]));
    for tool in &tools {
        let spec = tool.spec();
        assert!(tool.check().is_ok(), "{}", spec.name);
        assert!(spec.description.as_ref().is_some_and(|text| !text.is_empty()), "{}", spec.name);
        assert!(spec.output_schema.is_some(), "{}", spec.name);
        let annotations = spec.annotations.as_ref().map(|raw| raw.get());
        assert_eq!(annotations, Some(r#"{"readOnlyHint":true}"#), "{}", spec.name);
    }
}

#[test]
fn numbers_are_rounded_to_two_decimals() {
    assert_eq!(rounded(12.345_678), 12.35);
    assert_eq!(rounded(0.0), 0.0);
}

#[tokio::test]
async fn a_system_query_that_panics_is_an_error() {
    let error = query_system::<()>(|| panic!("no such file")).await.unwrap_err();
    assert_eq!(error.code, Code::ToolPanicked);
}
