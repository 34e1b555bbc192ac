//! Cache in which equal specs share one [`ToolSpec`] and equal schemas one validator, while they are in use:
//! a thousand phones with the same app cost one compilation. Unused entries keep a few words of memory until
//! the next sweep.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use toolway_types::pattern::SchemaPatterns;
use toolway_types::{RawJson, SpecDocument};

use super::{SpecError, ToolSpec};
use crate::blocking_pool::{BlockingPool, JobFailed};
use crate::schema::{CompileBudget, CompiledSchemas, Schema, SchemaError};

/// The cache of specs and schemas.
#[derive(Debug)]
pub struct SpecCache {
    hasher: RandomState,
    specs: Mutex<InternPool<ToolSpec>>,
    parameters: Mutex<InternPool<Schema>>,
    outputs: Mutex<InternPool<Schema>>,
    compiled: Arc<CompiledSchemas>,
    jobs: BlockingPool,
}

/// Maximum number of compile jobs at the same time.
const MAX_COMPILE_JOBS: usize = 2;

impl Default for SpecCache {
    fn default() -> Self {
        Self {
            hasher: RandomState::default(),
            specs: Mutex::default(),
            parameters: Mutex::default(),
            outputs: Mutex::default(),
            compiled: Arc::default(),
            jobs: BlockingPool::new(MAX_COMPILE_JOBS, 1),
        }
    }
}

impl SpecCache {
    /// Returns an equal spec that is in use, or compiles a new one with a budget of its own.
    ///
    /// # Errors
    /// [`SpecError`] describes the problem.
    pub fn compile(&self, document: SpecDocument) -> Result<Arc<ToolSpec>, SpecError> {
        self.compile_within(document, &mut CompileBudget::of_source(SchemaPatterns::default()))
    }

    /// Returns an equal spec that is in use, or compiles a new one, which may take tens of milliseconds: see
    /// [`SpecCache::run_compile_job`]. Takes the patterns of its schemas from the budget either way.
    ///
    /// # Errors
    /// [`SpecError`] describes the problem.
    pub fn compile_within(
        &self,
        document: SpecDocument,
        budget: &mut CompileBudget,
    ) -> Result<Arc<ToolSpec>, SpecError> {
        let hash = self.hasher.hash_one(&document);
        if let Some(found) = self.find_hashed(hash, &document, budget) {
            return found;
        }
        let raw = document.parameters.as_ref();
        let parameters =
            self.schema(&self.parameters, raw, budget, |budget| Schema::from_parameters_within(raw, budget));
        let parameters = parameters.map_err(SpecError::Parameters)?;
        let output = document.output_schema.as_ref();
        let output = output.map(|raw| {
            self.schema(&self.outputs, Some(raw), budget, |budget| Schema::from_output_within(raw, budget))
        });
        let output = output.transpose().map_err(SpecError::Output)?;
        let spec = ToolSpec::assemble(Arc::new(document), parameters, output)?;
        Ok(self.specs.lock().intern(hash, spec, |one, other| one.document() == other.document()))
    }

    /// Returns an equal spec that is in use, without compiling. Takes the patterns of its schemas from the budget. `None`
    /// if there is no equal spec.
    pub fn find_within(
        &self,
        document: &SpecDocument,
        budget: &mut CompileBudget,
    ) -> Option<Result<Arc<ToolSpec>, SpecError>> {
        self.find_hashed(self.hasher.hash_one(document), document, budget)
    }

    fn find_hashed(
        &self,
        hash: u64,
        document: &SpecDocument,
        budget: &mut CompileBudget,
    ) -> Option<Result<Arc<ToolSpec>, SpecError>> {
        let spec = self.specs.lock().get(hash, |spec| **spec.document() == *document)?;
        Some(budget.spend(spec.patterns()).map_err(SpecError::Parameters).map(|()| spec))
    }

    /// Runs a job that compiles specs on a blocking thread. Few jobs run at the same time, and one of each
    /// `owner`; further ones wait.
    ///
    /// # Errors
    /// [`JobFailed`] if the job panicked.
    pub async fn run_compile_job<R: Send + 'static>(
        &self,
        owner: &str,
        job: impl FnOnce() -> R + Send + 'static,
    ) -> Result<R, JobFailed> {
        self.jobs.run(owner, job).await
    }

    /// Size of all compiled schemas in use, in bytes.
    #[must_use]
    pub fn compiled_bytes(&self) -> u64 {
        self.compiled.bytes()
    }

    fn schema(
        &self,
        interned: &Mutex<InternPool<Schema>>,
        raw: Option<&RawJson>,
        budget: &mut CompileBudget,
        compile: impl FnOnce(&mut CompileBudget) -> Result<Schema, SchemaError>,
    ) -> Result<Arc<Schema>, SchemaError> {
        // These forms mean the same as a missing schema.
        let raw = raw.filter(|raw| !matches!(raw.get(), "null" | "[]"));
        let hash = self.hasher.hash_one(raw);
        if let Some(schema) = interned.lock().get(hash, |schema| schema.raw() == raw) {
            budget.spend(schema.patterns())?;
            return Ok(schema);
        }
        let schema = compile(budget)?.counted_in(&self.compiled);
        Ok(interned.lock().intern(hash, schema, |one, other| one.raw() == other.raw()))
    }
}

/// Values by hash, which live as long as another owner holds them. Of two unequal values with the same hash,
/// only the newer is shared.
#[derive(Debug)]
struct InternPool<V> {
    values: HashMap<u64, Weak<V>>,
    sweep_at: usize,
}

/// Number of values above which dead ones are swept.
const SWEEP_AT: usize = 64;

impl<V> Default for InternPool<V> {
    fn default() -> Self {
        Self { values: HashMap::new(), sweep_at: SWEEP_AT }
    }
}

impl<V> InternPool<V> {
    fn get(&self, hash: u64, is_it: impl FnOnce(&V) -> bool) -> Option<Arc<V>> {
        self.values.get(&hash)?.upgrade().filter(|value| is_it(value))
    }

    /// Adds a new value, or returns an equal one that was added meanwhile.
    fn intern(&mut self, hash: u64, value: V, are_equal: impl FnOnce(&V, &V) -> bool) -> Arc<V> {
        if let Some(standing) = self.get(hash, |standing| are_equal(standing, &value)) {
            return standing;
        }
        if self.values.len() >= self.sweep_at {
            self.values.retain(|_, value| value.strong_count() > 0);
            self.values.shrink_to(self.values.len() * 2);
            self.sweep_at = (self.values.len() * 2).max(SWEEP_AT);
        }
        let value = Arc::new(value);
        self.values.insert(hash, Arc::downgrade(&value));
        value
    }
}

#[cfg(test)]
mod tests;
