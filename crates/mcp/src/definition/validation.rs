//! Validation of a definition: all errors at once, each with the next step.

mod oauth;

use std::path::Path;

use toolway_types::Slug;
use url::Url;

use super::problem::DefinitionError;
use super::{SECRET_PREFIX, ServerDefinition};

/// Maximum number of arguments, variables, headers or scopes of one server.
const MAX_MANY: usize = 256;
/// Maximum length of a text in a definition, in bytes.
const MAX_TEXT: usize = 32 << 10;

/// Headers that the protocol or HTTP sets itself.
const RESERVED: &[&str] = &[
    "accept",
    "accept-encoding",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "dpop",
    "expect",
    "host",
    "keep-alive",
    "last-event-id",
    "mcp-method",
    "mcp-name",
    "mcp-protocol-version",
    "mcp-session-id",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];
/// Prefix of the headers that repeat arguments.
const RESERVED_START: &str = "mcp-param-";

/// Converts the name of a server to the slug of its source.
///
/// # Errors
/// [`DefinitionError`] if no source may have this name.
pub fn check_name(name: &str) -> Result<Slug, DefinitionError> {
    let slug: Slug = name.parse().map_err(|_| {
        DefinitionError::new(
            "name",
            format!("{name:?} is not a valid server name"),
            "use a lower-case letter, then up to 23 of a-z, 0-9 and -, for example github or my-notes",
        )
    })?;
    if slug.is_reserved() {
        return Err(DefinitionError::new(
            "name",
            format!("{name:?} is reserved for Toolway"),
            "choose another name",
        ));
    }
    Ok(slug)
}

impl ServerDefinition {
    /// Checks the definition.
    ///
    /// # Errors
    /// All errors, in the order of the fields.
    pub fn check(&self) -> Result<(), Vec<DefinitionError>> {
        let mut flaws = Vec::new();
        match (&self.command, &self.url) {
            (Some(command), None) => {
                self.check_command(command, &mut flaws);
                self.reject_address_fields(&mut flaws);
            }
            (None, Some(url)) => {
                self.check_address(url, &mut flaws);
                self.reject_command_fields(&mut flaws);
            }
            (Some(_), Some(_)) => flaws.push(DefinitionError::new(
                "url",
                "command and url are both set",
                "remove one: a server is either a local program or a URL",
            )),
            (None, None) => flaws.push(DefinitionError::new(
                "command",
                "command and url are both missing",
                "set a program, command = \"npx\", or a URL, url = \"https://…\"",
            )),
        }
        if flaws.is_empty() { Ok(()) } else { Err(flaws) }
    }

    fn check_command(&self, command: &str, flaws: &mut Vec<DefinitionError>) {
        let path = Path::new(command);
        if command.trim().is_empty() {
            flaws.push(DefinitionError::new(
                "command",
                "it is empty",
                "set the program to run, for example npx",
            ));
        } else if path.is_relative() && path.components().count() > 1 {
            flaws.push(DefinitionError::new(
                "command",
                format!("{command:?} is a relative path"),
                "use the name of a program on PATH, or an absolute path",
            ));
        } else if command.contains(char::is_whitespace) && !path.is_absolute() {
            flaws.push(DefinitionError::new(
                "command",
                format!("{command:?} contains spaces, and no shell splits it"),
                "set only the program, and put each argument into args",
            ));
        }
        check_text_length("command", command, flaws);
        check_count("args", self.args.len(), flaws);
        for (at, arg) in self.args.iter().enumerate() {
            check_text_length(&format!("args[{at}]"), arg, flaws);
        }
        check_count("env", self.env.len(), flaws);
        for (name, value) in &self.env {
            let field = format!("env.{name}");
            if name.is_empty() || name.contains(['=', '\0']) {
                flaws.push(DefinitionError::new(
                    &field,
                    format!("{name:?} is not a valid variable name"),
                    "use a name without =, for example LOG_LEVEL",
                ));
            }
            check_text_length(&field, value, flaws);
            check_secret_reference(&field, value, flaws);
        }
        if let Some(cwd) = &self.cwd {
            let cwd = cwd.to_string_lossy();
            if cwd.is_empty() {
                flaws.push(DefinitionError::new(
                    "cwd",
                    "it is empty",
                    "set the folder to run in, or remove it",
                ));
            }
            check_text_length("cwd", &cwd, flaws);
        }
    }

    fn check_address(&self, address: &str, flaws: &mut Vec<DefinitionError>) {
        check_text_length("url", address, flaws);
        if let Err(flaw) = check_url(address) {
            flaws.push(flaw);
        }
        check_count("headers", self.headers.len(), flaws);
        for (name, value) in &self.headers {
            check_header(name, value, flaws);
        }
        if let Some(oauth) = &self.oauth {
            if self.headers.keys().any(|name| name.eq_ignore_ascii_case("authorization")) {
                flaws.push(DefinitionError::new(
                    "oauth",
                    "the header Authorization is set too",
                    "remove one of them",
                ));
            }
            oauth::check_oauth(oauth, flaws);
        }
    }

