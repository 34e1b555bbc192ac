//! A conversation at a terminal: what is typed is said or done, until somebody leaves.

use std::path::Path;

use super::ChatArgs;
use super::attach::{self, Attached};
use super::command::{self, COMMANDS, Command, Said};
use super::once::OnScreen;
use super::prompt::{Entered, Prompt};
use super::screen::Screen;
use super::turn::{self, Ended, Message};
use super::with_attached;
use crate::asking::{self, Typed};
use crate::client::Client;
use crate::commands::{agents, sessions};
use crate::context::Context;
use crate::folder::private;
use crate::print::escape;
use crate::print::markdown::{Paper, render};
use crate::print::style::Style;
use crate::report::{Done, Failure};
use crate::signals::Signals;
use crate::terminal::{Held, Mode};

/// The agent that is talked to where nobody says another.
const DEFAULT: &str = "default";
/// How many conversations are listed.
const LISTED: u32 = 20;

/// A conversation.
struct Talk<'a> {
    args: &'a ChatArgs,
    client: &'a Client,
    context: &'a Context,
    session: Option<String>,
    agent: String,
    /// The agent that was named, and that the gateway has to be told of.
    wanted_agent: Option<String>,
    /// What goes with the next message.
    attached: Vec<Attached>,
    /// Whether Ctrl-C was the last that happened: the next one leaves.
    interrupted: bool,
    typed: Option<Typed>,
}

/// Whether it goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    GoOn,
    Leave,
}

/// Talks until somebody leaves.
pub(super) async fn run(
    args: &ChatArgs,
    session: Option<String>,
    attached: Vec<Attached>,
    client: &Client,
    context: &Context,
) -> Done {
    let mut signals = Signals::new()?;
    // The first request also says whether the gateway is there and takes the token.
    let known = agents::names(client).await?;
    let mut talk = Talk {
        args,
        client,
        context,
        session: None,
        agent: args.agent.clone().unwrap_or_else(|| DEFAULT.to_owned()),
        wanted_agent: args.agent.clone(),
        attached,
        interrupted: false,
        typed: None,
    };
    match session {
        Some(id) => talk.open(id).await?,
        None => talk.greet()?,
    }
    let mut prompt = Prompt::new(known, context)?;
    loop {
        let entered = prompt.ask(&talk.agent, talk.typed.take(), &mut signals).await?;
        let text = match entered {
            Entered::End => return Ok(()),
            Entered::Interrupted if talk.interrupted => return Ok(()),
            Entered::Interrupted => {
                talk.interrupted = true;
                talk.context.printer.say("(Ctrl-C once more leaves, and so does Ctrl-D)");
                continue;
            }
            Entered::Text(text) => text,
        };
        talk.interrupted = false;
        if text.is_empty() && talk.attached.is_empty() {
            continue;
        }
        match talk.take(&text, &mut signals).await {
            Ok(Next::GoOn) => {}
            Ok(Next::Leave) => return Ok(()),
            // The turn was left, or nobody reads what is said.
            Err(failure) if failure.word() == "interrupted" || failure.is_told() => return Err(failure),
            Err(failure) => failure.tell(context.printer.stderr(), false),
        }
    }
}

