//! `toolway-load`: measures the cost of a call through the gateway, compared with a bare relay in the same
//! run.
//!
//! `load` is the main measurement; `idle_devices`, `registration`, `startup`, `chat` and `mcp` are the others, and
//! `suite` runs all of them. `instructions` counts instead of measuring time. `hostile` attacks a gateway and checks what
//! others notice. `connections` opens devices and callers on a gateway or on the relay,
//! `target_measurement` makes calls and counts them, `rounds` alternates two targets, and `device_processes` holds
//! devices in separate processes.

mod args;
mod caller;
mod chat;
mod churn;
mod connections;
mod device;
mod device_processes;
mod error;
mod figure;
mod gateway;
mod hostile;
mod http;
mod idle_devices;
mod input_lines;
mod instructions;
mod load;
mod mcp;
mod output;
mod process;
mod procfs;
mod registration;
mod relay;
mod report;
mod rounds;
mod schedule;
mod socket;
mod startup;
mod stats;
mod suite;
mod suite_lengths;
mod table;
mod target_measurement;
mod tool_specs;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{HelperCommand, LoadBenchArgs};
use crate::error::{ErrorContext, Result, unexpected};
use crate::gateway::GatewayLaunchOptions;
use crate::output::{BenchReport, log_progress, print};
use crate::report::RegisterReports;
use crate::suite_lengths::SuiteLengths;

fn main() -> ExitCode {
    let args = LoadBenchArgs::parse();
    let done = match &args.part {
        Some(HelperCommand::Relay { workers }) => relay::serve_process(*workers).map(|()| true),
        Some(HelperCommand::McpServer { workers, tools }) => {
            mcp::server::serve_process(*workers, *tools).map(|()| true)
        }
        Some(HelperCommand::Devices) => {
            block_on_current_thread(device_processes::run_device_process()).map(|()| true)
        }
        Some(HelperCommand::Attacker) => {
            block_on_current_thread(hostile::attacker::run_attacker_process()).map(|()| true)
        }
        None => block_on_current_thread(async {
            tokio::select! {
                done = run(&args) => done,
                () = wait_for_interrupt() => unexpected("interrupted"),
            }
        }),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => {
            log_progress("toolway-load: failed: calls failed, nothing was measured, or a limit was exceeded");
            ExitCode::FAILURE
        }
        Err(failure) => {
            log_progress(&format!("toolway-load: {failure}"));
            ExitCode::FAILURE
        }
    }
}

/// Devices and callers share a thread: on two cores, the gateway or the relay then has one for itself, and
/// threads of the load generator do not slow down a call by waking each other.
fn block_on_current_thread<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.context("starting the runtime")?.block_on(work)
}

/// Runs the requested measurement and prints it. Returns true if the result is reliable.
async fn run(args: &LoadBenchArgs) -> Result<bool> {
    let settings = || GatewayLaunchOptions::new(args.gateway.as_deref(), args.workers);
    let lengths = if args.quick { SuiteLengths::QUICK } else { SuiteLengths::FULL };
    if args.idle {
        let plan = idle_devices::IdlePlan {
            gateway: settings()?,
            devices: args.devices.unwrap_or(2000),
            seconds: args.seconds,
            distinct_specs: args.distinct_specs,
        };
        return print_report(&idle_devices::measure(&plan).await?, args);
    }
    if args.register {
        let settings = settings()?;
        let reports = RegisterReports {
            same_schema: registration::measure(&settings, false, lengths.rounds()).await?,
            distinct_schemas: registration::measure(&settings, true, lengths.rounds()).await?,
        };
        return print_report(&reports, args);
    }
    if args.start {
        return print_report(&startup::measure(&settings()?, lengths.starts()).await?, args);
    }
    if args.turns {
        return print_report(&chat::measure(&settings()?, lengths).await?, args);
    }
    if args.mcp {
        return print_report(&mcp::measure(&mcp_plan(args, settings()?), lengths).await?, args);
    }
    if args.instructions {
        let mut report = instructions::measure(&settings()?, args.profile.as_deref()).await?;
        if let (Some(file), Some(compiler)) = (&args.baseline, &args.compiler) {
            report.compare(file, compiler, args.update_baseline)?;
        }
        return print_report(&report, args);
    }
    if args.memory_factors {
        let reports = hostile::factors::measure(&settings()?, args.only.as_deref()).await?;
        print(&reports, args.json)?;
        return match reports.too_low().as_slice() {
            [] => Ok(reports.is_valid()),
            names => unexpected(format!("the gateway counts too little memory for: {}", names.join(", "))),
        };
    }
    if args.hostile {
        return run_attacks(args, settings()?).await;
    }
    if args.table {
        let mcp = mcp_plan(args, settings()?);
        return print_report(&suite::measure(&settings()?, args.workers, lengths, &mcp).await, args);
    }
    let plan = load::LoadPlan {
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
    print_report(&load::measure(&plan).await?, args)
}

/// Attacks a gateway. Fails with the number of broken bounds, after the report has named each of them.
async fn run_attacks(args: &LoadBenchArgs, gateway: GatewayLaunchOptions) -> Result<bool> {
    let plan = hostile::HostilePlan {
        gateway,
        is_short: args.quick,
        only: args.only.clone(),
        seconds: args.seconds,
    };
    let report = hostile::measure(&plan).await?;
    print(&report, args.json)?;
    match report.problems().len() {
        0 => Ok(true),
        count => {
            unexpected(format!("{count} bounds of --hostile were broken; the report names each of them"))
        }
    }
}

fn mcp_plan(args: &LoadBenchArgs, gateway: GatewayLaunchOptions) -> mcp::McpPlan {
    mcp::McpPlan { gateway, server: args.mcp_server.clone(), proxy: args.mcp_proxy.clone() }
}

fn print_report(report: &impl BenchReport, args: &LoadBenchArgs) -> Result<bool> {
    print(report, args.json)?;
    Ok(report.is_valid())
}

/// Waits for an interrupt; dropping everything then ends the children.
async fn wait_for_interrupt() {
    #[cfg(unix)]
    if let Ok(mut terminate) = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = terminate.recv() => {}
        }
        return;
    }
    // Without signals there is nothing to wait for.
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
