//! Checks an app's manifest without a phone.

use super::{LintFinding, LintFindings};
use crate::host::ManifestMetaData;
use crate::manifest::{AppComponent, AppManifest, IntentFilter, ProviderElement};
use crate::note::{ProviderNoteKind, ProviderNotes};
use crate::{cetp, mcp, naming, version};

const BOOT: &str = "android.intent.action.BOOT_COMPLETED";
const BOOT_PERMISSION: &str = "android.permission.RECEIVE_BOOT_COMPLETED";
const SEES_ALL: &str = "android.permission.QUERY_ALL_PACKAGES";
/// API level from which an app sees only the apps in its `<queries>`.
const VISIBILITY_SINCE: u32 = 30;
/// API level from which a component with a filter must declare `exported`.
const EXPORTED_SINCE: u32 = 31;

/// Returns findings about an app that offers or consumes tools, the most severe first.
#[must_use]
pub fn lint_manifest(manifest: &AppManifest) -> Vec<LintFinding> {
    let mut findings = LintFindings::default();
    let services: Vec<&AppComponent> =
        manifest.services.iter().filter(|service| service.has_action(cetp::ACTION)).collect();
    let mcp_providers: Vec<&ProviderElement> = manifest.providers.iter().filter(|it| is_mcp(it)).collect();
    let offers = !services.is_empty() || !mcp_providers.is_empty();
    let asks = |permission: &str| manifest.uses_permissions.iter().any(|it| it == permission);
    let looks = asks(cetp::PERMISSION) || asks(mcp::PERMISSION);
    for service in &services {
        lint_service(service, manifest, &mut findings);
    }
    for provider in &mcp_providers {
        lint_mcp_provider(provider, manifest, &mut findings);
    }
    lint_incomplete_entries(manifest, &mut findings);
    if !offers && !looks && findings.0.is_empty() {
        findings.error(
            "<application>",
            "the manifest declares no tool provider and no consumer",
            "see android/provider/README.md for a complete manifest",
        );
    }
    if offers {
        lint_boot(manifest, &mut findings);
        lint_label(manifest, &mut findings);
    }
    lint_permissions(manifest, offers, looks, &mut findings);
    if looks {
        lint_queries(manifest, &mut findings);
    }
    findings.sorted()
}

fn is_mcp(provider: &ProviderElement) -> bool {
    provider.component.has_action(mcp::ACTION) || provider.is_mcp_type()
}

fn short(manifest: &AppManifest, class: &str) -> String {
    class.strip_prefix(&manifest.package).filter(|rest| rest.starts_with('.')).unwrap_or(class).to_owned()
}

/// Checks the discovery service of CETP and its provider (CETP, section 2.2).
fn lint_service(service: &AppComponent, manifest: &AppManifest, findings: &mut LintFindings) {
    let place = format!("<service {}>", short(manifest, &service.class));
    lint_exported(service, &place, manifest, findings);
    if !service.enabled {
        findings.error(
            &place,
            "it is disabled, so consumers can't find it",
            "remove android:enabled=\"false\"",
        );
    }
    lint_version(service, &place, findings);
    let Some(authority) = lint_authority(service, &place, findings) else { return };
    let serves = |provider: &&ProviderElement| provider.each_authority().any(|it| it == authority);
    let Some(provider) = manifest.providers.iter().find(serves) else {
        findings.error(
            &place,
            format!("its authority {authority} has no <provider> in this app"),
            "use the authority of a <provider> in this app",
        );
        return;
    };
    lint_cetp_provider(provider, manifest, findings);
}

fn lint_exported(component: &AppComponent, place: &str, manifest: &AppManifest, findings: &mut LintFindings) {
    match component.exported_as_written {
        Some(true) => {}
        Some(false) => {
            findings.error(
                place,
                "it is not exported, so other apps can't use it",
                "android:exported=\"true\"",
            );
        }
        None if manifest.target_sdk >= EXPORTED_SINCE && !component.filters.is_empty() => findings.error(
            place,
            "android:exported is missing: Android 12 and newer do not install this app",
            "android:exported=\"true\"",
        ),
        None if component.exported => {
            findings.warning(
                place,
                "android:exported is missing; it is exported only because it has an intent filter",
                "android:exported=\"true\"",
            );
        }
        None => findings.error(
            place,
            "it is not exported, so other apps can't use it",
            "android:exported=\"true\"",
        ),
    }
}

/// Returns the authority in the meta-data.
fn lint_authority(service: &AppComponent, place: &str, findings: &mut LintFindings) -> Option<String> {
    let remedy = format!("<meta-data android:name=\"{}\" android:value=\"…\" />", cetp::AUTHORITY);
    match service.meta(cetp::AUTHORITY) {
        Some(ManifestMetaData::Text(text)) if !text.trim().is_empty() => {
            if text.trim() != text {
                findings.warning(place, "its authority starts or ends with spaces", "remove them");
            }
            return Some(text.trim().to_owned());
        }
        None => findings.error(place, "its authority is missing", &remedy),
        Some(ManifestMetaData::Other(what)) => {
            findings.error(
                place,
                format!("its authority is {what}"),
                "write the authority itself, or use a string resource of the app",
            );
        }
        Some(_) => findings.error(place, "its authority is empty or not a string", &remedy),
    }
    None
}

