//! A device with one tool, which adds two numbers.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for a terminal")]

use std::process::ExitCode;

use schemars::JsonSchema;
use serde::Deserialize;
use toolway_device::{ConnectionStatus, Device, Tool, ToolContext, failed};

/// Arguments of the tool.
#[derive(Deserialize, JsonSchema)]
struct AddArguments {
    a: i64,
    b: i64,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), String> {
    let token = std::fs::read_to_string("device.token")
        .map_err(|error| format!("can't read the file device.token: {error}"))?;
    let add = Tool::typed("add", "Adds two numbers", |args: AddArguments, _cx: ToolContext| async move {
        let sum = args.a.checked_add(args.b).ok_or_else(|| failed("the sum is too large"))?;
        Ok(serde_json::json!({ "sum": sum }))
    });
    let device = Device::builder("http://127.0.0.1:7717")
        .token(token.trim())
        .name("Laptop")
        .tool(add)
        .build()
        .map_err(|error| error.to_string())?;
    let running = device.start();
    let mut status = running.handle().status();
    let printing = tokio::spawn(async move {
        loop {
            let current = status.borrow_and_update().clone();
            match current {
                ConnectionStatus::Connecting => println!("connecting"),
                ConnectionStatus::Connected(gateway) => {
                    println!("connected as {}", gateway.source.as_deref().unwrap_or("an unnamed source"));
                }
                ConnectionStatus::Reconnecting { why, delay } => {
                    println!("{why}; the next attempt is in {} s", delay.as_secs());
                }
                ConnectionStatus::Stopped(_) => println!("stopped"),
            }
            if status.changed().await.is_err() {
                return;
            }
        }
    });
    let ended = running.wait().await;
    printing.abort();
    ended.map_err(|error| format!("{error}\nhint: {}", error.hint()))
}
