//! Which of a tool's permissions are checked here. The others are the phone's own, which asks for them itself;
//! they are shown with the tool.

use toolway_types::ToolId;

use crate::spec::ToolSpec;

/// The permissions of a tool that are checked at the gateway: all of a tool that runs in the gateway, and of other
/// sources' those with a dotted name of ours, as `files.write`.
pub(crate) fn gateway_permissions<'s>(
    tool: &ToolId,
    spec: &'s ToolSpec,
) -> impl Iterator<Item = &'s str> + use<'s> {
    let runs_here = matches!(tool.source.as_str(), "builtin" | "own");
    spec.permissions()
        .iter()
        .map(|permission| &**permission)
        .filter(move |permission| runs_here || is_gateway_permission(permission))
}

/// Whether a permission has the form of ours: words in lower case with dots between them. Android's have capitals
/// (`READ_CONTACTS`, `android.permission.CAMERA`).
fn is_gateway_permission(permission: &str) -> bool {
    let is_word = |word: &str| {
        !word.is_empty()
            && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
    };
    permission.contains('.') && permission.split('.').all(is_word)
}

#[cfg(test)]
mod tests {
    use super::is_gateway_permission;

    #[test]
    fn knows_ours_from_the_phones() {
        for ours in ["files.write", "network.private", "device.location", "a.b.c_2"] {
            assert!(is_gateway_permission(ours), "{ours}");
        }
        for other in [
            "INTERNET",
            "android.permission.CAMERA",
            "READ_CONTACTS",
            "files",
            "files.",
            ".write",
            "a..b",
            "",
        ] {
            assert!(!is_gateway_permission(other), "{other}");
        }
    }
}
