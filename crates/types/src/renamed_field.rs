//! Hints for fields that had another name in an earlier version.

use std::borrow::Cow;

/// Adds the new name to serde's message about an unknown field or variant, if a known former name was used.
/// Every other message is returned unchanged.
///
/// ```
/// let message = "unknown field `env`, expected `program` or `pass_env`";
/// let described = toolway_types::describe_renamed_field(message, &[("env", "pass_env")]);
/// assert_eq!(described, "unknown field `env`: it was renamed to `pass_env`");
/// ```
#[must_use]
pub fn describe_renamed_field<'m>(message: &'m str, renamed: &[(&str, &str)]) -> Cow<'m, str> {
    for kind in ["field", "variant"] {
        let unknown = message
            .strip_prefix("unknown ")
            .and_then(|rest| rest.strip_prefix(kind))
            .and_then(|rest| rest.strip_prefix(" `"))
            .and_then(|rest| rest.split_once('`'));
        let Some((name, expected)) = unknown else { continue };
        // The message of another table may not expect the new field either.
        let present = renamed
            .iter()
            .filter(|(former, _)| *former == name)
            .find(|(_, present)| expected.contains(&format!("`{present}`")));
        if let Some((_, present)) = present {
            return format!("unknown {kind} `{name}`: it was renamed to `{present}`").into();
        }
    }
    message.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RENAMED: &[(&str, &str)] = &[("result", "result_pointer"), ("words", "string_only")];

    #[test]
    fn a_former_name_is_told_with_the_present_one() {
        for (message, described) in [
            (
                "unknown field `result`, expected one of `url`, `result_pointer`",
                "unknown field `result`: it was renamed to `result_pointer`",
            ),
            (
                "unknown variant `words`, expected one of `full`, `string_only`, `none`",
                "unknown variant `words`: it was renamed to `string_only`",
            ),
        ] {
            assert_eq!(describe_renamed_field(message, RENAMED), described);
        }
    }

    #[test]
    fn every_other_message_stays() {
        for message in [
            "unknown field `result`, expected `program`",
            "unknown field `url`, expected `result_pointer`",
            "missing field `url`",
            "unknown field ",
            "",
        ] {
            assert_eq!(describe_renamed_field(message, RENAMED), message);
        }
    }
}
