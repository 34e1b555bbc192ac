//! Runs a call of a provider's tool, from arguments to outcome.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;
use toolway_device::{ToolContext, WaitingFor};
use toolway_types::{Code, JsonObject, RawJson, ToolError, ToolOutput};

use crate::authorization::{AuthorizationOutcome, ProviderAuthorizer, authorization_request};
use crate::bounds::{self, cut};
use crate::bundle::Bundle;
use crate::cetp;
use crate::dialect::ProviderDialect;
use crate::failure::{AuthorizationRequired, ProviderFailure};
use crate::host::CallFailure;
use crate::mcp;
use crate::options::BridgeOptions;
use crate::provider::ToolProvider;
use crate::provider_client::{ProviderCallError, ProviderCallOptions, ProviderClient};
use crate::worker_pool::JobError;

/// Information about a provider that a call has revealed, for the bridge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProviderObservation {
    /// The provider does not know a tool that it listed; its list must be read again.
    StaleList {
        /// Package of the app.
        package: String,
    },
    /// The provider can't be reached.
    Unreachable {
        /// Authority of the provider.
        authority: String,
        /// Reason as text.
        reason: String,
    },
}

/// Time that an app may take in addition to the gateway's deadline. A call has one deadline, the gateway's:
/// it decides about the outcome and cancels the call.
const GATEWAY_MARGIN: Duration = Duration::from_secs(1);
/// Maximum part of a call's time that is kept for the call itself while an opened app starts.
const LAUNCH_RESERVE: Duration = Duration::from_secs(1);

/// Runs calls.
#[derive(Debug, Clone)]
pub struct ProviderToolExecutor {
    client: ProviderClient,
    authorizations: ProviderAuthorizer,
    options: BridgeOptions,
    observations: mpsc::Sender<ProviderObservation>,
}

/// Reason why an attempt gave no output.
enum AttemptError {
    Failure(ProviderFailure),
    Call(ProviderCallError),
}

impl ProviderToolExecutor {
    /// Creates an executor. Observations about providers go to `seen`; they are dropped if nobody reads them.
    #[must_use]
    pub fn new(
        reach: ProviderClient,
        authorizations: ProviderAuthorizer,
        options: BridgeOptions,
        seen: mpsc::Sender<ProviderObservation>,
    ) -> Self {
        Self { client: reach, authorizations, options, observations: seen }
    }

    /// Runs a tool by the provider's own name for it. If the app requires authorization, the user is asked
    /// while the gateway's clock is paused, and the call is repeated once.
    ///
    /// # Errors
    /// [`ToolError`] with a message for the model and its user.
    pub async fn run(
        &self,
        provider: &ToolProvider,
        tool: &str,
        args: &JsonObject,
        cx: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        let extras = extras(provider.dialect, tool, args, cx.call_id());
        let since = Instant::now();
        let fault = match self.attempt_and_observe(provider, &extras, cx).await {
            Ok(output) => return Ok(output),
            Err(fault) => fault,
        };
        let AttemptError::Failure(ProviderFailure::AuthorizationRequired(required)) = &fault else {
            return Err(self.error(provider, tool, fault));
        };
        let asked = self.request_authorization(provider, tool, required, since, cx).await;
        if asked != AuthorizationOutcome::Returned || cx.remaining() == Some(Duration::ZERO) {
            return Err(authorization_error(provider, required, asked));
        }
        match self.attempt_and_observe(provider, &extras, cx).await {
            Ok(output) => Ok(output),
            Err(fault) => Err(self.error(provider, tool, fault)),
        }
    }

    async fn request_authorization(
        &self,
        provider: &ToolProvider,
        tool: &str,
        required: &AuthorizationRequired,
        since: Instant,
        cx: &ToolContext,
    ) -> AuthorizationOutcome {
        if !self.authorizations.can_prompt() {
            return AuthorizationOutcome::NoPrompt;
        }
        let request = authorization_request(provider, Some(tool), required);
        let prompt = format!("{} requires authorization: {}", provider.title(), required.message);
        let _waiting =
            cx.start_waiting_with_hint(WaitingFor::Authorization, prompt, required.hint.clone()).await;
        self.authorizations.ask(&request, since, self.options.consent_timeout).await
    }

