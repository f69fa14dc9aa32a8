//! Two Vulkan devices made of software, so that GPU tests run on every machine and on two
//! drivers that differ: lavapipe of Mesa and SwiftShader of Chromium. The validation layer comes
//! from the same package as SwiftShader.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::shell::{Result, program, root, run, target_dir};
use crate::tools::{apt, apt_download};

/// Where Debian's packages say which Vulkan drivers there are.
const INSTALLED_DRIVERS: &str = "/usr/share/vulkan/icd.d";

/// The description of SwiftShader for the Vulkan loader, and SwiftShader itself.
const SWIFTSHADER: [&str; 2] = ["vk_swiftshader_icd.json", "libvk_swiftshader.so"];

/// The description of the validation layer for the Vulkan loader, and the layer itself.
const LAYER: [&str; 2] = ["VkLayer_khronos_validation.json", "libVkLayer_khronos_validation.so"];

/// Where the layer is in the folder of SwiftShader.
const LAYER_FOLDER: &str = "layer";

/// Chromium brings the layer without its description, so this one stands in for it.
const LAYER_MANIFEST: &str = r#"{
    "file_format_version": "1.2.0",
    "layer": {
        "name": "VK_LAYER_KHRONOS_validation",
        "type": "GLOBAL",
        "library_path": "./libVkLayer_khronos_validation.so",
        "api_version": "1.3.0",
        "implementation_version": "1",
        "description": "Khronos validation layer",
        "instance_extensions": [
            { "name": "VK_EXT_debug_utils", "spec_version": "2" },
            { "name": "VK_EXT_validation_features", "spec_version": "6" }
        ]
    }
}
"#;

/// Both drivers, installed if need be, as the variable `VK_DRIVER_FILES` wants them.
pub(crate) fn software() -> Result<String> {
    if lavapipe().is_none() {
        apt("libvulkan1")?;
        apt("mesa-vulkan-drivers")?;
    }
    if !swiftshader_is_made() {
        make_swiftshader().map_err(|why| format!("SwiftShader, a Vulkan driver: {why}"))?;
    }
    software_if_made().ok_or_else(|| format!("{INSTALLED_DRIVERS} names no lavapipe"))
}

/// Lets a command see these drivers and no others.
pub(crate) fn select(command: &mut Command, drivers: &str) {
    // Mesa's layer that sorts devices looks for a desktop, and says on standard error if there is none.
    command.env("VK_DRIVER_FILES", drivers).env("NODEVICE_SELECT", "1");
}

/// Both drivers if they are there already, as by an earlier run.
pub(crate) fn software_if_made() -> Option<String> {
    let lavapipe = lavapipe()?;
    let swiftshader = Some(folder().join(SWIFTSHADER[0])).filter(|_| swiftshader_is_made())?;
    Some(format!("{}:{}", lavapipe.display(), swiftshader.display()))
}

/// Where the validation layer and its description are once [`software`] was called. The drivers
/// are elsewhere, or the loader would complain that their description describes no layer.
pub(crate) fn validation_layer_folder() -> PathBuf {
    folder().join(LAYER_FOLDER)
}

/// An absolute path: the loader runs in the folder of whichever test loads it.
fn folder() -> PathBuf {
    root().join(target_dir()).join("swiftshader")
}

/// The description of lavapipe, whose name holds the architecture on some releases of Debian.
fn lavapipe() -> Option<PathBuf> {
    let entries = fs::read_dir(INSTALLED_DRIVERS).ok()?;
    let mut paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    paths.find(|path| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("lvp_icd"))
    })
}

fn swiftshader_is_made() -> bool {
    let layer = validation_layer_folder();
    SWIFTSHADER.iter().all(|name| folder().join(name).exists())
        && LAYER.iter().all(|name| layer.join(name).exists())
}

/// Takes SwiftShader and the validation layer out of Chromium's package and drops the rest. The
/// folder gets its name last, so that an interrupted run leaves nothing that looks complete.
fn make_swiftshader() -> Result<()> {
    let package = folder().with_extension("package");
    let unfinished = folder().with_extension("unfinished");
    let layer = unfinished.join(LAYER_FOLDER);
    for path in [&package, &unfinished, &folder()] {
        remove(path)?;
    }
    for path in [&package, &layer] {
        fs::create_dir_all(path).map_err(|why| cannot_write(path, &why))?;
    }
    println!("taking SwiftShader out of the Debian package chromium-common");
    let file = apt_download("chromium-common", &package)?;
    run(program("dpkg").arg("-x").args([&file, &package]))?;
    let unpacked = package.join("usr/lib/chromium");
    for name in SWIFTSHADER {
        rename(&unpacked.join(name), &unfinished.join(name))?;
    }
    let [manifest, library] = LAYER;
    rename(&unpacked.join(library), &layer.join(library))?;
    if unpacked.join(manifest).exists() {
        rename(&unpacked.join(manifest), &layer.join(manifest))?;
    } else {
        let path = layer.join(manifest);
        fs::write(&path, LAYER_MANIFEST).map_err(|why| cannot_write(&path, &why))?;
    }
    rename(&unfinished, &folder())?;
    remove(&package)
}

/// Removes a folder if it is there.
fn remove(path: &Path) -> Result<()> {
    if path.exists() {
        fs::remove_dir_all(path).map_err(|why| cannot_write(path, &why))
    } else {
        Ok(())
    }
}

fn rename(from: &Path, to: &Path) -> Result<()> {
    fs::rename(from, to)
        .map_err(|why| format!("{} cannot become {}: {why}", from.display(), to.display()))
}

fn cannot_write(path: &Path, why: &std::io::Error) -> String {
    format!("{}: {why}", path.display())
}
