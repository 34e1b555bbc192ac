//! Resolution of tool names (docs/protocol.md, "Names").

use toolway_types::{ExposedName, Role, ToolId};

use super::*;
use crate::caller::{Caller, CallerRegistration};
use crate::testkit::caller;

/// Result of a lookup in short: an id, `away ID`, `which ID ID` or `unknown`.
pub(super) fn describe_lookup(lookup: &ToolLookup) -> String {
    match lookup {
        ToolLookup::Found(id, ..) => id.to_string(),
        ToolLookup::Offline(id) => format!("away {id}"),
        ToolLookup::Unknown => "unknown".to_owned(),
        ToolLookup::Ambiguous(ids) => ids.iter().fold("which".to_owned(), |text, id| format!("{text} {id}")),
    }
}

fn lookup_as(registry: &Registry, caller: &Caller, name: &str) -> String {
    describe_lookup(&registry.snapshot().lookup(name, caller, |_, _| true))
}

fn lookup_from_outside(registry: &Registry, name: &str) -> String {
    lookup_as(registry, &caller("somebody", Role::Client), name)
}

/// A caller on the connection that holds this lease.
fn registered_caller(lease: &Lease) -> Caller {
    let own = Some(CallerRegistration { source: lease.slug().clone(), lease: lease.id() });
    Caller { registration: own, ..caller("somebody", Role::Companion) }
}

fn source(registry: &Arc<Registry>, source: &str, names: &[&str]) -> Lease {
    let lease = registry.lease(slug(source), SourceRetention::Names);
    lease.replace(tools(names));
    lease
}

#[test]
fn full_names_and_unique_bare_names_find_the_tool() {
    let registry = Registry::new();
    let _phone = source(&registry, "phone", &["scan", "battery"]);
    let _pc = source(&registry, "pc", &["battery"]);
    let _builtin = source(&registry, "builtin", &["shell"]);
    for (name, expected) in [
        ("phone__scan", "phone/scan"),
        ("phone__battery", "phone/battery"),
        ("scan", "phone/scan"),
        ("battery", "which pc/battery phone/battery"),
        ("shell", "builtin/shell"),
        ("builtin__shell", "unknown"),
        ("builtin/shell", "builtin/shell"),
        ("phone/scan", "phone/scan"),
        ("phone/battery", "phone/battery"),
        ("Phone/scan", "unknown"),
        ("phone/Scan", "unknown"),
        ("phone/", "unknown"),
        ("/scan", "unknown"),
        ("pc/scan", "unknown"),
        ("nobody/scan", "unknown"),
        ("Phone__scan", "unknown"),
        ("phone__Scan", "unknown"),
        ("phone__", "unknown"),
        ("__scan", "unknown"),
        ("", "unknown"),
        ("pc__scan", "unknown"),
        ("nobody__scan", "unknown"),
    ] {
        assert_eq!(lookup_from_outside(&registry, name), expected, "{name}");
    }
}

#[test]
fn offline_sources_keep_names_ambiguous() {
    let registry = Registry::new();
    let phone = source(&registry, "phone", &["scan"]);
    let pc = source(&registry, "pc", &["scan", "ring"]);
    drop(pc);
    assert_eq!(lookup_from_outside(&registry, "scan"), "which pc/scan phone/scan");
    assert_eq!(lookup_from_outside(&registry, "ring"), "away pc/ring");
    assert_eq!(lookup_from_outside(&registry, "pc__ring"), "away pc/ring");
    registry.declare(&slug("tv"), vec![name("volume")]);
    assert_eq!(lookup_from_outside(&registry, "volume"), "away tv/volume");
    registry.forget(&slug("pc"));
    assert_eq!(lookup_from_outside(&registry, "scan"), "phone/scan");
    drop(phone);
    assert_eq!(lookup_from_outside(&registry, "scan"), "away phone/scan");
}

#[test]
fn a_denied_tool_does_not_exist_for_the_caller() {
    let registry = Registry::new();
    let phone = source(&registry, "phone", &["scan"]);
    let pc = source(&registry, "pc", &["scan", "ring"]);
    let somebody = caller("somebody", Role::Client);
    let only_phone = |name: &str, caller: &Caller| {
        describe_lookup(&registry.snapshot().lookup(name, caller, |id, _| id.source == slug("phone")))
    };
    assert_eq!(only_phone("scan", &somebody), "phone/scan", "the other one does not make it ambiguous");
    for name in ["pc__scan", "pc/scan", "ring", "pc__ring", "pc/ring"] {
        assert_eq!(only_phone(name, &somebody), "unknown");
    }
    assert_eq!(only_phone("ring", &registered_caller(&pc)), "unknown", "on its own connection neither");
    drop(pc);
    for name in ["pc__scan", "pc/scan", "ring", "pc__ring", "pc/ring"] {
        assert_eq!(only_phone(name, &somebody), "unknown", "away or not");
    }
    drop(phone);
}

