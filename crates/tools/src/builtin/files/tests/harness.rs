//! A data folder with something to protect in it, and folders that an owner lists.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use toolway_types::{Code, ToolError, ToolOutput};

use super::super::{
    AgentFolders, BadListedFolder, FileAccess, ListedFolder, list_files, read_file, write_file,
};

/// What must never be seen.
pub(super) const SECRET: &str = "SECRET-5f1c";

/// The agent that most tests are.
pub(super) const AGENT: Option<&str> = Some("helper");

pub(super) struct FileAccessHarness {
    pub(super) access: FileAccess,
    folder: TempDir,
}

impl FileAccessHarness {
    /// `docs` is listed for reading and writing, `manual` for reading only.
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self::in_folder(folder)
    }

    fn in_folder(folder: TempDir) -> Self {
        let at = |name: &str| folder.path().join(name);
        for name in ["data/tls", "data/files/other", "docs", "manual", "outside"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        for name in [
            "data/owner.token",
            "data/toolway.db",
            "data/tls/key.pem",
            "data/files/other/x.txt",
            "outside/x.txt",
        ] {
            fs::write(at(name), SECRET).unwrap();
        }
        fs::write(at("manual/page.txt"), "read me").unwrap();
        let folders = vec![listed("docs", &at("docs"), true), listed("manual", &at("manual"), false)];
        let access =
            FileAccess::new(&at("data"), folders).unwrap().with_agent_folders(AgentFolders::new(["*"]));
        Self { access, folder }
    }

    /// A path on the disk.
    pub(super) fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// A path on the disk, as text.
    pub(super) fn text(&self, path: &str) -> String {
        self.at(path).to_str().unwrap().to_owned()
    }

    /// A path in the agent's own folder.
    pub(super) fn own(&self, path: &str) -> PathBuf {
        self.at("data/files/helper").join(path)
    }

    /// Lists other folders in place of `docs` and `manual`.
    pub(super) fn replace_folders(&mut self, folders: Vec<ListedFolder>) -> Result<(), BadListedFolder> {
        let access = FileAccess::new(&self.at("data"), folders)?;
        self.access = access.with_agent_folders(AgentFolders::new(["*"]));
        Ok(())
    }

    pub(super) fn read(&self, path: &str) -> Result<String, ToolError> {
        self.read_as(AGENT, path)
    }

    pub(super) fn read_as(&self, agent: Option<&str>, path: &str) -> Result<String, ToolError> {
        let request = read_file::ReadFileRequest { path: path.to_owned(), ..Default::default() };
        self.access.read(agent, &request, &|| false).map(|output| output.joined_text())
    }

    pub(super) fn read_in(&self, path: &str, encoding: &str) -> Result<String, ToolError> {
        let request = read_file::ReadFileRequest {
            path: path.to_owned(),
            encoding: Some(encoding.to_owned()),
            ..Default::default()
        };
        self.access.read(AGENT, &request, &|| false).map(|output| output.joined_text())
    }

    pub(super) fn write(&self, path: &str, content: &str) -> Result<ToolOutput, ToolError> {
        self.write_as(AGENT, path, content)
    }

    pub(super) fn write_as(
        &self,
        agent: Option<&str>,
        path: &str,
        content: &str,
    ) -> Result<ToolOutput, ToolError> {
        self.store(agent, path, content, write_file::WriteMode::Overwrite)
    }

    pub(super) fn append(&self, path: &str, content: &str) -> Result<ToolOutput, ToolError> {
        self.store(AGENT, path, content, write_file::WriteMode::Append)
    }

    fn store(
        &self,
        agent: Option<&str>,
        path: &str,
        content: &str,
        mode: write_file::WriteMode,
    ) -> Result<ToolOutput, ToolError> {
        let request =
            write_file::WriteFileRequest { path: path.to_owned(), content: content.to_owned(), mode };
        let unique = toolway_types::CallId::new().to_string();
        self.access.write(agent, &request, &unique, &|| false)
    }

    pub(super) fn list(&self, path: &str) -> Result<list_files::FolderListing, ToolError> {
        let request = list_files::ListFilesRequest { path: Some(path.to_owned()), ..Default::default() };
        self.access.list(AGENT, &request, &|| false)
    }

    pub(super) fn list_all(&self, path: &str) -> Result<list_files::FolderListing, ToolError> {
        let request =
            list_files::ListFilesRequest { path: Some(path.to_owned()), recursive: true, limit: Some(2000) };
        self.access.list(AGENT, &request, &|| false)
    }

    /// Nothing that must not be written has been.
    #[track_caller]
    pub(super) fn assert_untouched(&self) {
        for folder in ["outside", "data/tls", "data/files/other"] {
            assert_eq!(fs::read_dir(self.at(folder)).unwrap().count(), 1, "{folder}");
        }
        for name in [
            "data/owner.token",
            "data/toolway.db",
            "data/tls/key.pem",
            "data/files/other/x.txt",
            "outside/x.txt",
        ] {
            assert_eq!(fs::read_to_string(self.at(name)).unwrap(), SECRET, "{name}");
        }
        let mut data = names(&self.at("data"));
        data.sort();
        assert_eq!(data, ["files", "owner.token", "tls", "toolway.db"]);
    }

    /// Neither reading, listing, overwriting nor appending gets there.
    #[track_caller]
    pub(super) fn assert_denied(&self, path: &str) {
        let denied = |error: ToolError| {
            assert_eq!(error.code, Code::Denied, "{path}: {error:?}");
            assert!(!error.message.contains(SECRET), "{path}: {error:?}");
        };
        denied(self.read(path).unwrap_err());
        denied(self.list(path).unwrap_err());
        denied(self.write(path, "mine").unwrap_err());
        denied(self.append(path, "mine").unwrap_err());
        self.assert_untouched();
    }
}

pub(super) fn listed(name: &str, path: &Path, write: bool) -> ListedFolder {
    ListedFolder { name: name.to_owned(), path: path.to_owned(), write }
}

pub(super) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// What files of a failed write would be left in a folder.
#[track_caller]
pub(super) fn assert_no_parts(folder: &Path) {
    let names = names(folder);
    assert!(names.iter().all(|name| !name.starts_with(".toolway-")), "{names:?}");
}

pub(super) fn link(target: impl AsRef<Path>, name: impl AsRef<Path>) {
    std::os::unix::fs::symlink(target, name).unwrap();
}
