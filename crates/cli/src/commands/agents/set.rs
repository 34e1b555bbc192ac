//! `toolway agents set`: an agent from flags. What is not said of one that there is stays as it is.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde_json::Value;
use toolway_agent::definition::AgentDefinition;
use toolway_core::policy::definition::ApprovalMode;
use toolway_models::{ModelOptions, ReasoningEffort};

use super::{agent_scope, fetch_agent, put_agent};
use crate::client::ConnectArgs;
use crate::context::CliContext;
use crate::error::{CliError, CliResult};
use crate::folder::private_file;
use crate::print::escape;

/// Flags of `agents set`.
#[derive(Debug, Args)]
pub(crate) struct SetAgentArgs {
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
    approval: Option<ApprovalFlag>,
    /// Ends a turn after so many requests to the model
    #[arg(long, value_name = "N")]
    max_rounds: Option<u32>,
    /// Ends a turn that has cost so much, in the currency of the prices
    #[arg(long, value_name = "AMOUNT")]
    max_cost: Option<f64>,
    /// Ends a turn after so many seconds, those spent waiting for persons not counted
    #[arg(long, value_name = "SECONDS")]
    max_seconds: Option<f64>,
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
    reasoning: Option<ReasoningFlag>,
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
    unset: Vec<AgentField>,
    #[command(flatten)]
    connect: ConnectArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ApprovalFlag {
    /// None beyond what the settings say
    Never,
    /// Those of tools that are not known to only read
    Writes,
    /// All
    Always,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ReasoningFlag {
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
enum AgentField {
    Description,
    Model,
    Tools,
    Prompt,
    MaxTools,
    Approval,
    MaxRounds,
    MaxCost,
    MaxSeconds,
    /// How the model is to answer: temperature, reasoning and the like
    Options,
}

pub(super) async fn run(args: &SetAgentArgs, context: &CliContext) -> CliResult {
    let prompt = match &args.prompt_file {
        Some(path) => Some(read_prompt_file(path)?),
        None => args.prompt.clone(),
    };
    let client = context.client(&args.connect)?;
    let mut definition = match fetch_agent(&args.name, &client).await {
        Ok(agent) => agent.definition,
        Err(failure) if failure.code() == "agent_not_found" => new_definition(&args.name)?,
        Err(failure) => return Err(failure),
    };
    args.unset.iter().for_each(|field| clear_field(*field, &mut definition));
    apply(args, prompt, &mut definition)?;
    agent_scope(&definition)?;
    let is_new = put_agent(&definition, &client).await?;
    if context.printer.json {
        return context.printer.raw_json(&client.get(&["api", "agents", &definition.name], &[]).await?);
    }
    let done = if is_new { "made" } else { "changed" };
    context.printer.line(&escape::line(&format!("{} is {done}", definition.name)))?;
    let start =
        if definition.name == "default" { String::new() } else { format!(" --agent {}", definition.name) };
    context.printer.note(&format!("to talk to it: toolway chat{start}{}", context.folder.data_dir_flag()));
    Ok(())
}

/// An agent of which nothing is said.
fn new_definition(name: &str) -> CliResult<AgentDefinition> {
    crate::client::parse_response(&serde_json::json!({ "name": name }).to_string())
}

fn clear_field(field: AgentField, definition: &mut AgentDefinition) {
    match field {
        AgentField::Description => definition.description.clear(),
        AgentField::Model => definition.model = None,
        AgentField::Tools => definition.tools = vec!["*/*".to_owned()],
        AgentField::Prompt => definition.prompt.clear(),
        AgentField::MaxTools => definition.max_tools = None,
        AgentField::Approval => definition.approval = None,
        AgentField::MaxRounds => definition.limits.rounds = None,
        AgentField::MaxCost => definition.limits.cost = None,
        AgentField::MaxSeconds => definition.limits.seconds = None,
        AgentField::Options => definition.options = ModelOptions::default(),
    }
}

fn apply(args: &SetAgentArgs, prompt: Option<String>, definition: &mut AgentDefinition) -> CliResult {
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
        definition.tools = split_patterns(tools);
    }
    put(&mut definition.model, args.model.clone());
    put(&mut definition.max_tools, args.max_tools);
    put(&mut definition.approval, args.approval.map(Into::into));
    put(&mut definition.limits.rounds, args.max_rounds);
    put(&mut definition.limits.cost, args.max_cost);
    put(&mut definition.limits.seconds, args.max_seconds);
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
        let (key, value) = parse_option(option)?;
        options.extra.insert(key, value);
    }
    Ok(())
}

/// Patterns with commas between them; one within braces or brackets is part of its pattern.
fn split_patterns(text: &str) -> Vec<String> {
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
fn parse_option(text: &str) -> CliResult<(String, Value)> {
    let (key, value) = text.split_once('=').filter(|(key, _)| !key.trim().is_empty()).ok_or_else(|| {
        CliError::usage(format!("--option {text}: there is no = in it"))
            .with_hint("write --option KEY=JSON, as --option top_k=40")
    })?;
    let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
    Ok((key.trim().to_owned(), value))
}

fn read_prompt_file(path: &std::path::Path) -> CliResult<String> {
    let text = if path.as_os_str() == "-" {
        crate::commands::prompt_input::read_piped_stdin()?
    } else {
        private_file::read(path)?.ok_or_else(|| {
            CliError::new(format!("there is no file {}", path.display()))
                .with_hint("check what --prompt-file names")
        })?
    };
    Ok(text.trim_end().to_owned())
}

impl From<ApprovalFlag> for ApprovalMode {
    fn from(flag: ApprovalFlag) -> Self {
        match flag {
            ApprovalFlag::Never => Self::Never,
            ApprovalFlag::Writes => Self::Writes,
            ApprovalFlag::Always => Self::Always,
        }
    }
}

impl From<ReasoningFlag> for ReasoningEffort {
    fn from(flag: ReasoningFlag) -> Self {
        match flag {
            ReasoningFlag::None => Self::None,
            ReasoningFlag::Low => Self::Low,
            ReasoningFlag::Medium => Self::Medium,
            ReasoningFlag::High => Self::High,
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
            assert_eq!(split_patterns(text), patterns, "{text}");
        }
    }

    #[test]
    fn options_are_json_where_they_can_be() {
        assert_eq!(parse_option("top_k=40").unwrap(), ("top_k".to_owned(), Value::from(40)));
        assert_eq!(parse_option("tier=flex").unwrap(), ("tier".to_owned(), Value::from("flex")));
        assert_eq!(parse_option(r#"a={"b":1}"#).unwrap().1["b"], 1);
        assert_eq!(parse_option("nothing").unwrap_err().code(), "usage");
    }

    #[test]
    fn what_is_not_said_stays() {
        use clap::Parser as _;
        #[derive(clap::Parser)]
        struct SetAgentCommandLine {
            #[command(flatten)]
            args: SetAgentArgs,
        }
        let args = |line: &[&str]| SetAgentCommandLine::parse_from([&["set", "cook"], line].concat()).args;
        let mut definition = new_definition("cook").unwrap();
        let first =
            args(&["--model", "local/small", "--tools", "a/*", "--temperature", "0.5", "--max-rounds", "3"]);
        apply(&first, Some("You cook.".to_owned()), &mut definition).unwrap();
        apply(&args(&["--max-cost", "0.5", "--approval", "writes"]), None, &mut definition).unwrap();
        assert_eq!(
            serde_json::to_value(&definition).unwrap(),
            serde_json::json!({
                "name": "cook", "prompt": "You cook.", "model": "local/small", "tools": ["a/*"],
                "options": {"temperature": 0.5}, "approval": "writes", "limits": {"rounds": 3, "cost": 0.5},
            })
        );
        for field in AgentField::value_variants() {
            clear_field(*field, &mut definition);
        }
        assert_eq!(definition, new_definition("cook").unwrap());
    }
}
