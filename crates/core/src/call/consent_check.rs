//! Permissions and approval: consent that a person must give before a call runs. No field of a call can
//! replace it.

use toolway_types::{Code, RawJson, ToolError};

use super::lookup::CallTarget;
use super::record::CallRecordGuard;
use super::redaction::redact;
use super::run_limits::format_duration;
use crate::arguments::Arguments;
use crate::call_request::CallRequest;
use crate::consent::{
    AskOutcome, ConsentAnswer, ConsentDecision, GrantId, GrantQuery, GrantVerdict, Question,
    QuestionAudience, QuestionId, QuestionKind,
};
use crate::engine::Engine;
use crate::engine_settings::EngineSettings;
use crate::policy::ApprovalRequirement;
use crate::policy::definition::{Effect, PermissionState};

/// Length of the arguments shown to a person, in bytes.
const PREVIEW_BYTES: usize = 2048;
const REVOKE_HINT: &str = "The owner can revoke this with `toolway grants revoke`";

/// True if a person may have to consent, or has denied. False for most calls.
pub(super) fn may_be_required(engine: &Engine, call: &CallRequest, target: &CallTarget) -> bool {
    let policy = &target.policy;
    let states = || policy.permission_states(&call.caller, &target.id, target.tool.spec());
    policy.approval_requirement(target.decision) != ApprovalRequirement::NotRequired
        || engine.grants.has_denial()
        || (policy.asks_for_changed_tools() && engine.changed_tools.contains(&target.id))
        || states().any(|(_, state)| state != PermissionState::Granted)
}

/// Obtains a person's consent if the rules require it. The time spent does not count against the call's
/// timeout.
pub(super) async fn obtain(
    engine: &Engine,
    settings: &EngineSettings,
    call: &CallRequest,
    target: &CallTarget,
    arguments: &Arguments,
    open: &mut CallRecordGuard<'_>,
) -> Result<(), ToolError> {
    let policy = &target.policy;
    let spec = target.tool.spec();
    let asking = ConsentCheck { engine, settings, call, target, arguments };
    // An earlier denial applies even if no person would be asked.
    let any_denial = engine.grants.has_denial();
    if any_denial {
        asking.check_earlier_denial(None)?;
    }
    for (permission, state) in policy.permission_states(&call.caller, &target.id, spec) {
        match state {
            PermissionState::Granted if any_denial => asking.check_earlier_denial(Some(permission))?,
            PermissionState::Granted => {}
            PermissionState::Denied => return Err(denied_error(permission)),
            PermissionState::DeniedAlways => {
                return Err(denied_always_error(
                    permission,
                    "Change the setting permissions.rules to allow it",
                ));
            }
            PermissionState::Ask => {
                let reason = format!("{} needs the permission {permission}", target.id);
                asking
                    .require_consent(open, QuestionKind::Permission(permission.into()), reason, true)
                    .await?;
            }
        }
    }
    if policy.asks_for_changed_tools() && engine.changed_tools.contains(&target.id) {
        let reason = format!("{} has changed since it was last accepted", target.id);
        asking.require_consent(open, QuestionKind::ChangedTool, reason, false).await?;
    }
    let caller_may_answer = match policy.approval_requirement(target.decision) {
        ApprovalRequirement::NotRequired => return Ok(()),
        ApprovalRequirement::Owner => false,
        ApprovalRequirement::OwnerOrCaller => true,
    };
    let reason = match policy.rule_name(target.decision) {
        Some(rule) if target.decision.effect == Effect::Ask => {
            format!("the rule {rule:?} asks before {} runs", target.id)
        }
        _ => format!("calls of {} wait for approval", target.id),
    };
    asking.require_consent(open, QuestionKind::Approval, reason, caller_may_answer).await
}

struct ConsentCheck<'a> {
    engine: &'a Engine,
    settings: &'a EngineSettings,
    call: &'a CallRequest,
    target: &'a CallTarget,
    arguments: &'a Arguments,
}

