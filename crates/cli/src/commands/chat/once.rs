//! One message and its answer. On a terminal it is shown as it comes; elsewhere it is the answer alone, whole, or every
//! event as a line of JSON.

use std::io::Read;

use super::ChatArgs;
use super::event::{Totals, TurnEvent};
use super::screen::Screen;
use super::turn::{self, Ended, Message, Shown};
use crate::asking;
use crate::client::{Client, Event};
use crate::context::Context;
use crate::report::{Done, Failure};
use crate::signals::Signals;
use crate::terminal::{Held, Mode};

/// No prompt is longer, in bytes.
const MAX_PROMPT: u64 = 1 << 20;

/// Says it, and shows what is answered. A turn that did not end as it should is a failure.
pub(super) async fn run(message: Message<'_>, args: &ChatArgs, client: &Client, context: &Context) -> Done {
    let ask = !args.no_ask && asking::possible(context);
    let message = Message { ask, ..message };
    let mut signals = Signals::new()?;
    let is_on_screen = context.printer.stdout().is_terminal && !context.printer.json;
    // What is typed meanwhile is for whoever comes next, and does not show between the lines of the answer.
    let _quiet = is_on_screen.then(|| Held::new(Mode::Quiet));
    let mut shown: Box<dyn Shown> = match context.printer.json {
        true => Box::new(Lines { context }),
        false if is_on_screen => {
            let mut screen = Screen::new(args.detail(), context);
            screen.wait()?;
            Box::new(OnScreen { screen, context })
        }
        false => Box::new(Answer { text: String::new(), context }),
    };
    let outcome = turn::run(&message, client, &mut signals, shown.as_mut(), context).await?;
    match outcome.ended {
        Ended::Done => Ok(()),
        // The last line said it.
        _ if context.printer.json => Err(Failure::told()),
        Ended::Failed(failure) => Err(failure),
        Ended::Aborted => Err(Failure::new("the turn was stopped").code("aborted").maybe_hint(
            outcome
                .session
                .map(|session| format!("`toolway chat --session {session}` goes on with the conversation")),
        )),
    }
}

/// What stands on standard input.
pub(crate) fn piped() -> Done<String> {
    let mut text = String::new();
    let read = std::io::stdin().lock().take(MAX_PROMPT + 1).read_to_string(&mut text);
    read.map_err(|error| {
        Failure::new(format!("cannot read the prompt: {}", crate::report::plain(&error)))
            .code("io")
            .hint("give text, as UTF-8")
    })?;
    if text.len() as u64 > MAX_PROMPT {
        return Err(Failure::new("the prompt is longer than 1 MiB").hint("give a part of it"));
    }
    Ok(text)
}

/// Each event as a line of JSON, its type beside what it says.
struct Lines<'a> {
    context: &'a Context,
}

impl Shown for Lines<'_> {
    fn take(&mut self, _: TurnEvent, raw: &Event) -> Done {
        self.unknown(raw)
    }

    fn unknown(&mut self, raw: &Event) -> Done {
        self.context.printer.raw_json(&raw.with_kind())
    }

    fn say(&mut self, _: &[String]) -> Done {
        Ok(())
    }
}

/// The answer alone, once it is whole: until then all of it may be taken back.
struct Answer<'a> {
    text: String,
    context: &'a Context,
}

impl Shown for Answer<'_> {
    fn take(&mut self, event: TurnEvent, _: &Event) -> Done {
        match event {
            TurnEvent::Chunk(text) => self.text.push_str(&text),
            TurnEvent::Reset => self.text.clear(),
            TurnEvent::Done(Totals { full_response: Some(text), .. }) => {
                return self.context.printer.foreign(&text);
            }
            TurnEvent::Done(_) => return self.context.printer.foreign(&self.text),
            // What was said before it failed stays.
            TurnEvent::Aborted(_) | TurnEvent::Failed(_) if !self.text.is_empty() => {
                return self.context.printer.foreign(&self.text);
            }
            TurnEvent::Notice(message) => self.context.printer.note(&message),
            _ => {}
        }
        Ok(())
    }

    fn unknown(&mut self, _: &Event) -> Done {
        Ok(())
    }

    fn say(&mut self, lines: &[String]) -> Done {
        lines.iter().for_each(|line| self.context.printer.say(line));
        Ok(())
    }
}

/// As it comes.
pub(super) struct OnScreen<'a> {
    pub(super) screen: Screen,
    pub(super) context: &'a Context,
}

impl Shown for OnScreen<'_> {
    fn take(&mut self, event: TurnEvent, _: &Event) -> Done {
        self.screen.take(event)
    }

    fn unknown(&mut self, _: &Event) -> Done {
        Ok(())
    }

    fn say(&mut self, lines: &[String]) -> Done {
        if lines.is_empty() {
            return Ok(());
        }
        self.screen.break_off()?;
        lines.iter().for_each(|line| self.context.printer.say(line));
        Ok(())
    }
}
