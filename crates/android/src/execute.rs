//! One call of one tool of one provider, from arguments to outcome.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;
use toolway_device::{ToolContext, WaitingFor};
use toolway_types::{Code, JsonObject, RawJson, ToolError, ToolOutput};

use crate::authorization::{Asked, Authorizations, request};
use crate::bounds::{self, cut};
use crate::bundle::Bundle;
use crate::cetp;
use crate::dialect::Dialect;
use crate::failure::{AuthorizationRequired, ProviderFailure};
use crate::host::CallFailure;
use crate::mcp;
use crate::options::Options;
use crate::provider::Provider;
use crate::reach::{Effort, Reach, Unreached};
use crate::workers::Missed;

/// What a call has shown about its provider, for whoever keeps the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// It does not know a tool that it listed: ask it again.
    ListIsOld {
        /// Its app.
        package: String,
    },
    /// It can't be reached.
    Unreachable {
        /// Its authority.
        authority: String,
        /// Why.
        reason: String,
    },
}

/// How much longer than the gateway an app is waited for. A call has one deadline, the gateway's: what it says at
/// its end counts, and it cancels the call.
const AFTER_GATEWAY: Duration = Duration::from_secs(1);

/// Makes calls.
#[derive(Debug, Clone)]
pub struct Executor {
    reach: Reach,
    authorizations: Authorizations,
    options: Options,
    seen: mpsc::Sender<Seen>,
}

/// Why one try brought no output.
enum Fault {
    Failure(ProviderFailure),
    Unreached(Unreached),
}

impl Executor {
    /// What calls show about providers goes to `seen`; where nobody reads it, it is dropped.
    #[must_use]
    pub fn new(
        reach: Reach,
        authorizations: Authorizations,
        options: Options,
        seen: mpsc::Sender<Seen>,
    ) -> Self {
        Self { reach, authorizations, options, seen }
    }

    /// Runs a tool, `tool` being its provider's own name for it. Where the app wants to be allowed first, the user
    /// is asked while the gateway's clock stands still, and the call is made once more.
    ///
    /// # Errors
    /// What went wrong, in words for a model and its user.
    pub async fn run(
        &self,
        provider: &Provider,
        tool: &str,
        args: &JsonObject,
        cx: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        let extras = extras(provider.dialect, tool, args, cx.call_id());
        let since = Instant::now();
        let fault = match self.once(provider, &extras, cx).await {
            Ok(output) => return Ok(output),
            Err(fault) => fault,
        };
        let Fault::Failure(ProviderFailure::AuthorizationRequired(required)) = &fault else {
            return Err(self.error(provider, tool, fault));
        };
        let asked = self.ask(provider, tool, required, since, cx).await;
        if asked != Asked::Returned || cx.remaining() == Some(Duration::ZERO) {
            return Err(authorization_error(provider, required, asked));
        }
        match self.once(provider, &extras, cx).await {
            Ok(output) => Ok(output),
            Err(fault) => Err(self.error(provider, tool, fault)),
        }
    }

    async fn ask(
        &self,
        provider: &Provider,
        tool: &str,
        required: &AuthorizationRequired,
        since: Instant,
        cx: &ToolContext,
    ) -> Asked {
        if !self.authorizations.is_anybody_there() {
            return Asked::NobodyThere;
        }
        let request = request(provider, Some(tool), required);
        let prompt = format!("{} wants to be allowed first: {}", provider.title(), required.message);
        let _waiting = cx.waiting_with(WaitingFor::Authorization, prompt, required.hint.clone()).await;
        self.authorizations.ask(&request, since, self.options.person_patience).await
    }

    /// One try.
    async fn once(
        &self,
        provider: &Provider,
        extras: &Bundle,
        cx: &ToolContext,
    ) -> Result<ToolOutput, Fault> {
        let patience = cx.remaining().map_or(self.options.call_patience, |left| left + AFTER_GATEWAY);
        tokio::select! {
            result = once(&self.reach, provider, extras, patience, self.options.launch_apps) => result,
            () = cx.cancelled() => Err(Fault::Unreached(Missed::Overdue.into())),
        }
    }

