//! What Anthropic's models take, which differs from one generation to the next and is told by their ids.
//!
//! Sources, read in November 2026: "Troubleshooting thinking" (support, defaults and rejected configurations by
//! model), the migration guides of Claude 4.7, 5 and 5.5, "What's new" in Opus 5.5, Sonnet 5.5 and Haiku 5.5,
//! "Structured outputs". A model that is newer than these is taken for what the newest of them is.

/// How a model is told to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Thinks {
    /// It can't.
    Never,
    /// With a budget of tokens.
    Budget,
    /// As it sees fit, with so much effort; not where nothing is said.
    Adaptive,
    /// As it sees fit, also where nothing is said.
    Always,
}

/// How a model is told not to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Off {
    /// By saying nothing.
    Unsaid,
    /// `disabled`.
    Disabled,
    /// `between_tools`: no more than notes between tool calls.
    BetweenTools,
    /// It can't be told; little effort is the least.
    LittleEffort,
}

/// What a model takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Generation {
    pub(super) thinks: Thinks,
    pub(super) off: Off,
    /// Whether it takes `temperature` and `top_p`, one of them where it takes no more.
    pub(super) samples: bool,
    pub(super) samples_once: bool,
    /// Whether it can be made to call a tool.
    pub(super) forced: bool,
    /// Whether its thinking is good only behind the very messages, instructions and tools that it followed.
    pub(super) binds: bool,
    /// Whether an answer can be held to a schema.
    pub(super) outputs: bool,
    /// Most tokens of an answer where the owner does not say.
    pub(super) tokens: u64,
}

/// A model that speaks the API without being Anthropic's.
const FOREIGN: Generation = Generation {
    thinks: Thinks::Budget,
    off: Off::Unsaid,
    samples: true,
    samples_once: false,
    forced: true,
    binds: false,
    outputs: false,
    tokens: 8_192,
};

/// What a model takes.
pub(super) fn of(model: &str) -> Generation {
    let model = model.to_ascii_lowercase();
    let Some((_, rest)) = model.split_once("claude-") else { return FOREIGN };
    let words: Vec<_> = rest.split(['-', '.', '@', ':', '/']).collect();
    let is_of = |family: &str| words.contains(&family);
    let has_own_mind = is_of("fable") || is_of("mythos");
    let version = version(&words).unwrap_or(if has_own_mind { 500 } else { u32::MAX });
    match version {
        ..305 => Generation { thinks: Thinks::Never, tokens: 4_096, ..FOREIGN },
        305..307 => Generation { thinks: Thinks::Never, ..FOREIGN },
        307..405 => Generation { samples_once: version >= 400, tokens: 16_000, ..FOREIGN },
        405 => Generation { samples_once: true, outputs: true, tokens: 16_000, ..FOREIGN },
        406 => Generation { samples: true, ..adaptive() },
        407..500 => adaptive(),
        _ if has_own_mind => {
            let newer = version >= 501;
            Generation {
                thinks: Thinks::Always,
                off: Off::LittleEffort,
                forced: !newer,
                binds: newer,
                ..adaptive()
            }
        }
        500..505 => Generation { thinks: Thinks::Always, off: Off::Disabled, ..adaptive() },
        _ if is_of("haiku") => {
            Generation { thinks: Thinks::Always, off: Off::Disabled, binds: true, ..adaptive() }
        }
        505 if is_of("sonnet") => Generation {
            thinks: Thinks::Always,
            off: Off::BetweenTools,
            forced: false,
            binds: true,
            ..adaptive()
        },
        _ => Generation {
            thinks: Thinks::Always,
            off: Off::LittleEffort,
            forced: false,
            binds: true,
            ..adaptive()
        },
    }
}

fn adaptive() -> Generation {
    Generation {
        thinks: Thinks::Adaptive,
        off: Off::Unsaid,
        samples: false,
        samples_once: true,
        forced: true,
        binds: false,
        outputs: true,
        tokens: 32_000,
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
