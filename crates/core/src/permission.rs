//! Selects the permissions of a tool that the gateway checks. The others belong to the phone, which asks for
//! them itself; they are only shown with the tool.

use toolway_types::ToolId;

use crate::spec::ToolSpec;

/// Permissions of a tool that the gateway checks: all permissions of tools that run in the gateway, and for
/// other sources those with a dotted name of Toolway's form, such as `files.write`.
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

/// True if a permission has Toolway's form: lower-case words with dots between them. Android's permissions
/// have capitals (`READ_CONTACTS`, `android.permission.CAMERA`).
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
