//! Asking the phone's user through the app.

use async_trait::async_trait;
use toolway_android::authorization::{Agreement, AuthorizationPrompt, AuthorizationRequest};

use super::questions::{Answer, Question};
use super::{Event, Shell};

/// A question that the app shows. Dropped before it is answered, it is taken off the screen.
struct Shown<'a> {
    shell: &'a Shell,
    question: Question,
    /// Whether there is something to be taken off the screen.
    open: bool,
}

impl<'a> Shown<'a> {
    fn new(shell: &'a Shell) -> Self {
        Self { shell, question: Question::new(), open: false }
    }

    async fn answer_to(&mut self, event: Event) -> Option<Answer> {
        self.shell.tell(event).await;
        self.open = true;
        let answer = self.question.answer().await;
        self.open = false;
        answer
    }
}

impl Drop for Shown<'_> {
    fn drop(&mut self) {
        if self.open {
            self.shell.tell_soon(Event::Withdrawn { question: self.question.number });
        }
    }
}

#[async_trait]
impl AuthorizationPrompt for Shell {
    async fn agree(&self, request: &AuthorizationRequest) -> Agreement {
        let mut shown = Shown::new(self);
        let ask = Event::Ask { question: shown.question.number, request: request.clone() };
        match shown.answer_to(ask).await {
            Some(Answer::Agreed) => Agreement::Agreed,
            _ => Agreement::Declined,
        }
    }

    async fn returned(&self, request: &AuthorizationRequest) {
        let mut shown = Shown::new(self);
        let opened = Event::Opened { question: shown.question.number, request: request.clone() };
        // Whatever the answer is, the user is here to give it.
        let _ = shown.answer_to(opened).await;
    }

    fn offer(&self, request: &AuthorizationRequest) {
        self.tell_soon(Event::Offer { request: request.clone() });
    }
}
