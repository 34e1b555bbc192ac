//! Opens a login page in the user's browser and waits until the browser returns to a local port.

use std::net::{Ipv4Addr, SocketAddr};
use std::process::Stdio;
use std::time::Duration;

use async_trait::async_trait;
use reqwest::Url;
use secrecy::SecretString;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use toolway_mcp::oauth::{BrowserError, LoginBrowser};
use toolway_types::Slug;

use super::callback_server::{self, CALLBACK_PATH};
use crate::environment::ProcessEnvironment;
use crate::error::{CliError, CliResult, io_error_message};
use crate::print::{Printer, escape};

/// Maximum length of a pasted line in bytes.
const MAX_LINE: usize = 16 << 10;

/// Options of the browser login.
#[derive(Debug, Clone)]
pub(super) struct BrowserOptions {
    /// Preferred port, if it is free: the one that the server already knows.
    pub(super) port: Option<u16>,
    /// True to open a browser.
    pub(super) opens_browser: bool,
    /// True to accept a pasted address.
    pub(super) accepts_paste: bool,
    pub(super) timeout: Duration,
}

/// Browser of the user at the terminal.
pub(super) struct SystemBrowser {
    listener: TcpListener,
    address: SocketAddr,
    options: BrowserOptions,
    slug: Slug,
    printer: Printer,
    /// Programs that open an address; the first one that starts is used.
    openers: Vec<Vec<String>>,
}

impl SystemBrowser {
    /// Listens on the loopback interface.
    pub(super) fn new(
        visit: BrowserOptions,
        slug: Slug,
        printer: Printer,
        environment: &ProcessEnvironment,
    ) -> CliResult<Self> {
        let bound = visit.port.and_then(|port| bind(port).ok());
        let (listener, address) = bound.map_or_else(|| bind(0), Ok).map_err(|error| {
            CliError::new(format!("cannot listen on 127.0.0.1 for the browser: {}", io_error_message(&error)))
                .with_code("io")
        })?;
        Ok(Self { listener, address, options: visit, slug, printer, openers: openers(environment) })
    }

    /// Tries to open the address. Errors are ignored, because the address is also printed.
    fn open(&self, url: &Url) {
        for opener in &self.openers {
            let Some((program, args)) = opener.split_first() else { continue };
            let started = tokio::process::Command::new(program)
                .args(args)
                .arg(url.as_str())
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn();
            if started.is_ok() {
                return;
            }
        }
    }
}

fn bind(port: u16) -> std::io::Result<(TcpListener, SocketAddr)> {
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    Ok((TcpListener::from_std(listener)?, address))
}

/// Returns the programs that open an address on this system; none on Linux without a display.
fn openers(environment: &ProcessEnvironment) -> Vec<Vec<String>> {
    let all: &[&[&str]] = if cfg!(target_os = "macos") {
        &[&["open"]]
    } else if cfg!(windows) {
        &[&["rundll32.exe", "url.dll,FileProtocolHandler"]]
    } else if environment.variable("DISPLAY").or(environment.variable("WAYLAND_DISPLAY")).is_some() {
        &[&["xdg-open"], &["gio", "open"]]
    } else {
        &[]
    };
    all.iter().map(|words| words.iter().map(|word| (*word).to_owned()).collect()).collect()
}

/// Returns the local port of an earlier redirect URI.
pub(super) fn loopback_port(redirect_uri: &str) -> Option<u16> {
    let url = Url::parse(redirect_uri).ok()?;
    url.port().filter(|_| url.host_str() == Some("127.0.0.1") && url.path() == CALLBACK_PATH)
}

#[async_trait]
impl LoginBrowser for SystemBrowser {
    fn redirect_uri(&self) -> String {
        format!("http://{}{CALLBACK_PATH}", self.address)
    }

    async fn visit(
        &self,
        url: &Url,
        is_answer: &(dyn for<'q> Fn(&'q str) -> bool + Sync),
    ) -> Result<SecretString, BrowserError> {
        self.printer.note(&format!("to log in to {}, open this address in your browser:", self.slug));
        self.printer.note("");
        self.printer.note(&format!("  {}", escape::line(url.as_str())));
        self.printer.note("");
        if self.options.accepts_paste {
            self.printer.note(
                "if the browser is on another computer, paste its final address here (the page will not load)",
            );
        }
        if self.options.opens_browser {
            self.open(url);
        }
        let listened = callback_server::wait_for_callback(&self.listener, is_answer);
        let pasted = wait_for_pasted_query(self.options.accepts_paste, is_answer, &self.printer);
        let came = async {
            tokio::select! {
                query = listened => query,
                query = pasted => query,
            }
        };
        let late = || {
            BrowserError(format!("the browser did not return within {} s", self.options.timeout.as_secs()))
        };
        tokio::time::timeout(self.options.timeout, came).await.map_err(|_| late())
    }
}

/// Returns the query of the first pasted address that belongs to this login. Waits forever if pasting is not possible.
async fn wait_for_pasted_query(
    may_be: bool,
    is_answer: &(dyn for<'q> Fn(&'q str) -> bool + Sync),
    printer: &Printer,
) -> SecretString {
    let (send, mut lines) = mpsc::channel(1);
    if may_be {
        // A detached thread: a blocked read of standard input must not delay the exit.
        let reading = std::thread::Builder::new().name("pasted".to_owned()).spawn(move || read_lines(&send));
        drop(reading);
    } else {
        drop(send);
    }
    while let Some(line) = lines.recv().await {
        match pasted_query(&line) {
            Some(query) if is_answer(query) => return query.to_owned().into(),
            _ => printer.note("this is not the final address of this login"),
        }
    }
    std::future::pending().await
}

fn read_lines(to: &mpsc::Sender<String>) {
    use std::io::{BufRead as _, Read as _};
    loop {
        let mut line = String::new();
        let read = std::io::stdin().lock().take(MAX_LINE as u64).read_line(&mut line);
        if !matches!(read, Ok(1..)) || to.blocking_send(line).is_err() {
            return;
        }
    }
}

/// Returns the query of a pasted address.
pub(super) fn pasted_query(line: &str) -> Option<&str> {
    let (_, query) = line.trim().split_once('?')?;
    Some(query.split('#').next().unwrap_or(query))
}

impl std::fmt::Debug for SystemBrowser {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SystemBrowser").field("address", &self.address).finish_non_exhaustive()
    }
}
