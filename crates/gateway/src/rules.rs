//! The active rules: those of the owner's settings, then the policy rules that were created over the network.

mod registration;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use arc_swap::ArcSwap;
use toolway_core::policy::definition::{PolicySettings, RuleDefinition};
use toolway_core::{Engine, Policy, PolicyProblem};
use toolway_store::{Store, StoreError};
use toolway_types::{Clock, PrincipalId, RawJson, Slug};

use crate::settings::Settings;
use registration::RegistrationRules;

pub(crate) use registration::RegistrationAllowance;

/// Location of the settings, for messages about things that can be changed only there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SettingsOrigin {
    /// The settings file, if there is one.
    pub file: Option<PathBuf>,
    /// Lines of `policy.rules` in the file.
    pub rule_lines: Vec<usize>,
    /// Lines of `mcp.servers` in the file, by name.
    pub server_lines: BTreeMap<String, usize>,
}

/// Location of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RuleOrigin {
    /// The rule is in the settings; file and line if both are known.
    Settings { location: Option<(PathBuf, usize)> },
    /// The rule is in the database.
    Database,
}

/// A policy rule with its location.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PlacedRule {
    pub(crate) name: String,
    pub(crate) definition: RuleDefinition,
    pub(crate) origin: RuleOrigin,
}

