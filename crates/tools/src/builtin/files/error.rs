//! What went wrong with a file, in words that say what to do. Texts have the path as the caller gave it and
//! never say where on the computer it is.

use std::io;

use toolway_types::{Code, ToolError};

/// What was tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileOperation {
    Read,
    Write,
    List,
}

impl FileOperation {
    fn verb(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::List => "list",
        }
    }
}

/// Reason why a file cannot be accessed.
#[derive(Debug)]
pub(super) enum FileAccessError {
    /// The file does not exist. Clients match the text `File not found: [path]`.
    NotFound,
    /// Part of the path is a file, so there is nothing under it.
    ParentIsFile,
    /// It is a file, but a folder is required.
    NotFolder,
    /// It is a folder, but a file is required.
    IsFolder,
    /// Neither file nor folder: a pipe, a socket, a device.
    SpecialFile,
    /// The path or a link on it leads out of the allowed folders.
    OutsideFolders,
    /// It is in Toolway's data folder.
    DataFolder,
    /// The folder is listed for reading only.
    ReadOnlyFolder(String),
    /// The file is marked read-only.
    ReadOnlyFile,
    /// The path has too many steps, or its links form a cycle.
    TooManySteps,
    /// The call was ended.
    Stopped,
    /// Error of the operating system.
    Io(io::Error),
    /// Error of a single tool.
    Other(ToolError),
}

impl From<io::Error> for FileAccessError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::NotFound,
            io::ErrorKind::NotADirectory => Self::ParentIsFile,
            io::ErrorKind::IsADirectory => Self::IsFolder,
            _ => Self::Io(error),
        }
    }
}

impl From<ToolError> for FileAccessError {
    fn from(error: ToolError) -> Self {
        Self::Other(error)
    }
}

impl FileAccessError {
    /// The error that the caller gets. `usable` says which paths may be used.
    pub(super) fn into_tool_error(self, doing: FileOperation, path: &str, usable: &str) -> ToolError {
        let verb = doing.verb();
        let failed = |message: String| ToolError::new(Code::ToolFailed, message);
        let denied = |message: String| ToolError::new(Code::Denied, message);
        match self {
            Self::NotFound => {
                let error = ToolError::new(Code::FileNotFound, format!("File not found: {path}"));
                error.with_hint("list_files tells which files there are")
            }
            Self::ParentIsFile => ToolError::new(Code::FileNotFound, format!("File not found: {path}"))
                .with_hint("Part of the path is a file, so there can be nothing under it"),
            Self::NotFolder => failed(format!("{path} is a file, not a folder"))
                .with_hint("read_file reads files; list_files lists the folder that one lies in"),
            Self::IsFolder => failed(format!("{path} is a folder, not a file"))
                .with_hint("list_files tells which files are in it"),
            Self::SpecialFile => {
                failed(format!("{path} is neither a file nor a folder, so can't be used here"))
            }
            Self::OutsideFolders => {
                denied(format!("{path} leads out of the folders that may be used")).with_hint(usable)
            }
            Self::DataFolder => denied(format!("{path} lies in Toolway's own data, which tools can't reach"))
                .with_hint(usable),
            Self::ReadOnlyFolder(name) => {
                denied(format!("{path} can't be written: {name} is for reading only")).with_hint(format!(
                    "The owner can allow it with `write = true` for the folder {name} in the setting \
                     tools.files.folders"
                ))
            }
            Self::ReadOnlyFile => failed(format!("{path} can't be written: the file is marked read-only")),
            Self::TooManySteps => {
                failed(format!("{path} has too many steps, or its links go round in circles"))
            }
            Self::Stopped => ToolError::new(Code::Cancelled, "The call was ended before it was done"),
            Self::Io(error) => {
                failed(format!("Can't {verb} {path}: {}", reason(&error))).with_hint_if(hint(&error))
            }
            Self::Other(error) => error,
        }
    }
}

/// Returns a message for the error. It is the same on all operating systems, if possible.
fn reason(error: &io::Error) -> String {
    let words = match error.kind() {
        io::ErrorKind::PermissionDenied => {
            "the operating system does not let Toolway do so (permission denied)"
        }
        io::ErrorKind::StorageFull => "there is no space left on the disk",
        io::ErrorKind::QuotaExceeded => "the disk quota is used up",
        io::ErrorKind::FileTooLarge => "the file would be larger than the disk can hold",
        io::ErrorKind::ReadOnlyFilesystem => "the disk is read-only",
        io::ErrorKind::InvalidFilename => {
            "a name in the path is too long, or has characters that can't be used"
        }
        io::ErrorKind::InvalidInput => "the path has characters that can't be used",
        _ => return error.to_string(),
    };
    words.to_owned()
}

fn hint(error: &io::Error) -> Option<&'static str> {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            Some("What was there before is unchanged. The owner has to make room")
        }
        io::ErrorKind::InvalidFilename => Some("Use a shorter name, of common letters and digits"),
        _ => None,
    }
}

/// Adds an optional hint to an error.
trait WithHintIf {
    fn with_hint_if(self, hint: Option<&'static str>) -> Self;
}

impl WithHintIf for ToolError {
    fn with_hint_if(self, hint: Option<&'static str>) -> Self {
        match hint {
            Some(hint) => self.with_hint(hint),
            None => self,
        }
    }
}

#[cfg(test)]
mod tests;