impl Talk<'_> {
    async fn take(&mut self, text: &str, signals: &mut Signals) -> Done<Next> {
        match command::read(text) {
            Said::Text(text) => self.say(&text, signals).await?,
            Said::Unknown(name) => {
                return Err(Failure::new(format!("there is no command /{name}"))
                    .hint("/help lists them; a message that begins with a slash is written with two"));
            }
            Said::Command(Command::Quit) => return Ok(Next::Leave),
            Said::Command(Command::Retry) => self.retry(signals).await?,
            Said::Command(command) => self.run(command).await?,
        }
        Ok(Next::GoOn)
    }

    async fn run(&mut self, command: Command) -> Done {
        match command {
            Command::Help => self.help(),
            Command::Tools => agents::print_tools(&self.agent, self.client, self.context).await,
            Command::Agent(Some(name)) => self.agent(name).await,
            Command::Agent(None) => agents::print_list(Some(&self.agent), self.client, self.context).await,
            Command::Model => self.model().await,
            Command::Attach(Some(path)) => {
                self.attached.push(attach::read(Path::new(&path))?);
                self.note("it goes with the next message")
            }
            Command::Attach(None) => Err(Failure::new("which file?").hint("/attach FILE")),
            Command::Export(path) => self.export(path.as_deref()).await,
            Command::New => {
                self.session = None;
                self.note("a new conversation begins")
            }
            Command::Sessions(Some(id)) => self.open(id).await,
            Command::Sessions(None) => sessions::print_list(LISTED, self.client, self.context).await,
            Command::Retry | Command::Quit => Ok(()),
        }
    }

    /// Says something, and shows what is answered.
    async fn say(&mut self, text: &str, signals: &mut Signals) -> Done {
        let (content, attachments) = with_attached(text, std::mem::take(&mut self.attached));
        let message = Message { content, attachments, ..self.message() };
        self.turn(message, signals).await
    }

    /// Has the last message answered again.
    async fn retry(&mut self, signals: &mut Signals) -> Done {
        if self.session.is_none() {
            return Err(Failure::new("nothing was said yet that could be answered again"));
        }
        self.turn(Message { regenerate: true, ..self.message() }, signals).await
    }

    fn message(&self) -> Message<'static> {
        let ask = !self.args.no_ask && asking::possible(self.context);
        Message { ask, ..Message::default() }
    }

    async fn turn(&mut self, message: Message<'_>, signals: &mut Signals) -> Done {
        let message =
            Message { session_id: self.session.as_deref(), agent: self.wanted_agent.as_deref(), ..message };
        let printer = &self.context.printer;
        printer.line("")?;
        // What is typed meanwhile is for the next prompt, and does not show between the lines of the answer.
        let quiet = Held::new(Mode::Quiet);
        let mut shown =
            OnScreen { screen: Screen::new(self.args.detail(), self.context), context: self.context };
        shown.screen.wait()?;
        let outcome = turn::run(&message, self.client, signals, &mut shown, self.context).await;
        shown.screen.break_off()?;
        drop(quiet);
        let outcome = outcome?;
        self.session = outcome.session.or(self.session.take());
        if let Some(agent) = outcome.agent {
            self.agent = agent;
        }
        self.typed = outcome.typed;
        match outcome.ended {
            Ended::Done => printer.line(""),
            Ended::Aborted => {
                self.interrupted = true;
                printer.line("")
            }
            Ended::Failed(failure) => Err(failure),
        }
    }

    fn greet(&self) -> Done {
        self.note(&format!("You talk to {}. /help lists the commands, Ctrl-D leaves.", self.agent))
    }

    fn help(&self) -> Done {
        let printer = &self.context.printer;
        for known in COMMANDS {
            let name = format!("/{} {}", known.name, known.takes);
            let padding = " ".repeat(18_usize.saturating_sub(name.len()));
            printer.line(&format!("{}{padding}{}", printer.paint(Style::Name, &name), known.does))?;
        }
        self.note(
            "A line that ends in \\ goes on; what begins with \"\"\" ends with \"\"\". Ctrl-C stops an answer, a second one leaves.",
        )
    }

    async fn agent(&mut self, name: String) -> Done {
        agents::get(&name, self.client).await?;
        self.wanted_agent = Some(name.clone());
        self.agent = name;
        self.note(&format!("you talk to {} from now on", self.agent))
    }

    async fn model(&self) -> Done {
        let agent = agents::get(&self.agent, self.client).await?;
        match agent.definition.model {
            Some(model) => self.note(&format!("{} answers with {model}", self.agent)),
            None => self.note(&format!("{} answers with the model that was added first", self.agent)),
        }?;
        self.note(&format!("`toolway agents set {} --model NAME/ID` changes it", self.agent))
    }

    async fn export(&self, path: Option<&str>) -> Done {
        let Some(session) = &self.session else {
            return Err(Failure::new("nothing was said yet that could be exported"));
        };
        let form = if path.is_some_and(|path| path.ends_with(".json")) { "json" } else { "markdown" };
        let text = sessions::export(session, form, self.client).await?;
        let Some(path) = path else { return self.context.printer.foreign(&text) };
        private::write_new(Path::new(path), text.as_bytes())?;
        self.note(&format!("written to {path}"))
    }

    /// Goes on with a conversation; shows what was said last.
    async fn open(&mut self, id: String) -> Done {
        let found = sessions::get(&id, self.client).await?;
        let printer = &self.context.printer;
        let title = found.title.as_deref().unwrap_or("(no title)");
        self.note(&format!("going on with {title} ({} messages, agent {})", found.messages, found.agent))?;
        let paper = Paper::of(printer.stdout().stdout_now());
        for message in found.last_exchange() {
            let text = message.text();
            if message.is_persons() {
                printer.line("")?;
                for line in escape::lines(&text).lines() {
                    printer.line(&printer.paint(Style::Faint, &format!("> {line}")))?;
                }
                printer.line("")?;
            } else {
                render(&text, paper).iter().try_for_each(|line| printer.line(line))?;
            }
        }
        printer.line("")?;
        if found.running {
            self.note("an answer is being written there; until it is whole nothing else can be said")?;
        }
        if self.args.agent.is_none() || self.session.is_some() {
            self.agent.clone_from(&found.agent);
            self.wanted_agent = None;
        }
        self.session = Some(found.id);
        Ok(())
    }

    fn note(&self, text: &str) -> Done {
        let printer = &self.context.printer;
        printer.line(&printer.paint(Style::Faint, &escape::line(text)))
    }
}
