use super::*;

struct ArchiveFixture {
    temp: tempfile::TempDir,
}

impl ArchiveFixture {
    fn new() -> Self {
        Self { temp: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.temp.path().join(name)
    }

    fn file(&self, name: &str, content: &[u8]) -> (String, PathBuf) {
        let path = self.path(&name.replace('/', "_"));
        std::fs::write(&path, content).unwrap();
        (name.to_owned(), path)
    }

    /// Creates a tar file with these entries, valid or not.
    fn tar(&self, entries: &[(&str, &[u8], EntryType)]) -> PathBuf {
        let path = self.path("made.tar");
        let mut builder = Builder::new(File::create(&path).unwrap());
        for (name, content, kind) in entries {
            let mut header = Header::new_gnu();
            header.set_entry_type(*kind);
            header.set_mode(0o644);
            header.set_size(content.len() as u64);
            // Written by hand, because the library rejects some of these names.
            let field = &mut header.as_gnu_mut().unwrap().name;
            field[..name.len()].copy_from_slice(name.as_bytes());
            header.set_cksum();
            builder.append(&header, *content).unwrap();
        }
        builder.finish().unwrap();
        path
    }

    /// Creates a tar file with a manifest of these files.
    fn backup(&self, listed: &[(&str, &[u8])], entries: &[(&str, &[u8], EntryType)]) -> PathBuf {
        let files: Vec<BackupFile> = listed
            .iter()
            .map(|(name, content)| {
                let (size, sha256) = digest(&mut &**content, &mut io::sink()).unwrap();
                BackupFile { name: (*name).to_owned(), size, sha256 }
            })
            .collect();
        let manifest = BackupManifest { format: FORMAT, version: "0".to_owned(), created_ms: 0, files };
        let text = serde_json::to_vec(&manifest).unwrap();
        let mut all: Vec<(&str, &[u8], EntryType)> = vec![(MANIFEST, &text, EntryType::Regular)];
        all.extend_from_slice(entries);
        self.tar(&all)
    }

    /// Returns the error. Asserts that no file was written outside of the folder.
    #[track_caller]
    fn unpack_error(&self, backup: &Path) -> String {
        let into = self.path("into");
        std::fs::create_dir_all(&into).unwrap();
        let failure = unpack(backup, &into).expect_err("refused");
        assert_eq!(failure.code(), "invalid_backup");
        assert!(!self.path("escaped").exists() && !Path::new("/tmp/escaped").exists());
        let text = failure.render_text(false);
        text.lines().next().unwrap().to_owned()
    }
}

const DB: (&str, &[u8]) = (DATABASE, b"database");
const FILE: EntryType = EntryType::Regular;

#[test]
fn a_written_backup_can_be_unpacked() {
    let case = ArchiveFixture::new();
    let files = [
        case.file(DATABASE, &vec![7; 200_000]),
        case.file(OWNER_TOKEN, b"twy_o_x\n"),
        case.file("tls/key.pem", b""),
        case.file("devices/gw-7717.json", b"{}"),
    ];
    let backup = case.path("backup.tar");
    let written = write(&backup, &files, 1_700_000_000_000).unwrap();
    assert_eq!(crate::folder::permissions_for_others(&backup), None);
    let into = case.path("into");
    std::fs::create_dir(&into).unwrap();
    let read = unpack(&backup, &into).unwrap();
    assert_eq!((read.files, read.created_ms), (written.files, 1_700_000_000_000));
    for (name, path) in &files {
        assert_eq!(std::fs::read(into.join(name)).unwrap(), std::fs::read(path).unwrap(), "{name}");
        assert_eq!(crate::folder::permissions_for_others(&into.join(name)), None, "{name}");
    }
}

#[test]
fn existing_files_are_not_overwritten() {
    let case = ArchiveFixture::new();
    let (_, existing) = case.file("existing", b"mine");
    let files = [case.file(DATABASE, b"db")];
    let failure = write(&existing, &files, 0).unwrap_err();
    assert!(failure.render_text(false).contains("hint: choose another file"));
    assert_eq!(std::fs::read(&existing).unwrap(), b"mine");
}

#[test]
fn a_truncated_or_damaged_backup_is_rejected() {
    let case = ArchiveFixture::new();
    let files = [case.file(DATABASE, &vec![7; 5000]), case.file(OWNER_TOKEN, b"twy_o_x\n")];
    let backup = case.path("backup.tar");
    write(&backup, &files, 0).unwrap();
    let whole = std::fs::read(&backup).unwrap();
    let broken = case.path("broken.tar");
    // Cut at every block: the tar reader accepts a file that ends between entries.
    for end in (0..whole.len() - 1024).step_by(512) {
        std::fs::write(&broken, &whole[..end]).unwrap();
        let _ = std::fs::remove_dir_all(case.path("into"));
        case.unpack_error(&broken);
    }
    let mut flipped = whole.clone();
    let at = whole.windows(8).position(|window| window == [7; 8]).unwrap() + 100;
    flipped[at] ^= 1;
    std::fs::write(&broken, flipped).unwrap();
    let _ = std::fs::remove_dir_all(case.path("into"));
    assert!(case.unpack_error(&broken).contains("\"toolway.db\" is damaged"));
}

#[test]
fn other_files_are_rejected_as_backups() {
    let case = ArchiveFixture::new();
    let (_, text) = case.file("text", b"hello");
    assert!(case.unpack_error(&text).contains("not a tar file"), "{}", case.unpack_error(&text));
    let (_, empty) = case.file("empty", b"");
    assert!(case.unpack_error(&empty).contains("it is empty"));
    let other = case.tar(&[("readme", b"x", FILE)]);
    assert!(case.unpack_error(&other).contains("not a Toolway backup"));
    let newer = case.tar(&[(MANIFEST, b"{\"format\": 9, \"surprise\": []}", FILE)]);
    assert!(case.unpack_error(&newer).contains("its format is 9"));
}

#[test]
fn no_entry_points_outside_of_the_folder() {
    let case = ArchiveFixture::new();
    for name in [
        "../escaped",
        "/tmp/escaped",
        "devices/../../escaped",
        "devices/../escaped.json",
        "devices/.x.json",
        "tls/other",
    ] {
        let backup = case.backup(&[DB, (name, b"x")], &[(DB.0, DB.1, FILE), (name, b"x", FILE)]);
        assert!(case.unpack_error(&backup).contains("its manifest lists an unexpected file"), "{name}");
        let unlisted = case.backup(&[DB], &[(name, b"x", FILE), (DB.0, DB.1, FILE)]);
        assert!(case.unpack_error(&unlisted).contains("its manifest does not list"), "{name}");
    }
}

#[test]
fn entries_must_be_regular_files_without_duplicates() {
    let case = ArchiveFixture::new();
    for kind in [EntryType::Symlink, EntryType::Link, EntryType::Directory, EntryType::Fifo, EntryType::Char]
    {
        let backup = case.backup(&[DB], &[(DB.0, DB.1, kind)]);
        assert!(case.unpack_error(&backup).contains("not a regular file"), "{kind:?}");
    }
    let twice = case.backup(&[DB], &[(DB.0, DB.1, FILE), (DB.0, DB.1, FILE)]);
    assert!(case.unpack_error(&twice).contains("its manifest does not list"));
    let _ = std::fs::remove_dir_all(case.path("into"));
    let listed_twice = case.backup(&[DB, DB], &[(DB.0, DB.1, FILE)]);
    assert!(case.unpack_error(&listed_twice).contains("lists a file twice"));
    let without = case.backup(&[(OWNER_TOKEN, b"x")], &[(OWNER_TOKEN, b"x", FILE)]);
    assert!(case.unpack_error(&without).contains("the database is missing"));
    let large = vec![0; (MAX_SMALL + 1) as usize];
    let too_large = case.backup(&[DB, (OWNER_TOKEN, &large)], &[(DB.0, DB.1, FILE)]);
    assert!(case.unpack_error(&too_large).contains("too large"));
}
