//! Permissions and approval: what a person has to say before a call runs. Nothing that a client sends with its
//! call has a part in it.

use toolway_types::{Code, RawJson, ToolError};

use super::lookup::Target;
use super::record::OpenRecord;
use super::redact::redacted;
use super::run;
use crate::arguments::Arguments;
use crate::consent::{Answer, Asked, Choice, GrantId, Question, QuestionId, QuestionKind, Sought, Verdict};
use crate::engine::{Call, Engine, EngineSettings};
use crate::policy::Approval;
use crate::policy::definition::{Effect, PermissionState};

/// Bytes of arguments that a person is shown.
const PREVIEW: usize = 2048;
const TAKE_BACK: &str = "The owner can take that back with `toolway grants revoke`";

/// Whether anybody might have to be asked, or have been: for most calls not.
pub(super) fn may_be_wanted(engine: &Engine, call: &Call, target: &Target) -> bool {
    let policy = &target.policy;
    let states = || policy.permissions(&call.caller, &target.id, target.tool.spec());
    policy.approval(target.decision) != Approval::NotNeeded
        || engine.grants.any_denial()
        || (policy.holds_changed_tools() && engine.changed.contains(&target.id))
        || states().any(|(_, state)| state != PermissionState::Granted)
}

/// Gets a person's consent where the rules want it. The time that takes is not the call's.
pub(super) async fn obtain(
    engine: &Engine,
    settings: &EngineSettings,
    call: &Call,
    target: &Target,
    arguments: &Arguments,
    open: &mut OpenRecord<'_>,
) -> Result<(), ToolError> {
    let policy = &target.policy;
    let spec = target.tool.spec();
    let asking = Asking { engine, settings, call, target, arguments };
    // A no that was given before holds whether or not anybody would be asked.
    let any_denial = engine.grants.any_denial();
    if any_denial {
        asking.denied_before(None)?;
    }
    for (permission, state) in policy.permissions(&call.caller, &target.id, spec) {
        match state {
            PermissionState::Granted if any_denial => asking.denied_before(Some(permission))?,
            PermissionState::Granted => {}
            PermissionState::Denied => return Err(denied(permission)),
            PermissionState::DeniedAlways => {
                return Err(denied_always(permission, "The setting permissions.rules changes that"));
            }
            PermissionState::Ask => {
                let reason = format!("{} needs the permission {permission}", target.id);
                asking.decide(open, QuestionKind::Permission(permission.into()), reason, true).await?;
            }
        }
    }
    if policy.holds_changed_tools() && engine.changed.contains(&target.id) {
        let reason = format!("{} is not what it was when it was last accepted", target.id);
        asking.decide(open, QuestionKind::ChangedTool, reason, false).await?;
    }
    let caller_may_answer = match policy.approval(target.decision) {
        Approval::NotNeeded => return Ok(()),
        Approval::Owner => false,
        Approval::OwnerOrCaller => true,
    };
    let reason = match policy.rule_name(target.decision) {
        Some(rule) if target.decision.effect == Effect::Ask => {
            format!("the rule {rule:?} asks before {} runs", target.id)
        }
        _ => format!("calls of {} wait for approval", target.id),
    };
    asking.decide(open, QuestionKind::Approval, reason, caller_may_answer).await
}

struct Asking<'a> {
    engine: &'a Engine,
    settings: &'a EngineSettings,
    call: &'a Call,
    target: &'a Target,
    arguments: &'a Arguments,
}

