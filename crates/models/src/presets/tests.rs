use std::collections::HashSet;

use super::*;

#[test]
fn every_preset_can_be_used_and_says_where_it_comes_from() {
    let mut names = HashSet::new();
    for preset in ALL {
        let config = preset.config("mine").unwrap();
        assert_eq!((&*config.name, config.kind), ("mine", preset.kind));
        assert_eq!(config.compatibility, preset.compatibility());
        assert!(names.insert(preset.name), "{} is there twice", preset.name);
        assert!(preset.name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'));
        assert!(preset.documentation.starts_with("https://"), "{}", preset.name);
        assert!(!preset.is_tested, "{}: say so only where it is true", preset.name);
        // A key goes over plain http to nobody else's computer.
        let is_here = preset.base_url.starts_with("http://localhost:");
        assert!(
            is_here || (preset.base_url.starts_with("https://") && preset.key_env.is_some()),
            "{}",
            preset.name
        );
        assert_eq!(get(preset.name).unwrap().title, preset.title);
    }
    assert_eq!(ALL.len(), 14);
    assert!(get("nobody").is_none());
}

#[test]
fn slow_local_servers_have_longer_timeouts() {
    let first_byte = |name: &str| get(name).unwrap().timeouts().first_byte.as_secs();
    assert_eq!((first_byte("ollama"), first_byte("openai"), first_byte("gemini")), (600, 300, 300));
    assert_eq!(get("anthropic").unwrap().timeouts(), ProviderTimeouts::default());
}

#[test]
fn compatible_presets_do_not_assume_openais_features() {
    for preset in ALL.iter().filter(|preset| preset.kind == ProviderKind::Compatible) {
        let switches = preset.compatibility();
        assert!(!switches.developer_role && !switches.strict, "{}", preset.name);
    }
}
