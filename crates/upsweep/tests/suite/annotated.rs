//! Operators made of plain functions, on every device: reductions and scans, their laws, and what they are called.

use upsweep::laws::{self, Law};
use upsweep::{Dtype, Element, Error, Kind, Language, Operator, reduce};
use upsweep_testing::{
    Effort::Brief, Input, check_reduce, check_scan, check_scan_in_place, for_each_device,
};

/// The larger one.
#[upsweep::operator(identity = 0, commutative)]
fn larger(left: u32, right: u32) -> u32 {
    left.max(right)
}

/// The later item that is not 0.
#[upsweep::operator(identity = 0)]
fn last_set(left: u32, right: u32) -> u32 {
    if right == 0 { left } else { right }
}

#[upsweep::function]
fn saturated(wide: u32) -> u16 {
    wide.min(65_535) as u16
}

/// Not exact as written, and not commutative as declared.
#[upsweep::operator(identity = 0, name = Saturating)]
fn saturating_sum(left: u16, right: u16) -> u16 {
    saturated(left as u32 + right as u32)
}

/// A sum that rounds, written with a product: no device may join the two.
#[upsweep::operator(identity = 0.0, padding = -0.0, commutative)]
fn sum_of_products(left: f32, right: f32) -> f32 {
    left * 1.0 + right
}

/// The steeper of two slopes, with the sign that it has.
#[upsweep::operator(identity = 0.0, exact, commutative)]
fn steepest(left: f32, right: f32) -> f32 {
    let (a, b) = (left.abs(), right.abs());
    if a > b || (a == b && left > right) { left } else { right }
}

#[upsweep::operator(identity = -1, commutative)]
fn bits_of_bytes(left: i8, right: i8) -> i8 {
    left & right
}

#[test]
fn reductions_are_those_of_the_function() {
    check_reduce::<u32, u32, _>(Larger, 7, Input::Full, Brief);
    check_reduce::<f32, f32, _>(SumOfProducts, 0.5, Input::Mixed, Brief);
    check_reduce::<f32, f32, _>(Steepest, 0.5, Input::Mixed, Brief);
    check_reduce::<i8, i8, _>(BitsOfBytes, 0x7f, Input::Full, Brief);
}

/// A product below a prime, by way of a type that some devices lack.
#[upsweep::operator(identity = 1, commutative)]
fn product_of_residues(left: u32, right: u32) -> u32 {
    (left as u64 * right as u64 % 4_294_967_291) as u32
}

#[test]
fn a_device_says_which_numbers_it_lacks() {
    let items = [4_294_967_290u32, 65_537, 3, 1 << 31];
    let expected = items.into_iter().reduce(product_of_residues);
    for_each_device(|device| {
        let found = reduce(&device.device, &items, ProductOfResidues);
        if device.supports(&[u64::KIND]) {
            assert_eq!(found.ok(), expected, "{device}");
        } else {
            assert!(matches!(found, Err(Error::ElementUnsupported { .. })), "{device}: {found:?}");
        }
    });
}

#[test]
fn scans_are_those_of_the_function() {
    check_scan::<u32, u32, _>(LastSet, 7, Input::Small, Brief);
    check_scan_in_place::<u16, _>(Saturating, 9, Input::Full, Brief);
    check_scan::<f32, f32, _>(SumOfProducts, 0.5, Input::Mixed, Brief);
}

/// A text as a reader sees it who asks for it: names with numbers, what has no expression in front of where it is used.
#[test]
fn texts_can_be_read() {
    let [wgsl, cuda] = [Language::Wgsl, Language::Cuda]
        .map(|language| Saturating.source(language).expect("a text"));
    assert_eq!(
        wgsl.declarations,
        "fn rust_min_u32(a: u32, b: u32) -> u32 { return select(b, a, a < b); }\n\
         fn saturated_4(wide_5: u32) -> u32 {\n\
         \x20   return (rust_min_u32(wide_5, 65535u) & 65535u);\n}\n\
         fn saturating_sum_1(left_2: u32, right_3: u32) -> u32 {\n\
         \x20   return saturated_4((left_2 + right_3));\n}\n"
    );
    assert_eq!(wgsl.combine, "return saturating_sum_1(left, right);");
    assert!(cuda.declarations.ends_with(
        "inline u32 saturated_4(u32 wide_5) {\n\
         \x20   return (rust_min_u32(wide_5, 65535u) & 65535u);\n}\n\
         inline u32 saturating_sum_1(u32 left_2, u32 right_3) {\n\
         \x20   return saturated_4((left_2 + right_3));\n}\n"
    ));
    assert_eq!(*wgsl.numbers, [Dtype::U16, Dtype::U32]);
}

