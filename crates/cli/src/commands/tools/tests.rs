use serde_json::json;
use toolway_types::name::is_invisible;

use super::*;

fn tool(name: &str, description: &str, permissions: &[&str], flags: &[&str]) -> ToolView {
    serde_json::from_value(json!({
        "name": name, "id": "pc/x", "source": "pc", "status": "ready", "description": description,
        "permissions": permissions, "timeout_ms": 30_000, "sequential": false, "flags": flags,
    }))
    .unwrap()
}

#[test]
fn unusual_properties_and_permissions_are_noted() {
    let tools = [
        tool("pc__a", "Plain", &[], &[]),
        tool("pc__b", "Sends", &["INTERNET", "files.write"], &[]),
        tool("pc__c", "", &["device.location"], &["changed", "no_description"]),
    ];
    assert_eq!(
        table(&tools).render(None, false),
        "name   status  note                                            description\n\
         pc__a  ready                                                   Plain\n\
         pc__b  ready   needs INTERNET, files.write                     Sends\n\
         pc__c  ready   changed, no description; needs device.location\n"
    );
    assert_eq!(
        table(&tools[..1]).render(None, false),
        "name   status  description\npc__a  ready   Plain\n",
        "where there is nothing to note there is no column for it"
    );
}

/// A device's descriptions must not control the terminal or imitate other text.
#[test]
fn invisible_characters_in_descriptions_are_escaped() {
    let odd = [
        ("colour\u{1b}[31mred", "colour\\u{1b}[31mred"),
        ("clear\u{9b}2J", "clear\\u{9b}2J"),
        ("bidi\u{202e}txt\u{202c}\u{2066}x\u{2069}", "bidi\\u{202e}txt\\u{202c}\\u{2066}x\\u{2069}"),
        ("zero\u{200b}wi\u{200d}dth\u{feff}", "zero\\u{200b}wi\\u{200d}dth\\u{feff}"),
        ("tags\u{e0041}\u{e007f}", "tags\\u{e0041}\\u{e007f}"),
        ("soft\u{ad}hyphen", "soft\\u{ad}hyphen"),
        ("over\rwritten", "over\\rwritten"),
        ("link\u{1b}]8;;http://x\u{7}y", "link\\u{1b}]8;;http://x\\u{7}y"),
    ];
    for (description, shown) in odd {
        let text = table(&[tool(description, description, &[description], &["invisible_characters"])])
            .render(None, false);
        assert!(!text.chars().any(|c| c != '\n' && is_invisible(c)), "{text:?}");
        assert_eq!(text.matches(shown).count(), 3, "{text}");
    }
}
