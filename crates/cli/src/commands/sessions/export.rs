//! `toolway sessions export`: a conversation as a document.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde_json::json;

use crate::client::{Client, ConnectArgs};
use crate::context::Context;
use crate::folder::private;
use crate::report::{Done, Failure};

/// Flags of `sessions export`.
#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// Id of the session, as `sessions list` shows it; `last` is the one that was held last
    id: String,
    /// In which form; Markdown, where neither this nor --json is said
    #[arg(long, value_enum, value_name = "FORM")]
    form: Option<Form>,
    /// File to write, readable for you alone, instead of standard output; it must not exist yet
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    connect: ConnectArgs,
}

/// A form of conversations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// For reading
    Markdown,
    /// With everything that is kept
    Json,
}

pub(super) async fn run(args: &ExportArgs, context: &Context) -> Done {
    let printer = &context.printer;
    let form = match (args.form, printer.json, &args.out) {
        (Some(Form::Markdown), true, None) => {
            return Err(Failure::usage("--json and --form markdown ask for two forms at once")
                .hint("leave one of them out, or name a file with --out"));
        }
        (Some(form), ..) => form,
        (None, true, None) => Form::Json,
        (None, ..) => Form::Markdown,
    };
    let word = match form {
        Form::Markdown => "markdown",
        Form::Json => "json",
    };
    let client = context.client(&args.connect)?;
    let id = super::known(&args.id, &client).await?;
    let text = export(&id, word, &client).await?;
    let Some(path) = &args.out else {
        return match form {
            Form::Markdown => printer.foreign(&text),
            Form::Json => printer.raw_json(text.trim_end()),
        };
    };
    private::write_new(path, text.as_bytes())?;
    if printer.json {
        return printer.json_value(&json!({"id": id, "file": path, "form": word}));
    }
    printer.line(&crate::print::escape::line(&format!("written to {}", path.display())))
}

/// The text of a conversation in a form.
pub(crate) async fn export(id: &str, form: &str, client: &Client) -> Done<String> {
    client.get(&["api", "sessions", id, "export"], &[("form", form.to_owned())]).await
}
