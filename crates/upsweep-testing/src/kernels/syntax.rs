//! Every construct of the language, with names that devices' languages would take for their own.

use upsweep::Element;

use super::{Case, functions};

/// A structure whose fields have names of WGSL's and C++'s.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
struct Pair {
    float: f32,
    var: u32,
}

const LIMIT: u32 = 1 << 20;
const ORIGIN: Pair = Pair { float: 0.5, var: LIMIT };

mod basics {
    use super::{LIMIT, ORIGIN, Pair};

    super::functions! {
        fn shadowing(x: u32) -> u32 { let x = x ^ 3; let x = x / 2; { let x = 7u32; x.max(1) }; x }
        fn keywords(float: u32, template: u32) -> u32 { let var = float ^ template; let default_ = var; let while_ = 1u32; default_ | while_ }
        fn mutated(a: u32) -> u32 { let mut b = a; b ^= 5; b >>= 1; b |= 64; b %= 1000; b -= b / 2; b }
        fn branches(a: u32, b: u32) -> u32 {
            let mut most = 0u32;
            if a > b { most = a; } else if a == b { most = 1; } else { most = b; }
            most
        }
        fn choice(a: u32, b: u32) -> u32 { if a > b { a } else { b } }
        fn choice_of_literals(a: u32) -> u32 { let b = if a > 3 { 0 } else { a }; b | if a == 2 { 8 } else { 16 } }
        fn early(a: u32) -> u32 { if a < 3 { return a ^ 9; } if a > 100 { return LIMIT; } a }
        fn all_return(a: u32) -> u32 { if a < 3 { return 1; } else { return 2; } }
        fn return_inside(a: u32) -> u32 { let b = if a > 50 { return 3; } else { a ^ 1 }; b.wrapping_mul(2) }
        fn matched(a: u32) -> u32 {
            match a { 0 => 10, 1 | 2 => 20, 3..=7 => a ^ 1, LIMIT => 5, n if n % 2 == 1 => n / 3, u32::MAX => 6, _ => 7 }
        }
        fn matched_signed(a: i32) -> i32 { match a { i32::MIN..=-1 => -1, 0 => 0, 1.. => 1 } }
        fn matched_bool(a: bool, b: bool) -> u32 { match (a, b) { (true, _) => 1, (false, true) => 2, (false, false) => 3 } }
        fn matched_last_value(a: bool) -> u32 { match a { true => 4, false => 5 } }
        fn sum_below(n: u8) -> u32 { let mut sum = 0u32; for i in 0..n as u32 { sum = sum.wrapping_add(i * i); } sum }
        fn inclusive_to_the_end(n: u8) -> u32 { let mut count = 0u32; for i in n..=u8::MAX { count += i as u32 & 1; } count }
        fn backwards_is_empty(a: i8, b: i8) -> i32 { let mut count = 0i32; for _ in a..b { count += 1; } for _ in a..=b { count += 1; } count }
        fn nested(n: u8) -> u32 {
            let mut found = 0u32;
            for i in 2u32..n as u32 {
                if i % 3 == 0 { continue; }
                let mut is_prime = true;
                for j in 2..i { if i % j == 0 { is_prime = false; break; } }
                if is_prime { found += 1; }
                if found > 20 { break; }
            }
            found
        }
        fn collatz(a: u16) -> u32 {
            let mut n = a as u64;
            let mut steps = 0u32;
            while n > 1 && steps < 300 { n = if n % 2 == 0 { n / 2 } else { 3 * n + 1 }; steps += 1; }
            steps
        }
        fn while_with_statements(a: u32) -> u32 {
            let mut b = a;
            let mut rounds = 0u32;
            while { b >>= 1; b > 3 } { rounds += 1; }
            rounds
        }
        fn greatest_common_divisor(a: u32, b: u32) -> u32 {
            let (mut a, mut b) = (a, b);
            while b != 0 { (a, b) = (b, a % b); }
            a
        }
        fn order_of_evaluation(a: u32) -> u32 { let mut x = a; let y = x.wrapping_add({ x = x / 2; x }); y ^ x }
        fn order_in_operators(a: u32) -> u32 { let mut x = a; (x / 3) ^ { x = 5; x } ^ x }
        fn order_in_tuples(a: u32) -> u32 { let mut x = a; let t = (x, { x ^= 1; x }, x); t.0 ^ (t.1 << 1) ^ (t.2 >> 3) }
        fn lazy(a: u32, b: u32) -> u32 {
            let mut looked = 0u32;
            let both = a > 3 && { looked += 1; b > 3 };
            let either = a > 100 || { looked += 2; b > 100 } || { looked += 4; false };
            looked | (both as u32) << 8 | (either as u32) << 9
        }
        fn logic(a: bool, b: bool) -> bool { (a & !b) | (a ^ b) == (a != b) && (a <= b || b < a) }
        fn tuples(a: u32, b: i32) -> i32 {
            let pair = (a, (b, a > 5));
            let (first, (second, large)) = pair;
            let mut other = pair;
            other.1.0 = second ^ 3;
            if large { first as i32 ^ other.1.0 } else { pair.1.0 }
        }
        fn structures(a: f32, b: u32) -> f32 {
            let one = Pair { var: b / 2, float: a };
            let Pair { float, var } = one;
            let mut two = ORIGIN;
            two.float = float - 1.0;
            two.var |= var;
            let chosen = if two.var > LIMIT { two } else { one };
            chosen.float + (chosen.var & 15) as f32
        }
        fn structures_matched(a: u32) -> u32 {
            let pair = Pair { float: 1.0, var: a };
            match pair { Pair { var: 0, .. } => 1, Pair { var, float } if float > 0.5 => var ^ 8, _ => 3 }
        }
        fn casts(a: i32) -> u32 { let wide = a as i64 as u64; (wide >> 32) as u32 ^ (a as u8 as i8 as i32 as u32) }
        fn associated(a: u32) -> u32 { u32::max(a, 3) ^ u32::from(a > 7) ^ f32::from_bits(a & 0x3fff_ffff).to_bits() }
        fn paths(a: f32) -> f32 { if a > std::f32::consts::PI { core::f32::consts::E } else { ORIGIN.float } }
    }
}

mod calls {
    use super::{LIMIT, Pair};

    #[upsweep::function]
    fn squared(x: u32) -> u32 {
        x.wrapping_mul(x)
    }

    #[upsweep::function]
    fn swapped(pair: Pair, by: (u32, u32)) -> (Pair, u32) {
        (Pair { float: pair.float, var: by.0 }, pair.var ^ by.1)
    }

    #[upsweep::function]
    fn third(mut of: u32, _: bool, (plus, _): (u32, u32)) -> u32 {
        of /= 3;
        of += plus;
        of
    }

    #[upsweep::function]
    fn min(left: u32, right: u32) -> u32 {
        if right < left { right } else { left }
    }

    super::functions! {
        fn twice(a: u32) -> u32 { squared(squared(a) ^ 1) }
        fn structures(a: u32, b: u32) -> u32 {
            let (pair, rest) = swapped(Pair { float: 2.0, var: a }, (b, 7));
            let (pair, more) = swapped(pair, (rest, LIMIT));
            pair.var ^ more
        }
        fn parameters(a: u32) -> u32 { third(a, true, (a / 2, 0)) }
        fn own_min(a: u32, b: u32) -> u32 { min(a, 10).min(min(b, 20)) }
        fn arguments_in_order(a: u32) -> u32 { let mut x = a; min(x, { x /= 2; x }) ^ x }
    }
}

pub(super) fn all(list: &mut Vec<Case>) {
    basics::all(list);
    calls::all(list);
}
