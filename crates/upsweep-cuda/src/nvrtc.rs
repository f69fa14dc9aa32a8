//! NVRTC, the compiler of CUDA C++ that is a library: where it is, and the functions of it that we call.
//!
//! It is no part of the driver, and lies in different places depending on how it was installed. So it is looked for, in
//! this order: where `UPSWEEP_NVRTC` says (a file, or a folder that holds one; then nowhere else), where the dynamic
//! loader looks, in the toolkit that `CUDA_PATH` or `CUDA_HOME` names, and among Python's packages.

use core::fmt::{self, Display};
use std::ffi::{CStr, CString, OsString, c_char, c_int, c_void};
use std::fs;
use std::path::{Path, PathBuf};
use std::ptr::null_mut;

use libloading::Library;

/// Names a file or a folder in which NVRTC is.
pub(crate) const VARIABLE: &str = "UPSWEEP_NVRTC";

/// What to do where there is none.
const REMEDY: &str = "it comes with the CUDA toolkit, or alone by `pip install nvidia-cuda-nvrtc`; UPSWEEP_NVRTC may name \
                      its file or folder";

/// What the dynamic loader may know it as, newest first.
#[cfg(not(windows))]
const NAMES: [&str; 3] = ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"];
#[cfg(windows)]
const NAMES: [&str; 2] = ["nvrtc64_130_0.dll", "nvrtc64_120_0.dll"];

/// Where libraries lie in a toolkit, and in a folder of Python's packages.
const INSIDE: [&str; 8] = [
    "",
    "lib64",
    "lib",
    "targets/x86_64-linux/lib",
    "targets/sbsa-linux/lib",
    "bin",
    "nvidia/cu13/lib",
    "nvidia/cuda_nvrtc/lib",
];

/// Where a library may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Wherever the dynamic loader finds this name.
    Name(&'static str),
    /// This file.
    File(PathBuf),
}

impl Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::File(path) => write!(f, "{}", path.display()),
        }
    }
}

impl Place {
    /// Something that differs between compilers that differ, if it can be told without loading this one.
    pub(crate) fn identity(&self) -> Option<String> {
        let Place::File(path) = self else { return None };
        let about = fs::metadata(path).ok()?;
        Some(format!("{} {} {:?}", path.display(), about.len(), about.modified().ok()?))
    }
}

/// Where NVRTC may be, in the order in which it is tried; or why there is no place to look at.
pub(crate) fn places(variable: impl Fn(&str) -> Option<OsString>) -> Result<Vec<Place>, String> {
    if let Some(named) = variable(VARIABLE) {
        let path = PathBuf::from(named);
        let found = if path.is_file() { vec![Place::File(path.clone())] } else { inside(&path) };
        return match found.is_empty() {
            true => {
                Err(format!("{VARIABLE} names '{}', where NVRTC is not; {REMEDY}", path.display()))
            }
            false => Ok(found),
        };
    }
    let mut places: Vec<Place> = NAMES.into_iter().map(Place::Name).collect();
    for toolkit in ["CUDA_PATH", "CUDA_HOME"].into_iter().filter_map(&variable) {
        places.extend(inside(Path::new(&toolkit)));
    }
    places.extend(inside(Path::new("/usr/local/cuda")));
    let under = |name, below: &str| variable(name).map(|path| Path::new(&path).join(below));
    let roots = [
        under("VIRTUAL_ENV", "lib"),
        under("CONDA_PREFIX", "lib"),
        under("HOME", ".local/lib"),
        Some("/usr/local/lib".into()),
        Some("/usr/lib".into()),
    ];
    for root in roots.into_iter().flatten() {
        for python in entries(&root).filter(|path| name_of(path).starts_with("python3")) {
            for packages in ["site-packages", "dist-packages"] {
                places.extend(inside(&python.join(packages)));
            }
        }
    }
    Ok(places)
}