#[test]
fn built_in_and_owner_tools_cannot_be_shadowed_r5() {
    let registry = Registry::new();
    let _builtin = source(&registry, "builtin", &["shell"]);
    let _own = source(&registry, "own", &["lights"]);
    let evil = source(&registry, "evil", &["shell", "lights", "torch", "builtin__shell", "own__lights"]);
    let there = registered_caller(&evil);
    assert_eq!(lookup_as(&registry, &there, "shell"), "builtin/shell");
    assert_eq!(lookup_as(&registry, &there, "lights"), "which evil/lights own/lights");
    assert_eq!(lookup_as(&registry, &there, "own__lights"), "own/lights");
    assert_eq!(lookup_as(&registry, &there, "torch"), "evil/torch");
    assert_eq!(lookup_as(&registry, &there, "evil__shell"), "evil/shell");

    assert_eq!(lookup_from_outside(&registry, "shell"), "builtin/shell");
    assert_eq!(lookup_from_outside(&registry, "lights"), "which evil/lights own/lights");
    assert_eq!(lookup_from_outside(&registry, "own__lights"), "own/lights");
    assert_eq!(lookup_from_outside(&registry, "builtin__shell"), "unknown");
}

#[test]
fn a_tool_named_like_anothers_full_name_is_not_mistaken_for_it() {
    let registry = Registry::new();
    let phone = source(&registry, "phone", &["torch"]);
    let evil = source(&registry, "evil", &["phone__torch", "tv__volume"]);
    let there = registered_caller(&evil);
    assert_eq!(lookup_from_outside(&registry, "phone__torch"), "phone/torch");
    assert_eq!(lookup_as(&registry, &there, "phone__torch"), "phone/torch");
    assert_eq!(lookup_from_outside(&registry, "evil__phone__torch"), "evil/phone__torch");

    drop(phone);
    assert_eq!(lookup_from_outside(&registry, "phone__torch"), "away phone/torch");
    assert_eq!(lookup_as(&registry, &there, "phone__torch"), "away phone/torch");

    registry.forget(&slug("phone"));
    assert_eq!(lookup_from_outside(&registry, "phone__torch"), "unknown", "it must not lead to evil's tool");
    assert_eq!(
        lookup_from_outside(&registry, "tv__volume"),
        "unknown",
        "although nobody was called that yet"
    );
    assert_eq!(
        lookup_as(&registry, &there, "tv__volume"),
        "evil/tv__volume",
        "its own name, where it is its own"
    );
}

#[test]
fn an_id_finds_its_tool_whatever_its_name_contains() {
    let registry = Registry::new();
    let phone = source(&registry, "phone", &["take photo", "a/b", "größe"]);
    for id in ["phone/take photo", "phone/a/b", "phone/größe"] {
        assert_eq!(lookup_from_outside(&registry, id), id);
    }
    drop(phone);
    for id in ["phone/take photo", "phone/a/b"] {
        assert_eq!(lookup_from_outside(&registry, id), format!("away {id}"));
    }
}

#[test]
fn a_tool_named_like_anothers_id_is_not_mistaken_for_it() {
    let registry = Registry::new();
    let own = source(&registry, "own", &["lights"]);
    let evil = source(&registry, "evil", &["own/lights", "tv/volume"]);
    let there = registered_caller(&evil);
    for caller in [&there, &caller("somebody", Role::Client)] {
        assert_eq!(lookup_as(&registry, caller, "own/lights"), "own/lights");
    }
    let hidden = |id: &ToolId, _: Option<&_>| id.source != slug("own");
    let found = registry.snapshot().lookup("own/lights", &there, hidden);
    assert_eq!(describe_lookup(&found), "unknown", "another tool does not stand in for one that is hidden");

    drop(own);
    assert_eq!(lookup_from_outside(&registry, "own/lights"), "away own/lights");
    registry.forget(&slug("own"));
    assert_eq!(lookup_from_outside(&registry, "own/lights"), "unknown");
    assert_eq!(lookup_from_outside(&registry, "tv/volume"), "unknown", "tv may come later");
    assert_eq!(lookup_from_outside(&registry, "evil/tv/volume"), "evil/tv/volume");
}

#[test]
fn bare_names_on_the_callers_connection_find_its_own_tools() {
    let registry = Registry::new();
    let phone = source(&registry, "phone", &["battery"]);
    let pc = source(&registry, "pc", &["battery", "ring"]);
    assert_eq!(lookup_as(&registry, &registered_caller(&phone), "battery"), "phone/battery");
    assert_eq!(lookup_as(&registry, &registered_caller(&pc), "battery"), "pc/battery");
    assert_eq!(lookup_as(&registry, &registered_caller(&phone), "ring"), "pc/ring", "else as from outside");
    assert_eq!(lookup_as(&registry, &registered_caller(&phone), "pc__battery"), "pc/battery");
    assert_eq!(lookup_from_outside(&registry, "battery"), "which pc/battery phone/battery");
}

