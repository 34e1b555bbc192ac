//! Asking the phone's user through the app.

use async_trait::async_trait;
use toolway_android::authorization::{Agreement, AuthorizationPrompt, AuthorizationRequest};

use super::questions::{Answer, Question};
use super::{Event, Shell};

/// A question that the app shows. Dropped before it is answered, it is taken off the screen.
struct Shown<'a> {
    shell: &'a Shell,
    question: Question,
    answered: bool,
}

impl<'a> Shown<'a> {
    fn new(shell: &'a Shell) -> Self {
        Self { shell, question: Question::new(), answered: false }
    }

    async fn answer(&mut self) -> Option<Answer> {
        let answer = self.question.answer().await;
        self.answered = true;
        answer
    }
}

impl Drop for Shown<'_> {
    fn drop(&mut self) {
        if !self.answered {
            self.shell.tell_soon(Event::Withdrawn { question: self.question.number });
        }
    }
}

#[async_trait]
impl AuthorizationPrompt for Shell {
    async fn agree(&self, request: &AuthorizationRequest) -> Agreement {
        let mut shown = Shown::new(self);
        self.tell(Event::Ask { question: shown.question.number, request: request.clone() }).await;
        match shown.answer().await {
            Some(Answer::Agreed) => Agreement::Agreed,
            _ => Agreement::Declined,
        }
    }

    async fn returned(&self, request: &AuthorizationRequest) {
        let mut shown = Shown::new(self);
        self.tell(Event::Opened { question: shown.question.number, request: request.clone() }).await;
        // Whatever the answer is, the user is here to give it.
        let _ = shown.answer().await;
    }

    fn offer(&self, request: &AuthorizationRequest) {
        self.tell_soon(Event::Offer { request: request.clone() });
    }
}
