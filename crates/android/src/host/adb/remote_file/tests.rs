use std::cell::RefCell;
use std::io::{self, Cursor, Read, Seek, SeekFrom, Write};

use super::{BLOCK, BlockSource, RemoteFile};
use crate::manifest::Apk;

const SAMPLE: &[u8] = include_bytes!("../../../../fixtures/sample/sample.apk");

struct RecordedBlockSource<'a> {
    bytes: &'a [u8],
    fetches: &'a RefCell<Vec<u64>>,
}

impl BlockSource for RecordedBlockSource<'_> {
    fn fetch(&self, offset: u64, length: u64) -> io::Result<Vec<u8>> {
        self.fetches.borrow_mut().push(offset / BLOCK);
        let start = usize::try_from(offset).unwrap();
        let end = (start + usize::try_from(length).unwrap()).min(self.bytes.len());
        Ok(self.bytes[start..end].to_vec())
    }
}

/// Creates an APK with the sample's manifest between `padding` bytes of other data.
fn large(padding: usize) -> Vec<u8> {
    let mut sample = zip::ZipArchive::new(Cursor::new(SAMPLE)).unwrap();
    let stored = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for name in ["a", "AndroidManifest.xml", "resources.arsc", "b"] {
        let mut bytes = vec![7; padding];
        if let Ok(mut entry) = sample.by_name(name) {
            bytes.clear();
            entry.read_to_end(&mut bytes).unwrap();
        }
        writer.start_file(name, stored).unwrap();
        writer.write_all(&bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

#[test]
fn only_the_needed_blocks_are_fetched() {
    let (apk, fetches) = (large(40 << 20), RefCell::default());
    let length = u64::try_from(apk.len()).unwrap();
    let remote = RemoteFile::new(RecordedBlockSource { bytes: &apk, fetches: &fetches }, length);
    let read = Apk::read(remote, None).unwrap();
    assert_eq!(read.manifest.package, "com.example.sample");
    assert_eq!(read.manifest.label.as_deref(), Some("Sample “app”"));
    assert!(fetches.borrow().len() <= 6, "{:?}", fetches.borrow());
}

#[test]
fn a_remote_file_reads_like_its_bytes() {
    let bytes: Vec<u8> = (0..BLOCK * 2 + 100).map(|at| u8::try_from(at % 251).unwrap()).collect();
    let fetches = RefCell::default();
    let length = u64::try_from(bytes.len()).unwrap();
    let mut remote = RemoteFile::new(RecordedBlockSource { bytes: &bytes, fetches: &fetches }, length);
    let mut all = Vec::new();
    remote.read_to_end(&mut all).unwrap();
    assert!(all == bytes);
    assert_eq!(*fetches.borrow(), [0, 1, 2]);
    remote.seek(SeekFrom::End(-3)).unwrap();
    let mut end = Vec::new();
    remote.read_to_end(&mut end).unwrap();
    assert_eq!(end, bytes[bytes.len() - 3..]);
    assert!(remote.seek(SeekFrom::Current(-i64::MAX)).is_err());
    assert_eq!(remote.seek(SeekFrom::Start(length + 5)).unwrap(), length + 5);
    assert_eq!(remote.read(&mut [0; 4]).unwrap(), 0);
}

#[test]
fn a_file_that_became_shorter_is_an_error() {
    let (bytes, fetches) = (vec![1; 10], RefCell::default());
    let mut remote = RemoteFile::new(RecordedBlockSource { bytes: &bytes, fetches: &fetches }, 11);
    let error = remote.read(&mut [0; 4]).unwrap_err();
    assert_eq!(error.to_string(), "it is shorter than the phone reported");
}
