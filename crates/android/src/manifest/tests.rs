//! Tests with output of Android's own compiler (`fixtures/`), and with invalid bytes.

use std::io::{Cursor, Read};

use proptest::prelude::*;

use super::bytes::{ByteSlice, ResourceChunk};
use super::{Apk, ApkError, AppComponent, AppManifest};
use crate::host::ManifestMetaData;

const SAMPLE: &[u8] = include_bytes!("../../fixtures/sample/sample.apk");
/// As printed by `apksigner verify --print-certs`.
const CERTIFICATE: &str = "b4cf86e52bec83cb2f648b222b195a699e93daee5806bbad06eff4ef921a0f57";

fn sample() -> AppManifest {
    Apk::read(Cursor::new(SAMPLE), None).unwrap().manifest
}

fn entry(name: &str) -> Vec<u8> {
    let mut archive = zip::ZipArchive::new(Cursor::new(SAMPLE)).unwrap();
    let mut bytes = Vec::new();
    archive.by_name(name).unwrap().read_to_end(&mut bytes).unwrap();
    bytes
}

#[track_caller]
fn component<'a>(all: &'a [AppComponent], class: &str) -> &'a AppComponent {
    all.iter().find(|it| it.class == class).unwrap()
}

#[test]
fn an_apk_has_its_manifest() {
    let manifest = sample();
    assert_eq!(manifest.package, "com.example.sample");
    assert_eq!(manifest.version_code, Some(7));
    assert_eq!((manifest.min_sdk, manifest.target_sdk), (26, 34));
    assert_eq!(manifest.label.as_deref(), Some("Sample “app”"), "the default language's");
    assert_eq!(manifest.uses_permissions, ["android.permission.INTERNET"]);
}

#[test]
fn the_signing_certificate_is_the_one_that_apksigner_prints() {
    for level in [None, Some(26), Some(35)] {
        let apk = Apk::read(Cursor::new(SAMPLE), level).unwrap();
        assert_eq!(apk.certificate.as_deref(), Some(CERTIFICATE), "{level:?}");
    }
}

#[test]
fn permissions_have_their_level() {
    let permissions = sample().permissions;
    let all: Vec<_> =
        permissions.iter().map(|it| (it.name.as_str(), it.protection_level, it.is_described)).collect();
    assert_eq!(
        all,
        [
            ("com.example.sample.permission.READ", 2, false),
            ("com.example.sample.permission.LABELLED", 0, true)
        ]
    );
}

#[test]
fn compiled_meta_data_is_read_with_its_own_type_a3() {
    let manifest = sample();
    let service = component(&manifest.services, "com.example.sample.tools.Discovery");
    assert_eq!(service.meta("com.clawseed.tools.version"), Some(&ManifestMetaData::Int(1)));
    assert_eq!(
        service.meta("com.clawseed.tools.authority"),
        Some(&ManifestMetaData::Text("com.example.sample.tools".to_owned())),
        "a reference to a reference"
    );
    assert_eq!(service.meta("float"), Some(&ManifestMetaData::Float(1.0)));
    assert_eq!(service.meta("boolean"), Some(&ManifestMetaData::Boolean(true)));
    assert_eq!(service.meta("text"), Some(&ManifestMetaData::Text("1".to_owned())), "written as \\ 1");
    assert_eq!(service.meta("hex"), Some(&ManifestMetaData::Int(16)));
    assert_eq!(service.meta("integer"), Some(&ManifestMetaData::Int(7)));
    assert_eq!(service.meta("flag"), Some(&ManifestMetaData::Boolean(true)));
    assert!(matches!(service.meta("resource"), Some(ManifestMetaData::Int(id)) if id >> 24 == 0x7f));
    assert!(matches!(service.meta("system"), Some(ManifestMetaData::Other(_))));
    assert_eq!(service.meta("absent"), None);
}