    /// Reports fields that require an address.
    fn reject_address_fields(&self, flaws: &mut Vec<DefinitionError>) {
        let given = [
            ("headers", !self.headers.is_empty()),
            ("transport", !self.transport.is_auto()),
            ("oauth", self.oauth.is_some()),
        ];
        for (field, _) in given.into_iter().filter(|(_, given)| *given) {
            flaws.push(DefinitionError::new(
                field,
                "it does not apply to a program",
                "remove it, or use url instead of command",
            ));
        }
    }

    /// Reports fields that require a command.
    fn reject_command_fields(&self, flaws: &mut Vec<DefinitionError>) {
        let given =
            [("args", !self.args.is_empty()), ("env", !self.env.is_empty()), ("cwd", self.cwd.is_some())];
        for (field, _) in given.into_iter().filter(|(_, given)| *given) {
            flaws.push(DefinitionError::new(
                field,
                "it does not apply to a URL",
                "remove it, or use command instead of url",
            ));
        }
    }
}

/// Checks the address of a server.
fn check_url(address: &str) -> Result<(), DefinitionError> {
    let flaw = |message: String, hint: &str| Err(DefinitionError::new("url", message, hint));
    let form = "use a URL such as https://mcp.example.com/mcp";
    let url = match Url::parse(address) {
        Ok(url) => url,
        Err(error) => return flaw(format!("it is not a URL ({error})"), form),
    };
    if !matches!(url.scheme(), "http" | "https") {
        return flaw(format!("{}: is not supported for MCP servers", url.scheme()), form);
    }
    if !url.has_host() {
        return flaw("the host is missing".to_owned(), form);
    }
    if !url.username().is_empty() || url.password().is_some() {
        return flaw("it contains a user name".to_owned(), "use headers: Authorization = \"secret:NAME\"");
    }
    if url.fragment().is_some() {
        return flaw("it contains a fragment (#), which is never sent".to_owned(), "leave it out");
    }
    Ok(())
}

fn check_header(name: &str, value: &str, flaws: &mut Vec<DefinitionError>) {
    let field = format!("headers.{name}");
    let lower = name.to_ascii_lowercase();
    if http::HeaderName::try_from(name).is_err() {
        flaws.push(DefinitionError::new(
            &field,
            format!("{name:?} is not a valid header name"),
            "use letters, digits and -, for example X-Api-Key",
        ));
    } else if RESERVED.contains(&lower.as_str()) || lower.starts_with(RESERVED_START) {
        flaws.push(DefinitionError::new(&field, "the protocol sets this header itself", "leave it out"));
    }
    let has_secret = check_secret_reference(&field, value, flaws);
    // RFC 9110, section 5.5: non-ASCII values are obsolete, and servers read them differently.
    if !has_secret && (http::HeaderValue::try_from(value).is_err() || !value.is_ascii()) {
        flaws.push(DefinitionError::new(
            &field,
            "it contains characters that are invalid in a header",
            "use one line of ASCII without control characters",
        ));
    }
    check_text_length(&field, value, flaws);
}

/// Returns true if a value refers to a secret. Reports an invalid name.
fn check_secret_reference(field: &str, value: &str, flaws: &mut Vec<DefinitionError>) -> bool {
    let Some(name) = value.strip_prefix(SECRET_PREFIX) else { return false };
    let is_plain = !name.is_empty()
        && name.len() <= 64
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    if !is_plain {
        flaws.push(DefinitionError::new(
            field,
            format!("{name:?} is not a valid secret name"),
            "use secret:NAME with letters, digits, _ and -; `toolway secrets list` shows the names",
        ));
    }
    true
}

fn check_text_length(field: &str, text: &str, flaws: &mut Vec<DefinitionError>) {
    if text.len() > MAX_TEXT {
        let message = format!("it has {} bytes; the maximum is {MAX_TEXT}", text.len());
        flaws.push(DefinitionError::new(field, message, "shorten it"));
    }
    if text.contains('\0') {
        flaws.push(DefinitionError::new(field, "it contains a zero byte", "remove it"));
    }
}

fn check_count(field: &str, count: usize, flaws: &mut Vec<DefinitionError>) {
    if count > MAX_MANY {
        let message = format!("it has {count} entries; the maximum is {MAX_MANY}");
        flaws.push(DefinitionError::new(field, message, "remove some"));
    }
}

#[cfg(test)]
mod tests;
