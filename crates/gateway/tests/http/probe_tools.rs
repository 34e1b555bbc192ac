//! Test tools, registered like those of any source. They count their runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use toolway_core::{Arguments, CallContext, Lease, SourceRetention, Tool, ToolSpec};
use toolway_types::{SpecDocument, ToolError, ToolOutput};

use crate::support::GatewayHarness;

/// The tools of a source.
pub(crate) struct ProbeTools {
    _lease: Lease,
    runs: Arc<AtomicUsize>,
}

struct CountingTool {
    spec: Arc<ToolSpec>,
    runs: Arc<AtomicUsize>,
}

impl ProbeTools {
    /// Registers tools with these names.
    pub(crate) fn offer(bench: &GatewayHarness, source: &str, names: &[&str]) -> Self {
        Self::with(bench, source, names.iter().map(|name| SpecDocument::named(*name)).collect())
    }

    /// Registers a tool that requires permissions.
    pub(crate) fn with_permissions(
        bench: &GatewayHarness,
        source: &str,
        name: &str,
        permissions: &[&str],
    ) -> Self {
        let permissions = permissions.iter().map(|permission| (*permission).to_owned()).collect();
        Self::with(bench, source, vec![SpecDocument { permissions, ..SpecDocument::named(name) }])
    }

    /// Registers tools with these specs.
    pub(crate) fn with(bench: &GatewayHarness, source: &str, specs: Vec<SpecDocument>) -> Self {
        let runs = Arc::<AtomicUsize>::default();
        let lease = bench.gateway.app().registry.lease(source.parse().unwrap(), SourceRetention::Nothing);
        let tool = |spec| {
            let spec = Arc::new(ToolSpec::compile(spec).unwrap());
            Arc::new(CountingTool { spec, runs: runs.clone() }) as Arc<dyn Tool>
        };
        lease.replace(specs.into_iter().map(tool).collect());
        Self { _lease: lease, runs }
    }

    /// Returns the number of runs.
    pub(crate) fn run_count(&self) -> usize {
        self.runs.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl Tool for CountingTool {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    async fn execute(&self, _: Arguments, _: &CallContext) -> Result<ToolOutput, ToolError> {
        self.runs.fetch_add(1, Ordering::SeqCst);
        Ok(ToolOutput::text("ran"))
    }
}
