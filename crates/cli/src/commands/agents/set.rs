//! `toolway agents set`: an agent from flags. What is not said of one that there is stays as it is.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde_json::Value;
use toolway_agent::definition::AgentDefinition;
use toolway_core::policy::definition::ApprovalMode;
use toolway_models::{ModelOptions, ReasoningEffort};

use super::{get, put, scope};
use crate::client::ConnectArgs;
use crate::context::Context;
use crate::folder::private;
use crate::print::escape;
use crate::report::{Done, Failure};

/// Flags of `agents set`.
#[derive(Debug, Args)]
pub(crate) struct SetArgs {
    /// Name of the agent: lower-case letters, digits, _ and -, the first a letter
    name: String,
    /// What it is for, for people
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// The model that answers, as `toolway models list` shows it: NAME/ID, or NAME alone for the one set there
    #[arg(long, value_name = "NAME/ID")]
    model: Option<String>,
    /// The tools it may use, as patterns over source/tool with commas between them: '*/*', 'pixel-8/*,!*/delete_*'
    #[arg(long, value_name = "GLOB,…")]
    tools: Option<String>,
    /// What its model is told before anything else
    #[arg(long, value_name = "TEXT", conflicts_with = "prompt_file")]
    prompt: Option<String>,
    /// File with what its model is told before anything else; - reads it from standard input
    #[arg(long, value_name = "FILE")]
    prompt_file: Option<PathBuf>,
    /// Most tools that its model is told of at once; the others it finds when it looks for them
    #[arg(long, value_name = "N")]
    max_tools: Option<usize>,
    /// Which of its calls wait for a person's approval, where the settings ask for less
    #[arg(long, value_enum, value_name = "MODE")]
    approval: Option<Approval>,
    /// Ends a turn after so many requests to the model
    #[arg(long, value_name = "N")]
    rounds: Option<u32>,
    /// Ends a turn that has cost so much, in the currency of the prices
    #[arg(long, value_name = "AMOUNT")]
    cost: Option<f64>,
    /// Ends a turn after so many seconds, those spent waiting for persons not counted
    #[arg(long, value_name = "SECONDS")]
    seconds: Option<f64>,
    /// How much chance there is in its choice of words, as 0.7
    #[arg(long, value_name = "NUMBER")]
    temperature: Option<f64>,
    /// From how much of the likely words it chooses, as 0.9
    #[arg(long, value_name = "NUMBER")]
    top_p: Option<f64>,
    /// Most tokens that it may write in one answer
    #[arg(long, value_name = "N")]
    max_output_tokens: Option<u64>,
    /// How much it may think
    #[arg(long, value_enum, value_name = "EFFORT")]
    reasoning: Option<Reasoning>,
    /// A number that makes its chance repeatable, where the model provider has that
    #[arg(long, value_name = "N")]
    seed: Option<i64>,
    /// A text at which it stops; may be said more than once
    #[arg(long, value_name = "TEXT")]
    stop: Vec<String>,
    /// Whether it may call several tools in one answer
    #[arg(long, value_name = "BOOL")]
    parallel_tool_calls: Option<bool>,
    /// A field of the model provider's own, put into requests as it is: --option top_k=40; may be said more than once
    #[arg(long, value_name = "KEY=JSON")]
    option: Vec<String>,
    /// Take back what was said; may be said more than once
    #[arg(long, value_enum, value_name = "FIELD")]
    unset: Vec<Field>,
    #[command(flatten)]
    connect: ConnectArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Approval {
    /// None beyond what the settings say
    Never,
    /// Those of tools that are not known to only read
    Writes,
    /// All
    Always,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Reasoning {
    /// Not at all, where the model can do without
    None,
    /// A little
    Low,
    /// Some
    Medium,
    /// Much
    High,
}

/// What can be taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Field {
    Description,
    Model,
    Tools,
    Prompt,
    MaxTools,
    Approval,
    Rounds,
    Cost,
    Seconds,
    /// How the model is to answer: temperature, reasoning and the like
    Options,
}

pub(super) async fn run(args: &SetArgs, context: &Context) -> Done {
    let prompt = match &args.prompt_file {
        Some(path) => Some(text_of(path)?),
        None => args.prompt.clone(),
    };
    let client = context.client(&args.connect)?;
    let mut definition = match get(&args.name, &client).await {
        Ok(agent) => agent.definition,
        Err(failure) if failure.word() == "agent_unknown" => new(&args.name)?,
        Err(failure) => return Err(failure),
    };
    args.unset.iter().for_each(|field| unset(*field, &mut definition));
    apply(args, prompt, &mut definition)?;
    scope(&definition)?;
    let is_new = put(&definition, &client).await?;
    if context.printer.json {
        return context.printer.raw_json(&client.get(&["api", "agents", &definition.name], &[]).await?);
    }
    let done = if is_new { "made" } else { "changed" };
    context.printer.line(&escape::line(&format!("{} is {done}", definition.name)))?;
    let start =
        if definition.name == "default" { String::new() } else { format!(" --agent {}", definition.name) };
    context.printer.note(&format!("to talk to it: toolway chat{start}{}", context.folder.flag()));
    Ok(())
}

/// An agent of which nothing is said.
fn new(name: &str) -> Done<AgentDefinition> {
    crate::client::read(&serde_json::json!({ "name": name }).to_string())
}

fn unset(field: Field, definition: &mut AgentDefinition) {
    match field {
        Field::Description => definition.description.clear(),
        Field::Model => definition.model = None,
        Field::Tools => definition.tools = vec!["*/*".to_owned()],
        Field::Prompt => definition.prompt.clear(),
        Field::MaxTools => definition.max_tools = None,
        Field::Approval => definition.approval = None,
        Field::Rounds => definition.limits.rounds = None,
        Field::Cost => definition.limits.cost = None,
        Field::Seconds => definition.limits.seconds = None,
        Field::Options => definition.options = ModelOptions::default(),
    }
}

fn apply(args: &SetArgs, prompt: Option<String>, definition: &mut AgentDefinition) -> Done {
    fn put<T>(place: &mut Option<T>, value: Option<T>) {
        if value.is_some() {
            *place = value;
        }
    }
    if let Some(description) = &args.description {
        definition.description.clone_from(description);
    }
    if let Some(prompt) = prompt {
        definition.prompt = prompt;
    }
    if let Some(tools) = &args.tools {
        definition.tools = split(tools);
    }
    put(&mut definition.model, args.model.clone());
    put(&mut definition.max_tools, args.max_tools);
    put(&mut definition.approval, args.approval.map(Into::into));
    put(&mut definition.limits.rounds, args.rounds);
    put(&mut definition.limits.cost, args.cost);
    put(&mut definition.limits.seconds, args.seconds);
    let options = &mut definition.options;
    put(&mut options.temperature, args.temperature);
    put(&mut options.top_p, args.top_p);
    put(&mut options.max_output_tokens, args.max_output_tokens);
    put(&mut options.reasoning, args.reasoning.map(Into::into));
    put(&mut options.seed, args.seed);
    put(&mut options.parallel_tool_calls, args.parallel_tool_calls);
    if !args.stop.is_empty() {
        options.stop.clone_from(&args.stop);
    }
    for option in &args.option {
        let (key, value) = own_option(option)?;
        options.extra.insert(key, value);
    }
    Ok(())
}

/// Patterns with commas between them; one within braces or brackets is part of its pattern.
fn split(text: &str) -> Vec<String> {
    let (mut patterns, mut pattern, mut depth, mut escaped) = (Vec::new(), String::new(), 0_usize, false);
    for c in text.chars() {
        if c == ',' && depth == 0 && !escaped {
            patterns.push(std::mem::take(&mut pattern));
            continue;
        }
        match c {
            _ if escaped => {}
            '{' | '[' => depth += 1,
            '}' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        escaped = c == '\\' && !escaped;
        pattern.push(c);
    }
    patterns.push(pattern);
    patterns.iter().map(|it| it.trim().to_owned()).filter(|it| !it.is_empty()).collect()
}

/// A field with its value; what is no JSON is a text.
fn own_option(text: &str) -> Done<(String, Value)> {
    let (key, value) = text.split_once('=').filter(|(key, _)| !key.trim().is_empty()).ok_or_else(|| {
        Failure::usage(format!("--option {text}: there is no = in it"))
            .hint("write --option KEY=JSON, as --option top_k=40")
    })?;
    let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
    Ok((key.trim().to_owned(), value))
}

fn text_of(path: &std::path::Path) -> Done<String> {
    let text = if path.as_os_str() == "-" {
        crate::commands::chat::piped()?
    } else {
        private::read(path)?.ok_or_else(|| {
            Failure::new(format!("there is no file {}", path.display()))
                .hint("check what --prompt-file names")
        })?
    };
    Ok(text.trim_end().to_owned())
}

impl From<Approval> for ApprovalMode {
    fn from(flag: Approval) -> Self {
        match flag {
            Approval::Never => Self::Never,
            Approval::Writes => Self::Writes,
            Approval::Always => Self::Always,
        }
    }
}

impl From<Reasoning> for ReasoningEffort {
    fn from(flag: Reasoning) -> Self {
        match flag {
            Reasoning::None => Self::None,
            Reasoning::Low => Self::Low,
            Reasoning::Medium => Self::Medium,
            Reasoning::High => Self::High,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_split_at_commas_outside_of_braces() {
        for (text, patterns) in [
            ("*/*", vec!["*/*"]),
            (" a/b , c/* ,", vec!["a/b", "c/*"]),
            ("builtin/{read,write}_file,!x/[a,b]", vec!["builtin/{read,write}_file", "!x/[a,b]"]),
            (r"a/x\,y,b/\{z,c/*", vec![r"a/x\,y", r"b/\{z", "c/*"]),
            ("", vec![]),
        ] {
            assert_eq!(split(text), patterns, "{text}");
        }
    }

    #[test]
    fn options_are_json_where_they_can_be() {
        assert_eq!(own_option("top_k=40").unwrap(), ("top_k".to_owned(), Value::from(40)));
        assert_eq!(own_option("tier=flex").unwrap(), ("tier".to_owned(), Value::from("flex")));
        assert_eq!(own_option(r#"a={"b":1}"#).unwrap().1["b"], 1);
        assert_eq!(own_option("nothing").unwrap_err().word(), "usage");
    }

    #[test]
    fn what_is_not_said_stays() {
        use clap::Parser as _;
        #[derive(clap::Parser)]
        struct Line {
            #[command(flatten)]
            args: SetArgs,
        }
        let args = |line: &[&str]| Line::parse_from([&["set", "cook"], line].concat()).args;
        let mut definition = new("cook").unwrap();
        let first =
            args(&["--model", "local/small", "--tools", "a/*", "--temperature", "0.5", "--rounds", "3"]);
        apply(&first, Some("You cook.".to_owned()), &mut definition).unwrap();
        apply(&args(&["--cost", "0.5", "--approval", "writes"]), None, &mut definition).unwrap();
        assert_eq!(
            serde_json::to_value(&definition).unwrap(),
            serde_json::json!({
                "name": "cook", "prompt": "You cook.", "model": "local/small", "tools": ["a/*"],
                "options": {"temperature": 0.5}, "approval": "writes", "limits": {"rounds": 3, "cost": 0.5},
            })
        );
        for field in Field::value_variants() {
            unset(*field, &mut definition);
        }
        assert_eq!(definition, new("cook").unwrap());
    }
}
