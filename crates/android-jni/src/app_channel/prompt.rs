//! Asks the phone's user through the app.

use async_trait::async_trait;
use toolway_android::authorization::{AuthorizationConsent, AuthorizationPrompt, AuthorizationRequest};

use super::questions::{PendingQuestion, UserAnswer};
use super::{AppChannel, AppEvent};

/// A question that the app shows. Dropping it before the answer removes it from the screen.
struct QuestionGuard<'a> {
    shell: &'a AppChannel,
    question: PendingQuestion,
    /// True while the question is on the screen.
    open: bool,
}

impl<'a> QuestionGuard<'a> {
    fn new(shell: &'a AppChannel) -> Self {
        Self { shell, question: PendingQuestion::new(), open: false }
    }

    async fn answer_to(&mut self, event: AppEvent) -> Option<UserAnswer> {
        self.shell.send(event).await;
        self.open = true;
        let answer = self.question.answer().await;
        self.open = false;
        answer
    }
}

impl Drop for QuestionGuard<'_> {
    fn drop(&mut self) {
        if self.open {
            self.shell.send_detached(AppEvent::Withdrawn { question: self.question.number });
        }
    }
}

#[async_trait]
impl AuthorizationPrompt for AppChannel {
    async fn request_consent(&self, request: &AuthorizationRequest) -> AuthorizationConsent {
        let mut shown = QuestionGuard::new(self);
        let ask = AppEvent::Ask { question: shown.question.number, request: request.clone() };
        match shown.answer_to(ask).await {
            Some(UserAnswer::Agreed) => AuthorizationConsent::Agreed,
            _ => AuthorizationConsent::Declined,
        }
    }

    async fn wait_for_return(&self, request: &AuthorizationRequest) {
        let mut shown = QuestionGuard::new(self);
        let opened = AppEvent::Opened { question: shown.question.number, request: request.clone() };
        // Any answer means that the user is back.
        let _ = shown.answer_to(opened).await;
    }

    fn notify_authorization_required(&self, request: &AuthorizationRequest) {
        self.send_detached(AppEvent::Offer { request: request.clone() });
    }
}
