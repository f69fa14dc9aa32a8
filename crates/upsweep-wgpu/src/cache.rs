//! Files that outlive a program: what the driver made of kernels, and what was found out about a device.
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
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use etcetera::BaseStrategy;

/// Names the folder.
const FOLDER_VARIABLE: &str = "UPSWEEP_CACHE_DIR";

/// What a file begins with; then come the check of the rest, and the rest.
const MAGIC: [u8; 8] = *b"upsweep1";

/// More than this is not read: a pipeline cache grows with every version of a kernel, and begins anew then.
const MOST_BYTES: u64 = 64 << 20;

/// The folder with the files, if there may be any.
#[derive(Clone, Debug, Default)]
pub(crate) struct Folder(Option<PathBuf>);

impl Folder {
    /// The user's.
    pub(crate) fn of_user() -> Self {
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
    #[cfg(test)]
    pub(crate) fn at(path: impl Into<PathBuf>) -> Self {
        Self(Some(path.into()))
    }

    /// What was written under this name.
    pub(crate) fn read(&self, name: &str) -> Option<Vec<u8>> {
        let path = self.0.as_ref()?.join(name);
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
    pub(crate) fn write(&self, name: &str, content: &[u8]) -> io::Result<()> {
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
pub(crate) fn hash<const N: usize>(texts: [&[u8]; N]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for text in texts {
        for &byte in text.iter().chain(&text.len().to_le_bytes()) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    hash
}

/// What a driver made of kernels, in this run and in runs before it.
#[derive(Debug)]
pub(crate) struct Pipelines {
    pub(crate) cache: wgpu::PipelineCache,
    folder: Folder,
    name: String,
    /// Whether a file was there.
    #[cfg_attr(not(test), expect(dead_code, reason = "tests ask"))]
    pub(crate) found: bool,
    kept: Mutex<Kept>,
}

/// What the file holds, and when it may be looked after again.
#[derive(Debug)]
struct Kept {
    hash: u64,
    next: Instant,
}

impl Pipelines {
    /// The pipelines of a device that was opened with the feature for it; `None` where drivers keep their own.
    pub(crate) fn open(
        device: &wgpu::Device,
        info: &wgpu::AdapterInfo,
        folder: Folder,
    ) -> Option<Self> {
        if !device.features().contains(wgpu::Features::PIPELINE_CACHE) || folder.0.is_none() {
            return None;
        }
        let name = wgpu::util::pipeline_cache_key(info)?;
        let content = folder.read(&name);
        // Of another version of the driver, or broken in a way that only wgpu knows: without.
        let cache = content
            .as_deref()
            .and_then(|content| make(device, Some(content)))
            .or_else(|| make(device, None))?;
        let hash = content.as_deref().map_or(0, |content| hash([content]));
        let kept = Mutex::new(Kept { hash, next: Instant::now() });
        Some(Self { cache, folder, name, found: content.is_some(), kept })
    }

    /// Writes the file if there is something new. Takes a tenth of the time at most, so that a pipeline here and
    /// there is written later; in the end all are.
    pub(crate) fn keep(&self) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if Instant::now() >= kept.next {
            let took = self.write(&mut kept);
            kept.next = Instant::now() + 9 * took;
        }
    }

    fn write(&self, kept: &mut Kept) -> Duration {
        let began = Instant::now();
        if let Some(content) = self.cache.get_data() {
            let hash = hash([&content]);
            if kept.hash != hash && self.folder.write(&self.name, &content).is_ok() {
                kept.hash = hash;
            }
        }
        began.elapsed()
    }
}

impl Drop for Pipelines {
    fn drop(&mut self) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        self.write(&mut kept);
    }
}

fn make(device: &wgpu::Device, data: Option<&[u8]>) -> Option<wgpu::PipelineCache> {
    let scope = device.push_error_scope(wgpu::ErrorFilter::Validation);
    // SAFETY: the data is what `get_data` gave under the name of this kind of device, whole, as its check shows;
    // wgpu compares the version of the driver.
    let cache = unsafe {
        device.create_pipeline_cache(&wgpu::PipelineCacheDescriptor {
            label: Some("upsweep"),
            data,
            fallback: true,
        })
    };
    pollster::block_on(scope.pop()).is_none().then_some(cache)
}

#[cfg(test)]
mod tests {
    use upsweep_core::{Reduce, Sum};

    use super::*;
    use crate::testing::{adapters, gpus};
    use crate::{Gpu, ReduceOptions, Source, Workspace};

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
        let path = folder.0.as_ref().expect("a folder").join("name");
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

    fn works(gpu: &Gpu) {
        let (mut workspace, options) = (Workspace::default(), ReduceOptions::default());
        let items = Source::Host(&[1u32, 2, 3, 4]);
        let sum = gpu.reduce::<u32, u32, _>(&mut workspace, items, &Reduce::new(Sum), &options);
        assert_eq!(sum, Ok(10), "{gpu:?}");
    }

    #[test]
    fn the_second_opening_reads_what_the_first_wrote() {
        let kept = tempfile::tempdir().expect("a folder");
        let folder = Folder::at(kept.path());
        for adapter in adapters() {
            let open = || Gpu::open_with("gpu", &adapter, &folder).expect("a device");
            let gpu = open();
            let Some(pipelines) = &gpu.cache else {
                upsweep_testing::skipped("pipeline cache", "the device has none");
                continue;
            };
            assert!(!pipelines.found, "{gpu:?}");
            let name = pipelines.name.clone();
            works(&gpu);
            drop(gpu);
            let whole = folder.read(&name).expect("what the driver made was written");
            let gpu = open();
            assert!(gpu.cache.as_ref().is_some_and(|pipelines| pipelines.found), "{gpu:?}");
            works(&gpu);
            drop(gpu);
            // What passes our check and must not pass wgpu's or the driver's: another driver's version, another
            // device, too short, nothing like it.
            let mut contents = vec![b"nothing like it".to_vec(), whole[..whole.len() / 2].to_vec()];
            contents.extend((0..whole.len().min(64)).step_by(5).map(|at| {
                let mut content = whole.clone();
                content[at] ^= 1;
                content
            }));
            for content in contents {
                folder.write(&name, &content).expect("it can be written");
                works(&open());
            }
            fs::write(kept.path().join(&name), b"not even ours").expect("it can be written");
            works(&open());
            assert!(folder.read(&name).is_some(), "it was written anew");
        }
    }

    #[test]
    fn a_folder_that_cannot_be_is_not_missed() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let folder = Folder::at(file.path().join("folder"));
        assert!(folder.write("name", b"content").is_err());
        for gpu in gpus(&folder).iter().chain(&gpus(&Folder::default())) {
            works(gpu);
        }
    }
}
