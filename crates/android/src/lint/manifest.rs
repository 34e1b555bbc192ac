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
            "nothing in it is found as a provider of tools, and it looks for none",
            "android/provider/README.md shows a whole manifest",
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
        findings.error(&place, "it is disabled, so it can't be found", "remove android:enabled=\"false\"");
    }
    lint_version(service, &place, findings);
    let Some(authority) = lint_authority(service, &place, findings) else { return };
    let serves = |provider: &&ProviderElement| provider.each_authority().any(|it| it == authority);
    let Some(provider) = manifest.providers.iter().find(serves) else {
        findings.error(
            &place,
            format!(
                "its authority {authority} is served by no provider of this app: nobody calls another app's"
            ),
            "name the authority that this app's <provider> declares",
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
                "it is not exported, so that other apps can't use it",
                "android:exported=\"true\"",
            );
        }
        None if manifest.target_sdk >= EXPORTED_SINCE && !component.filters.is_empty() => findings.error(
            place,
            "it does not say whether it is exported: Android 12 and newer do not install such an app",
            "android:exported=\"true\"",
        ),
        None if component.exported => {
            findings.warning(
                place,
                "it is exported only because it has a filter",
                "android:exported=\"true\"",
            );
        }
        None => findings.error(
            place,
            "it is not exported, so that other apps can't use it",
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
                findings.warning(place, "its authority has spaces around it", "remove them");
            }
            return Some(text.trim().to_owned());
        }
        None => findings.error(place, "it does not say its authority", &remedy),
        Some(ManifestMetaData::Other(what)) => {
            findings.error(
                place,
                format!("its authority is {what}"),
                "write it out, or name a string of the app's own",
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
            "the compiler made a float of its version; consumers that read an int or a string get nothing",
            REMEDY,
        ),
        Some(ManifestMetaData::Text(_)) => {
            findings.note(place, "its version is a string; consumers that read an int get nothing", REMEDY)
        }
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
            "it is not started early, which some phones need to start it at all",
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
        findings.error(
            place,
            "it is not exported, so that no other app may call it",
            "android:exported=\"true\"",
        );
    }
    if !provider.component.enabled {
        findings.error(place, "it is switched off", "remove android:enabled=\"false\"");
    }
    for authority in provider.each_authority().filter(|it| !it.starts_with(manifest.package.as_str())) {
        findings.warning(
            place,
            format!("its authority {authority} does not begin with the app's package"),
            "two apps with one authority can't be installed together: begin it with your package",
        );
    }
}

/// Checks that a provider requires a permission that consumers have.
fn lint_permission(provider: &ProviderElement, wanted: &str, place: &str, findings: &mut LintFindings) {
    let remedy = format!("android:permission=\"{wanted}\"");
    match (provider.read_permission.as_deref(), provider.write_permission.as_deref()) {
        (Some(read), Some(write)) if read == wanted && write == wanted => {}
        (None, None) => findings.warning(place, "any app may call it: it is guarded by no permission", &remedy),
        (Some(read), Some(write)) if read == write => findings.error(
            place,
            format!("it is guarded by {read}, which consumers of this protocol do not ask for"),
            &remedy,
        ),
        (Some(_), Some(_)) => findings.warning(
            place,
            "it is guarded by one permission for reading and by another for writing; either is enough to call it",
            &remedy,
        ),
        _ => findings.warning(
            place,
            "only reading or only writing is guarded; who lacks that permission may call it all the same",
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
            "it is guarded by a permission, which this dialect does not know: consumers will be refused",
            "tell consumers which permission they need, or answer to the action se.premex.mcp.MCP_PROVIDER as well",
        );
    } else {
        findings.note(
            &place,
            "any app may call it, as this dialect has it; its tools may act",
            "check in call() who calls (getCallingPackage)",
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
                "there is no service by which it is found",
                "add an exported <service> with the action com.clawseed.action.TOOL_PROVIDER and its meta-data",
            );
        } else if provider.component.has_action(mcp::ACTION_VIEW) && !is_mcp(provider) && !is_named {
            findings.error(
                &place,
                "its filter has the action VIEW but not the type by which tools are found",
                "<data android:mimeType=\"application/vnd.mcp.tool\" /> in the filter",
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
            "it waits for the phone's start, of which the app is not told without a permission",
            "<uses-permission android:name=\"android.permission.RECEIVE_BOOT_COMPLETED\" />",
        ),
        Some(_) => {}
        None => findings.note(
            "<application>",
            "nothing starts it with the phone; some phones start no app's provider for others",
            "a <receiver> for BOOT_COMPLETED helps there",
        ),
    }
}

fn lint_label(manifest: &AppManifest, findings: &mut LintFindings) {
    let name = naming::plain(manifest.label.as_deref(), &manifest.package);
    match &manifest.label {
        Some(_) => findings.note(
            "<application>",
            format!("its tools are called {name}__… where no other provider has that name already"),
            "",
        ),
        None => findings.warning(
            "<application>",
            format!("it has no label of its own; its tools are called {name}__… after its package"),
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
            "an app that offers tools defines it: since Android 5 no two apps that define the same permission and \
             are signed by different keys can be installed together, so the second such app can't be",
            "remove it; the app that looks for tools defines it",
        );
    } else if !looks {
        findings.warning(place, "it is defined and not asked for", "<uses-permission> of the same name");
    }
    if defined.protection_level != 0 {
        findings.warning(
            place,
            "its level is not normal: apps that were installed before, or by others, are not given it",
            "android:protectionLevel=\"normal\"",
        );
    }
    if !offers && !defined.is_described {
        findings.warning(
            place,
            "it has no label or no description: the person who looks at an app's permissions can't tell what it is",
            "android:label and android:description",
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
        format!("it asks for no sight of {dialect}: on Android 11 and newer it finds none of them")
    };
    if asks(cetp::PERMISSION) && !names(&action(cetp::ACTION)) {
        findings.error(
            "<queries>",
            missing("CETP's providers"),
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
            missing("providers that are found by their type"),
            "<intent> with the action android.intent.action.VIEW and the type application/vnd.mcp.tool",
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