/// The libraries in a folder of any kind that we know, the newest of each first.
fn inside(folder: &Path) -> Vec<Place> {
    let files = |folder: PathBuf| {
        let mut files: Vec<PathBuf> = entries(&folder).filter(|path| is_nvrtc(path)).collect();
        files.sort_by_key(|path| std::cmp::Reverse(numbers(&name_of(path))));
        files
    };
    INSIDE.iter().flat_map(|inner| files(folder.join(inner))).map(Place::File).collect()
}

fn is_nvrtc(path: &Path) -> bool {
    let name = name_of(path);
    let known =
        name.starts_with("libnvrtc.so") || name.starts_with("nvrtc64_") && name.ends_with(".dll");
    // There is a second build of it beside the first.
    known && !name.contains(".alt")
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()))
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The numbers in a name, as versions are compared.
fn numbers(name: &str) -> Vec<u32> {
    name.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect()
}

type Program = *mut c_void;

/// The library, loaded.
pub(crate) struct Nvrtc {
    version: unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int,
    error: unsafe extern "C" fn(c_int) -> *const c_char,
    archs_count: unsafe extern "C" fn(*mut c_int) -> c_int,
    archs: unsafe extern "C" fn(*mut c_int) -> c_int,
    create: unsafe extern "C" fn(
        *mut Program,
        *const c_char,
        *const c_char,
        c_int,
        *const *const c_char,
        *const *const c_char,
    ) -> c_int,
    compile: unsafe extern "C" fn(Program, c_int, *const *const c_char) -> c_int,
    cubin_size: unsafe extern "C" fn(Program, *mut usize) -> c_int,
    cubin: unsafe extern "C" fn(Program, *mut u8) -> c_int,
    log_size: unsafe extern "C" fn(Program, *mut usize) -> c_int,
    log: unsafe extern "C" fn(Program, *mut u8) -> c_int,
    destroy: unsafe extern "C" fn(*mut Program) -> c_int,
    /// What holds the functions, and what it looks for by name when it compiles.
    _libraries: (Library, Option<Library>),
}

/// What a compiler made, and what it said; without a cubin it was an error.
pub(crate) struct Outcome {
    pub(crate) cubin: Option<Vec<u8>>,
    pub(crate) log: String,
}

impl Nvrtc {
    /// The first one in these places that suits.
    ///
    /// # Errors
    /// Why each does not that is there.
    pub(crate) fn load(
        places: &[Place],
        suits: impl Fn(&Self) -> Result<(), String>,
    ) -> Result<Self, String> {
        let mut refused = Vec::new();
        for place in places {
            match Self::at(place) {
                Ok(nvrtc) => match suits(&nvrtc) {
                    Ok(()) => return Ok(nvrtc),
                    Err(why) => refused.push(format!("'{place}': {why}")),
                },
                Err(error) if matches!(place, Place::File(_)) => {
                    refused.push(format!("'{place}': {error}"));
                }
                Err(_) => {}
            }
        }
        let here = match refused.is_empty() {
            true => "is not here".to_owned(),
            false => format!("is not here as it is needed: {}", refused.join("; ")),
        };
        Err(format!("NVRTC, the compiler of kernels, {here}; {REMEDY}"))
    }

    fn at(place: &Place) -> Result<Self, libloading::Error> {
        // SAFETY: loading NVRTC runs its initialisers only, which do nothing to us; the functions have these types
        // in every version that has them.
        unsafe {
            // What it looks for by name lies beside it, where the loader does not look.
            let beside = match place {
                Place::File(path) => builtins(path).and_then(|path| Library::new(path).ok()),
                Place::Name(_) => None,
            };
            let library = match place {
                Place::Name(name) => Library::new(name),
                Place::File(path) => Library::new(path),
            }?;
            Ok(Self {
                version: *library.get(b"nvrtcVersion\0")?,
                error: *library.get(b"nvrtcGetErrorString\0")?,
                archs_count: *library.get(b"nvrtcGetNumSupportedArchs\0")?,
                archs: *library.get(b"nvrtcGetSupportedArchs\0")?,
                create: *library.get(b"nvrtcCreateProgram\0")?,
                compile: *library.get(b"nvrtcCompileProgram\0")?,
                cubin_size: *library.get(b"nvrtcGetCUBINSize\0")?,
                cubin: *library.get(b"nvrtcGetCUBIN\0")?,
                log_size: *library.get(b"nvrtcGetProgramLogSize\0")?,
                log: *library.get(b"nvrtcGetProgramLog\0")?,
                destroy: *library.get(b"nvrtcDestroyProgram\0")?,
                _libraries: (library, beside),
            })
        }
    }