#[test]
fn what_is_declared_is_what_they_are() {
    fn facts<A: Element, O: Operator<A>>(_: O) -> (&'static str, bool, bool) {
        (O::NAME, O::COMMUTATIVE, O::EXACT)
    }
    assert_eq!(facts::<u32, _>(Larger), ("larger", true, true));
    assert_eq!(facts::<u32, _>(LastSet), ("last set", false, true));
    assert_eq!(facts::<f32, _>(SumOfProducts), ("sum of products", true, false));
    assert_eq!(facts::<f32, _>(Steepest), ("steepest", true, true));
    assert_eq!(Operator::<f32>::padding(&SumOfProducts).to_bits(), (-0.0f32).to_bits());
    assert_eq!((larger(1, 2), Larger.combine(1, 2)), (2, 2));
    for language in [Language::Wgsl, Language::Cuda] {
        let source = Saturating.source(language).expect("a text");
        assert!(source.combine.starts_with("return saturating_sum_"), "{}", source.combine);
        assert!(source.declarations.contains("saturated_"), "{}", source.declarations);
        assert_eq!(Saturating.source(language), Some(source), "it is the same each time");
    }
}

#[test]
fn operators_may_stand_inside_functions() {
    #[upsweep::operator(identity = 1, commutative)]
    #[inline(always)]
    fn odd_part_of_product(left: u32, right: u32) -> u32 {
        let product = left.wrapping_mul(right);
        product >> (product.trailing_zeros() % 32)
    }
    laws::check(&OddPartOfProduct, &[1, 3, 5, u32::MAX]).expect("a product");
    let device = upsweep::Device::cpu();
    assert_eq!(reduce(&device, &[3u32, 5, 7], OddPartOfProduct), Ok(105));
}

#[test]
fn laws_hold_or_are_told() {
    let numbers = [0, 1, 2, 7, u32::MAX];
    laws::check(&Larger, &numbers).expect("a maximum");
    laws::check(&LastSet, &numbers).expect("a last item");
    laws::check(&Saturating, &[0, 1, 40_000, u16::MAX]).expect("a sum");
    laws::check(&SumOfProducts, &[0.5, -0.0, 1e9, -3.25]).expect("a sum");
    laws::check(&BitsOfBytes, &[-1, 0, 5, i8::MIN]).expect("bits");
    // −0 and +0 are equally steep, and which is chosen can be seen.
    let broken =
        laws::check(&Steepest, &[0.0, -0.0]).expect_err("a mistake of this test's operator");
    assert_eq!(broken.law, Law::Padding);
}

/// What a structure says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
struct Weighted {
    weight: f64,
    value: f32,
    count: u32,
}

/// A structure's fields one by one.
#[upsweep::operator(identity = Weighted { weight: 0.0, value: f32::NEG_INFINITY, count: 0 }, exact, commutative)]
fn heaviest(left: Weighted, right: Weighted) -> Weighted {
    let count = left.count.wrapping_add(right.count);
    let is_left =
        left.weight > right.weight || left.weight == right.weight && left.value >= right.value;
    let Weighted { weight, value, .. } = if is_left { left } else { right };
    Weighted { weight, value, count }
}

#[test]
fn structures_are_elements() {
    let Kind::Struct { name, fields } = Weighted::KIND else { panic!("{:?}", Weighted::KIND) };
    assert_eq!(name, concat!(module_path!(), "::Weighted"));
    let found: Vec<_> =
        fields.iter().map(|(name, offset, dtype)| (*name, *offset, dtype.name())).collect();
    assert_eq!(found, [("weight", 0, "f64"), ("value", 8, "f32"), ("count", 12, "u32")]);
    const { assert!(!Weighted::EXACT) };
    let samples = [(0.5, 1.0, 1), (0.5, 2.0, u32::MAX), (3.0, -1.0, 7)];
    let samples = samples.map(|(weight, value, count)| Weighted { weight, value, count });
    laws::check(&Heaviest, &samples).expect("a maximum");
    let total = reduce(&upsweep::Device::cpu(), &samples, Heaviest).expect("a reduction");
    assert_eq!(total, Weighted { weight: 3.0, value: -1.0, count: 7 });
    for language in [Language::Wgsl, Language::Cuda] {
        let source = Heaviest.source(language).expect("a text");
        assert!(source.declarations.contains("struct Weighted_"), "{}", source.declarations);
    }
}
