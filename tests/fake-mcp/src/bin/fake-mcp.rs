//! An MCP server for tests in other languages, and for the conformance suite.

use std::fs::File;
use std::io::Write;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::process::ExitCode;

use clap::Parser;
use toolway_fake_mcp::{FakeMcp, FakeMcpOptions, serve_stdio};

/// Serve MCP until the process is ended. With `--http`, print the URL as one line.
#[derive(Debug, Parser)]
#[command(name = "fake-mcp")]
struct FakeMcpArgs {
    /// Serve over HTTP at this address; port 0 is any free port.
    #[arg(long, value_name = "ADDRESS", required_unless_present = "stdio", conflicts_with = "stdio")]
    http: Option<SocketAddr>,
    /// Serve over standard input and output.
    #[arg(long)]
    stdio: bool,
    /// Supported protocol versions, such as 2025-11-25. Default: all.
    #[arg(long, value_delimiter = ',', value_name = "VERSION")]
    versions: Vec<String>,
    /// Page size of lists.
    #[arg(long, value_name = "COUNT")]
    page_size: Option<usize>,
    /// Do not create MCP sessions.
    #[arg(long)]
    no_sessions: bool,
    /// Respond with JSON instead of a stream if possible.
    #[arg(long)]
    json: bool,
    /// Require this bearer token.
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

/// Opens standard input or output without a buffer.
fn as_file(stream: impl AsFd) -> std::io::Result<tokio::fs::File> {
    let fd: OwnedFd = stream.as_fd().try_clone_to_owned()?;
    Ok(tokio::fs::File::from_std(File::from(fd)))
}