    fn error(&self, provider: &Provider, tool: &str, fault: Fault) -> ToolError {
        match fault {
            Fault::Failure(failure) => {
                if let ProviderFailure::NotFound(_) = failure {
                    // A full queue means that it is about to be asked again anyway.
                    let _ = self.seen.try_send(Seen::ListIsOld { package: provider.package.clone() });
                }
                of_failure(provider, tool, failure)
            }
            Fault::Unreached(unreached) => {
                if let Unreached::Failure(
                    failure @ (CallFailure::UnknownAuthority(_) | CallFailure::Died(_)),
                ) = &unreached
                {
                    let reason = failure.to_string();
                    let _ = self
                        .seen
                        .try_send(Seen::Unreachable { authority: provider.authority.clone(), reason });
                }
                of_unreached(provider, unreached)
            }
        }
    }
}

/// Runs a tool once, without a device and without anybody who could be asked to allow it: for whoever tries a
/// provider by hand. `request_id` is told to the app, `patience` is the call's deadline.
///
/// # Errors
/// What went wrong, in the same words as in a device's call.
pub async fn run_once(
    reach: &Reach,
    provider: &Provider,
    tool: &str,
    args: &JsonObject,
    request_id: &str,
    patience: Duration,
) -> Result<ToolOutput, ToolError> {
    let extras = extras(provider.dialect, tool, args, request_id);
    once(reach, provider, &extras, patience, false).await.map_err(|fault| match fault {
        Fault::Failure(ProviderFailure::AuthorizationRequired(required)) => {
            authorization_error(provider, &required, Asked::NobodyThere)
        }
        Fault::Failure(failure) => of_failure(provider, tool, failure),
        Fault::Unreached(unreached) => of_unreached(provider, unreached),
    })
}

fn extras(dialect: Dialect, tool: &str, args: &JsonObject, request_id: &str) -> Bundle {
    match dialect {
        Dialect::Cetp => {
            let text = serde_json::to_string(args).unwrap_or_else(|_| "{}".to_owned());
            cetp::execute_extras(tool, &text, request_id)
        }
        Dialect::McpA | Dialect::McpB | Dialect::McpC => mcp::execute_extras(tool, args),
    }
}

async fn once(
    reach: &Reach,
    provider: &Provider,
    extras: &Bundle,
    patience: Duration,
    launch: bool,
) -> Result<ToolOutput, Fault> {
    let effort = Effort { repeatable: provider.dialect.is_read_only(), launch, optional: false };
    let method = match provider.dialect {
        Dialect::Cetp => cetp::EXECUTE_TOOL,
        Dialect::McpA | Dialect::McpB | Dialect::McpC => mcp::EXECUTE_TOOL,
    };
    let answer = reach
        .call(provider, method, Some(extras.clone()), patience, effort)
        .await
        .map_err(Fault::Unreached)?;
    match provider.dialect {
        Dialect::Cetp => cetp::read_result(answer.as_ref()).map(ToolOutput::structured),
        Dialect::McpA | Dialect::McpB | Dialect::McpC => {
            mcp::read_result(answer.as_ref()).map(ToolOutput::text)
        }
    }
    .map_err(Fault::Failure)
}

fn of_failure(provider: &Provider, tool: &str, failure: ProviderFailure) -> ToolError {
    let title = provider.title();
    let error = match failure {
        ProviderFailure::AuthorizationRequired(required) => {
            return authorization_error(provider, &required, Asked::Returned);
        }
        ProviderFailure::Denied(message) => ToolError::new(Code::Denied, message)
            .with_hint(format!("look in {title} whether access can be allowed there")),
        ProviderFailure::NotFound(message) => ToolError::new(Code::ToolFailed, message)
            .with_hint(format!("{title} does not know {tool:?} any more; its list of tools is read again")),
        ProviderFailure::InvalidArguments(message) => ToolError::new(Code::InvalidArguments, message),
        ProviderFailure::RateLimited(message) => ToolError::new(Code::RateLimited, message),
        ProviderFailure::Failed(message) | ProviderFailure::Malformed(message) => {
            ToolError::new(Code::ToolFailed, message)
        }
    };
    error.dispatched(true)
}

