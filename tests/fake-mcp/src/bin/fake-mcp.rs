//! An MCP server for tests in other languages, and for the conformance suite.

use std::fs::File;
use std::io::Write;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::process::ExitCode;

use clap::Parser;
use toolway_fake_mcp::{FakeMcp, FakeMcpOptions, serve_stdio};

/// Serves MCP until it is ended. With `--http` it prints its address as one line.
#[derive(Debug, Parser)]
#[command(name = "fake-mcp")]
struct FakeMcpArgs {
    /// Serves over HTTP at this address; the port 0 is one that is free.
    #[arg(long, value_name = "ADDRESS", required_unless_present = "stdio", conflicts_with = "stdio")]
    http: Option<SocketAddr>,
    /// Serves over standard input and output.
    #[arg(long)]
    stdio: bool,
    /// The versions that it speaks, such as 2025-11-25; all where none is named.
    #[arg(long, value_delimiter = ',', value_name = "VERSION")]
    versions: Vec<String>,
    /// How many entries a page of a list has.
    #[arg(long, value_name = "COUNT")]
    page_size: Option<usize>,
    /// Gives no client an MCP session.
    #[arg(long)]
    no_sessions: bool,
    /// Answers with JSON where it can.
    #[arg(long)]
    json: bool,
    /// Wants this bearer token.
    #[arg(long)]
    token: Option<String>,
}

fn main() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    match runtime.and_then(|runtime| runtime.block_on(serve(FakeMcpArgs::parse()))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "fake-mcp: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn serve(args: FakeMcpArgs) -> std::io::Result<()> {
    let options = FakeMcpOptions {
        versions: args.versions,
        page_size: args.page_size,
        sessions: !args.no_sessions,
        json: args.json,
        token: args.token,
    };
    let Some(address) = args.http else {
        return serve_stdio(as_file(std::io::stdin())?, as_file(std::io::stdout())?, options).await;
    };
    let server = FakeMcp::start_at(address, options).await?;
    let mut out = std::io::stdout();
    writeln!(out, "{}", server.url()).and_then(|()| out.flush())?;
    std::future::pending().await
}

/// Standard input and output without a buffer of their own.
fn as_file(stream: impl AsFd) -> std::io::Result<tokio::fs::File> {
    let fd: OwnedFd = stream.as_fd().try_clone_to_owned()?;
    Ok(tokio::fs::File::from_std(File::from(fd)))
}