    /// Its version.
    pub(crate) fn version(&self) -> Result<(i32, i32), String> {
        let (mut major, mut minor) = (0, 0);
        // SAFETY: two places for two numbers.
        self.check(unsafe { (self.version)(&mut major, &mut minor) })?;
        Ok((major, minor))
    }

    /// The architectures that it compiles for, in rising order: 90 is `sm_90`.
    pub(crate) fn archs(&self) -> Result<Vec<u32>, String> {
        let mut count = 0;
        // SAFETY: a place for one number, and then places for as many as it says.
        let mut archs = unsafe {
            self.check((self.archs_count)(&mut count))?;
            let mut archs = vec![0 as c_int; usize::try_from(count).unwrap_or(0)];
            self.check((self.archs)(archs.as_mut_ptr()))?;
            archs
        };
        archs.sort_unstable();
        Ok(archs.into_iter().filter_map(|arch| arch.try_into().ok()).collect())
    }

    /// Compiles a text; `Err` where the compiler itself fails.
    pub(crate) fn compile(&self, text: &str, options: &[String]) -> Result<Outcome, String> {
        let c_string =
            |text: &str| CString::new(text).map_err(|_| "there is a zero byte in it".to_owned());
        let text = c_string(text)?;
        let options =
            options.iter().map(|option| c_string(option)).collect::<Result<Vec<_>, _>>()?;
        let pointers: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        let mut program = null_mut();
        // SAFETY: the texts end with zeros and live until the end of this function; places for results are as large
        // as the library says; the program is destroyed once, last.
        unsafe {
            let name = c"kernels.cu".as_ptr();
            let none = null_mut::<*const c_char>().cast_const();
            self.check((self.create)(&mut program, text.as_ptr(), name, 0, none, none))?;
            let code = (self.compile)(program, pointers.len() as c_int, pointers.as_ptr());
            let log = self.bytes(program, self.log_size, self.log);
            let cubin = match code {
                0 => self.bytes(program, self.cubin_size, self.cubin).map(Some),
                _ => Ok(None),
            };
            (self.destroy)(&mut program);
            let mut log = String::from_utf8_lossy(&log?).trim_end_matches('\0').to_owned();
            if code != 0 && log.trim().is_empty() {
                log = self.check(code).err().unwrap_or_default();
            }
            Ok(Outcome { cubin: cubin?, log })
        }
    }

    /// # Safety
    /// `size` says how many bytes `get` writes of this program.
    unsafe fn bytes(
        &self,
        program: Program,
        size: unsafe extern "C" fn(Program, *mut usize) -> c_int,
        get: unsafe extern "C" fn(Program, *mut u8) -> c_int,
    ) -> Result<Vec<u8>, String> {
        let mut count = 0;
        // SAFETY: as promised.
        unsafe {
            self.check(size(program, &mut count))?;
            let mut bytes = vec![0; count];
            self.check(get(program, bytes.as_mut_ptr()))?;
            Ok(bytes)
        }
    }

    fn check(&self, code: c_int) -> Result<(), String> {
        if code == 0 {
            return Ok(());
        }
        // SAFETY: the library gives a text that stays for every number.
        let text = unsafe { CStr::from_ptr((self.error)(code)) };
        Err(format!("NVRTC says {}", text.to_string_lossy()))
    }
}

