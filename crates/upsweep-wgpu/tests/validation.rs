//! Everything once under the Khronos validation layer, which must have nothing to say.

use std::sync::Arc;
use std::sync::Mutex;

use upsweep_core::{Reduce, Scan, Sum, reference};
use upsweep_testing::Input;
use upsweep_wgpu::{Calls, Gpu, ReduceOptions, ScanOptions, Source, Target, Workspace};

static MESSAGES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// wgpu hands the layer's messages to the log.
struct Collect;

impl log::Log for Collect {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        metadata.level() <= log::Level::Warn
    }

    fn log(&self, record: &log::Record<'_>) {
        let text = record.args().to_string();
        if self.enabled(record.metadata()) && text.contains("VALIDATION") {
            MESSAGES.lock().expect("no test panics while it holds this").push(text);
        }
    }

    fn flush(&self) {}
}

#[test]
fn the_validation_layer_is_silent() {
    if std::env::var_os("UPSWEEP_TEST_VALIDATION").is_none() {
        upsweep_testing::skipped("validation", "UPSWEEP_TEST_VALIDATION is not set");
        return;
    }
    log::set_logger(&Collect).expect("there is no other logger");
    log::set_max_level(log::LevelFilter::Warn);
    let adapters = Gpu::adapters_with(wgpu::InstanceFlags::VALIDATION | wgpu::InstanceFlags::DEBUG);
    assert!(!adapters.is_empty(), "there is no GPU to test");
    for (number, adapter) in adapters.iter().enumerate() {
        let gpu = Arc::new(Gpu::open(&format!("wgpu:{number}"), adapter).expect("a device"));
        let mut workspace = Workspace::default();
        for length in [300_001, 1000] {
            let items: Vec<f32> = Input::Mixed.array(3, length);
            let problem = Reduce::new(Sum);
            let options = ReduceOptions::default();
            let found =
                gpu.reduce::<f32, f32, _>(&mut workspace, Source::Host(&items), &problem, &options);
            assert_eq!(found, Ok(reference::specified::reduce(&items, &problem)));
            let mut output = vec![0.0f32; length];
            let problem = Scan::exclusive(Sum).reverse();
            let options = ScanOptions::default();
            let (from, to) = (Source::Host(&items[..]), Target::Host(&mut output[..]));
            gpu.scan::<f32, f32, _>(&mut workspace, from, to, &problem, &options).expect("a scan");
            assert!(output == reference::specified::scan::<f32, f32, _>(&items, &problem));
        }
    }
    let messages = MESSAGES.lock().expect("nobody panicked");
    assert!(messages.is_empty(), "{messages:#?}");
}