/// Error when changing a rule.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RuleError {
    #[error("the rule {name:?} is in {place} and can be changed only there")]
    InSettings { name: String, place: String },
    #[error("there is no rule {0:?}")]
    Unknown(String),
    #[error(transparent)]
    Bad(#[from] PolicyProblem),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A stored rule that is not active because it is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the stored rule {name:?} does not hold: {reason}")]
pub(crate) struct InvalidStoredRule {
    pub(crate) name: String,
    pub(crate) reason: String,
}

/// The active rules.
#[derive(Debug)]
pub(crate) struct PolicyRules {
    engine: Arc<Engine>,
    store: Store,
    clock: Arc<dyn Clock>,
    /// Serializes changes of the rules.
    changing: tokio::sync::Mutex<SettingsWithOrigin>,
    listed: ArcSwap<Vec<PlacedRule>>,
    invalid_stored: ArcSwap<Vec<InvalidStoredRule>>,
    registration: ArcSwap<RegistrationRules>,
}

/// The owner's settings with their location.
#[derive(Debug, Clone)]
struct SettingsWithOrigin {
    settings: Settings,
    origin: SettingsOrigin,
}

impl PolicyRules {
    /// Loads the rules of the settings and the stored rules, and activates them.
    ///
    /// # Errors
    /// [`StoreError`] if the store can't be read.
    pub(crate) async fn open(
        engine: Arc<Engine>,
        store: Store,
        clock: Arc<dyn Clock>,
        settings: &Settings,
        origin: SettingsOrigin,
    ) -> Result<Arc<Self>, StoreError> {
        let written = SettingsWithOrigin { settings: settings.clone(), origin };
        let rules = Self {
            engine,
            store,
            clock,
            changing: tokio::sync::Mutex::new(written),
            listed: ArcSwap::default(),
            invalid_stored: ArcSwap::default(),
            registration: ArcSwap::default(),
        };
        rules.reload().await?;
        Ok(Arc::new(rules))
    }

    /// Applies other settings, which have been validated.
    ///
    /// # Errors
    /// [`StoreError`] if the store can't be read; then nothing changes.
    pub(crate) async fn apply(&self, settings: &Settings, origin: SettingsOrigin) -> Result<(), StoreError> {
        let mut written = self.changing.lock().await;
        let next = SettingsWithOrigin { settings: settings.clone(), origin };
        self.activate(&next).await?;
        *written = next;
        Ok(())
    }

    /// Loads the stored rules again.
    ///
    /// # Errors
    /// [`StoreError`] if the store can't be read.
    pub(crate) async fn reload(&self) -> Result<(), StoreError> {
        let written = self.changing.lock().await;
        self.activate(&written).await
    }

    async fn activate(&self, written: &SettingsWithOrigin) -> Result<(), StoreError> {
        let mut rules = settings_rules(written);
        let mut not_held = Vec::new();
        for record in self.store.rules().list().await? {
            let name = record.name;
            match record.body.to::<RuleDefinition>() {
                Ok(definition) if !rules.iter().any(|rule| rule.name == name) => {
                    rules.push(PlacedRule { name, definition, origin: RuleOrigin::Database });
                }
                Ok(_) => not_held.push(InvalidStoredRule {
                    name,
                    reason: "the settings have a rule of this name".to_owned(),
                }),
                Err(error) => {
                    not_held.push(InvalidStoredRule { name, reason: format!("it can't be read: {error}") })
                }
            }
        }
        match compile(written, &rules) {
            Ok(policy) => self.engine.set_policy(policy),
            Err(problems) => {
                // A stored rule that was valid before is invalid now. The rules of the settings apply without
                // it.
                let why = problems.first().map(ToString::to_string).unwrap_or_default();
                let stored = rules.extract_if(.., |rule| rule.origin == RuleOrigin::Database);
                not_held
                    .extend(stored.map(|rule| InvalidStoredRule { name: rule.name, reason: why.clone() }));
                if let Ok(policy) = compile(written, &rules) {
                    self.engine.set_policy(policy);
                }
            }
        }
        for it in &not_held {
            tracing::error!("{it}");
        }
        self.registration.store(Arc::new(RegistrationRules::of(&written.settings.registration)));
        self.listed.store(Arc::new(rules));
        self.invalid_stored.store(Arc::new(not_held));
        Ok(())
    }

    /// Returns all policy rules, in order of evaluation.
    pub(crate) fn list(&self) -> Arc<Vec<PlacedRule>> {
        self.listed.load_full()
    }

    /// Returns the stored rules that are not active.
    pub(crate) fn invalid_stored(&self) -> Arc<Vec<InvalidStoredRule>> {
        self.invalid_stored.load_full()
    }

    /// Returns the policy settings other than rules.
    pub(crate) async fn defaults(&self) -> PolicySettings {
        PolicySettings { rules: Vec::new(), ..self.changing.lock().await.settings.policy.clone() }
    }

    /// Creates or changes a rule. Returns true if it is new. `before` is the number of stored rules that come
    /// before it.
    pub(crate) async fn put(
        &self,
        name: &str,
        definition: RuleDefinition,
        before: Option<usize>,
    ) -> Result<bool, RuleError> {
        let written = self.changing.lock().await;
        self.ensure_stored(name)?;
        let definition = RuleDefinition { name: None, ..definition };
        // Checked alone, so that every problem is one of this rule.
        let alone = PolicySettings { rules: vec![definition.clone()], ..PolicySettings::default() };
        Policy::compile(&alone, &Default::default(), &Default::default()).map_err(first_problem)?;
        // Then checked with the others, because it must not invalidate them.
        let mut rules = self.listed.load().as_ref().clone();
        match rules.iter_mut().find(|rule| rule.name == name) {
            Some(rule) => rule.definition = definition.clone(),
            None => rules.push(PlacedRule {
                name: name.to_owned(),
                definition: definition.clone(),
                origin: RuleOrigin::Database,
            }),
        }
        compile(&written, &rules).map_err(first_problem)?;
        let body = RawJson::from_value(&definition).unwrap_or_default();
        let is_new = self.store.rules().put(name, &body, self.clock.now_ms()).await?;
        if let Some(before) = before {
            self.store.rules().move_to(name, before).await?;
        }
        self.activate(&written).await?;
        Ok(is_new)
    }

    /// Removes a stored rule.
    pub(crate) async fn remove(&self, name: &str) -> Result<(), RuleError> {
        let written = self.changing.lock().await;
        self.ensure_stored(name)?;
        if !self.store.rules().remove(name).await? {
            return Err(RuleError::Unknown(name.to_owned()));
        }
        self.activate(&written).await?;
        Ok(())
    }

    fn ensure_stored(&self, name: &str) -> Result<(), RuleError> {
        let listed = self.listed.load();
        let place = listed.iter().find(|rule| rule.name == name).and_then(|rule| match &rule.origin {
            RuleOrigin::Settings { location } => {
                Some(location.as_ref().map(|(path, line)| format!("{}, line {line}", path.display())))
            }
            RuleOrigin::Database => None,
        });
        match place {
            Some(place) => {
                let place = place.unwrap_or_else(|| "the settings".to_owned());
                Err(RuleError::InSettings { name: name.to_owned(), place })
            }
            None => Ok(()),
        }
    }

    /// Returns the allowance of a source.
    pub(crate) fn registration_allowance(&self, token: &PrincipalId, source: &Slug) -> RegistrationAllowance {
        self.registration.load().allowance(token, source)
    }
}

fn first_problem(problems: Vec<PolicyProblem>) -> PolicyProblem {
    let first = problems.into_iter().next();
    first.unwrap_or(PolicyProblem { key: "rule".to_owned(), problem: "it is invalid".to_owned() })
}

fn settings_rules(written: &SettingsWithOrigin) -> Vec<PlacedRule> {
    let rules = written.settings.policy.rules.iter().enumerate();
    rules
        .map(|(at, definition)| {
            let line = written.origin.rule_lines.get(at);
            let location = written.origin.file.clone().zip(line.copied());
            PlacedRule {
                name: definition.name.clone().unwrap_or_else(|| format!("policy.rules[{at}]")),
                definition: definition.clone(),
                origin: RuleOrigin::Settings { location },
            }
        })
        .collect()
}

fn compile(written: &SettingsWithOrigin, rules: &[PlacedRule]) -> Result<Policy, Vec<PolicyProblem>> {
    let rules =
        rules.iter().map(|rule| RuleDefinition { name: Some(rule.name.clone()), ..rule.definition.clone() });
    let settings = &written.settings;
    let policy = PolicySettings { rules: rules.collect(), ..settings.policy.clone() };
    Policy::compile(&policy, &settings.approval, &settings.permissions)
}

#[cfg(test)]
mod tests;