    /// Runs one attempt.
    async fn attempt_and_observe(
        &self,
        provider: &ToolProvider,
        extras: &Bundle,
        cx: &ToolContext,
    ) -> Result<ToolOutput, AttemptError> {
        let timeout = cx.remaining().map_or(self.options.call_timeout, |left| left + GATEWAY_MARGIN);
        let left = cx.remaining().unwrap_or(self.options.call_timeout);
        let launch_until =
            self.options.launch_apps.then(|| Instant::now() + left - LAUNCH_RESERVE.min(left / 10));
        tokio::select! {
            result = once(&self.client, provider, extras, timeout, launch_until) => result,
            () = cx.cancelled() => Err(AttemptError::Call(JobError::TimedOut.into())),
        }
    }

    fn error(&self, provider: &ToolProvider, tool: &str, fault: AttemptError) -> ToolError {
        match fault {
            AttemptError::Failure(failure) => {
                if let ProviderFailure::NotFound(_) = failure {
                    // A full queue means that the provider will be scanned again anyway.
                    let _ = self
                        .observations
                        .try_send(ProviderObservation::StaleList { package: provider.package.clone() });
                }
                error_for_failure(provider, tool, failure)
            }
            AttemptError::Call(unreached) => {
                if let ProviderCallError::Call(
                    failure @ (CallFailure::UnknownAuthority(_) | CallFailure::Died(_)),
                ) = &unreached
                {
                    let reason = failure.to_string();
                    let _ = self.observations.try_send(ProviderObservation::Unreachable {
                        authority: provider.authority.clone(),
                        reason,
                    });
                }
                error_for_call(provider, unreached)
            }
        }
    }
}

/// Runs a tool once, without a device and without a user to ask, for manual tests of a provider. The app gets
/// `request_id`; `timeout` is the deadline of the call.
///
/// # Errors
/// [`ToolError`], as for a call of a device.
pub async fn run_once(
    reach: &ProviderClient,
    provider: &ToolProvider,
    tool: &str,
    args: &JsonObject,
    request_id: &str,
    timeout: Duration,
) -> Result<ToolOutput, ToolError> {
    let extras = extras(provider.dialect, tool, args, request_id);
    once(reach, provider, &extras, timeout, None).await.map_err(|fault| match fault {
        AttemptError::Failure(ProviderFailure::AuthorizationRequired(required)) => {
            authorization_error(provider, &required, AuthorizationOutcome::NoPrompt)
        }
        AttemptError::Failure(failure) => error_for_failure(provider, tool, failure),
        AttemptError::Call(unreached) => error_for_call(provider, unreached),
    })
}

fn extras(dialect: ProviderDialect, tool: &str, args: &JsonObject, request_id: &str) -> Bundle {
    match dialect {
        ProviderDialect::Cetp => {
            let text = serde_json::to_string(args).unwrap_or_else(|_| "{}".to_owned());
            cetp::execute_extras(tool, &text, request_id)
        }
        ProviderDialect::McpA | ProviderDialect::McpB | ProviderDialect::McpC => {
            mcp::execute_extras(tool, args)
        }
    }
}

async fn once(
    reach: &ProviderClient,
    provider: &ToolProvider,
    extras: &Bundle,
    timeout: Duration,
    launch_until: Option<Instant>,
) -> Result<ToolOutput, AttemptError> {
    let repeatable = provider.dialect.is_read_only();
    let effort = ProviderCallOptions { repeatable, launch_until, optional: false };
    let method = match provider.dialect {
        ProviderDialect::Cetp => cetp::EXECUTE_TOOL,
        ProviderDialect::McpA | ProviderDialect::McpB | ProviderDialect::McpC => mcp::EXECUTE_TOOL,
    };
    let answer = reach
        .call(provider, method, Some(extras.clone()), timeout, effort)
        .await
        .map_err(AttemptError::Call)?;
    match provider.dialect {
        ProviderDialect::Cetp => cetp::read_result(answer.as_ref()).map(ToolOutput::structured),
        ProviderDialect::McpA | ProviderDialect::McpB | ProviderDialect::McpC => {
            mcp::read_result(answer.as_ref()).map(ToolOutput::text)
        }
    }
    .map_err(AttemptError::Failure)
}

fn error_for_failure(provider: &ToolProvider, tool: &str, failure: ProviderFailure) -> ToolError {
    let title = provider.title();
    let error = match failure {
        ProviderFailure::AuthorizationRequired(required) => {
            return authorization_error(provider, &required, AuthorizationOutcome::Returned);
        }
        ProviderFailure::Denied(message) => ToolError::new(Code::Denied, message)
            .with_hint(format!("allow access in {title}, if it supports that")),
        ProviderFailure::NotFound(message) => ToolError::new(Code::ToolFailed, message)
            .with_hint(format!("{title} no longer has the tool {tool:?}; Toolway lists its tools again")),
        ProviderFailure::InvalidArguments(message) => ToolError::new(Code::InvalidArguments, message),
        ProviderFailure::RateLimited(message) => ToolError::new(Code::RateLimited, message),
        ProviderFailure::Failed(message) | ProviderFailure::Malformed(message) => {
            ToolError::new(Code::ToolFailed, message)
        }
    };
    error.with_dispatched(true)
}

