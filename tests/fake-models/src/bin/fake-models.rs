//! Model servers for tests in other languages: reads a script, prints the address, and serves until the
//! process is ended.

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use serde_json::json;
use toolway_fake_models::{ApiKind, FakeModels, KEY, ResponseScript};

/// Serve the APIs of model providers on a loopback port, with answers from a script.
///
/// Prints one line of JSON when ready: `{"event": "ready", "url": …, "key": …, "base_urls": {"openai": …,
/// …}}`.
#[derive(Debug, Parser)]
#[command(name = "fake-models")]
struct FakeModelsArgs {
    /// JSON script. Without it, requests fail until `PUT /control/script`.
    script: Option<PathBuf>,
    /// Port. Default: a free port.
    #[arg(long, default_value_t = 0)]
    port: u16,
}

fn main() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    match runtime
        .map_err(|error| error.to_string())
        .and_then(|runtime| runtime.block_on(serve(FakeModelsArgs::parse())))
    {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "fake-models: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn serve(args: FakeModelsArgs) -> Result<(), String> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, args.port));
    let fakes = FakeModels::start_at(address).await.map_err(|error| format!("{address}: {error}"))?;
    if let Some(path) = &args.script {
        let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let script: ResponseScript =
            serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?;
        fakes.script(script);
    }
    let base_urls: serde_json::Map<_, _> =
        ApiKind::ALL.into_iter().map(|api| (api.as_str().to_owned(), json!(fakes.base_url(api)))).collect();
    let ready = json!({"event": "ready", "url": fakes.url(), "key": KEY, "base_urls": base_urls});
    let mut out = std::io::stdout();
    writeln!(out, "{ready}").and_then(|()| out.flush()).map_err(|error| error.to_string())?;
    std::future::pending().await
}