impl ConsentCheck<'_> {
    /// Refuses the call if a grant denies it.
    fn check_earlier_denial(&self, permission: Option<&str>) -> Result<(), ToolError> {
        match self.find_earlier_verdict(permission) {
            Some((GrantVerdict::DeniedAlways, grant)) => Err(self.refusal_by_grant(grant, permission)),
            Some((GrantVerdict::Granted, _)) | None => Ok(()),
        }
    }

    fn refusal_by_grant(&self, grant: GrantId, permission: Option<&str>) -> ToolError {
        let hint = format!("To revoke the denial, run `toolway grants revoke {grant}`");
        self.refusal_error(permission, ConsentDecision::DeniedAlways).with_hint(hint)
    }

    /// Uses an earlier answer, or asks.
    async fn require_consent(
        &self,
        open: &mut CallRecordGuard<'_>,
        kind: QuestionKind,
        reason: String,
        caller_may_answer: bool,
    ) -> Result<(), ToolError> {
        let permission = kind.permission().cloned();
        // An earlier answer does not apply to a tool that has changed since.
        if kind != QuestionKind::ChangedTool
            && let Some((verdict, grant)) = self.find_earlier_verdict(permission.as_deref())
        {
            return match verdict {
                GrantVerdict::Granted => {
                    open.note_approver(format!("grant:{grant}").into());
                    Ok(())
                }
                GrantVerdict::DeniedAlways => Err(self.refusal_by_grant(grant, permission.as_deref())),
            };
        }
        let question = self.build_question(kind, reason, caller_may_answer);
        let timeout = self.settings.person_timeout;
        // A question that only an owner may answer is shown to a caller that is an owner.
        let may_answer = caller_may_answer || self.call.caller.principal.role.is_owner();
        let sink = self.call.questions.as_ref().filter(|_| may_answer);
        // A caller that is asked itself need not be told that it waits.
        let observer = self.call.question_observer.as_ref().filter(|_| sink.is_none());
        open.set_waiting_for_person(true);
        let audience = QuestionAudience { sink, observer };
        let answer = self.engine.questions.ask(question.clone(), audience, timeout).await;
        open.set_waiting_for_person(false);
        match answer {
            AskOutcome::NoResponder => {
                Err(self.unavailable_error(permission.as_deref(), "nobody is available to answer"))
            }
            AskOutcome::TooManyOpen => {
                Err(self.unavailable_error(permission.as_deref(), "too many questions are open"))
            }
            AskOutcome::TimedOut => {
                let within = format!("nobody answered within {}", format_duration(timeout));
                Err(self.unavailable_error(permission.as_deref(), &within))
            }
            AskOutcome::Answered(answer) => self.apply_answer(open, &question, &answer).await,
        }
    }

    async fn apply_answer(
        &self,
        open: &mut CallRecordGuard<'_>,
        question: &Question,
        answer: &ConsentAnswer,
    ) -> Result<(), ToolError> {
        let now = self.engine.clock.now_ms();
        // The component that compares specs decides whether the changed tool is accepted from now on, because
        // it may have changed again while the owner was asked.
        if question.kind != QuestionKind::ChangedTool {
            self.engine.grants.save_answer(question, answer, now).await;
        }
        match answer.choice {
            ConsentDecision::Granted => {
                open.note_approver(answer.answered_by.0.clone());
                Ok(())
            }
            refused => Err(self.refusal_error(question.kind.permission().map(AsRef::as_ref), refused)),
        }
    }

    fn find_earlier_verdict(&self, permission: Option<&str>) -> Option<(GrantVerdict, GrantId)> {
        let caller = &self.call.caller;
        let tool_text = self.target.id.to_string();
        let sought = GrantQuery {
            permission,
            tool_text: &tool_text,
            principal: &caller.principal.id,
            agent: caller.agent(),
            session: caller.session.as_ref(),
        };
        self.engine.grants.find_verdict(&sought, self.engine.clock.now_ms())
    }

    fn build_question(&self, kind: QuestionKind, reason: String, caller_may_answer: bool) -> Question {
        let caller = &self.call.caller;
        let now = self.engine.clock.now_ms();
        let timeout = i64::try_from(self.settings.person_timeout.as_millis()).unwrap_or(i64::MAX);
        Question {
            id: QuestionId::new(),
            kind,
            call: self.call.id,
            tool: self.target.id.clone(),
            principal: caller.principal.id.clone(),
            agent: caller.agent().cloned(),
            session: caller.session.clone(),
            reason,
            arguments: self.preview_arguments(),
            caller_may_answer,
            asked_ms: now,
            expires_ms: now.saturating_add(timeout),
        }
    }

    fn preview_arguments(&self) -> RawJson {
        let marked = self.target.tool.spec().parameters().secrets();
        let shown = redact(self.arguments, marked, &self.settings.redact);
        if shown.get().len() <= PREVIEW_BYTES {
            return shown;
        }
        let start = shown.get().get(..shown.get().floor_char_boundary(PREVIEW_BYTES)).unwrap_or_default();
        let left = shown.get().len() - start.len();
        RawJson::from(&serde_json::Value::from(format!("{start}… ({left} bytes more)")))
    }

    fn refusal_error(&self, permission: Option<&str>, choice: ConsentDecision) -> ToolError {
        match (permission, choice) {
            (Some(permission), ConsentDecision::DeniedAlways) => denied_always_error(permission, REVOKE_HINT),
            (Some(permission), _) => denied_error(permission),
            (None, ConsentDecision::DeniedAlways) => {
                let message = format!("The call of {} was denied by the user permanently", self.target.id);
                ToolError::new(Code::DeniedAlways, message).with_hint(REVOKE_HINT)
            }
            (None, _) => {
                ToolError::new(Code::Denied, format!("The call of {} was denied by the user", self.target.id))
            }
        }
    }

    fn unavailable_error(&self, permission: Option<&str>, why: &str) -> ToolError {
        let principal = &self.call.caller.principal.id;
        let (what, option) = match permission {
            Some(permission) => {
                (format!("The permission {permission}"), format!(" --permission {permission}"))
            }
            None => (format!("The call of {}", self.target.id), String::new()),
        };
        ToolError::new(Code::ApprovalUnavailable, format!("{what} needs a person's approval, and {why}"))
            .with_hint(format!(
                "The owner can answer while `toolway approvals watch` runs, or grant it beforehand: `toolway \
                 grants add {} --for {principal}{option}`",
                self.target.id
            ))
    }
}

fn denied_error(permission: &str) -> ToolError {
    ToolError::new(Code::Denied, format!("Permission {permission} was denied by the user"))
}

fn denied_always_error(permission: &str, hint: &str) -> ToolError {
    let message = format!("Permission {permission} was denied by the user permanently; do not ask again");
    ToolError::new(Code::DeniedAlways, message).with_hint(hint)
}
