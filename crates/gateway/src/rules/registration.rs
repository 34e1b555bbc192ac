//! Rules about the tools that sources may register. The first matching rule wins.

use std::sync::Arc;

use toolway_core::GlobPatterns;
use toolway_types::{PrincipalId, Slug};

use crate::settings::RegistrationSettings;

/// The compiled rules.
#[derive(Debug, Default)]
pub(super) struct RegistrationRules(Vec<CompiledRegistrationRule>);

#[derive(Debug)]
struct CompiledRegistrationRule {
    principals: Option<GlobPatterns>,
    sources: Option<GlobPatterns>,
    allowed: Arc<RegistrationScope>,
}

#[derive(Debug)]
struct RegistrationScope {
    names: Option<GlobPatterns>,
    max_tools: Option<usize>,
}

/// Tools that one source may register.
#[derive(Debug, Clone)]
pub(crate) struct RegistrationAllowance(Option<Arc<RegistrationScope>>);

impl RegistrationRules {
    /// Compiles the rules of settings, whose patterns have been validated.
    pub(super) fn of(settings: &RegistrationSettings) -> Self {
        let globs = |patterns: &[String]| match patterns {
            [] => None,
            patterns => Some(GlobPatterns::new(patterns).unwrap_or_else(|_| GlobPatterns::empty())),
        };
        let rules = settings.rules.iter().map(|rule| CompiledRegistrationRule {
            principals: globs(&rule.principals),
            sources: globs(&rule.sources),
            allowed: Arc::new(RegistrationScope { names: globs(&rule.names), max_tools: rule.max_tools }),
        });
        Self(rules.collect())
    }

    /// Returns the allowance of a source that connects with this token.
    pub(super) fn allowance(&self, token: &PrincipalId, source: &Slug) -> RegistrationAllowance {
        let fits =
            |globs: &Option<GlobPatterns>, text: &str| globs.as_ref().is_none_or(|globs| globs.matches(text));
        let mut rules = self.0.iter();
        let rule = rules.find(|it| fits(&it.principals, &token.0) && fits(&it.sources, source.as_str()));
        RegistrationAllowance(rule.map(|rule| rule.allowed.clone()))
    }
}

impl RegistrationAllowance {
    /// Returns the maximum number of tools, if there is one.
    pub(crate) fn max_tools(&self) -> Option<usize> {
        self.0.as_ref().and_then(|it| it.max_tools)
    }

    /// Returns the reason why a name is not allowed, or `None` if it is allowed.
    pub(crate) fn refusal_reason(&self, name: &str) -> Option<String> {
        let names = self.0.as_ref()?.names.as_ref().filter(|names| !names.matches(name))?;
        Some(format!("the owner allows this source to register only {}", names.patterns().join(", ")))
    }
}
