//! Parses lines that start with a slash.

/// Entry of the command table.
#[derive(Debug)]
pub(super) struct ChatCommandEntry {
    pub(super) name: &'static str,
    /// Placeholder of the argument, for the help.
    pub(super) argument_hint: &'static str,
    /// Description for the help.
    pub(super) description: &'static str,
    build: fn(Option<String>) -> ChatCommand,
}

/// Command of the interactive chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ChatCommand {
    Help,
    Tools,
    /// Switches to this agent; lists agents without a name.
    Agent(Option<String>),
    Model,
    Retry,
    Attach(Option<String>),
    Export(Option<String>),
    New,
    /// Continues this session; lists sessions without an id.
    Sessions(Option<String>),
    Quit,
}

/// All commands.
pub(super) const COMMANDS: &[ChatCommandEntry] = &[
    ChatCommandEntry {
        name: "help",
        argument_hint: "",
        description: "show this help",
        build: |_| ChatCommand::Help,
    },
    ChatCommandEntry {
        name: "tools",
        argument_hint: "",
        description: "list the tools that the agent may use",
        build: |_| ChatCommand::Tools,
    },
    ChatCommandEntry {
        name: "agent",
        argument_hint: "[NAME]",
        description: "switch to another agent, or list the agents",
        build: ChatCommand::Agent,
    },
    ChatCommandEntry {
        name: "model",
        argument_hint: "",
        description: "show the agent's model",
        build: |_| ChatCommand::Model,
    },
    ChatCommandEntry {
        name: "retry",
        argument_hint: "",
        description: "regenerate the last answer",
        build: |_| ChatCommand::Retry,
    },
    ChatCommandEntry {
        name: "attach",
        argument_hint: "FILE",
        description: "attach an image or a text file to the next message",
        build: ChatCommand::Attach,
    },
    ChatCommandEntry {
        name: "export",
        argument_hint: "[FILE]",
        description: "print the conversation as Markdown, or write it to a file (JSON for .json)",
        build: ChatCommand::Export,
    },
    ChatCommandEntry {
        name: "new",
        argument_hint: "",
        description: "start a new conversation",
        build: |_| ChatCommand::New,
    },
    ChatCommandEntry {
        name: "sessions",
        argument_hint: "[ID]",
        description: "continue another conversation, or list them",
        build: ChatCommand::Sessions,
    },
    ChatCommandEntry {
        name: "quit",
        argument_hint: "",
        description: "quit (or press Ctrl-D)",
        build: |_| ChatCommand::Quit,
    },
];

/// Parsed input line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ChatInput {
    Command(ChatCommand),
    /// Name of a command that does not exist.
    UnknownCommand(String),
    Text(String),
}

/// Parses a line. A line that starts with two slashes is text with one slash.
pub(super) fn parse_input(typed: &str) -> ChatInput {
    if let Some(text) = typed.strip_prefix("//") {
        return ChatInput::Text(format!("/{text}"));
    }
    let Some(rest) = typed.strip_prefix('/') else { return ChatInput::Text(typed.to_owned()) };
    let (name, argument) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let argument = Some(argument.trim().to_owned()).filter(|argument| !argument.is_empty());
    match COMMANDS.iter().find(|command| command.name == name) {
        Some(command) => ChatInput::Command((command.build)(argument)),
        None if matches!(name, "exit" | "q") => ChatInput::Command(ChatCommand::Quit),
        None => ChatInput::UnknownCommand(name.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_and_text_are_distinguished() {
        for (typed, said) in [
            ("hello", ChatInput::Text("hello".to_owned())),
            ("//etc/hosts", ChatInput::Text("/etc/hosts".to_owned())),
            ("/help", ChatInput::Command(ChatCommand::Help)),
            ("/agent", ChatInput::Command(ChatCommand::Agent(None))),
            ("/agent  cook ", ChatInput::Command(ChatCommand::Agent(Some("cook".to_owned())))),
            ("/export a b.md", ChatInput::Command(ChatCommand::Export(Some("a b.md".to_owned())))),
            ("/exit", ChatInput::Command(ChatCommand::Quit)),
            ("/etc/hosts", ChatInput::UnknownCommand("etc/hosts".to_owned())),
            ("/", ChatInput::UnknownCommand(String::new())),
        ] {
            assert_eq!(parse_input(typed), said, "{typed}");
        }
    }
}
