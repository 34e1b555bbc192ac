use std::sync::Arc;

use toolway_agent::definition::AgentDefinition;
use toolway_types::Role;

use super::*;

fn view() -> AgentView {
    let definition: AgentDefinition = serde_json::from_value(serde_json::json!({
        "name": "home", "description": "Controls the house", "model": "local", "prompt": "The door code is 1234.",
    }))
    .unwrap();
    AgentView {
        definition: Arc::new(definition),
        origin: AgentOrigin::File { path: "/home/me/agents/home.toml".into(), line: 1 },
        problems: vec!["the model is missing".to_owned()],
    }
}

fn seen_by(role: Role) -> VisibleAgent {
    VisibleAgent::of(view(), &Principal { id: "me".into(), role, agent: None })
}

#[test]
fn the_owner_sees_all_of_an_agent() {
    let seen = seen_by(Role::Owner);
    assert_eq!(seen.definition["prompt"], "The door code is 1234.");
    assert_eq!(seen.place, Some(("/home/me/agents/home.toml".to_owned(), 1)));
    assert_eq!(seen.problems.len(), 1);
}

#[test]
fn others_see_only_the_public_fields() {
    for role in [Role::Client, Role::Companion] {
        let seen = seen_by(role);
        assert_eq!(seen.definition.keys().collect::<Vec<_>>(), ["description", "model", "name"]);
        assert_eq!((seen.origin, seen.place, seen.problems.len()), ("file", None, 0));
    }
}
