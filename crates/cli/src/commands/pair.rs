//! `toolway pair`: creates a pairing code for one device, app or client.

use clap::Args;
use reqwest::Method;
use toolway_api::pairing::{CreatePairingCodeRequest, CreatePairingCodeResponse};

use super::tokens::TokenRoleFlag;
use crate::client::{ConnectArgs, parse_response};
use crate::context::CliContext;
use crate::error::CliResult;
use crate::folder::shell_quote;
use crate::print::style::Style;
use crate::print::table::LabeledValues;
use crate::print::{escape, qr};

/// Flags of `pair`.
#[derive(Debug, Args)]
pub(crate) struct PairArgs {
    /// Role of the paired program
    #[arg(long, value_enum, default_value_t = TokenRoleFlag::Device)]
    role: TokenRoleFlag,
    /// Label for recognizing it later (default: the device's name)
    #[arg(long, value_name = "TEXT")]
    label: Option<String>,
    /// Only agent that it may use (roles companion and client)
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Do not print the QR code
    #[arg(long)]
    no_qr: bool,
    #[command(flatten)]
    connect: ConnectArgs,
}

/// Runs the command.
pub(crate) async fn run(args: PairArgs, context: &CliContext) -> CliResult {
    let body = CreatePairingCodeRequest {
        role: args.role.into(),
        label: args.label.clone(),
        agent: args.agent.clone(),
    };
    let text = context.client(&args.connect)?.send(Method::POST, &["api", "pair"], &body).await?;
    let printer = &context.printer;
    if printer.json {
        return printer.raw_json(&text);
    }
    let made: CreatePairingCodeResponse = parse_response(&text)?;
    if !args.no_qr {
        let stdout = printer.stdout();
        match qr::lines(&made.link, stdout.width, stdout.colour) {
            Some(lines) => {
                for line in lines {
                    printer.line(&line)?;
                }
            }
            None => printer.note("(the terminal is too narrow for the QR code)"),
        }
        printer.line("")?;
    }
    let mut pairs = LabeledValues::default();
    pairs.add("code", &made.code);
    pairs.add("link", &made.link);
    pairs.add("gateway", &made.url);
    pairs.add_optional("key", made.key.as_ref());
    pairs.add("expires", context.time_formatter().format_local_and_ago(made.expires_ms));
    printer.pairs(&pairs)?;
    printer.line("")?;
    printer.line(&instructions(args.role, &made, |text| printer.paint(Style::Name, text)))?;
    if made.url.starts_with("http://") && !is_loopback(&made.url) {
        printer.warning(
            &format!("{} is not encrypted: anyone on the network path can read the token", made.url),
            "set tls.mode to \"auto\", or public_url to the https:// address of a TLS proxy",
        );
    } else if is_loopback(&made.url) {
        printer.note(
            "only this computer can reach this address; for other computers, run `toolway serve --listen 0.0.0.0` (with TLS)",
        );
    }
    Ok(())
}

/// Returns the instructions for the other end.
fn instructions(
    role: TokenRoleFlag,
    made: &CreatePairingCodeResponse,
    painted: impl Fn(&str) -> String,
) -> String {
    let insecure =
        if made.url.starts_with("http://") && !is_loopback(&made.url) { " --insecure" } else { "" };
    match role {
        TokenRoleFlag::Device => {
            let command = format!(
                "toolway device --gateway {} --pair {}{insecure}",
                shell_quote(&escape::line(&made.url)),
                shell_quote(&escape::line(&made.code))
            );
            format!("On the other machine:\n  {}", painted(&command))
        }
        TokenRoleFlag::Companion | TokenRoleFlag::Client => {
            "In the app: scan the QR code, open the link, or enter the address and the code.".to_owned()
        }
    }
}

fn is_loopback(url: &str) -> bool {
    url.parse::<toolway_device::GatewayUrl>().is_ok_and(|url| url.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(url: &str) -> CreatePairingCodeResponse {
        CreatePairingCodeResponse {
            code: "ABCD-EFGH".to_owned(),
            link: String::new(),
            url: url.to_owned(),
            expires_ms: 0,
            role: "device".to_owned(),
            key: None,
        }
    }

    #[test]
    fn prints_the_command_for_the_other_machine() {
        let said = |url| instructions(TokenRoleFlag::Device, &made(url), str::to_owned);
        assert_eq!(
            said("https://10.0.0.5:7717"),
            "On the other machine:\n  toolway device --gateway https://10.0.0.5:7717 --pair ABCD-EFGH"
        );
        assert!(said("http://10.0.0.5:7717").ends_with(" --insecure"));
        assert!(!said("http://127.0.0.1:7717").contains("--insecure"));
    }
}
