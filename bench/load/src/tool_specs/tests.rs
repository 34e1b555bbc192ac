use std::collections::HashSet;

use toolway_types::SpecDocument;

use super::*;

fn specs(frame: &str) -> Vec<SpecDocument> {
    match ClientMessage::decode(frame).unwrap() {
        ClientMessage::RegisterTools(register) => {
            register.tools.iter().map(|raw| raw.to().unwrap()).collect()
        }
        other => panic!("{other:?}"),
    }
}

fn distinct_schemas(specs: &[SpecDocument]) -> usize {
    specs.iter().map(|spec| spec.parameters.clone().unwrap()).collect::<HashSet<_>>().len()
}

#[test]
fn an_app_has_five_tools_and_is_the_same_everywhere_unless_asked() {
    let same = app_frame(None);
    assert_eq!(specs(&same).iter().map(|spec| spec.name.as_str()).collect::<Vec<_>>(), APP_TOOLS);
    assert_eq!(same, app_frame(None));
    let both: Vec<_> =
        [app_frame(Some(1)), app_frame(Some(2))].iter().flat_map(|frame| specs(frame)).collect();
    let descriptions: HashSet<_> = both.iter().map(|spec| spec.description.clone()).collect();
    assert_eq!((distinct_schemas(&both), descriptions.len()), (2, 10));
}

#[test]
fn bulk_has_the_asked_size_and_kind() {
    for (distinct, schemas) in [(false, 1), (true, 600)] {
        let frame = bulk_frame(600, 1_100_000, distinct);
        assert!((1_090_000..=1_110_000).contains(&frame.len()), "{}", frame.len());
        let specs = specs(&frame);
        assert_eq!((specs.len(), distinct_schemas(&specs)), (600, schemas));
    }
}

#[test]
fn every_tool_takes_text() {
    for spec in specs(&app_frame(Some(3))).iter().chain(&specs(&bulk_frame(5, 8000, true))) {
        let schema = spec.parameters.as_ref().unwrap().to_value();
        assert_eq!(schema["required"], json!(["text"]));
        assert_eq!(schema["properties"]["text"]["type"], "string");
    }
}