#[test]
fn what_is_exported_follows_android_s_rules() {
    let manifest = sample();
    let discovery = component(&manifest.services, "com.example.sample.tools.Discovery");
    assert_eq!((discovery.exported_as_written, discovery.exported), (Some(true), true));
    assert_eq!(discovery.permission, None, "an empty permission takes the application's away");
    let implicit = component(&manifest.services, "com.example.sample.Implicit");
    assert_eq!((implicit.exported_as_written, implicit.exported), (None, true));
    assert_eq!(implicit.permission.as_deref(), Some("com.example.sample.permission.READ"));
    let private = component(&manifest.services, "com.elsewhere.Private");
    assert_eq!((private.exported, private.enabled), (false, false));
    assert!(component(&manifest.receivers, "com.example.sample.Boot").exported);
    let files = manifest.providers.iter().find(|it| it.authorities == "com.example.sample.files").unwrap();
    assert!(!files.component.exported);
    assert_eq!(files.read_permission.as_deref(), Some("com.example.sample.permission.READ"));
}

#[test]
fn providers_have_authorities_permissions_and_filters() {
    let manifest = sample();
    let tools = &manifest.providers[0];
    assert_eq!(tools.component.class, "com.example.sample.tools.Tools");
    assert_eq!(
        tools.each_authority().collect::<Vec<_>>(),
        ["com.example.sample.tools", "com.example.sample.more"]
    );
    assert_eq!(tools.read_permission.as_deref(), Some("com.clawseed.permission.ACCESS_TOOLS"));
    assert_eq!(tools.write_permission.as_deref(), Some("com.clawseed.permission.ACCESS_TOOLS"));
    assert_eq!(tools.init_order, 100);
    let mcp = &manifest.providers[1];
    assert_eq!(mcp.read_permission, None);
    assert_eq!(mcp.write_permission.as_deref(), Some("com.example.sample.permission.READ"));
    assert!(mcp.component.has_action("android.intent.action.VIEW"));
    assert_eq!(mcp.component.filters[0].mime_types, ["application/vnd.mcp.tool"]);
}

#[test]
fn the_queries_element_of_a_manifest_is_read_a7() {
    let queries = sample().queries;
    assert_eq!(queries.packages, ["com.example.other"]);
    assert_eq!(queries.authorities, ["com.example.other.tools"]);
    assert_eq!(queries.intents.len(), 2);
    assert_eq!(queries.intents[0].actions, ["com.clawseed.action.TOOL_PROVIDER"]);
    assert_eq!(queries.intents[1].mime_types, ["application/vnd.mcp.tool"]);
}

#[test]
fn a_manifest_is_readable_without_its_resources() {
    let manifest = AppManifest::read(&entry("AndroidManifest.xml")).unwrap();
    assert_eq!(manifest.package, "com.example.sample");
    assert_eq!(manifest.label, None);
    let service = component(&manifest.services, "com.example.sample.tools.Discovery");
    assert!(matches!(service.meta("com.clawseed.tools.authority"), Some(ManifestMetaData::Other(_))));
}

#[test]
fn invalid_apks_are_refused_with_a_message() {
    let read = |bytes: &[u8]| Apk::read(Cursor::new(bytes.to_vec()), None).unwrap_err().to_string();
    assert!(read(b"").starts_with("not an APK"), "{}", read(b""));
    assert!(read(b"<manifest/>").starts_with("not an APK"));
    let mut empty = zip::ZipWriter::new(Cursor::new(Vec::new()));
    empty.start_file("a", zip::write::SimpleFileOptions::default()).unwrap();
    let empty = empty.finish().unwrap().into_inner();
    assert_eq!(read(&empty), "not an APK: AndroidManifest.xml is missing");
    let plain = zipped(&[("AndroidManifest.xml", b"<manifest package='a.b'/>")]);
    assert_eq!(read(&plain), "its AndroidManifest.xml can't be read: not binary XML");
}