fn of_unreached(provider: &Provider, unreached: Unreached) -> ToolError {
    let title = provider.title();
    match unreached {
        Unreached::Failure(failure) => of_call_failure(provider, failure),
        Unreached::Missed(Missed::Overdue) => overdue(provider),
        Unreached::Missed(
            missed @ (Missed::NotStarted | Missed::Crowded | Missed::Hanging | Missed::Exhausted),
        ) => retryable(ToolError::new(Code::ToolFailed, format!("{title}: {missed}"))),
        Unreached::Missed(missed @ Missed::Panicked) => {
            may_have_run(provider, ToolError::new(Code::ToolFailed, format!("{title}: {missed}")))
        }
    }
}

fn of_call_failure(provider: &Provider, failure: CallFailure) -> ToolError {
    let title = provider.title();
    match failure {
        CallFailure::Security(message) => {
            let error = ToolError::new(Code::Denied, cut(&message, bounds::TEXT));
            match &provider.permission {
                Some(permission) => {
                    error.with_hint(format!("calling {title} needs the permission {permission}"))
                }
                None => error,
            }
        }
        CallFailure::UnknownAuthority(message) => retryable(
            ToolError::new(
                Code::ToolFailed,
                format!("{title} could not be started: {}", cut(&message, bounds::TEXT)),
            )
            .with_hint(format!(
                "open {title} once, then try again; some phones keep apps from being started"
            )),
        ),
        CallFailure::Died(message) => {
            let text = format!("{title} stopped in the middle of the call: {}", cut(&message, bounds::TEXT));
            may_have_run(provider, retryable(ToolError::new(Code::ToolFailed, text)))
        }
        // Whether the arguments were too large or the answer is not told.
        CallFailure::TooLarge(message) => may_have_run(
            provider,
            ToolError::new(
                Code::ToolFailed,
                format!("too large to be passed between apps: {}", cut(&message, bounds::TEXT)),
            )
            .with_hint("send less, or ask for less, at a time"),
        ),
        CallFailure::Threw { class, message } => may_have_run(
            provider,
            ToolError::new(
                Code::ToolFailed,
                cut(&format!("{title} failed with {class}: {message}"), bounds::TEXT),
            ),
        ),
        CallFailure::Unsupported(message) => ToolError::new(Code::ToolFailed, message),
        CallFailure::Host(error) => {
            let failed = may_have_run(provider, ToolError::new(Code::Network, error.message));
            match error.hint {
                Some(hint) => failed.with_hint(hint),
                None => failed,
            }
        }
        CallFailure::Overdue => overdue(provider),
    }
}

fn overdue(provider: &Provider) -> ToolError {
    may_have_run(
        provider,
        ToolError::new(Code::Timeout, format!("{} did not answer in time", provider.title())),
    )
}

/// Of a call that had left for the app. What may act is not to be tried again unchanged.
fn may_have_run(provider: &Provider, mut error: ToolError) -> ToolError {
    error.dispatched = true;
    error.retryable &= provider.dialect.is_read_only();
    error
}

fn retryable(mut error: ToolError) -> ToolError {
    error.retryable = true;
    error
}

/// `auth_required`, with what the app says and what became of asking.
fn authorization_error(provider: &Provider, required: &AuthorizationRequired, asked: Asked) -> ToolError {
    let title = provider.title();
    let became = match asked {
        Asked::Returned => "",
        Asked::Declined => " (the user did not want to open the app)",
        Asked::NobodyThere => "",
        Asked::NotOpened => " (the app has no screen for it that could be opened)",
        Asked::Overdue => " (the user did not answer in time)",
    };
    let hint = required.hint.clone().unwrap_or_else(|| format!("open {title} and allow access there"));
    let mut error =
        ToolError::new(Code::AuthRequired, format!("{}{became}", required.message)).with_hint(hint);
    error.dispatched = true;
    error.authorize_intent =
        required.intent.as_ref().map(|intent| RawJson::from(&serde_json::Value::from(intent.as_str())));
    error
}
