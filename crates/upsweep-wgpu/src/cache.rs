//! What the driver made of kernels, kept in a file from program to program.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use upsweep_gpu::{Folder, hash};

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
        if !device.features().contains(wgpu::Features::PIPELINE_CACHE) || folder.is_nowhere() {
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
    use std::fs;

    use upsweep_core::{Reduce, Sum};

    use super::*;
    use crate::testing::{adapters, gpus};
    use std::sync::Arc;

    use crate::{Calls, Gpu, ReduceOptions, Source, Workspace};

    fn works(gpu: &Arc<Gpu>) {
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
            let open = || Arc::new(Gpu::open_with("gpu", &adapter, &folder).expect("a device"));
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
        for gpu in gpus(&folder).iter().chain(&gpus(&Folder::default())) {
            works(gpu);
        }
    }
}
