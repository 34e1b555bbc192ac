//! Checks what an app says when it requires authorization: its hint, its action, and the screen for it.

use super::LintFindings;
use crate::failure::AuthorizationRequired;
use crate::host::AuthorizationScreen;

/// Checks the texts of an `AUTH_REQUIRED` answer.
pub(super) fn lint_required(required: &AuthorizationRequired, place: &str, findings: &mut LintFindings) {
    if required.hint.is_none() {
        findings.warning(
            place,
            "resolution_hint is missing, so users do not know what to do",
            "return a resolution_hint",
        );
    }
    match &required.intent {
        None => findings.warning(
            place,
            "authorize_intent is missing, so Toolway can only open the start screen of the app",
            "return authorize_intent with the action of an exported activity of this app",
        ),
        Some(intent) if !is_action(intent) => findings.error(
            place,
            format!("authorize_intent is {intent:?}, not an action"),
            "return only the action, as in the activity's intent filter",
        ),
        Some(_) => {}
    }
}

/// Returns true if a text can be an action.
pub(super) fn is_action(intent: &str) -> bool {
    !intent.contains([' ', ':', ';', '/'])
}

/// Checks the screen that was found for an action.
pub(super) fn lint_screen(
    intent: &str,
    screen: &AuthorizationScreen,
    place: &str,
    findings: &mut LintFindings,
) {
    match screen {
        AuthorizationScreen::Unknown | AuthorizationScreen::Found { .. } => {}
        AuthorizationScreen::Missing => findings.error(
            place,
            format!(
                "no activity of this app has the action {intent:?} of authorize_intent, so Toolway can only open \
                 the start screen"
            ),
            "declare an exported <activity> with an intent filter for this action",
        ),
        AuthorizationScreen::Closed { class, reason } => findings.error(
            place,
            format!("other apps can't open {class}, the activity for authorize_intent: {reason}"),
            "set android:exported=\"true\" on the activity, and no android:permission",
        ),
    }
}
