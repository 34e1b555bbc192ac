//! `toolway agents set`: creates or changes an agent. Fields without a flag keep their value.

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
    /// Name of the agent: lower-case letters, digits, _ and -, starting with a letter
    name: String,
    /// Description for people
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Model as `toolway models list` shows it: NAME/ID, or NAME for the provider's default model
    #[arg(long, value_name = "NAME/ID")]
    model: Option<String>,
    /// Tools the agent may use, as comma-separated SOURCE/TOOL patterns: '*/*', 'pixel-8/*,!*/delete_*'
    #[arg(long, value_name = "GLOB,…")]
    tools: Option<String>,
    /// System prompt
    #[arg(long, value_name = "TEXT", conflicts_with = "prompt_file")]
    prompt: Option<String>,
    /// File with the system prompt (- for standard input)
    #[arg(long, value_name = "FILE")]
    prompt_file: Option<PathBuf>,
    /// Maximum number of tools in one request; the model finds the others with find_tools
    #[arg(long, value_name = "N")]
    max_tools: Option<usize>,
    /// Time zone for tools if the client gives none, for example Europe/Berlin
    #[arg(long, value_name = "ZONE")]
    time_zone: Option<String>,
    /// Calls that need approval, in addition to those that the settings require
    #[arg(long, value_enum, value_name = "MODE")]
    approval: Option<ApprovalFlag>,
    /// Maximum number of model requests in a turn
    #[arg(long, value_name = "N")]
    max_rounds: Option<u32>,
    /// Maximum cost of a turn, in the currency of the prices
    #[arg(long, value_name = "AMOUNT")]
    max_cost: Option<f64>,
    /// Maximum duration of a turn in seconds, without time spent on approvals
    #[arg(long, value_name = "SECONDS")]
    max_seconds: Option<f64>,
    /// Sampling temperature, for example 0.7
    #[arg(long, value_name = "NUMBER")]
    temperature: Option<f64>,
    /// Nucleus sampling (top_p), for example 0.9
    #[arg(long, value_name = "NUMBER")]
    top_p: Option<f64>,
    /// Maximum number of tokens in one answer
    #[arg(long, value_name = "N")]
    max_output_tokens: Option<u64>,
    /// Reasoning effort
    #[arg(long, value_enum, value_name = "EFFORT")]
    reasoning: Option<ReasoningFlag>,
    /// Sampling seed for repeatable answers, if the model provider supports it
    #[arg(long, value_name = "N")]
    seed: Option<i64>,
    /// Stop sequence; repeat the flag for more
    #[arg(long, value_name = "TEXT")]
    stop: Vec<String>,
    /// Allow several tool calls in one answer (true or false)
    #[arg(long, value_name = "BOOL")]
    parallel_tool_calls: Option<bool>,
    /// Additional request field for the model provider, for example --option top_k=40; repeat the flag for more
    #[arg(long, value_name = "KEY=JSON")]
    option: Vec<String>,
    /// Reset a field to its default; repeat the flag for more
    #[arg(long, value_enum, value_name = "FIELD")]
    unset: Vec<AgentField>,
    #[command(flatten)]
    connect: ConnectArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ApprovalFlag {
    /// Only calls that the settings require
    Never,
    /// Calls of tools that are not read-only
    Writes,
    /// All calls
    Always,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ReasoningFlag {
    /// No reasoning, if the model allows it
    None,
    /// Little reasoning
    Low,
    /// Medium reasoning
    Medium,
    /// Much reasoning
    High,
}

/// Fields that `--unset` can reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum AgentField {
    Description,
    Model,
    Tools,
    Prompt,
    MaxTools,
    TimeZone,
    Approval,
    MaxRounds,
    MaxCost,
    MaxSeconds,
    /// All sampling and reasoning options
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
    let done = if is_new { "created" } else { "changed" };
    context.printer.line(&escape::line(&format!("{done} {}", definition.name)))?;
    let start =
        if definition.name == "default" { String::new() } else { format!(" --agent {}", definition.name) };
    context.printer.note(&format!("to chat with it: toolway chat{start}{}", context.folder.data_dir_flag()));
    Ok(())
}

/// Creates an agent with default values.
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
        AgentField::TimeZone => definition.time_zone = None,
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
    put(&mut definition.time_zone, args.time_zone.clone());
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

/// Splits comma-separated patterns. Commas inside braces or brackets belong to a pattern.
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

/// Parses `KEY=JSON`. A value that is not JSON is a string.
fn parse_option(text: &str) -> CliResult<(String, Value)> {
    let (key, value) = text.split_once('=').filter(|(key, _)| !key.trim().is_empty()).ok_or_else(|| {
        CliError::usage(format!("--option {text}: = is missing"))
            .with_hint("use --option KEY=JSON, for example --option top_k=40")
    })?;
    let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
    Ok((key.trim().to_owned(), value))
}

fn read_prompt_file(path: &std::path::Path) -> CliResult<String> {
    let text = if path.as_os_str() == "-" {
        crate::commands::prompt_input::read_piped_stdin()?
    } else {
        private_file::read(path)?.ok_or_else(|| {
            CliError::new(format!("file not found: {}", path.display()))
                .with_hint("check the path of --prompt-file")
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
