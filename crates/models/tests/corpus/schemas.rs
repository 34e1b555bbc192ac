//! Parameters of tools, as strangers write them.

use std::sync::Arc;

use toolway_models::{ToolDefinition, ToolSet};
use toolway_types::RawJson;

/// Parameters by name, as text: their order counts.
pub const ALL: &[(&str, &str)] = &[
    ("null", "null"),
    ("empty", "{}"),
    ("empty_properties", r#"{"type":"object","properties":{},"required":[]}"#),
    (
        "required",
        r#"{"type":"object","properties":{"text":{"type":"string","description":"What to say."},"loud":{"type":"boolean"}},"required":["text","loud"],"additionalProperties":false}"#,
    ),
    (
        "optional",
        r#"{"type":"object","properties":{"zone":{"type":"string","default":"UTC"},"at":{"type":"integer","minimum":0},"names":{"type":"array","items":{"type":"string"}}},"required":["at"]}"#,
    ),
    (
        "nested",
        r#"{"type":"object","properties":{"window":{"type":"object","properties":{"from":{"type":"string"},"to":{"type":"string"},"edges":{"type":"object","properties":{"open":{"type":"boolean"}},"required":["open"]}},"required":["from"]}},"required":["window"]}"#,
    ),
    (
        "nested_items",
        r#"{"type":"object","properties":{"rows":{"type":"array","items":{"type":"array","items":{"type":"object","properties":{"cell":{"type":"number"}},"required":["cell"],"additionalProperties":false}}}},"required":["rows"],"additionalProperties":false}"#,
    ),
    (
        "array_without_items",
        r#"{"type":"object","properties":{"list":{"type":"array"}},"required":["list"]}"#,
    ),
    (
        "any_of_needs",
        r#"{"type":"object","properties":{"id":{"type":"string"},"title":{"type":"string"},"due":{"type":"string","format":"date"}},"required":["id"],"anyOf":[{"required":["title"]},{"required":["due"]}]}"#,
    ),
    (
        "one_of_kinds",
        r#"{"description":"A place.","oneOf":[{"type":"object","properties":{"kind":{"const":"address"},"street":{"type":"string"}},"required":["kind","street"],"additionalProperties":false},{"type":"object","properties":{"kind":{"const":"point"},"lat":{"type":"number"},"lon":{"type":"number"}},"required":["kind","lat","lon"],"additionalProperties":false}]}"#,
    ),
    (
        "any_of_open",
        r#"{"anyOf":[{"type":"object","properties":{"path":{"type":"string","description":"A file."}},"required":["path"]},{"type":"object","properties":{"url":{"type":"string"},"depth":{"type":"integer"}},"required":["url"]}]}"#,
    ),
    (
        "all_of_root",
        r#"{"allOf":[{"type":"object","properties":{"a":{"type":"string","maxLength":9}},"required":["a"]},{"type":"object","properties":{"a":{"minLength":1},"b":{"type":"integer"}}}]}"#,
    ),
    (
        "refs",
        r##"{"type":"object","properties":{"home":{"$ref":"#/$defs/place"},"work":{"$ref":"#/$defs/place","description":"Where one works."}},"required":["home"],"$defs":{"place":{"type":"object","properties":{"town":{"type":"string"}},"required":["town"]}}}"##,
    ),
    (
        "ref_root",
        r##"{"$ref":"#/definitions/Input","definitions":{"Input":{"type":"object","properties":{"level":{"$ref":"#/definitions/Level"}},"required":["level"]},"Level":{"enum":["low","high"],"type":"string"}},"$schema":"http://json-schema.org/draft-07/schema#"}"##,
    ),
    (
        "recursive",
        r##"{"type":"object","properties":{"tree":{"$ref":"#/$defs/node"}},"required":["tree"],"$defs":{"node":{"type":"object","description":"A node.","properties":{"name":{"type":"string"},"children":{"type":"array","items":{"$ref":"#/$defs/node"}}},"required":["name"]}}}"##,
    ),
    (
        "recursive_both",
        r##"{"type":"object","properties":{"even":{"$ref":"#/$defs/even"}},"$defs":{"even":{"type":"object","properties":{"next":{"$ref":"#/$defs/odd"}}},"odd":{"type":"object","properties":{"next":{"$ref":"#/$defs/even"}}}}}"##,
    ),
    ("recursive_root", r##"{"type":"object","properties":{"also":{"$ref":"#"},"word":{"type":"string"}}}"##),
    (
        "constants",
        r#"{"type":"object","properties":{"mode":{"const":"fast"},"version":{"const":2},"on":{"const":true},"none":{"const":null}},"required":["mode"]}"#,
    ),
    (
        "nullable",
        r#"{"type":"object","properties":{"note":{"type":["string","null"]},"count":{"anyOf":[{"type":"integer"},{"type":"null"}],"default":null},"size":{"enum":["s","m",null]}},"required":["note","count"]}"#,
    ),
    (
        "enums",
        r#"{"type":"object","properties":{"day":{"type":"string","enum":["mon","tue"]},"step":{"type":"integer","enum":[1,5,10]},"any":{"enum":["x",1,true,{"a":1}]}},"required":["day"]}"#,
    ),
    (
        "types",
        r#"{"type":"object","properties":{"value":{"type":["string","number","boolean"],"minimum":1,"description":"Whatever it is."}},"required":["value"]}"#,
    ),
    (
        "bounds",
        r#"{"type":"object","properties":{"share":{"type":"number","exclusiveMinimum":0,"maximum":1,"multipleOf":0.05},"page":{"type":"integer","exclusiveMinimum":0},"code":{"type":"string","pattern":"^[A-Z]{3}$","minLength":3,"maxLength":3}},"required":["share"]}"#,
    ),
    (
        "formats",
        r#"{"type":"object","properties":{"mail":{"type":"string","format":"email","description":"Whom to ask."},"when":{"type":"string","format":"date-time"},"link":{"type":"string","format":"uri"}},"required":["mail"]}"#,
    ),
    (
        "map",
        r#"{"type":"object","properties":{"labels":{"type":"object","additionalProperties":{"type":"string"}},"headers":{"type":"object","patternProperties":{"^x-":{"type":"string"}},"additionalProperties":false}}}"#,
    ),
    (
        "property_names",
        r#"{"$schema":"https://json-schema.org/draft/2020-12/schema","$id":"https://example.org/options","type":"object","properties":{"set":{"type":"object","propertyNames":{"pattern":"^[a-z]+$"},"minProperties":1}},"required":["set"]}"#,
    ),
    (
        "tuple",
        r#"{"type":"object","properties":{"range":{"type":"array","prefixItems":[{"type":"integer"},{"type":"string"}],"items":false,"minItems":2}},"required":["range"]}"#,
    ),
    (
        "tuple_draft_7",
        r#"{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"range":{"type":"array","items":[{"type":"integer"},{"type":"string"}],"additionalItems":{"type":"boolean"}}},"required":["range"]}"#,
    ),
    (
        "conditions",
        r#"{"type":"object","properties":{"kind":{"type":"string"},"size":{"type":"integer"},"weight":{"type":"integer"}},"if":{"properties":{"kind":{"const":"box"}}},"then":{"required":["size"]},"else":{"required":["weight"]},"dependentRequired":{"size":["kind"]},"not":{"required":["size","weight"]}}"#,
    ),
    (
        "dependencies_draft_7",
        r#"{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"card":{"type":"string"},"address":{"type":"string"}},"dependencies":{"card":["address"]}}"#,
    ),
    (
        "draft_4",
        r#"{"$schema":"http://json-schema.org/draft-04/schema#","type":"object","properties":{"age":{"type":"integer","minimum":0,"exclusiveMinimum":true}},"required":["age"]}"#,
    ),
    (
        "unevaluated",
        r##"{"type":"object","properties":{"base":{"type":"object","allOf":[{"$ref":"#/$defs/named"}],"properties":{"extra":{"type":"integer"}},"unevaluatedProperties":false}},"$defs":{"named":{"properties":{"name":{"type":"string"}},"required":["name"]}}}"##,
    ),
    (
        "booleans",
        r#"{"type":"object","properties":{"anything":true,"nothing":false,"list":{"type":"array","items":true}},"required":["anything"]}"#,
    ),
    (
        "odd_properties",
        r#"{"type":"object","properties":{"filter[name]":{"type":"string","description":"What it begins with."},"first name":{"type":"string"},"größe":{"type":"integer"},"plain":{"type":"boolean"}},"required":["filter[name]","plain"],"additionalProperties":false}"#,
    ),
    (
        "anchors",
        r##"{"type":"object","properties":{"unit":{"$ref":"#unit"},"also":{"$dynamicRef":"#also"}},"$defs":{"u":{"$anchor":"unit","enum":["m","km"]},"a":{"$dynamicAnchor":"also","type":"integer"}}}"##,
    ),
    (
        "alternatives_inside",
        r#"{"type":"object","properties":{"target":{"description":"Where to.","type":"object","properties":{"fast":{"type":"boolean"}},"anyOf":[{"properties":{"id":{"type":"string"}},"required":["id"]},{"properties":{"name":{"type":"string"}},"required":["name"]}]}},"required":["target"]}"#,
    ),
    (
        "annotations",
        r#"{"title":"Options","type":"object","description":"All there is.","examples":[{"a":"x"}],"properties":{"a":{"title":"A","type":"string","default":"x","examples":["y"],"deprecated":true,"readOnly":false,"x-order":1,"$comment":"none"}}}"#,
    ),
    ("free_form", r#"{"type":"object","additionalProperties":true}"#),
    ("required_elsewhere", r#"{"type":"object","properties":{"a":{"type":"string"}},"required":["a","b"]}"#),
    (
        "deep",
        r#"{"type":"object","properties":{"l1":{"type":"object","properties":{"l2":{"type":"object","properties":{"l3":{"type":"object","properties":{"l4":{"type":"object","properties":{"l5":{"type":"object","properties":{"l6":{"type":"object","properties":{"l7":{"type":"object","properties":{"l8":{"type":"object","properties":{"l9":{"type":"object","properties":{"l10":{"type":"object","properties":{"l11":{"type":"string"}}}}}}}}}}}}}}}}}}}}}},"required":["l1"]}"#,
    ),
];

/// The parameters of this name.
pub fn get(name: &str) -> RawJson {
    let found = ALL.iter().find(|(of, _)| *of == name).map(|(_, text)| *text);
    RawJson::parse(found.unwrap_or_else(|| panic!("no schema {name}"))).unwrap()
}

/// A tool with these parameters.
pub fn tool(name: &str, parameters: &str) -> Arc<ToolDefinition> {
    let description = format!("Does what a tool with the parameters {name:?} does.");
    Arc::new(ToolDefinition::new(name, description, RawJson::parse(parameters).ok()))
}

/// Tools of a request by name: one with each of the parameters, and sets that are hard for other reasons. `most`: how
/// many the API takes.
pub fn tool_sets(most: usize) -> Vec<(&'static str, Arc<ToolSet>)> {
    let beside = || {
        [
            tool("camera", r#"{"type":"object","properties":{"flash":{"type":"boolean"}}}"#),
            tool("weather", PLACE),
        ]
    };
    let mut sets: Vec<_> = ALL
        .iter()
        .map(|(name, text)| {
            let mut tools = vec![tool(name, text)];
            tools.extend(beside());
            (*name, Arc::new(ToolSet::new(tools)))
        })
        .collect();
    let many: Vec<_> = (0..130).map(|at| tool(&format!("tool_{at:03}"), PLACE)).chain(beside()).collect();
    // Whoever asks has chosen: those of the conversation first.
    let chosen = many.into_iter().rev().take(most).collect();
    sets.push(("many_tools", Arc::new(ToolSet::new(chosen))));
    let odd = ["notes.search", "take a photo", "2fa", "日本語", &"x".repeat(100), "pixel-8__camera"];
    let odd = odd.iter().map(|name| tool(name, PLACE)).chain(beside()).collect();
    sets.push(("odd_tool_names", Arc::new(ToolSet::new(odd))));
    sets.push(("no_tools", Arc::new(ToolSet::default())));
    sets
}

const PLACE: &str = r#"{"type":"object","properties":{"place":{"type":"string"},"days":{"type":"integer","minimum":1}},"required":["place"]}"#;