fn lint_version(service: &AppComponent, place: &str, findings: &mut LintFindings) {
    const REMEDY: &str = "<meta-data android:name=\"com.clawseed.tools.version\" android:value=\"1\" />";
    let value = service.meta(cetp::VERSION);
    let mut notes = ProviderNotes::default();
    if let Err(reason) = version::read(value, &mut notes) {
        findings.error(place, reason, REMEDY);
        return;
    }
    for note in notes.to_vec() {
        findings.warning(place, note.reason, REMEDY);
    }
    match value {
        Some(ManifestMetaData::Float(_)) => findings.warning(
            place,
            "its version was compiled to a float; consumers that read an integer or a string can't read it",
            REMEDY,
        ),
        Some(ManifestMetaData::Text(_)) => findings.note(
            place,
            "its version is a string; consumers that read an integer can't read it",
            REMEDY,
        ),
        _ => {}
    }
}

fn lint_cetp_provider(provider: &ProviderElement, manifest: &AppManifest, findings: &mut LintFindings) {
    let place = format!("<provider {}>", short(manifest, &provider.component.class));
    lint_callable(provider, &place, manifest, findings);
    lint_permission(provider, cetp::PERMISSION, &place, findings);
    if provider.init_order < 100 {
        findings.warning(
            &place,
            "android:initOrder is below 100; some phones then never start it",
            "android:initOrder=\"100\"",
        );
    }
}

/// Checks that other apps can call a provider, and that its authorities belong to the app.
fn lint_callable(
    provider: &ProviderElement,
    place: &str,
    manifest: &AppManifest,
    findings: &mut LintFindings,
) {
    if provider.component.exported_as_written != Some(true) {
        findings.error(place, "it is not exported, so other apps can't call it", "android:exported=\"true\"");
    }
    if !provider.component.enabled {
        findings.error(place, "it is disabled", "remove android:enabled=\"false\"");
    }
    for authority in provider.each_authority().filter(|it| !it.starts_with(manifest.package.as_str())) {
        findings.warning(
            place,
            format!("its authority {authority} does not start with the package name"),
            "start it with your package name: Android can't install two apps with the same authority",
        );
    }
}

/// Checks that a provider requires a permission that consumers have.
fn lint_permission(provider: &ProviderElement, wanted: &str, place: &str, findings: &mut LintFindings) {
    let remedy = format!("android:permission=\"{wanted}\"");
    match (provider.read_permission.as_deref(), provider.write_permission.as_deref()) {
        (Some(read), Some(write)) if read == wanted && write == wanted => {}
        (None, None) => findings.warning(place, "any app can call it: it requires no permission", &remedy),
        (Some(read), Some(write)) if read == write => findings.error(
            place,
            format!("it requires {read}, which consumers of this protocol do not request"),
            &remedy,
        ),
        (Some(_), Some(_)) => findings.warning(
            place,
            "it requires different permissions for reading and writing; an app with either one can call it",
            &remedy,
        ),
        _ => findings.warning(
            place,
            "only reading or only writing requires a permission, so an app without it can still call it",
            &remedy,
        ),
    }
}

fn lint_mcp_provider(provider: &ProviderElement, manifest: &AppManifest, findings: &mut LintFindings) {
    let place = format!("<provider {}>", short(manifest, &provider.component.class));
    lint_callable(provider, &place, manifest, findings);
    if provider.each_authority().next().is_none() {
        findings.error(&place, "it has no authority", "android:authorities=\"…\"");
    }
    if provider.component.has_action(mcp::ACTION) {
        lint_permission(provider, mcp::PERMISSION, &place, findings);
    } else if provider.read_permission.is_some() || provider.write_permission.is_some() {
        findings.warning(
            &place,
            "it requires a permission, but this dialect has none: it will reject consumers",
            "document the permission for consumers, or also add the action se.premex.mcp.MCP_PROVIDER",
        );
    } else {
        findings.note(
            &place,
            "any app can call it, because this dialect uses no permission; its tools may have side effects",
            "check the caller in call() with getCallingPackage()",
        );
    }
}

/// Reports providers that look like tool providers but can't be found.
fn lint_incomplete_entries(manifest: &AppManifest, findings: &mut LintFindings) {
    let named: Vec<String> = manifest
        .services
        .iter()
        .filter(|service| service.has_action(cetp::ACTION))
        .filter_map(|service| match service.meta(cetp::AUTHORITY) {
            Some(ManifestMetaData::Text(authority)) => Some(authority.trim().to_owned()),
            _ => None,
        })
        .collect();
    for provider in &manifest.providers {
        let place = format!("<provider {}>", short(manifest, &provider.component.class));
        let is_named = provider.each_authority().any(|authority| named.iter().any(|it| it == authority));
        if provider.read_permission.as_deref() == Some(cetp::PERMISSION) && !is_named {
            findings.error(
                &place,
                "no <service> declares it, so consumers can't find it",
                "add an exported <service> with the action com.clawseed.action.TOOL_PROVIDER and its meta-data",
            );
        } else if provider.component.has_action(mcp::ACTION_VIEW) && !is_mcp(provider) && !is_named {
            findings.error(
                &place,
                "its intent filter has the action VIEW but not the MIME type of tool providers",
                "add <data android:mimeType=\"application/vnd.mcp.tool\" /> to the intent filter",
            );
        }
    }
}

