//! `toolway-load`: what a call through the gateway costs, beside a bare relay, in one run.
//!
//! `load` is the main measurement, `idle`, `register`, `start`, `chat` and `mcp` the others, `figures` all of them. `stage` puts
//! `device`s and `caller`s on a `gateway` or on the `relay`; `side` lets callers call and keeps count; `turns`
//! alternates two sides. `held` keeps devices in processes of their own.

mod args;
mod caller;
mod chat;
mod churn;
mod device;
mod error;
mod figures;
mod gateway;
mod held;
mod http;
mod idle;
mod load;
mod mcp;
mod open;
mod process;
mod procfs;
mod register;
mod relay;
mod report;
mod side;
mod socket;
mod specs;
mod stage;
mod start;
mod stats;
mod table;
mod turns;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Args, Part};
use crate::error::{During, Result, unexpected};
use crate::figures::Lengths;
use crate::gateway::Settings;
use crate::report::{RegisterReports, Report, note, print};

fn main() -> ExitCode {
    let args = Args::parse();
    let done = match &args.part {
        Some(Part::Relay { workers }) => relay::serve_process(*workers).map(|()| true),
        Some(Part::McpServer { workers, tools }) => {
            mcp::server::serve_process(*workers, *tools).map(|()| true)
        }
        Some(Part::Devices) => on_one_thread(held::hold()).map(|()| true),
        None => on_one_thread(async {
            tokio::select! {
                done = run(&args) => done,
                () = interrupted() => unexpected("interrupted"),
            }
        }),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => {
            note("toolway-load: not a valid measurement: calls failed, or nothing was measured");
            ExitCode::FAILURE
        }
        Err(failure) => {
            note(&format!("toolway-load: {failure}"));
            ExitCode::FAILURE
        }
    }
}

/// Devices and callers share a thread: on two cores, the gateway or the relay then has one for itself, and a call
/// is not slowed by the load's own threads waking each other.
fn on_one_thread<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.during("starting the runtime")?.block_on(work)
}

/// Measures what was asked for and prints it; says whether it is to be believed.
async fn run(args: &Args) -> Result<bool> {
    let settings = || Settings::new(args.gateway.as_deref(), args.workers);
    let lengths = if args.quick { Lengths::QUICK } else { Lengths::FULL };
    if args.idle {
        let plan = idle::Plan {
            gateway: settings()?,
            devices: args.devices.unwrap_or(2000),
            seconds: args.seconds,
            distinct_specs: args.distinct_specs,
        };
        return finish(&idle::measure(&plan).await?, args);
    }
    if args.register {
        let settings = settings()?;
        let reports = RegisterReports {
            same_schema: register::measure(&settings, false, lengths.rounds()).await?,
            distinct_schemas: register::measure(&settings, true, lengths.rounds()).await?,
        };
        return finish(&reports, args);
    }
    if args.start {
        return finish(&start::measure(&settings()?, lengths.starts()).await?, args);
    }
    if args.turns {
        return finish(&chat::measure(&settings()?, lengths).await?, args);
    }
    if args.mcp {
        return finish(&mcp::measure(&mcp_plan(args, settings()?), lengths).await?, args);
    }
    if args.table {
        let mcp = mcp_plan(args, settings()?);
        return finish(&figures::measure(&settings()?, args.workers, lengths, &mcp).await, args);
    }
    let plan = load::Plan {
        gateway: if args.self_check { None } else { Some(settings()?) },
        workers: args.workers,
        devices: args.devices.unwrap_or(8),
        callers: args.callers,
        seconds: args.seconds,
        rate: args.rate,
        payload: args.payload,
        churn: args.churn,
        distinct_specs: args.distinct_specs,
    };
    finish(&load::measure(&plan).await?, args)
}

fn mcp_plan(args: &Args, gateway: Settings) -> mcp::Plan {
    mcp::Plan { gateway, server: args.mcp_server.clone(), proxy: args.mcp_proxy.clone() }
}

fn finish(report: &impl Report, args: &Args) -> Result<bool> {
    print(report, args.json)?;
    Ok(report.sound())
}

/// Waits until somebody wants us to stop; letting go of everything then ends the children.
async fn interrupted() {
    #[cfg(unix)]
    if let Ok(mut terminate) = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = terminate.recv() => {}
        }
        return;
    }
    // Where signals can't be had, nothing is to be waited for.
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
