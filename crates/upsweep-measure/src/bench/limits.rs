//! What a device reached in this run where it only moved bytes: a row in which the same takes much longer was measured on a device
//! that had not its full speed.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{LazyLock, Mutex, PoisonError};

/// How much longer than the shortest so far the same bytes may take.
const MOST: f64 = 1.25;

/// A device, whether bytes are read or copied, and how many.
type Key = (String, bool, u64);

/// The shortest times so far.
static SHORTEST: LazyLock<Mutex<HashMap<Key, f64>>> = LazyLock::new(Mutex::default);

/// Takes note of how long it took a device to read or copy so many bytes. Gives the shortest time so far if that is much shorter.
pub(super) fn shortest_if_slow(
    device: &str,
    copies: bool,
    bytes: u64,
    seconds: f64,
) -> Option<f64> {
    let mut all = SHORTEST.lock().unwrap_or_else(PoisonError::into_inner);
    match all.entry((device.to_owned(), copies, bytes)) {
        Entry::Vacant(place) => {
            place.insert(seconds);
            None
        }
        Entry::Occupied(mut known) => {
            let shortest = *known.get();
            known.insert(shortest.min(seconds));
            (seconds > MOST * shortest).then_some(shortest)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_held_against_those_of_the_same_bytes() {
        let slow = |device, copies, bytes, time| shortest_if_slow(device, copies, bytes, time);
        assert_eq!(slow("a", true, 64, 2.0), None);
        assert_eq!(slow("a", true, 64, 2.4), None);
        assert_eq!(slow("a", true, 64, 2.6), Some(2.0));
        assert_eq!(slow("a", true, 64, 1.0), None, "it was slow before");
        assert_eq!(slow("a", true, 64, 2.0), Some(1.0));
        assert_eq!(slow("a", true, 65, 9.0), None);
        assert_eq!(slow("a", false, 64, 9.0), None);
        assert_eq!(slow("b", true, 64, 9.0), None);
    }
}
