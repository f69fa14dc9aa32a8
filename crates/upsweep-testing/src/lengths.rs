//! Lengths at which something changes: those of the summation specification, and those of the
//! policy that a device has chosen.

use upsweep::Device;
use upsweep::strategy::Policy;
use upsweep::summation::{GROUP, LANES, TILE, WINDOW};

use crate::Random;

/// Lengths around the units of the specification that fit in a few tiles, and around the vectors
/// of all instruction sets.
pub fn small() -> Vec<usize> {
    let mut lengths = around(&[0, GROUP, 16, 32, 64, LANES, 2 * LANES, 5 * LANES, TILE, 2 * TILE]);
    lengths.extend([2, 7 * GROUP + 2, TILE - LANES, TILE + LANES, 3 * TILE + 77]);
    sorted(lengths)
}

/// Lengths around a window of a scan and its multiples, where carries are handed on.
pub fn windows() -> Vec<usize> {
    let mut lengths = around(&[WINDOW]);
    lengths.extend([WINDOW - TILE, 2 * WINDOW + 77, 3 * WINDOW - 1, 5 * WINDOW + TILE + 3]);
    sorted(lengths)
}

/// Lengths around the numbers of the device's policy for items of `item_bytes` bytes, and a
/// seeded random one, all at most `most`.
pub fn policy(device: &Device, item_bytes: usize, most: usize) -> Vec<usize> {
    let mut bytes = Vec::new();
    for (_, policy) in [device.reduce_choice(0, item_bytes), device.scan_choice(0, item_bytes)] {
        match policy {
            Policy::Cpu(cpu) => {
                // A scan moves every byte twice.
                bytes.extend([cpu.serial_bytes, cpu.scan_serial_bytes / 2, cpu.streaming_bytes]);
                bytes.extend([cpu.block_bytes, 3 * cpu.block_bytes]);
            }
            Policy::Workgroup(group) => {
                let tile = group.threads_per_workgroup as usize * group.items_per_thread as usize;
                bytes.extend([tile * item_bytes, 3 * tile * item_bytes]);
            }
            _ => {}
        }
    }
    let items: Vec<usize> = bytes.iter().map(|bytes| bytes / item_bytes).collect();
    let mut lengths = around(&items);
    lengths.push(Random::new(item_bytes as u64).below(4 * WINDOW));
    lengths.retain(|&length| length <= most);
    sorted(lengths)
}

/// Each length with its neighbours.
fn around(lengths: &[usize]) -> Vec<usize> {
    lengths.iter().flat_map(|&n| [n.saturating_sub(1), n, n + 1]).collect()
}

fn sorted(mut lengths: Vec<usize>) -> Vec<usize> {
    lengths.sort_unstable();
    lengths.dedup();
    lengths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boundaries_are_among_the_lengths() {
        let small = small();
        for length in [0, 1, 3, 4, 5, 127, 128, 129, 2047, 2048, 2049, 4097] {
            assert!(small.contains(&length), "{length}");
        }
        assert!(windows().contains(&(WINDOW + 1)));
    }

    #[test]
    fn lengths_follow_the_policy_of_the_device() {
        let device = Device::cpu();
        let (_, Policy::Cpu(cpu)) = device.scan_choice(0, 4) else { panic!("a CPU's policy") };
        let lengths = policy(&device, 4, usize::MAX);
        for bytes in
            [cpu.serial_bytes, cpu.scan_serial_bytes / 2, cpu.block_bytes, cpu.streaming_bytes]
        {
            for length in [bytes / 4 - 1, bytes / 4, bytes / 4 + 1] {
                assert!(lengths.contains(&length), "{length} of {lengths:?}");
            }
        }
        assert!(policy(&device, 4, 1000).iter().all(|&length| length <= 1000));
    }
}
