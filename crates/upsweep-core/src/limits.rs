//! What a device can do: the facts that policies and strategies are chosen from.

/// The limits of one device. A field that has no meaning on a device is `None`, zero or false,
/// as its description says.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Limits {
    /// Name of the device as its maker gives it.
    pub name: String,
    /// The interface it is reached through: `cpu`, `vulkan`, `metal`, `cuda` …
    pub interface: String,
    /// Version of the driver; empty on a CPU.
    pub driver: String,
    /// Threads that run at once: hardware threads of a CPU, multiprocessors of a GPU; 1 where the interface does not
    /// say, as with wgpu.
    pub compute_units: usize,
    /// Instruction set in use on a CPU; empty elsewhere.
    pub instruction_set: String,
    /// Bytes of first-level data cache of one core, or the most shared memory that one workgroup of a GPU may have.
    pub l1_bytes: usize,
    /// Bytes of second-level cache of one core of a CPU, or of the whole of a GPU.
    pub l2_bytes: usize,
    /// Bytes of last-level cache that cores of a CPU share; 0 on a GPU.
    pub l3_bytes: usize,
    /// Bytes of memory that the device can use, if known.
    pub memory_bytes: Option<u64>,
    /// Smallest and largest subgroup, as the driver says; `(1, 1)` on a CPU, and on a GPU of which subgroup operations
    /// are not used, because it has none or because its threads do not lie in subgroups as kernels need it.
    pub subgroup_sizes: (u32, u32),
    /// Most threads of a workgroup of one dimension; 1 on a CPU.
    pub threads_per_workgroup: u32,
    /// Most bytes of one array in the device's memory. `None` on a CPU.
    pub buffer_bytes: Option<u64>,
    /// Most bytes that a kernel can reach through one binding; longer arrays take several launches. `None` where any
    /// array can be bound.
    pub binding_bytes: Option<u64>,
    /// Most workgroups in one dimension of a dispatch; `None` on a CPU.
    pub workgroups_per_dimension: Option<u32>,
    /// Whether words that carry their own proof arrive whole in other workgroups of one launch, so that a workgroup may
    /// tell another something. Tried when a GPU is opened; false on a CPU, which has no workgroups.
    pub messages: bool,
    /// Whether workgroups that have started go on while others wait for them, so that one may wait for another. No
    /// interface promises it: it is tried when a GPU is opened. False for GPUs made of software, whose workgroups the
    /// operating system may stop at any time; true on a CPU, whose threads yield to whom they wait for.
    pub forward_progress: bool,
    /// Whether 64-bit integers can be computed with.
    pub int64: bool,
    /// Whether a GPU has every atomic operation of 64-bit integers; false on a CPU, which has no need of them.
    pub int64_atomics: bool,
    /// Whether `f64` can be computed with.
    pub float64: bool,
    /// Whether results that are too small for a normal float are kept, and not made zero; of `f32`, as tried when a GPU
    /// is opened.
    pub subnormals: bool,
    /// Whether a GPU has a clock that kernels are timed by; false on a CPU, which has no need of one.
    pub timestamps: bool,
}

impl Limits {
    /// Limits of a device of which nothing but its name and interface is known: the least.
    pub fn least(name: impl Into<String>, interface: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            interface: interface.into(),
            driver: String::new(),
            compute_units: 1,
            instruction_set: String::new(),
            l1_bytes: 16 << 10,
            l2_bytes: 256 << 10,
            l3_bytes: 0,
            memory_bytes: None,
            subgroup_sizes: (1, 1),
            threads_per_workgroup: 1,
            buffer_bytes: None,
            binding_bytes: None,
            workgroups_per_dimension: None,
            messages: false,
            forward_progress: false,
            int64: false,
            int64_atomics: false,
            float64: false,
            subnormals: false,
            timestamps: false,
        }
    }
}
