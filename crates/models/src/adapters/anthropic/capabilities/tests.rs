use super::*;

#[test]
fn a_models_generation_is_read_from_its_id() {
    for (id, thinks, off) in [
        ("claude-3-haiku-20240307", ThinkingSupport::Never, ThinkingOffMode::Omitted),
        ("claude-3-5-sonnet-20241022", ThinkingSupport::Never, ThinkingOffMode::Omitted),
        ("claude-3-7-sonnet-latest", ThinkingSupport::Budget, ThinkingOffMode::Omitted),
        ("claude-opus-4-20250514", ThinkingSupport::Budget, ThinkingOffMode::Omitted),
        ("claude-opus-4-1", ThinkingSupport::Budget, ThinkingOffMode::Omitted),
        ("claude-sonnet-4-5-20250929", ThinkingSupport::Budget, ThinkingOffMode::Omitted),
        ("anthropic.claude-haiku-4-5-20251001-v1:0", ThinkingSupport::Budget, ThinkingOffMode::Omitted),
        ("claude-opus-4-6", ThinkingSupport::Adaptive, ThinkingOffMode::Omitted),
        ("anthropic/claude-opus-4.8", ThinkingSupport::Adaptive, ThinkingOffMode::Omitted),
        ("claude-sonnet-5", ThinkingSupport::Always, ThinkingOffMode::Disabled),
        ("claude-sonnet-5-5", ThinkingSupport::Always, ThinkingOffMode::BetweenTools),
        ("claude-haiku-5-5", ThinkingSupport::Always, ThinkingOffMode::Disabled),
        ("claude-opus-5-5", ThinkingSupport::Always, ThinkingOffMode::LowEffort),
        ("claude-fable-5", ThinkingSupport::Always, ThinkingOffMode::LowEffort),
        ("claude-mythos-preview", ThinkingSupport::Always, ThinkingOffMode::LowEffort),
        // What is not known yet is as the newest that is.
        ("claude-opus-9", ThinkingSupport::Always, ThinkingOffMode::LowEffort),
        ("claude-next", ThinkingSupport::Always, ThinkingOffMode::LowEffort),
        ("kimi-k2", ThinkingSupport::Budget, ThinkingOffMode::Omitted),
    ] {
        let generation = for_model(id);
        assert_eq!((generation.thinking, generation.thinking_off), (thinks, off), "{id}");
    }
}

#[test]
fn capabilities_depend_on_the_generation() {
    let (samples, once) = (|id| for_model(id).takes_sampling, |id| for_model(id).takes_one_sampling_option);
    assert!(samples("claude-3-7-sonnet") && !once("claude-3-7-sonnet"));
    assert!(samples("claude-sonnet-4-5") && once("claude-sonnet-4-5"));
    assert!(samples("claude-opus-4-6"));
    for id in ["claude-opus-4-7", "claude-sonnet-5", "claude-haiku-5-5", "claude-next"] {
        assert!(!samples(id), "{id}");
    }
    for (id, forced, binds) in [
        ("claude-opus-4-8", true, false),
        ("claude-fable-5", true, false),
        ("claude-fable-5-1", false, true),
        ("claude-sonnet-5-5", false, true),
        ("claude-haiku-5-5", true, true),
        ("claude-opus-5-5", false, true),
    ] {
        assert_eq!(
            (for_model(id).takes_forced_tool_choice, for_model(id).binds_thinking),
            (forced, binds),
            "{id}"
        );
    }
    for (id, outputs) in [("claude-opus-4-1", false), ("claude-sonnet-4-5", true), ("deepseek-chat", false)] {
        assert_eq!(for_model(id).has_structured_outputs, outputs, "{id}");
    }
}

#[test]
fn dates_are_not_version_numbers() {
    let number = |id: &str| version(&id.split('-').collect::<Vec<_>>());
    assert_eq!(number("opus-4-20250514"), Some(400));
    assert_eq!(number("3-5-sonnet-20241022"), Some(305));
    assert_eq!(number("sonnet-4-5"), Some(405));
    assert_eq!(number("sonnet-latest"), None);
}