impl Asking<'_> {
    /// Refuses what a grant says no to.
    fn denied_before(&self, permission: Option<&str>) -> Result<(), ToolError> {
        match self.earlier(permission) {
            Some((Verdict::DeniedAlways, grant)) => Err(self.refusal_of(grant, permission)),
            Some((Verdict::Granted, _)) | None => Ok(()),
        }
    }

    fn refusal_of(&self, grant: GrantId, permission: Option<&str>) -> ToolError {
        let hint = format!("`toolway grants revoke {grant}` changes that");
        self.refusal(permission, Choice::DeniedAlways).with_hint(hint)
    }

    /// Takes what was answered before, or asks.
    async fn decide(
        &self,
        open: &mut OpenRecord<'_>,
        kind: QuestionKind,
        reason: String,
        caller_may_answer: bool,
    ) -> Result<(), ToolError> {
        let permission = kind.permission().cloned();
        // An answer that let a tool run before does not speak of what the tool has become since.
        if kind != QuestionKind::ChangedTool
            && let Some((verdict, grant)) = self.earlier(permission.as_deref())
        {
            return match verdict {
                Verdict::Granted => {
                    open.approved_by(format!("grant:{grant}").into());
                    Ok(())
                }
                Verdict::DeniedAlways => Err(self.refusal_of(grant, permission.as_deref())),
            };
        }
        let question = self.question(kind, reason, caller_may_answer);
        let patience = self.settings.person_timeout;
        // What only an owner may answer is shown to a caller that is one.
        let may_answer = caller_may_answer || self.call.caller.principal.role.is_owner();
        let sink = self.call.questions.as_ref().filter(|_| may_answer);
        open.waits_for_person(true);
        let answer = self.engine.questions.ask(question.clone(), sink, patience).await;
        open.waits_for_person(false);
        match answer {
            Asked::NobodyThere => Err(self.unavailable(permission.as_deref(), "nobody is there to ask")),
            Asked::TooMany => {
                Err(self.unavailable(permission.as_deref(), "too many questions are open already"))
            }
            Asked::NoAnswer => {
                let within = format!("nobody answered within {}", run::words(patience));
                Err(self.unavailable(permission.as_deref(), &within))
            }
            Asked::Answered(answer) => self.answered(open, &question, &answer).await,
        }
    }

    async fn answered(
        &self,
        open: &mut OpenRecord<'_>,
        question: &Question,
        answer: &Answer,
    ) -> Result<(), ToolError> {
        let now = self.engine.clock.now_ms();
        // Whether a tool that changed passes from now on is for whoever compares specs to say: it may have changed
        // again while the owner was asked.
        if question.kind != QuestionKind::ChangedTool {
            self.engine.grants.remember(question, answer, now).await;
        }
        match answer.choice {
            Choice::Granted => {
                open.approved_by(answer.by.0.clone());
                Ok(())
            }
            refused => Err(self.refusal(question.kind.permission().map(AsRef::as_ref), refused)),
        }
    }

    fn earlier(&self, permission: Option<&str>) -> Option<(Verdict, GrantId)> {
        let caller = &self.call.caller;
        let tool_text = self.target.id.to_string();
        let sought = Sought {
            permission,
            tool_text: &tool_text,
            principal: &caller.principal.id,
            agent: caller.agent(),
            session: caller.session.as_ref(),
        };
        self.engine.grants.verdict(&sought, self.engine.clock.now_ms())
    }

    fn question(&self, kind: QuestionKind, reason: String, caller_may_answer: bool) -> Question {
        let caller = &self.call.caller;
        let now = self.engine.clock.now_ms();
        let patience = i64::try_from(self.settings.person_timeout.as_millis()).unwrap_or(i64::MAX);
        Question {
            id: QuestionId::new(),
            kind,
            call: self.call.id,
            tool: self.target.id.clone(),
            principal: caller.principal.id.clone(),
            agent: caller.agent().cloned(),
            session: caller.session.clone(),
            reason,
            arguments: self.preview(),
            caller_may_answer,
            asked_ms: now,
            expires_ms: now.saturating_add(patience),
        }
    }

    fn preview(&self) -> RawJson {
        let marked = self.target.tool.spec().parameters().secrets();
        let shown = redacted(self.arguments, marked, &self.settings.redact);
        if shown.get().len() <= PREVIEW {
            return shown;
        }
        let start = shown.get().get(..shown.get().floor_char_boundary(PREVIEW)).unwrap_or_default();
        let left = shown.get().len() - start.len();
        RawJson::from(&serde_json::Value::from(format!("{start}… ({left} bytes more)")))
    }

    fn refusal(&self, permission: Option<&str>, choice: Choice) -> ToolError {
        match (permission, choice) {
            (Some(permission), Choice::DeniedAlways) => denied_always(permission, TAKE_BACK),
            (Some(permission), _) => denied(permission),
            (None, Choice::DeniedAlways) => {
                let message = format!("The call of {} was denied by the user for good", self.target.id);
                ToolError::new(Code::DeniedAlways, message).with_hint(TAKE_BACK)
            }
            (None, _) => {
                ToolError::new(Code::Denied, format!("The call of {} was denied by the user", self.target.id))
            }
        }
    }

    fn unavailable(&self, permission: Option<&str>, why: &str) -> ToolError {
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

fn denied(permission: &str) -> ToolError {
    ToolError::new(Code::Denied, format!("Permission {permission} was denied by the user"))
}

fn denied_always(permission: &str, hint: &str) -> ToolError {
    let message =
        format!("Permission {permission} was denied by the user for good; asking again is of no use");
    ToolError::new(Code::DeniedAlways, message).with_hint(hint)
}