fn lint_boot(manifest: &AppManifest, findings: &mut LintFindings) {
    let receiver = manifest.receivers.iter().find(|receiver| receiver.has_action(BOOT));
    let may = manifest.uses_permissions.iter().any(|it| it == BOOT_PERMISSION);
    match receiver {
        Some(receiver) if !may => findings.error(
            &format!("<receiver {}>", short(manifest, &receiver.class)),
            "it handles BOOT_COMPLETED, but the app lacks the permission RECEIVE_BOOT_COMPLETED",
            "<uses-permission android:name=\"android.permission.RECEIVE_BOOT_COMPLETED\" />",
        ),
        Some(_) => {}
        None => findings.note(
            "<application>",
            "the app does not start when the phone boots; some phones start no provider for another app",
            "add a <receiver> for BOOT_COMPLETED",
        ),
    }
}

fn lint_label(manifest: &AppManifest, findings: &mut LintFindings) {
    let name = naming::plain(manifest.label.as_deref(), &manifest.package);
    match &manifest.label {
        Some(_) => findings.note(
            "<application>",
            format!("its tools get the prefix {name}__, unless another provider already has it"),
            "",
        ),
        None => findings.warning(
            "<application>",
            format!("android:label is missing; its tools get the prefix {name}__ from the package name"),
            "android:label=\"…\"",
        ),
    }
}

fn lint_permissions(manifest: &AppManifest, offers: bool, looks: bool, findings: &mut LintFindings) {
    let defined = manifest.permissions.iter().find(|it| it.name == cetp::PERMISSION);
    let Some(defined) = defined else { return };
    let place = "<permission com.clawseed.permission.ACCESS_TOOLS>";
    if offers {
        findings.error(
            place,
            "an app that offers tools must not define it: Android can't install two apps with different signers \
             that define the same permission",
            "remove it; the app that uses the tools defines it",
        );
    } else if !looks {
        findings.warning(
            place,
            "it is defined but not requested",
            "add a <uses-permission> with the same name",
        );
    }
    if defined.protection_level != 0 {
        findings.warning(
            place,
            "its protection level is not \"normal\": apps that were installed earlier, or have another signer, do not get it",
            "android:protectionLevel=\"normal\"",
        );
    }
    if !offers && !defined.is_described {
        findings.warning(
            place,
            "android:label or android:description is missing, so the list of permissions does not explain it",
            "add android:label and android:description",
        );
    }
}

/// Reports a consumer that can't see the apps that it looks for.
fn lint_queries(manifest: &AppManifest, findings: &mut LintFindings) {
    if manifest.target_sdk < VISIBILITY_SINCE || manifest.uses_permissions.iter().any(|it| it == SEES_ALL) {
        return;
    }
    let names = |what: &dyn Fn(&IntentFilter) -> bool| manifest.queries.intents.iter().any(what);
    let action = |wanted: &'static str| {
        move |filter: &IntentFilter| filter.actions.iter().any(|action| action == wanted)
    };
    let asks = |permission: &str| manifest.uses_permissions.iter().any(|it| it == permission);
    let missing = |dialect: &str| {
        format!("the entry for {dialect} is missing: Android 11 and newer hide them from this app")
    };
    if asks(cetp::PERMISSION) && !names(&action(cetp::ACTION)) {
        findings.error(
            "<queries>",
            missing("CETP providers"),
            "<intent><action android:name=\"com.clawseed.action.TOOL_PROVIDER\" /></intent>",
        );
    }
    if asks(mcp::PERMISSION) && !names(&action(mcp::ACTION)) {
        findings.error(
            "<queries>",
            missing("providers of the MCP dialects"),
            "<intent><action android:name=\"se.premex.mcp.MCP_PROVIDER\" /></intent>",
        );
    }
    if asks(mcp::PERMISSION) && !names(&IntentFilter::is_mcp_type) {
        findings.warning(
            "<queries>",
            missing("providers with the MIME type of MCP"),
            "add an <intent> with the action android.intent.action.VIEW and the type application/vnd.mcp.tool",
        );
    }
}

/// Returns the severity of a note from a scan.
pub(super) fn level_of_note(kind: ProviderNoteKind) -> super::LintLevel {
    match kind {
        ProviderNoteKind::Refused => super::LintLevel::Error,
        ProviderNoteKind::Flagged => super::LintLevel::Warning,
    }
}