/// The library with the compiler's own declarations, beside the compiler.
fn builtins(nvrtc: &Path) -> Option<PathBuf> {
    let folder = nvrtc.parent()?;
    entries(folder).find(|path| {
        let name = name_of(path);
        (name.starts_with("libnvrtc-builtins.so") || name.starts_with("nvrtc-builtins64_"))
            && !name.contains(".alt")
    })
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::testing;

    #[test]
    fn the_variable_names_a_file_or_a_folder() {
        let kept = tempfile::tempdir().expect("a folder");
        let lib = kept.path().join("nvidia/cu13/lib");
        fs::create_dir_all(&lib).expect("a folder");
        let names =
            ["libnvrtc.so.12", "libnvrtc.so.13", "libnvrtc.alt.so.13", "libnvrtc-builtins.so.13.0"];
        for name in names {
            fs::write(lib.join(name), "").expect("a file");
        }
        let file = |name: &str| Place::File(lib.join(name));
        let at = |path: &Path| places(|name| (name == VARIABLE).then(|| path.into()));
        assert_eq!(at(&lib.join("libnvrtc.so.12")), Ok(vec![file("libnvrtc.so.12")]));
        let both = Ok(vec![file("libnvrtc.so.13"), file("libnvrtc.so.12")]);
        assert_eq!(at(&lib), both, "the newest is first");
        assert_eq!(at(kept.path()), both, "as among Python's packages");
        assert_eq!(
            builtins(&lib.join("libnvrtc.so.13")),
            Some(lib.join("libnvrtc-builtins.so.13.0"))
        );
        for nowhere in [Path::new(""), Path::new("/nowhere"), &kept.path().join("nvidia")] {
            let error = at(nowhere).expect_err("nothing is there");
            assert!(error.contains("UPSWEEP_NVRTC") && error.contains("pip install"), "{error}");
        }
    }

    #[test]
    fn toolkits_and_packages_are_looked_through() {
        let kept = tempfile::tempdir().expect("a folder");
        let make = |path: &str| {
            let path = kept.path().join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(&path, "").expect("a file");
            Place::File(path)
        };
        let toolkit = make("cuda/lib64/libnvrtc.so.13");
        let package = make("env/lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12");
        let found = places(|name| match name {
            "CUDA_HOME" => Some(kept.path().join("cuda").into()),
            "VIRTUAL_ENV" => Some(kept.path().join("env").into()),
            _ => None,
        });
        let found = found.expect("places");
        let number = |place| found.iter().position(|found| *found == place).expect("it is found");
        assert_eq!(number(Place::Name(NAMES[0])), 0);
        assert!(number(toolkit) < number(package));
    }

    #[test]
    fn a_library_that_is_none_is_an_error_that_says_what_to_do() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let any = |_: &Nvrtc| Ok(());
        let empty = [Place::File(file.path().into())];
        let error = Nvrtc::load(&empty, any).err().expect("it is empty");
        assert!(error.contains("pip install nvidia-cuda-nvrtc"), "{error}");
        assert!(error.contains(&*file.path().to_string_lossy()), "{error}");
        let error = Nvrtc::load(&[], any).err().expect("there is no place");
        assert!(error.contains("is not here; it comes with the CUDA toolkit"), "{error}");
    }

    /// Of two, the first of which does not suit, the second is taken; of none that suits, each is named.
    #[test]
    fn the_first_that_suits_is_taken() {
        if testing::compiler().is_none() {
            return;
        }
        let all = places(|name| std::env::var_os(name)).expect("it is somewhere");
        let there = all.into_iter().find(|place| Nvrtc::at(place).is_ok()).expect("it loads");
        let twice = [there.clone(), there];
        let asked = Cell::new(0);
        let second = |_: &Nvrtc| match asked.replace(asked.get() + 1) {
            0 => Err("is the first".to_owned()),
            _ => Ok(()),
        };
        assert!(Nvrtc::load(&twice, second).is_ok());
        assert_eq!(asked.get(), 2);
        let error = Nvrtc::load(&twice, |_| Err("does not suit".to_owned())).err();
        let error = error.expect("none suits");
        assert_eq!(error.matches(&format!("'{}': does not suit", twice[0])).count(), 2, "{error}");
    }
}
