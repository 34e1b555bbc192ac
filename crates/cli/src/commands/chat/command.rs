//! What a line means that begins with a slash.

/// A command that can be typed.
#[derive(Debug)]
pub(super) struct ChatCommandEntry {
    pub(super) name: &'static str,
    /// What may follow, for people.
    pub(super) argument_hint: &'static str,
    /// What it does.
    pub(super) description: &'static str,
    build: fn(Option<String>) -> ChatCommand,
}

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ChatCommand {
    Help,
    Tools,
    /// Talk to this agent from now on; without one, list them.
    Agent(Option<String>),
    Model,
    Retry,
    Attach(Option<String>),
    Export(Option<String>),
    New,
    /// Go on with this session; without one, list them.
    Sessions(Option<String>),
    Quit,
}

/// All commands.
pub(super) const COMMANDS: &[ChatCommandEntry] = &[
    ChatCommandEntry {
        name: "help",
        argument_hint: "",
        description: "show this",
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
        description: "talk to another agent from now on, or list them",
        build: ChatCommand::Agent,
    },
    ChatCommandEntry {
        name: "model",
        argument_hint: "",
        description: "say which model answers",
        build: |_| ChatCommand::Model,
    },
    ChatCommandEntry {
        name: "retry",
        argument_hint: "",
        description: "have the last message answered again",
        build: |_| ChatCommand::Retry,
    },
    ChatCommandEntry {
        name: "attach",
        argument_hint: "FILE",
        description: "send a picture or a text with the next message",
        build: ChatCommand::Attach,
    },
    ChatCommandEntry {
        name: "export",
        argument_hint: "[FILE]",
        description: "show the conversation as Markdown, or write it into a file (JSON for .json)",
        build: ChatCommand::Export,
    },
    ChatCommandEntry {
        name: "new",
        argument_hint: "",
        description: "begin a new conversation",
        build: |_| ChatCommand::New,
    },
    ChatCommandEntry {
        name: "sessions",
        argument_hint: "[ID]",
        description: "go on with another conversation, or list them",
        build: ChatCommand::Sessions,
    },
    ChatCommandEntry {
        name: "quit",
        argument_hint: "",
        description: "leave; so does Ctrl-D",
        build: |_| ChatCommand::Quit,
    },
];

/// What was typed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ChatInput {
    Command(ChatCommand),
    /// A command that does not exist.
    UnknownCommand(String),
    Text(String),
}

/// Reads a line. One that begins with two slashes is text that begins with one.
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
    fn commands_are_told_from_text() {
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
