//! What a line means that begins with a slash.

/// A command that can be typed.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) name: &'static str,
    /// What may follow, for people.
    pub(super) takes: &'static str,
    /// What it does.
    pub(super) does: &'static str,
    of: fn(Option<String>) -> Command,
}

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Command {
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
pub(super) const COMMANDS: &[Known] = &[
    Known { name: "help", takes: "", does: "show this", of: |_| Command::Help },
    Known { name: "tools", takes: "", does: "list the tools that the agent may use", of: |_| Command::Tools },
    Known {
        name: "agent",
        takes: "[NAME]",
        does: "talk to another agent from now on, or list them",
        of: Command::Agent,
    },
    Known { name: "model", takes: "", does: "say which model answers", of: |_| Command::Model },
    Known { name: "retry", takes: "", does: "have the last message answered again", of: |_| Command::Retry },
    Known {
        name: "attach",
        takes: "FILE",
        does: "send a picture or a text with the next message",
        of: Command::Attach,
    },
    Known {
        name: "export",
        takes: "[FILE]",
        does: "show the conversation as Markdown, or write it into a file (JSON for .json)",
        of: Command::Export,
    },
    Known { name: "new", takes: "", does: "begin a new conversation", of: |_| Command::New },
    Known {
        name: "sessions",
        takes: "[ID]",
        does: "go on with another conversation, or list them",
        of: Command::Sessions,
    },
    Known { name: "quit", takes: "", does: "leave; so does Ctrl-D", of: |_| Command::Quit },
];

/// What was typed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Said {
    Command(Command),
    /// A command that does not exist.
    Unknown(String),
    Text(String),
}

/// Reads a line. One that begins with two slashes is text that begins with one.
pub(super) fn read(typed: &str) -> Said {
    if let Some(text) = typed.strip_prefix("//") {
        return Said::Text(format!("/{text}"));
    }
    let Some(rest) = typed.strip_prefix('/') else { return Said::Text(typed.to_owned()) };
    let (name, argument) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let argument = Some(argument.trim().to_owned()).filter(|argument| !argument.is_empty());
    match COMMANDS.iter().find(|command| command.name == name) {
        Some(command) => Said::Command((command.of)(argument)),
        None if matches!(name, "exit" | "q") => Said::Command(Command::Quit),
        None => Said::Unknown(name.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_told_from_text() {
        for (typed, said) in [
            ("hello", Said::Text("hello".to_owned())),
            ("//etc/hosts", Said::Text("/etc/hosts".to_owned())),
            ("/help", Said::Command(Command::Help)),
            ("/agent", Said::Command(Command::Agent(None))),
            ("/agent  cook ", Said::Command(Command::Agent(Some("cook".to_owned())))),
            ("/export a b.md", Said::Command(Command::Export(Some("a b.md".to_owned())))),
            ("/exit", Said::Command(Command::Quit)),
            ("/etc/hosts", Said::Unknown("etc/hosts".to_owned())),
            ("/", Said::Unknown(String::new())),
        ] {
            assert_eq!(read(typed), said, "{typed}");
        }
    }
}
