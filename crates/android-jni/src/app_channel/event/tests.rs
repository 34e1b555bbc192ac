use std::collections::BTreeMap;

use toolway_android::ProviderDialect;
use toolway_android::cetp::ProviderScope;
use toolway_android::note::ProviderNotes;

use super::*;

fn provider(tools: Vec<SpecDocument>) -> ToolProvider {
    ToolProvider {
        package: "p".to_owned(),
        label: Some("L".to_owned()),
        certificate: None,
        authority: "a".to_owned(),
        dialect: ProviderDialect::Cetp,
        version: Some(1),
        permission: Some("q".to_owned()),
        prefix: Some("l".to_owned()),
        tool_prefixes: BTreeMap::new(),
        state: ProviderState::Ready,
        info: Some(ProviderInfo {
            name: Some("N".to_owned()),
            description: None,
            scopes: vec![ProviderScope { name: "s".to_owned(), description: Some("S".to_owned()) }],
        }),
        tools,
        notes: ProviderNotes::default(),
    }
}

fn tool(name: &str, description: &str) -> SpecDocument {
    SpecDocument { description: Some(description.to_owned()), ..SpecDocument::named(name) }
}

/// The Java side reads the same bytes in `dev.toolway.host.ProviderRowTest`.
#[test]
fn a_provider_has_its_info_version_permission_and_tool_descriptions() {
    let mut to = CodecWriter::default();
    write_provider(&mut to, &provider(vec![tool("t", "D")]), &mut 100).unwrap();
    let text = |text: &str| [&[0, 0, 0, u8::try_from(text.len()).unwrap()], text.as_bytes()].concat();
    let expected = [
        [text("p"), text("L"), text("a"), text("cetp")].concat(),
        [vec![1], text("l"), vec![0, 0, 0]].concat(),
        [vec![0, 0, 0, 1, 1], text("q")].concat(),
        [vec![1, 1], text("N"), vec![0, 0, 0, 0, 1], text("s"), vec![1], text("S")].concat(),
        [vec![0, 0, 0, 1], text("l__t"), text("t"), vec![1], text("D")].concat(),
        vec![0, 0, 0, 0],
    ];
    assert_eq!(to.into_bytes(), expected.concat());
}

#[test]
fn descriptions_of_tools_are_cut_and_have_a_common_limit() {
    let size = |space: &mut usize, tools| {
        let mut to = CodecWriter::default();
        write_provider(&mut to, &provider(tools), space).unwrap();
        to.into_bytes().len()
    };
    let bare = size(&mut 0, vec![tool("t", "")]);
    let mut space = 5_000;
    let long = "ä".repeat(TOOL_DESCRIPTION + 1);
    assert_eq!(size(&mut space, vec![tool("t", &long)]), bare + 2 * TOOL_DESCRIPTION);
    assert_eq!(space, 3_000);
    size(&mut space, vec![tool("t", &long), tool("u", &long), tool("v", &"x".repeat(1_000))]);
    assert_eq!(space, 0, "the second is too long, the third fits exactly");
    assert_eq!(size(&mut space, vec![tool("t", "more")]), bare - 4, "without a description");
}
