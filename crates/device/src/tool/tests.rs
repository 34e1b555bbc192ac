use super::table::{BadTool, ToolTable};
use super::*;
use serde_json::json;

#[derive(Deserialize, JsonSchema)]
struct PointArguments {
    /// Horizontal position.
    x: i64,
    #[allow(dead_code, reason = "only its schema is of interest")]
    y: Option<f64>,
}

fn tool(name: &str) -> Tool {
    Tool::typed(name, "Adds one", |at: PointArguments, _| async move { Ok(json!(at.x + 1)) })
}

fn check(parameters: Value, args: &str) -> Result<JsonObject, ToolError> {
    ArgumentValidator::compile(Some(&RawJson::from(&parameters))).check(&RawJson::parse(args).unwrap())
}

#[test]
fn the_schema_comes_from_the_type() {
    assert_eq!(
        tool("add").spec().parameters.as_ref().unwrap().to_value(),
        json!({
            "type": "object",
            "properties": {
                "x": { "type": "integer", "description": "Horizontal position." },
                "y": { "type": ["number", "null"] },
            },
            "required": ["x"],
        })
    );
    assert_eq!(schema_of_type::<NoArguments>(), json!({ "type": "object", "additionalProperties": false }));
}

#[test]
fn every_violation_has_its_json_pointer() {
    let parameters = json!({
        "type": "object",
        "properties": { "a": { "type": "integer" }, "b": { "items": { "type": "string" } } },
        "required": ["c"],
    });
    let error = check(parameters, r#"{"a":"x","b":["ok",5]}"#).unwrap_err();
    assert_eq!(error.code, Code::InvalidArguments);
    for part in ["/a: ", "/b/1: ", "(the arguments): "] {
        assert!(error.message.contains(part), "{part} in {}", error.message);
    }
    assert!(error.message.starts_with("Invalid arguments: "), "{}", error.message);
}

#[test]
fn a_tool_without_parameters_accepts_any_object() {
    for parameters in [json!(null), json!({}), json!([])] {
        assert!(check(parameters.clone(), r#"{"any":1}"#).is_ok());
        assert!(check(parameters.clone(), "null").unwrap().is_empty());
        assert!(check(parameters, "[1]").is_err());
    }
}

#[test]
fn invalid_tools_are_rejected_before_registration_r7() {
    let refused = |tools| ToolTable::new(tools).unwrap_err();
    assert_eq!(refused(vec![tool("")]), BadTool::Name(String::new(), toolway_types::NameError::Empty));
    assert_eq!(refused(vec![tool("a"), tool("a")]), BadTool::Duplicate("a".into()));
    let mut spec = SpecDocument::named("b");
    spec.parameters = Some(RawJson::from(&json!({ "type": "nonsense" })));
    let bad = Tool::new(spec.clone(), |_, _| async { Ok(()) });
    assert!(matches!(refused(vec![bad]), BadTool::Schema(name, _) if name == "b"));
    spec.parameters = Some(RawJson::from(&json!({ "$ref": "https://schemas.example/x.json" })));
    let fetching = Tool::new(spec, |_, _| async { Ok(()) });
    assert!(matches!(refused(vec![fetching]), BadTool::Schema(..)));
}

#[test]
fn the_list_is_split_only_if_it_exceeds_a_frame() {
    let table = ToolTable::new((0..10).map(|at| tool(&format!("tool{at}"))).collect()).unwrap();
    let whole = table.frames(2, 1 << 20);
    assert_eq!(whole.len(), 1);
    assert!(whole[0].contains(r#""mode":"replace""#) && whole[0].contains("tool9"));
    assert!(!table.frames(1, 1 << 20)[0].contains("mode"));
    let limit = 1000;
    let cut = table.frames(2, limit);
    assert!(cut.len() > 1 && cut.iter().all(|frame| frame.len() <= limit));
    assert!(cut[0].contains(r#""mode":"replace""#));
    assert!(cut[1..].iter().all(|frame| frame.contains(r#""mode":"add""#)));
    assert_eq!(
        ToolTable::default().frames(2, limit),
        [r#"{"type":"register_tools","tools":[],"mode":"replace"}"#]
    );
}

#[test]
fn patterns_of_a_schema_are_bounded() {
    let large = json!({"properties": {"a": {"pattern": r"[\p{L}\p{N}]{100}|x"}}});
    let refused = ArgumentValidator::compile(Some(&RawJson::from(&large)));
    let reason = refused.error().unwrap();
    assert!(
        reason.contains("at /properties/a/pattern, which would take more than 8388608 bytes"),
        "{reason}"
    );
    // Compiled for each call.
    let medium = json!({"properties": {"a": {"pattern": r"^\p{L}{20,25}x"}}});
    assert!(check(medium.clone(), r#"{"a":"äbcdefghijklmnopqrstx"}"#).is_ok());
    assert!(check(medium, r#"{"a":"1"}"#).is_err());
}