#[test]
fn each_connection_of_a_source_uses_its_own_registration() {
    let registry = Registry::new();
    let [first, second] = [(); 2].map(|()| registry.lease(slug("phone"), SourceRetention::Names));
    let [firsts, seconds] = ["first", "second"].map(|says| answering_tool("scan", says));
    first.replace(vec![firsts.clone(), answering_tool("only_first", "x")]);
    second.replace(vec![seconds.clone()]);
    let answers = |caller: &Caller, name: &str| match registry.snapshot().lookup(name, caller, |_, _| true) {
        ToolLookup::Found(_, tool, _) => tool,
        other => panic!("{other:?}"),
    };
    for name in ["scan", "phone__scan", "phone/scan"] {
        assert!(Arc::ptr_eq(&answers(&registered_caller(&first), name), &firsts), "{name}");
        assert!(Arc::ptr_eq(&answers(&registered_caller(&second), name), &seconds), "{name}");
        assert!(Arc::ptr_eq(&answers(&caller("x", Role::Client), name), &seconds), "{name}");
    }
    assert_eq!(lookup_as(&registry, &registered_caller(&second), "phone__only_first"), "phone/only_first");
    assert_eq!(lookup_as(&registry, &registered_caller(&second), "only_first"), "phone/only_first");
}

#[test]
fn changed_names_are_found_by_their_exposed_name() {
    let odd = [
        "take photo",
        "foto.aufnehmen",
        "größe",
        &"long_".repeat(25),
        "plain_x0123456789ab",
        "__",
        "a__b",
        "a",
    ];
    let registry = Registry::new();
    let phone = source(&registry, "phone", &odd);
    let builtin_odd = ["2fast", "a__b", "a___b", "x_ ", &"b".repeat(80)];
    let _builtin = source(&registry, "builtin", &builtin_odd);
    for (source, names) in [("phone", odd.as_slice()), ("builtin", &builtin_odd)] {
        for bare in names {
            let exposed = ExposedName::of(&slug(source), bare);
            assert_eq!(
                lookup_from_outside(&registry, exposed.as_str()),
                format!("{source}/{bare}"),
                "{exposed}"
            );
        }
    }
    for unchanged in ["phone__take photo", "phone__größe", "phone__plain_x0123456789ab"] {
        assert_eq!(lookup_from_outside(&registry, unchanged), "unknown", "callers never saw that name");
    }
    drop(phone);
    for bare in odd {
        let exposed = ExposedName::of(&slug("phone"), bare);
        assert_eq!(
            lookup_from_outside(&registry, exposed.as_str()),
            format!("away phone/{bare}"),
            "{exposed}"
        );
    }
}

#[test]
fn an_ambiguous_name_lists_a_bounded_number_of_tools() {
    let registry = Registry::new();
    let _leases: Vec<_> = (0..100).map(|n| source(&registry, &format!("d{n:03}"), &["scan"])).collect();
    let found = registry.snapshot().lookup("scan", &caller("x", Role::Client), |_, _| true);
    let ToolLookup::Ambiguous(ids) = found else { panic!("{found:?}") };
    assert_eq!(ids.len(), 16);
    assert_eq!(ids[15].to_string(), "d015/scan");
}

#[test]
fn sources_with_sequential_tools_have_one_barrier() {
    let registry = Registry::new();
    let sequential = |name: &str| {
        let document = toolway_types::SpecDocument { sequential: true, ..document(name) };
        crate::testkit::endless_tool(document)
    };
    let barrier = |name: &str| match registry.snapshot().lookup(name, &caller("x", Role::Client), |_, _| true)
    {
        ToolLookup::Found(_, _, barrier) => barrier,
        other => panic!("{other:?}"),
    };
    let phone = registry.lease(slug("phone"), SourceRetention::Names);
    phone.replace(tools(&["scan"]));
    assert!(barrier("scan").is_none());
    phone.add(vec![sequential("print")]);
    let first = barrier("scan").unwrap();
    assert!(Arc::ptr_eq(&first, &barrier("print").unwrap()));
    phone.add(tools(&["ring"]));
    assert!(Arc::ptr_eq(&first, &barrier("ring").unwrap()), "it stays while the list changes");
    let pc = registry.lease(slug("pc"), SourceRetention::Names);
    pc.replace(vec![sequential("plot")]);
    assert!(!Arc::ptr_eq(&first, &barrier("plot").unwrap()), "each source has its own");
    phone.remove(&["print".to_owned()]);
    assert!(barrier("scan").is_none());
}
