//! What sources may register, by the owner's settings: of the rules the first that fits a source decides.

use std::sync::Arc;

use toolway_core::Globs;
use toolway_types::{PrincipalId, Slug};

use crate::settings::RegistrationSettings;

/// The rules, ready to be asked.
#[derive(Debug, Default)]
pub(super) struct Registration(Vec<Rule>);

#[derive(Debug)]
struct Rule {
    principals: Option<Globs>,
    sources: Option<Globs>,
    allowed: Arc<What>,
}

#[derive(Debug)]
struct What {
    names: Option<Globs>,
    max_tools: Option<usize>,
}

/// What one source may register.
#[derive(Debug, Clone)]
pub(crate) struct Allowed(Option<Arc<What>>);

impl Registration {
    /// The rules of settings, whose patterns have been checked.
    pub(super) fn of(settings: &RegistrationSettings) -> Self {
        let globs = |patterns: &[String]| match patterns {
            [] => None,
            patterns => Some(Globs::new(patterns).unwrap_or_else(|_| Globs::none())),
        };
        let rules = settings.rules.iter().map(|rule| Rule {
            principals: globs(&rule.principals),
            sources: globs(&rule.sources),
            allowed: Arc::new(What { names: globs(&rule.names), max_tools: rule.max_tools }),
        });
        Self(rules.collect())
    }

    /// What a source may register that connects with this token.
    pub(super) fn allow(&self, token: &PrincipalId, source: &Slug) -> Allowed {
        let fits = |globs: &Option<Globs>, text: &str| globs.as_ref().is_none_or(|globs| globs.matches(text));
        let mut rules = self.0.iter();
        let rule = rules.find(|it| fits(&it.principals, &token.0) && fits(&it.sources, source.as_str()));
        Allowed(rule.map(|rule| rule.allowed.clone()))
    }
}

impl Allowed {
    /// Most tools.
    pub(crate) fn max_tools(&self) -> Option<usize> {
        self.0.as_ref().and_then(|it| it.max_tools)
    }

    /// Why a name is not allowed, if it is not.
    pub(crate) fn refuses(&self, name: &str) -> Option<String> {
        let names = self.0.as_ref()?.names.as_ref().filter(|names| !names.matches(name))?;
        Some(format!("the owner lets this source register {} only", names.patterns().join(", ")))
    }
}
