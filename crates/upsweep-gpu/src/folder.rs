//! Files that outlive a program: what drivers and compilers made of kernels, and what was found out about a device.
//!
//! They lie in `$UPSWEEP_CACHE_DIR`, or else in the folder `upsweep` where the platform keeps such things; if the
//! variable is empty there are none. Nothing depends on them: a file that cannot be read, or is not exactly what was
//! written under its name, is as good as none, and one that cannot be written is not missed.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::PathBuf;
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

use etcetera::BaseStrategy;

/// Names the folder.
const FOLDER_VARIABLE: &str = "UPSWEEP_CACHE_DIR";

/// What a file begins with; then come the check of the rest, and the rest.
const MAGIC: [u8; 8] = *b"upsweep1";

/// More than this is not read: a driver's cache of pipelines grows with every version of a kernel, and begins anew then.
const MOST_BYTES: u64 = 64 << 20;

/// The folder with the files, if there may be any.
#[derive(Clone, Debug, Default)]
pub struct Folder(Option<PathBuf>);

impl Folder {
    /// The user's.
    pub fn of_user() -> Self {
        let of_platform =
            || Some(etcetera::base_strategy::choose_native_strategy().ok()?.cache_dir());
        Self::chosen(std::env::var_os(FOLDER_VARIABLE), of_platform)
    }

    /// The one that a variable names, or else one of ours in the platform's.
    fn chosen(variable: Option<OsString>, platform: impl FnOnce() -> Option<PathBuf>) -> Self {
        Self(match variable {
            Some(path) if path.is_empty() => None,
            Some(path) => Some(path.into()),
            None => platform().map(|folder| folder.join("upsweep")),
        })
    }

    /// A certain one.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self(Some(path.into()))
    }

    /// Whether there are no files, and never will be.
    pub fn is_nowhere(&self) -> bool {
        self.0.is_none()
    }

    /// The file of this name, if there may be one.
    pub fn path(&self, name: &str) -> Option<PathBuf> {
        self.0.as_ref().map(|folder| folder.join(name))
    }

    /// What was written under this name.
    pub fn read(&self, name: &str) -> Option<Vec<u8>> {
        let path = self.path(name)?;
        let metadata = fs::metadata(&path).ok()?;
        if !metadata.is_file() || metadata.len() > MOST_BYTES {
            return None;
        }
        let mut content = fs::read(path).ok()?;
        let found = content.get(..16)?;
        let expected = header(name, &content[16..]);
        if found != expected {
            return None;
        }
        content.drain(..16);
        Some(content)
    }

    /// Writes a file under this name. Whoever reads it at the same time finds the old one or the new one, whole.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn write(&self, name: &str, content: &[u8]) -> io::Result<()> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let Some(folder) = &self.0 else {
            return Ok(());
        };
        fs::create_dir_all(folder)?;
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let unfinished = folder.join(format!("{name}.{}.{number}.unfinished", process::id()));
        let written = File::create_new(&unfinished).and_then(|mut file| {
            file.write_all(&header(name, content))?;
            file.write_all(content)
        });
        let renamed = written.and_then(|()| fs::rename(&unfinished, folder.join(name)));
        if renamed.is_err() {
            // Nothing is left to do if this fails too.
            let _ = fs::remove_file(&unfinished);
        }
        renamed
    }
}

/// What stands in front of a content: it shows damage, and files that were given another's name.
fn header(name: &str, content: &[u8]) -> [u8; 16] {
    let mut header = [0; 16];
    header[..8].copy_from_slice(&MAGIC);
    header[8..].copy_from_slice(&hash([name.as_bytes(), content]).to_le_bytes());
    header
}

/// FNV-1a of texts and their lengths: for finding damage, not for keeping anyone out.
pub fn hash<const N: usize>(texts: [&[u8]; N]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for text in texts {
        for &byte in text.iter().chain(&text.len().to_le_bytes()) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_names_the_folder() {
        let platform = || Some(PathBuf::from("platform"));
        let Folder(chosen) = Folder::chosen(None, platform);
        assert_eq!(chosen, Some(PathBuf::from("platform/upsweep")));
        let Folder(chosen) = Folder::chosen(Some("here".into()), platform);
        assert_eq!(chosen, Some(PathBuf::from("here")));
        let Folder(chosen) = Folder::chosen(Some("".into()), platform);
        assert_eq!(chosen, None);
        let Folder(chosen) = Folder::chosen(None, || None);
        assert_eq!(chosen, None);
    }

    #[test]
    fn damage_is_noticed() {
        let kept = tempfile::tempdir().expect("a folder");
        let folder = Folder::at(kept.path().join("made/when/needed"));
        assert_eq!(folder.read("name"), None);
        for content in [&b"some content"[..], b""] {
            folder.write("name", content).expect("it can be written");
            assert_eq!(folder.read("name").as_deref(), Some(content));
        }
        folder.write("name", b"some content").expect("it can be written");
        let path = folder.path("name").expect("a folder");
        let whole = fs::read(&path).expect("it is there");
        for at in 0..whole.len() {
            let mut flipped = whole.clone();
            flipped[at] ^= 0x10;
            fs::write(&path, flipped).expect("it can be written");
            assert_eq!(folder.read("name"), None, "byte {at} is another");
            fs::write(&path, &whole[..at]).expect("it can be written");
            assert_eq!(folder.read("name"), None, "{at} bytes are left");
        }
        fs::write(&path, [&whole[..], b"more"].concat()).expect("it can be written");
        assert_eq!(folder.read("name"), None, "there is more");
        fs::write(path.with_file_name("other"), &whole).expect("it can be written");
        assert_eq!(folder.read("other"), None, "another name");
    }

    #[test]
    fn readers_find_one_of_the_writers() {
        let kept = tempfile::tempdir().expect("a folder");
        let folder = Folder::at(kept.path());
        let content = |writer: u8| vec![writer; 10_000 + usize::from(writer)];
        folder.write("name", &content(0)).expect("it can be written");
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let folder = &folder;
                scope.spawn(move || {
                    for _ in 0..50 {
                        folder.write("name", &content(writer)).expect("it can be written");
                        let found = folder.read("name").expect("it is there");
                        assert!(found == content(found[0]));
                    }
                });
            }
        });
        let files = fs::read_dir(kept.path()).expect("a folder").count();
        assert_eq!(files, 1, "nothing unfinished is left");
    }

    #[test]
    fn a_folder_that_cannot_be_is_not_missed() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let folder = Folder::at(file.path().join("folder"));
        assert!(folder.write("name", b"content").is_err());
        assert_eq!(folder.read("name"), None);
        assert!(Folder::default().write("name", b"content").is_ok());
    }
}
