//! `toolway android check`: what is wrong with a provider, for whoever builds it. From an APK, or from a phone.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::time::Duration;

use clap::Args;
use serde_json::json;
use toolway_android::host::ProviderHost;
use toolway_android::lint::{Finding, Level, Probed, of_manifest, of_provider, probe};
use toolway_android::manifest::Apk;
use toolway_android::provider::{Provider, Refusal, State};

use super::phone::{Phone, PhoneArgs};
use super::shown;
use crate::context::Context;
use crate::print::style::Style;
use crate::print::{escape, json as json_text};
use crate::report::{Done, Failure};

/// How long one of the calls that are made to see may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Flags of `android check`.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// An APK file, or the authority of a provider on a phone, as `android scan` shows it
    #[arg(value_name = "APK|AUTHORITY")]
    what: String,
    /// Also call tools that may act (those of the MCP dialects)
    #[arg(long)]
    execute: bool,
    #[command(flatten)]
    phone: PhoneArgs,
}

/// All that was found out.
#[derive(Debug, Default)]
struct Checked {
    package: String,
    findings: Vec<Finding>,
    skipped: Vec<String>,
    calls: usize,
    provider: Option<Provider>,
}

pub(super) async fn run(args: &CheckArgs, context: &Context) -> Done {
    let path = Path::new(&args.what);
    // No authority has a path's separators or this ending.
    let is_file = path.exists() || args.what.ends_with(".apk") || args.what.contains(['/', '\\']);
    let checked = if is_file { of_file(path)? } else { on_phone(args, context).await? };
    show(&checked, context)?;
    if checked.findings.iter().any(|finding| finding.level == Level::Error) {
        return Err(Failure::told());
    }
    Ok(())
}

fn of_file(path: &Path) -> Done<Checked> {
    if path.is_dir() {
        return Err(Failure::new(format!("{} is a folder", path.display()))
            .code("apk")
            .hint("name the APK in it, as app/build/outputs/apk/debug/app-debug.apk"));
    }
    let file = File::open(path).map_err(|error| Failure::io("read", path, &error))?;
    let apk = Apk::read(BufReader::new(file), None).map_err(|error| {
        Failure::new(format!("{}: {error}", path.display())).code("apk").hint(
            "name a whole .apk file, as it is installed on a phone; was it cut short when it was copied?",
        )
    })?;
    Ok(Checked {
        package: apk.manifest.package.clone(),
        findings: of_manifest(&apk.manifest),
        skipped: vec![
            "its tools were not asked for: with the app on a phone, `toolway android check AUTHORITY` asks for them"
                .to_owned(),
        ],
        ..Checked::default()
    })
}

async fn on_phone(args: &CheckArgs, context: &Context) -> Done<Checked> {
    let phone = Phone::new(&args.phone, context)?;
    let authority = args.what.clone();
    let owner = phone.ask(move |host| host.resolve(&authority)).await?.ok_or_else(|| {
        Failure::new(format!("nobody on this phone serves {}", args.what))
            .code("no_provider")
            .hint("`toolway android scan` lists who is there; for an APK give the path of its file")
    })?;
    let mut checked = Checked { package: owner.package.clone(), ..Checked::default() };
    let package = owner.package.clone();
    match phone.ask(move |host| host.apk(&package)).await {
        Ok(apk) => checked.findings.extend(apk.map(|apk| of_manifest(&apk.manifest)).unwrap_or_default()),
        Err(error) => checked.skipped.push(format!("its manifest was not read: {}", error.message())),
    }
    let found = phone.providers(Some(vec![owner.package]), Phone::list_patience()).await?;
    let Some(provider) = found.into_iter().find(|it| it.authority == args.what) else {
        checked
            .skipped
            .push("its tools were not asked for: it is not declared as a provider of tools".to_owned());
        return Ok(checked);
    };
    if is_shell_s(&provider) {
        // That adb may not call it is no fault of the provider's.
        let why = shown::reason(&provider).map(|(reason, _)| reason).unwrap_or_default();
        checked.skipped.push(format!("its tools were not asked for: {why}"));
        checked.skipped.push("on an emulator whose shell is root's (adb root) they are".to_owned());
    } else {
        checked.findings.extend(of_provider(&provider));
        if provider.state == State::Ready {
            let Probed { findings, skipped, calls } =
                probe(&phone.reach, &provider, PATIENCE, args.execute).await;
            checked.findings.extend(findings);
            checked.skipped.extend(skipped);
            checked.calls = calls;
        } else {
            checked.skipped.push("no tool was called: it does not list any".to_owned());
        }
    }
    checked.findings.sort_by_key(|finding| finding.level);
    checked.provider = Some(provider);
    Ok(checked)
}

/// Whether it is only the shell that may not call it.
fn is_shell_s(provider: &Provider) -> bool {
    matches!(provider.state, State::Refused { refusal: Refusal::Guarded | Refusal::NoWay, .. })
}

fn show(checked: &Checked, context: &Context) -> Done {
    let printer = &context.printer;
    let count = |level| checked.findings.iter().filter(|finding| finding.level == level).count();
    let (errors, warnings, notes) = (count(Level::Error), count(Level::Warning), count(Level::Note));
    if printer.json {
        return printer.json_value(&json!({
            "package": checked.package,
            "errors": errors,
            "warnings": warnings,
            "notes": notes,
            "findings": checked.findings,
            "calls": checked.calls,
            "skipped": checked.skipped,
            "provider": checked.provider.as_ref().map(shown::provider),
        }));
    }
    shown::findings(&checked.findings, context)?;
    for skipped in &checked.skipped {
        let word = printer.paint(Style::Faint, "skipped:");
        printer.line(&format!("{word} {}", escape::line(skipped)))?;
    }
    if let Some(provider) = &checked.provider {
        what_models_see(provider, context)?;
    }
    let calls = match checked.calls {
        0 => String::new(),
        calls => format!("; {} made", counted(calls, "call was", "calls were")),
    };
    printer.line(&format!(
        "\n{}: {}, {}, {}{calls}",
        escape::line(&checked.package),
        counted(errors, "error", "errors"),
        counted(warnings, "warning", "warnings"),
        counted(notes, "note", "notes"),
    ))
}

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// Names, descriptions and schemas, as a model is told of them.
fn what_models_see(provider: &Provider, context: &Context) -> Done {
    let printer = &context.printer;
    for tool in &provider.tools {
        let name = provider.exposed(&tool.name).unwrap_or_else(|| tool.name.clone());
        printer
            .line(&format!("\n{}", printer.paint(Style::Name, &escape::line(&format!("phone__{name}")))))?;
        if let Some(description) = &tool.description {
            printer.line(&escape::lines(description))?;
        }
        if let Some(parameters) = &tool.parameters {
            printer.line(&escape::json(&json_text::pretty(parameters.get())))?;
        }
    }
    Ok(())
}