fn error_for_call(provider: &ToolProvider, unreached: ProviderCallError) -> ToolError {
    let title = provider.title();
    match unreached {
        ProviderCallError::Call(failure) => error_for_call_failure(provider, failure),
        ProviderCallError::Job(JobError::TimedOut) => timeout_error(provider),
        ProviderCallError::Job(
            missed @ (JobError::NotStarted | JobError::QueueFull | JobError::Hanging | JobError::Exhausted),
        ) => mark_retryable(ToolError::new(Code::ToolFailed, format!("{title}: {missed}"))),
        ProviderCallError::Job(missed @ JobError::Panicked) => {
            mark_dispatched(provider, ToolError::new(Code::ToolFailed, format!("{title}: {missed}")))
        }
    }
}

fn error_for_call_failure(provider: &ToolProvider, failure: CallFailure) -> ToolError {
    let title = provider.title();
    match failure {
        CallFailure::Security(message) => {
            let error = ToolError::new(Code::Denied, cut(&message, bounds::TEXT));
            match &provider.permission {
                Some(permission) => {
                    error.with_hint(format!("calls to {title} require the permission {permission}"))
                }
                None => error,
            }
        }
        CallFailure::UnknownAuthority(message) => mark_retryable(
            ToolError::new(
                Code::ToolFailed,
                format!("{title} can't be started: {}", cut(&message, bounds::TEXT)),
            )
            .with_hint(format!("open {title} once, then retry; some phones prevent apps from starting")),
        ),
        CallFailure::Died(message) => {
            let text = format!("{title} crashed during the call: {}", cut(&message, bounds::TEXT));
            mark_dispatched(provider, mark_retryable(ToolError::new(Code::ToolFailed, text)))
        }
        // The message does not reveal whether the arguments or the answer were too large.
        CallFailure::TooLarge(message) => mark_dispatched(
            provider,
            ToolError::new(
                Code::ToolFailed,
                format!("too large for Android: {}", cut(&message, bounds::TEXT)),
            )
            .with_hint("send or request less data at a time"),
        ),
        CallFailure::Threw { class, message } => mark_dispatched(
            provider,
            ToolError::new(
                Code::ToolFailed,
                cut(&format!("{title} failed with {class}: {message}"), bounds::TEXT),
            ),
        ),
        CallFailure::Unsupported(message) => ToolError::new(Code::ToolFailed, message),
        CallFailure::Host(error) => {
            let failed = mark_dispatched(provider, ToolError::new(Code::Network, error.message));
            match error.hint {
                Some(hint) => failed.with_hint(hint),
                None => failed,
            }
        }
        CallFailure::TimedOut => timeout_error(provider),
    }
}

fn timeout_error(provider: &ToolProvider) -> ToolError {
    mark_dispatched(
        provider,
        ToolError::new(Code::Timeout, format!("{} did not answer in time", provider.title())),
    )
}

/// Marks an error of a call that was sent to the app. A tool that may act must not be retried unchanged.
fn mark_dispatched(provider: &ToolProvider, mut error: ToolError) -> ToolError {
    error.dispatched = true;
    error.retryable &= provider.dialect.is_read_only();
    error
}

fn mark_retryable(mut error: ToolError) -> ToolError {
    error.retryable = true;
    error
}

/// Creates the error `auth_required` with the app's message and the result of asking.
fn authorization_error(
    provider: &ToolProvider,
    required: &AuthorizationRequired,
    asked: AuthorizationOutcome,
) -> ToolError {
    let title = provider.title();
    let became = match asked {
        AuthorizationOutcome::Returned => "",
        AuthorizationOutcome::Declined => " (the user declined to open the app)",
        AuthorizationOutcome::NoPrompt => "",
        AuthorizationOutcome::NotOpened => " (the app has no screen for authorization)",
        AuthorizationOutcome::TimedOut => " (the user did not answer in time)",
    };
    let hint = required.hint.clone().unwrap_or_else(|| format!("open {title} and allow access there"));
    let mut error =
        ToolError::new(Code::AuthRequired, format!("{}{became}", required.message)).with_hint(hint);
    error.dispatched = true;
    error.authorize_intent =
        required.intent.as_ref().map(|intent| RawJson::from(&serde_json::Value::from(intent.as_str())));
    error
}