fn zipped(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in entries {
        writer.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        std::io::Write::write_all(&mut writer, bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// Creates a document of `depth` nested elements, each with the pool's only string as its name.
fn nested(depth: usize, attributes: usize) -> Vec<u8> {
    let chunk = |kind: u16, header: u16, body: &[u8]| {
        let size = u32::try_from(8 + body.len()).unwrap();
        [&kind.to_le_bytes()[..], &header.to_le_bytes(), &size.to_le_bytes(), body].concat()
    };
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>();
    let mut pool = words(&[1, 0, 1 << 8, 32, 0, 0]);
    pool.extend(b"\x08\x08manifest\0\0");
    let mut body = chunk(1, 28, &pool);
    let count = u32::try_from(attributes).unwrap();
    for _ in 0..depth {
        let mut start = words(&[0, u32::MAX, u32::MAX, 0, 20 << 16 | 20, count, 0]);
        for _ in 0..attributes {
            start.extend(words(&[u32::MAX, 0, 0, 3 << 24 | 8, 0]));
        }
        body.extend(chunk(0x0102, 16, &start));
    }
    for _ in 0..depth {
        body.extend(chunk(0x0103, 16, &words(&[0, u32::MAX, u32::MAX, 0])));
    }
    chunk(3, 8, &body)
}

#[test]
fn the_nesting_of_elements_is_limited() {
    let refusal = |bytes: &[u8]| AppManifest::read(bytes).unwrap_err().to_string();
    let too_much = "its AndroidManifest.xml can't be read: too many elements";
    assert_eq!(refusal(&nested(20, 0)), "its AndroidManifest.xml can't be read: the package name is missing");
    assert_eq!(refusal(&nested(100_000, 0)), too_much);
    assert_eq!(refusal(&nested(10, 60_000)), too_much);
}

#[test]
fn an_entry_that_unpacks_to_too_much_is_refused() {
    let bomb = zipped(&[("AndroidManifest.xml", &vec![0; 9 << 20])]);
    assert!(bomb.len() < 100_000);
    let error = Apk::read(Cursor::new(bomb), None).unwrap_err();
    assert!(matches!(error, ApkError::TooLarge { part: "AndroidManifest.xml", .. }), "{error}");
}

#[test]
fn circular_references_are_unresolved() {
    let (manifest, mut table) = (entry("AndroidManifest.xml"), entry("resources.arsc"));
    // `string/authority` (as `aapt dump resources` numbers it) refers to the next resource; this makes it
    // refer to itself.
    let reference = |id: u32| [&[8, 0, 0, 1][..], &id.to_le_bytes()].concat();
    let at = table.windows(8).position(|it| it == reference(0x7f02_0003)).unwrap();
    table[at..at + 8].copy_from_slice(&reference(0x7f02_0002));
    let read = AppManifest::read_with(&manifest, &table).unwrap();
    let service = component(&read.services, "com.example.sample.tools.Discovery");
    assert_eq!(
        service.meta("com.clawseed.tools.authority"),
        Some(&ManifestMetaData::Other("the resource @0x7f020002, which is not in the app".to_owned()))
    );
}

#[test]
fn truncated_files_are_parsed_or_refused() {
    let (manifest, table) = (entry("AndroidManifest.xml"), entry("resources.arsc"));
    for end in 0..manifest.len() {
        let _ = AppManifest::read_with(&manifest[..end], &table);
    }
    for end in 0..table.len() {
        let _ = AppManifest::read_with(&manifest, &table[..end]);
    }
    for end in (0..SAMPLE.len()).step_by(7) {
        assert!(Apk::read(Cursor::new(&SAMPLE[..end]), None).is_err());
    }
}

#[test]
fn chunks_without_a_length_are_ignored() {
    assert!(ResourceChunk::first(ByteSlice::new(&[3, 0, 8, 0, 0, 0, 0, 0])).is_none());
    assert!(ResourceChunk::first(ByteSlice::new(&[3, 0, 0, 0, 8, 0, 0, 0])).is_none());
    assert!(ResourceChunk::first(ByteSlice::new(&[3, 0, 8, 0, 9, 0, 0, 0])).is_none());
    assert!(ResourceChunk::first(ByteSlice::new(&[3, 0, 8, 0, 8, 0, 0, 0])).is_some());
}

proptest! {
    #[test]
    fn changed_bytes_are_parsed_or_refused(changes in proptest::collection::vec((any::<u16>(), any::<u8>()), 1..12)) {
        let (mut manifest, mut table, mut apk) = (entry("AndroidManifest.xml"), entry("resources.arsc"), SAMPLE.to_vec());
        for (at, byte) in changes {
            for bytes in [&mut manifest, &mut table, &mut apk] {
                let at = usize::from(at) % bytes.len();
                bytes[at] = byte;
            }
        }
        let _ = AppManifest::read_with(&manifest, &table);
        let _ = Apk::read(Cursor::new(apk), Some(33));
    }
}
