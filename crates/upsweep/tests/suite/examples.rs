//! What operators, functions and structures of one's own are good for: six worked examples, on every device.

use upsweep::{Array, Device, Element, Error, Fused, Sum, View, inclusive_scan};
use upsweep_testing::{Input, for_each_device};

// Dot product: two arrays are read together, and nothing is written on the way.

#[upsweep::function]
fn product(left: f32, right: f32) -> f32 {
    left * right
}

fn dot(device: &Device, left: &[f32], right: &[f32]) -> Result<f32, Error> {
    View::from(left).zip(View::from(right)).map(product {}).reduce(device, Sum)
}

#[test]
fn dot_product() {
    let (left, right): (Vec<f32>, Vec<f32>) =
        (Input::Uniform.array(1, 100_003), Input::Uniform.array(2, 100_003));
    let cpu = dot(&Device::cpu(), &left, &right).expect("a sum");
    let exact: f64 = left.iter().zip(&right).map(|(&l, &r)| f64::from(l) * f64::from(r)).sum();
    assert!((f64::from(cpu) / exact - 1.0).abs() < 1e-6, "{cpu} {exact}");
    for_each_device(|device| {
        let found = dot(&device.device, &left, &right).expect("a sum");
        assert_eq!(found.to_bits(), cpu.to_bits(), "{device}");
    });
}

// A linear recurrence, x = scale · x + shift at each step: a scan over the steps as maps, whose composition does not commute.

#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
struct Affine {
    scale: f32,
    shift: f32,
}

#[upsweep::operator(identity = Affine { scale: 1.0, shift: 0.0 })]
fn compose(left: Affine, right: Affine) -> Affine {
    Affine { scale: right.scale * left.scale, shift: right.scale * left.shift + right.shift }
}

/// Every state from `start` on.
fn states(device: &Device, steps: &[Affine], start: f32) -> Result<Vec<f32>, Error> {
    let maps = inclusive_scan(device, steps, Compose)?.into_vec()?;
    Ok(maps.iter().map(|map| map.scale * start + map.shift).collect())
}

#[test]
fn linear_recurrence() {
    let shifts: Vec<f32> = Input::Uniform.array(3, 70_001);
    let steps: Vec<Affine> = shifts.iter().map(|&shift| Affine { scale: 0.9, shift }).collect();
    let mut state = 5.0f32;
    let one_by_one: Vec<f32> = steps
        .iter()
        .map(|step| {
            state = step.scale * state + step.shift;
            state
        })
        .collect();
    for_each_device(|device| {
        let found = states(&device.device, &steps, 5.0).expect("a scan");
        for (k, (found, expected)) in found.iter().zip(&one_by_one).enumerate() {
            assert!((found - expected).abs() < 1e-4, "{device}, step {k}: {found} {expected}");
        }
    });
}

// The largest sum of neighbouring items: what is known of a stretch suffices to join it to the next.

#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
struct Stretch {
    all: i32,
    from_start: i32,
    to_end: i32,
    best: i32,
}

#[upsweep::function]
fn of_one(item: i32) -> Stretch {
    Stretch { all: item, from_start: item, to_end: item, best: item }
}

/// Less than every sum, and far enough from the end of the type.
const NONE: i32 = -1_000_000_000;

#[upsweep::operator(identity = Stretch { all: 0, from_start: NONE, to_end: NONE, best: NONE })]
fn join(left: Stretch, right: Stretch) -> Stretch {
    Stretch {
        all: left.all + right.all,
        from_start: left.from_start.max(left.all + right.from_start),
        to_end: right.to_end.max(left.to_end + right.all),
        best: left.best.max(right.best).max(left.to_end + right.from_start),
    }
}

#[test]
fn maximum_subarray() {
    let items: Vec<i32> =
        Input::Full.array::<i32>(4, 50_021).iter().map(|item| item % 100).collect();
    // J. Kadane's way, one after another.
    let mut ending_here = NONE;
    let best = items.iter().fold(NONE, |best, &item| {
        ending_here = item.max(ending_here + item);
        best.max(ending_here)
    });
    for_each_device(|device| {
        let found = View::from(&items).map(of_one {}).reduce(&device.device, Join);
        assert_eq!(found.expect("a reduction").best, best, "{device}");
    });
}

// Whether brackets match: how far a text goes down, and where it ends.

#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
struct Depth {
    change: i32,
    lowest: i32,
}

#[upsweep::function]
fn of_letter(letter: u8) -> Depth {
    let change: i32 = match letter {
        40 => 1,  // (
        41 => -1, // )
        _ => 0,
    };
    Depth { change, lowest: change.min(0) }
}

#[upsweep::operator(identity = Depth { change: 0, lowest: 0 })]
fn go_on(left: Depth, right: Depth) -> Depth {
    Depth {
        change: left.change + right.change,
        lowest: left.lowest.min(left.change + right.lowest),
    }
}

