//! Bytes of apps on a phone: lists, answers, bundles, manifests, and the output of `adb`.

use std::collections::HashSet;

use toolway_android::provider_tool_list::ProviderToolList;
use toolway_android::{Bundle, BundleValue, ProviderDialect, cetp, mcp};
use toolway_types::SpecDocument;

/// Tests a list, a description or an answer of an app provider (CETP), and its description in one text (MCP,
/// dialect C).
pub fn provider_list(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let answer = Bundle::new().with("status", "success").with("data", text);
    if let Ok(listed) = cetp::read_list(Some(&answer)) {
        check_listed(&listed);
    }
    let _ = cetp::read_info(Some(&answer));
    if let Ok(result) = cetp::read_result(Some(&answer)) {
        assert_eq!(result.get(), text.trim(), "a result is kept as it was written");
    }
    let answer = Bundle::new().with("success", true).with("tool", text);
    if let Ok((dialect, listed)) = mcp::read_info(Some(&answer), ProviderDialect::McpB) {
        assert_eq!(dialect, ProviderDialect::McpC);
        check_listed(&listed);
    }
}

/// Tests the schema of an MCP provider's tool.
pub fn provider_schema(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let answer = Bundle::new()
        .with("success", true)
        .with("tool_name", "tool")
        .with("tool_description", "What it does")
        .with("tool_input_schema", text)
        .with("tool_input_required", BundleValue::Texts(vec!["a".to_owned()]));
    if let Ok((_, listed)) = mcp::read_info(Some(&answer), ProviderDialect::McpA) {
        check_listed(&listed);
    }
}

/// Checks that all offered tools are valid and within limits, and that names are unique.
fn check_listed(listed: &ProviderToolList) {
    assert!(listed.tools.len() <= toolway_android::bounds::TOOLS);
    assert!(listed.notes.to_vec().len() <= toolway_android::bounds::NOTES);
    let mut names = HashSet::new();
    for spec in &listed.tools {
        assert!(names.insert(&spec.name));
        let written = serde_json::to_string(spec).expect("a spec can be written");
        let again: SpecDocument = serde_json::from_str(&written).expect("what was written can be read");
        assert_eq!(again, *spec);
        if let Some(schema) = &spec.parameters {
            assert!(schema.get().len() <= 2 * toolway_android::bounds::SCHEMA_BYTES);
        }
    }
}

/// Tests a bundle from Java.
pub fn packed_bundle(data: &[u8]) {
    use toolway_android_jni::codec::{CodecReader, CodecWriter};
    let mut reader = CodecReader::new(data);
    let Ok(bundle) = reader.bundle() else { return };
    let mut writer = CodecWriter::default();
    // Values that exist only in Java can be read but not written.
    if writer.bundle(&bundle).is_err() {
        return;
    }
    let written = writer.into_bytes();
    let mut reader = CodecReader::new(&written);
    let again = reader.bundle().expect("what was written can be read");
    reader.end().expect("and nothing more");
    // NaN does not equal itself.
    assert_eq!(format!("{again:?}"), format!("{bundle:?}"));
}

/// Tests the output of a phone's `content call`: the method in the first line, standard output, a NUL,
/// standard error.
pub fn adb_output(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (method, output) = text.split_once('\n').unwrap_or(("list_tools", &text));
    let (stdout, stderr) = output.split_once('\0').unwrap_or((output, ""));
    if let Ok(Some(bundle)) = toolway_android::host::adb::read_answer(stdout, stderr, method) {
        let texts = bundle.iter().map(|(key, value)| match value {
            BundleValue::Text(text) => key.len() + text.len(),
            _ => key.len(),
        });
        assert!(texts.sum::<usize>() <= stdout.len(), "nothing is made up");
    }
    // The present keys are unchanged, regardless of the text in an error message or a JSON string.
    let message = text.replace('\n', " ");
    let line =
        format!("Result: Bundle[{{error_message={message}, status=error, error_code=INTERNAL_ERROR}}]\n");
    let answer = toolway_android::host::adb::read_answer(&line, "", "execute_tool").unwrap().unwrap();
    assert_eq!(answer.get("status"), Some(&"error".into()));
    assert_eq!(answer.get("error_code"), Some(&"INTERNAL_ERROR".into()));
    let json = serde_json::json!({ "text": text }).to_string();
    let line = format!("Result: Bundle[{{status=success, data={json}}}]\n");
    let answer = toolway_android::host::adb::read_answer(&line, "", "execute_tool").unwrap().unwrap();
    assert_eq!(answer, Bundle::new().with("status", "success").with("data", json));
}

/// Tests a binary manifest, a resource table that a known manifest refers to, or an APK.
pub fn manifest(data: &[u8]) {
    use toolway_android::lint::lint_manifest;
    use toolway_android::manifest::{Apk, AppManifest};
    // A manifest followed by a table: the size of the first chunk is the start of the second.
    let size = data.get(4..8).and_then(|size| size.try_into().ok()).map_or(0, u32::from_le_bytes);
    let (first, second) = data.split_at(usize::try_from(size).unwrap_or(usize::MAX).min(data.len()));
    for read in [AppManifest::read(data), AppManifest::read_with(first, second)].into_iter().flatten() {
        assert!(!read.package.is_empty());
        let _ = lint_manifest(&read);
    }
    if let Ok(apk) = Apk::read(std::io::Cursor::new(data), Some(33)) {
        let _ = lint_manifest(&apk.manifest);
        assert!(apk.certificate.is_none_or(|all| all.split(',').all(|one| one.len() == 64)));
    }
}
