//! Differences between Anthropic's models, by model id.
//!
//! Sources, read in November 2026: "Troubleshooting thinking" (support, defaults and rejected configurations by
//! model), the migration guides of Claude 4.7, 5 and 5.5, "What's new" in Opus 5.5, Sonnet 5.5 and Haiku 5.5,
//! "Structured outputs". Newer models are treated like the newest of these.

/// Ways to enable thinking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ThinkingSupport {
    /// It can't.
    Never,
    /// With a budget of tokens.
    Budget,
    /// Adaptive thinking with an effort; off by default.
    Adaptive,
    /// Adaptive thinking; on by default.
    Always,
}

/// Ways to disable thinking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ThinkingOffMode {
    /// By saying nothing.
    Omitted,
    /// `disabled`.
    Disabled,
    /// `between_tools`: no more than notes between tool calls.
    BetweenTools,
    /// Thinking can't be disabled; low effort is the minimum.
    LowEffort,
}

/// Capabilities of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ClaudeCapabilities {
    pub(super) thinking: ThinkingSupport,
    pub(super) thinking_off: ThinkingOffMode,
    /// It accepts `temperature` and `top_p`, or one of them.
    pub(super) takes_sampling: bool,
    pub(super) takes_one_sampling_option: bool,
    /// It accepts a `tool_choice` that forces a call.
    pub(super) takes_forced_tool_choice: bool,
    /// Its thinking is valid only after exactly the same messages, instructions and tools.
    pub(super) binds_thinking: bool,
    /// It supports structured outputs.
    pub(super) has_structured_outputs: bool,
    /// Default for the maximum number of output tokens.
    pub(super) default_max_tokens: u64,
}

/// A model of a compatible server.
const NON_ANTHROPIC: ClaudeCapabilities = ClaudeCapabilities {
    thinking: ThinkingSupport::Budget,
    thinking_off: ThinkingOffMode::Omitted,
    takes_sampling: true,
    takes_one_sampling_option: false,
    takes_forced_tool_choice: true,
    binds_thinking: false,
    has_structured_outputs: false,
    default_max_tokens: 8_192,
};

/// Returns the capabilities of a model.
pub(super) fn for_model(model: &str) -> ClaudeCapabilities {
    let model = model.to_ascii_lowercase();
    let Some((_, rest)) = model.split_once("claude-") else { return NON_ANTHROPIC };
    let words: Vec<_> = rest.split(['-', '.', '@', ':', '/']).collect();
    let is_of = |family: &str| words.contains(&family);
    let has_own_mind = is_of("fable") || is_of("mythos");
    let version = version(&words).unwrap_or(if has_own_mind { 500 } else { u32::MAX });
    match version {
        ..305 => ClaudeCapabilities {
            thinking: ThinkingSupport::Never,
            default_max_tokens: 4_096,
            ..NON_ANTHROPIC
        },
        305..307 => ClaudeCapabilities { thinking: ThinkingSupport::Never, ..NON_ANTHROPIC },
        307..405 => ClaudeCapabilities {
            takes_one_sampling_option: version >= 400,
            default_max_tokens: 16_000,
            ..NON_ANTHROPIC
        },
        405 => ClaudeCapabilities {
            takes_one_sampling_option: true,
            has_structured_outputs: true,
            default_max_tokens: 16_000,
            ..NON_ANTHROPIC
        },
        406 => ClaudeCapabilities { takes_sampling: true, ..adaptive_capabilities() },
        407..500 => adaptive_capabilities(),
        _ if has_own_mind => {
            let newer = version >= 501;
            ClaudeCapabilities {
                thinking: ThinkingSupport::Always,
                thinking_off: ThinkingOffMode::LowEffort,
                takes_forced_tool_choice: !newer,
                binds_thinking: newer,
                ..adaptive_capabilities()
            }
        }
        500..505 => ClaudeCapabilities {
            thinking: ThinkingSupport::Always,
            thinking_off: ThinkingOffMode::Disabled,
            ..adaptive_capabilities()
        },
        _ if is_of("haiku") => ClaudeCapabilities {
            thinking: ThinkingSupport::Always,
            thinking_off: ThinkingOffMode::Disabled,
            binds_thinking: true,
            ..adaptive_capabilities()
        },
        505 if is_of("sonnet") => ClaudeCapabilities {
            thinking: ThinkingSupport::Always,
            thinking_off: ThinkingOffMode::BetweenTools,
            takes_forced_tool_choice: false,
            binds_thinking: true,
            ..adaptive_capabilities()
        },
        _ => ClaudeCapabilities {
            thinking: ThinkingSupport::Always,
            thinking_off: ThinkingOffMode::LowEffort,
            takes_forced_tool_choice: false,
            binds_thinking: true,
            ..adaptive_capabilities()
        },
    }
}

fn adaptive_capabilities() -> ClaudeCapabilities {
    ClaudeCapabilities {
        thinking: ThinkingSupport::Adaptive,
        thinking_off: ThinkingOffMode::Omitted,
        takes_sampling: false,
        takes_one_sampling_option: true,
        takes_forced_tool_choice: true,
        binds_thinking: false,
        has_structured_outputs: true,
        default_max_tokens: 32_000,
    }
}

/// The number of an id, without its date: `3-5-sonnet-20241022` is 305, `opus-4-20250514` is 400.
fn version(words: &[&str]) -> Option<u32> {
    let is_number = |word: &&str| (1..=2).contains(&word.len()) && word.bytes().all(|b| b.is_ascii_digit());
    let first = words.iter().position(is_number)?;
    let major: u32 = words.get(first)?.parse().ok()?;
    let minor: Option<u32> =
        words.get(first + 1).filter(|word| is_number(word)).and_then(|word| word.parse().ok());
    Some(major * 100 + minor.unwrap_or(0))
}

#[cfg(test)]
mod tests;