fn matches(device: &Device, text: &str) -> Result<bool, Error> {
    let depth = View::from(text.as_bytes()).map(of_letter {}).reduce(device, GoOn)?;
    Ok(depth == Depth { change: 0, lowest: 0 })
}

#[test]
fn bracket_matching() {
    let nested = ["(", "(a)(b) "].concat().repeat(3000) + &")".repeat(3000);
    for_each_device(|device| {
        for (text, expected) in [
            ("", true),
            ("(()())", true),
            (")(", false),
            ("(()", false),
            (nested.as_str(), true),
            (&nested[1..], false),
        ] {
            let found = matches(&device.device, text).expect("a reduction");
            assert_eq!(found, expected, "{device}: {} letters", text.len());
        }
    });
}

// Mean and variance in one pass. Source: T. Chan, G. Golub, R. LeVeque, Updating Formulae and a Pairwise Algorithm for Computing
// Sample Variances (1979).

#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
struct Moments {
    count: f32,
    mean: f32,
    squares: f32,
}

#[upsweep::function]
fn of_value(value: f32) -> Moments {
    Moments { count: 1.0, mean: value, squares: 0.0 }
}

#[upsweep::operator(identity = Moments { count: 0.0, mean: 0.0, squares: 0.0 }, commutative)]
fn merge(left: Moments, right: Moments) -> Moments {
    if left.count == 0.0 {
        right
    } else if right.count == 0.0 {
        left
    } else {
        let count = left.count + right.count;
        let apart = right.mean - left.mean;
        let share = right.count / count;
        Moments {
            count,
            mean: left.mean + apart * share,
            squares: left.squares + right.squares + apart * apart * left.count * share,
        }
    }
}

#[test]
fn mean_and_variance() {
    let values: Vec<f32> =
        Input::Uniform.array::<f32>(5, 90_001).iter().map(|v| 1000.0 + v).collect();
    let mean = values.iter().map(|&value| f64::from(value)).sum::<f64>() / values.len() as f64;
    let squares = values.iter().map(|&value| (f64::from(value) - mean).powi(2));
    let variance = squares.sum::<f64>() / values.len() as f64;
    for_each_device(|device| {
        let array = Array::from_slice(&device.device, &values).expect("memory");
        let found = array.view().map(of_value {}).reduce(&device.device, Merge).expect("moments");
        assert!((f64::from(found.mean) / mean - 1.0).abs() < 1e-6, "{device}: {found:?} {mean}");
        let of_found = f64::from(found.squares / found.count);
        assert!((of_found / variance - 1.0).abs() < 1e-3, "{device}: {found:?} {variance}");
    });
}

// A lexer: each letter is a function from states to states, four bytes in a word, and functions are composed by a scan. Source:
// W. Hillis, G. Steele, Data Parallel Algorithms (1986).

// Outside of everything; in a name; in a number.
const OUTSIDE: u8 = 0;
const NAME: u8 = 1;
const NUMBER: u8 = 2;

#[upsweep::function]
fn of_state(letter: u8) -> u32 {
    match letter {
        // A letter begins a name, or belongs to one; behind a number it begins another.
        97..=122 => 0x03_01_01_01,
        // A digit belongs to a name too.
        48..=57 => 0x03_02_01_02,
        _ => 0x03_00_00_00,
    }
}

#[upsweep::operator(identity = 0x03_02_01_00, exact)]
fn and_then(left: u32, right: u32) -> u32 {
    let mut both = 0u32;
    for state in 0..4u32 {
        let between = left >> (8 * state) & 0xff;
        both |= (right >> (8 * between) & 0xff) << (8 * state);
    }
    both
}

/// The state behind each letter.
fn lex(device: &Device, text: &str) -> Result<Vec<u8>, Error> {
    let functions = View::from(text.as_bytes()).map(of_state {}).inclusive_scan(device, AndThen)?;
    Ok(functions
        .into_vec()?
        .iter()
        .map(|function| function.to_le_bytes()[usize::from(OUTSIDE)])
        .collect())
}

#[test]
fn lexer_by_composition() {
    let text = "let x1 = 42 + y2z; 7up ".repeat(2000);
    let mut state = OUTSIDE;
    let one_by_one: Vec<u8> = text
        .bytes()
        .map(|letter| {
            state = match (letter, state) {
                (b'a'..=b'z', _) | (b'0'..=b'9', NAME) => NAME,
                (b'0'..=b'9', _) => NUMBER,
                _ => OUTSIDE,
            };
            state
        })
        .collect();
    for_each_device(|device| {
        assert_eq!(lex(&device.device, &text).expect("a scan"), one_by_one, "{device}");
    });
}
