//! The client for the client parts of the conformance suite: the gateway's own connections to MCP servers,
//! without a gateway. The suite passes the server's URL as the last argument, and the scenario's data in the
//! environment.
//!
//! For every scenario, it does what an agent may do with a server: connects, calls each tool, reads each
//! resource and gets each prompt. The exit code is 1 if anything of that failed, which some scenarios
//! require.

#![allow(
    deprecated,
    reason = "logging, sampling and roots are deprecated in MCP's newest version and part of the older ones"
)]

mod accepting_client;
mod browser;
mod call;
mod connection;
mod exercise;
mod scenario;

use std::io::Write;
use std::process::ExitCode;

use scenario::Scenario;

fn main() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let done = runtime.map_err(|error| error.to_string()).and_then(|runtime| {
        let scenario = Scenario::from_environment()?;
        runtime.block_on(run(&scenario))
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            let _ = writeln!(std::io::stderr(), "conformance-client: {problem}");
            ExitCode::FAILURE
        }
    }
}

async fn run(scenario: &Scenario) -> Result<(), String> {
    let connected = connection::connect(scenario).await?;
    let done = exercise::exercise_server(scenario, &connected).await;
    connected.shut_down().await;
    done
}
