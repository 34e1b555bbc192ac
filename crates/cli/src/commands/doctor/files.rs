//! Checks permissions of the data folder and the validity of certificates.

use std::path::Path;

use jiff::SignedDuration;

use super::DoctorReport;
use crate::certificate::validity_of_file;
use crate::client::target;
use crate::context::CliContext;
use crate::folder::{permissions_for_others, shell_quote};
use crate::settings::LoadedSettings;

/// Hint for renewing the owner's certificate.
const RENEW_HINT: &str = "replace it with a renewed certificate; no restart is needed";

/// Certificates that expire sooner than this cause a warning.
const EXPIRY_WARNING: SignedDuration = SignedDuration::from_hours(14 * 24);

/// Checks the permissions of all secret files. Inside a private folder, a readable file is only a warning: it matters
/// once someone copies it elsewhere.
pub(super) fn check(context: &CliContext, found: &mut DoctorReport) {
    let folder = &context.folder;
    let closed = permissions_for_others(folder.path()).is_none();
    if closed {
        found.add_fine("data folder", format!("only the owner can access {}", folder.path().display()));
    } else {
        let command = format!("run: chmod 700 {}", shell_quote(&folder.path().display().to_string()));
        found.add_error(
            "data folder",
            format!("other users can access {}", folder.path().display()),
            command,
        );
    }
    let folders = [folder.tls(), folder.devices(), folder.secrets(), folder.tools()];
    let mut secret = vec![folder.owner_token(), folder.models(), folder.chat_history()];
    secret.extend_from_slice(&folders);
    secret.extend(folder.database_files());
    for inside in folders {
        let entries = std::fs::read_dir(inside).into_iter().flatten().flatten();
        secret.extend(entries.map(|entry| entry.path()));
    }
    for path in secret.iter().filter(|path| permissions_for_others(path).is_some()) {
        let mode = if path.is_dir() { "700" } else { "600" };
        let message = format!("other users can access {}", path.display());
        let command = format!("run: chmod {mode} {}", shell_quote(&path.display().to_string()));
        if closed {
            found.add_warning("data folder", message, command)
        } else {
            found.add_error("data folder", message, command)
        }
    }
}

/// Checks the certificate that the gateway serves or would serve.
pub(super) fn check_certificates(loaded: &LoadedSettings, context: &CliContext, found: &mut DoctorReport) {
    let running = target::find_running(&context.folder).ok().flatten();
    if let Some(path) = running.and_then(|gateway| gateway.certificate) {
        return check_certificate(&path, RENEW_HINT, context, found);
    }
    let settings = &loaded.settings;
    if !settings.tls.is_on(settings.listen) {
        return;
    }
    let own = context.folder.tls().join("cert.pem");
    match &settings.tls.cert {
        Some(path) => check_certificate(
            path,
            "replace it with a renewed certificate; no restart is needed",
            context,
            found,
        ),
        // The gateway creates it at the first start.
        None if own.exists() => {
            check_certificate(
                &own,
                "remove it and restart: the gateway creates a new certificate for the same key, so paired devices still work",
                context,
                found,
            );
        }
        None => {}
    }
}

fn check_certificate(path: &Path, mend: &str, context: &CliContext, found: &mut DoctorReport) {
    let now = context.clock.now();
    let shown = path.display();
    match validity_of_file(path) {
        Err(why) => found.add_error(
            "certificate",
            format!("cannot read {shown}: {why}"),
            "it must be a PEM file with certificates",
        ),
        Ok(it) if now < it.from => found.add_error(
            "certificate",
            format!("{shown} is not valid before {}", it.from),
            "check this computer's clock",
        ),
        Ok(it) if now > it.to => {
            found.add_error("certificate", format!("{shown} expired at {}", it.to), mend)
        }
        Ok(it) if it.to.duration_since(now) < EXPIRY_WARNING => {
            found.add_warning("certificate", format!("{shown} expires at {}", it.to), mend);
        }
        Ok(it) => found.add_fine("certificate", format!("{shown} is valid until {}", it.to)),
    }
}
