//! What Rust means by an operation, where the languages of kernels mean something else or have no word for it.
//!
//! Each helper is written once, in what WGSL and CUDA C++ have in common, for every type that it is for. `$T` is the type, `$U`
//! the unsigned integer of its size; `@name(…)` calls the helper of that name for the same type, `@u32.name(…)` that for
//! another. Signed integers wrap by way of unsigned ones, because C++ promises nothing where they overflow.

/// Bits of the NaN that is made where there was none, in 32 and in 64 bits.
pub(super) const NOT_A_NUMBER: [u64; 2] = [0x7fc0_0000, 0x7ff8_0000_0000_0000];

/// A function of a kernel.
pub(super) struct Helper {
    /// Its name in Rust.
    pub(super) name: &'static str,
    /// For which types: `u`nsigned or signed `i`ntegers, `f`loats; with a size if not for both.
    pub(super) of: &'static [&'static str],
    /// Names and types of its parameters.
    pub(super) parameters: &'static [(&'static str, &'static str)],
    pub(super) result: &'static str,
    pub(super) body: &'static str,
    /// The body in CUDA C++, if it is another; `$f` is `f` for `f32`.
    pub(super) cuda: &'static [&'static str],
}

const ONE: &[(&str, &str)] = &[("a", "$T")];
const TWO: &[(&str, &str)] = &[("a", "$T"), ("b", "$T")];
const THREE: &[(&str, &str)] = &[("a", "$T"), ("b", "$T"), ("c", "$T")];
const FLOATS: &[&str] = &["f32", "f64"];
const UNSIGNED: &[&str] = &["u32", "u64"];
const SIGNED: &[&str] = &["i32", "i64"];
const INTEGERS: &[&str] = &["u32", "u64", "i32", "i64"];

macro_rules! helpers {
    ($($name:literal $of:expr, $parameters:expr => $result:literal, $body:literal $(, cuda $cuda:literal)?;)*) => {
        &[$(Helper {
            name: $name,
            of: $of,
            parameters: $parameters,
            result: $result,
            body: $body,
            cuda: &[$($cuda)?],
        },)*]
    };
}

/// All helpers.
pub(super) static HELPERS: &[Helper] = helpers! {
    // Integers.
    "div" UNSIGNED, TWO => "$T", "return a / select(b, $T(1), b == $T(0));";
    "rem" UNSIGNED, TWO => "$T", "return a % select(b, $T(1), b == $T(0));";
    "div" SIGNED, TWO => "$T",
        "let by_one = b == $T(0) || (b == $T(-1) && a == $T($SIGN)); return a / select(b, $T(1), by_one);";
    "rem" SIGNED, TWO => "$T",
        "let by_one = b == $T(0) || (b == $T(-1) && a == $T($SIGN)); return a % select(b, $T(1), by_one);";
    "div_euclid" UNSIGNED, TWO => "$T", "return @div(a, b);";
    "rem_euclid" UNSIGNED, TWO => "$T", "return @rem(a, b);";
    "div_euclid" SIGNED, TWO => "$T",
        "let whole = @div(a, b); let step = select($T(1), $T(-1), b > $T(0)); \
         return select(whole, $T($U(whole) + $U(step)), @rem(a, b) < $T(0));";
    "rem_euclid" SIGNED, TWO => "$T",
        "let rest = @rem(a, b); return select(rest, $T($U(rest) + $U(@abs(b))), rest < $T(0));";
    "abs" SIGNED, ONE => "$T", "return select(a, $T($U(0) - $U(a)), a < $T(0));";
    "signum" SIGNED, ONE => "$T", "return select(select($T(0), $T(1), a > $T(0)), $T(-1), a < $T(0));";
    "min" INTEGERS, TWO => "$T", "return select(b, a, a < b);";
    "max" INTEGERS, TWO => "$T", "return select(b, a, a > b);";
    "clamp" INTEGERS, THREE => "$T", "let most = select(a, b, a < b); return select(most, c, most > c);";
    "abs_diff" INTEGERS, TWO => "$U", "return select($U(a) - $U(b), $U(b) - $U(a), a < b);";
    // By the carry out of the last bit: NVIDIA's driver for Vulkan (580) takes `a + min(b, ~a)` of 64 bits for a sum of 32 that ends.
    "saturating_add" UNSIGNED, TWO => "$T",
        "let sum = a + b; let carry = (a & b) | ((a | b) & ~sum); \
         return select(sum, ~$T(0), (carry & $T($SIGN)) != $T(0));";
    "saturating_sub" UNSIGNED, TWO => "$T",
        "let rest = a - b; let borrow = (~a & b) | ((~a | b) & rest); \
         return select(rest, $T(0), (borrow & $T($SIGN)) != $T(0));";
    "saturating_add" SIGNED, TWO => "$T",
        "let sum = $T($U(a) + $U(b)); let end = select($T($REST), $T($SIGN), a < $T(0)); \
         return select(sum, end, ((a ^ sum) & (b ^ sum)) < $T(0));";
    "saturating_sub" SIGNED, TWO => "$T",
        "let rest = $T($U(a) - $U(b)); let end = select($T($REST), $T($SIGN), a < $T(0)); \
         return select(rest, end, ((a ^ b) & (a ^ rest)) < $T(0));";
    "pow" INTEGERS, &[("a", "$T"), ("n", "u32")] => "$T",
        "var power = $U(a); var left = n; var result = $U(1); \
         while (left != 0u) { if ((left & 1u) != 0u) { result = result * power; } power = power * power; left = left >> 1u; } \
         return $T(result);";
    // Turns the lower `width` bits.
    "rotate_left" UNSIGNED, &[("a", "$T"), ("n", "u32"), ("width", "u32")] => "$T",
        "let places = n & (width - 1u); return (a << places) | (a >> ((width - places) & (width - 1u)));";
    "count_ones" &["u32"], ONE => "u32", "return countOneBits(a);", cuda "return u32(__popc(a));";
    "count_ones" &["u64"], ONE => "u32", "return @u32.count_ones($LOW) + @u32.count_ones($HIGH);";
    "leading_zeros" &["u32"], ONE => "u32", "return countLeadingZeros(a);", cuda "return u32(__clz(i32(a)));";
    "leading_zeros" &["u64"], ONE => "u32",
        "let high = $HIGH; return select(@u32.leading_zeros(high), 32u + @u32.leading_zeros($LOW), high == 0u);";
    "trailing_zeros" &["u32"], ONE => "u32", "return countTrailingZeros(a);",
        cuda "return a == 0u ? 32u : u32(__ffs(i32(a)) - 1);";
    "trailing_zeros" &["u64"], ONE => "u32",
        "let low = $LOW; return select(@u32.trailing_zeros(low), 32u + @u32.trailing_zeros($HIGH), low == 0u);";
    "reverse_bits" &["u32"], ONE => "$T", "return reverseBits(a);", cuda "return __brev(a);";
    "reverse_bits" &["u64"], ONE => "$T",
        "return (u64(@u32.reverse_bits($LOW)) << 32u) | u64(@u32.reverse_bits($HIGH));";
    "swap_bytes" &["u32"], ONE => "$T",
        "return (a << 24u) | ((a & 0xff00u) << 8u) | ((a >> 8u) & 0xff00u) | (a >> 24u);";
    "swap_bytes" &["u64"], ONE => "$T",
        "return (u64(@u32.swap_bytes($LOW)) << 32u) | u64(@u32.swap_bytes($HIGH));";

    // Floats as bits.
    "to_bits" &["f32"], ONE => "$U", "return bitcast<u32>(a);", cuda "return __float_as_uint(a);";
    "to_bits" &["f64"], ONE => "$U", "return bitcast<u64>(a);", cuda "return u64(__double_as_longlong(a));";
    "from_bits" &["f32"], &[("a", "$U")] => "$T", "return bitcast<f32>(a);", cuda "return __uint_as_float(a);";
    "from_bits" &["f64"], &[("a", "$U")] => "$T", "return bitcast<f64>(a);", cuda "return __longlong_as_double(i64(a));";
    "is_nan" FLOATS, ONE => "bool", "return (@to_bits(a) & $REST) > $INFINITY;";
    "is_infinite" FLOATS, ONE => "bool", "return (@to_bits(a) & $REST) == $INFINITY;";
    "is_finite" FLOATS, ONE => "bool", "return (@to_bits(a) & $REST) < $INFINITY;";
    "is_sign_negative" FLOATS, ONE => "bool", "return (@to_bits(a) & $SIGN) != $U(0);";
    "is_sign_positive" FLOATS, ONE => "bool", "return (@to_bits(a) & $SIGN) == $U(0);";
    "abs" FLOATS, ONE => "$T", "return @from_bits(@to_bits(a) & $REST);";
    "copysign" FLOATS, TWO => "$T", "return @from_bits((@to_bits(a) & $REST) | (@to_bits(b) & $SIGN));";
    "signum" FLOATS, ONE => "$T", "return select(@copysign($T(1), a), a, @is_nan(a));";
    // A product by itself: what sees the NaN be replaced cannot join the multiplication with an addition behind it.
    "product" FLOATS, TWO => "$T",
        "let bits = @to_bits(a * b); return @from_bits(select(bits, $NAN, (bits & $REST) > $INFINITY));";

    // Order and parts of floats. With a NaN the other value, as in Rust.
    "min" FLOATS, TWO => "$T", "return select(select(select(b, a, a < b), b, @is_nan(a)), a, @is_nan(b));";
    "max" FLOATS, TWO => "$T", "return select(select(select(b, a, a > b), b, @is_nan(a)), a, @is_nan(b));";
    // What is chosen by a comparison, a driver may take for a minimum that knows no NaN.
    "clamp" FLOATS, THREE => "$T",
        "let most = select(a, b, a < b); return select(select(most, c, most > c), a, @is_nan(a));";
    "floor" &["f32"], ONE => "$T", "return floor(a);", cuda "return floor$f(a);";
    "ceil" &["f32"], ONE => "$T", "return ceil(a);", cuda "return ceil$f(a);";
    "trunc" &["f32"], ONE => "$T", "return trunc(a);", cuda "return trunc$f(a);";
    "floor" &["f64"], ONE => "$T",
        "let whole = @trunc(a); return select(whole, whole - $T(1), a < whole);", cuda "return floor$f(a);";
    "ceil" &["f64"], ONE => "$T",
        "let whole = @trunc(a); return select(whole, whole + $T(1), a > whole);", cuda "return ceil$f(a);";
    // lavapipe (Mesa 22.3) cuts off by way of 32 bits, so the bits behind the point are taken away here.
    "trunc" &["f64"], ONE => "$T",
        "let bits = @to_bits(a); let power = u32(bits >> $FRACTION) & 0x7ffu; \
         if (power < 1023u) { return @from_bits(bits & $SIGN); } \
         if (power >= 1075u) { return a; } \
         return @from_bits(bits & ~(($U(1) << (1075u - power)) - $U(1)));",
        cuda "return trunc$f(a);";
    "fract" FLOATS, ONE => "$T", "return a - @trunc(a);";
    "round" FLOATS, ONE => "$T",
        "let whole = @trunc(a); return select(whole, whole + @copysign($T(1), a), @abs(a - whole) >= $T(0.5));";
    // The remainder by long division, bit by bit: a quotient would be rounded.
    "rem" FLOATS, TWO => "$T",
        "let sign = @to_bits(a) & $SIGN; let left = @to_bits(a) & $REST; let right = @to_bits(b) & $REST; \
         if (right == $U(0) || left >= $INFINITY || right > $INFINITY) { return @from_bits($NAN); } \
         if (left < right) { return a; } \
         var power = i32(left >> $FRACTION); let lowest = i32(right >> $FRACTION); let least = select(lowest, i32(1), lowest < 1); \
         var rest = select(left, (left & $FRACTIONS) | $HIDDEN, power > 0); power = select(power, i32(1), power < 1); \
         let by = select(right, (right & $FRACTIONS) | $HIDDEN, right >= $HIDDEN); \
         while (power > least) { rest = select(rest, rest - by, rest >= by) << 1u; power = power - 1; } \
         rest = select(rest, rest - by, rest >= by); \
         if (rest == $U(0)) { return @from_bits(sign); } \
         while (rest < $HIDDEN && power > 1) { rest = rest << 1u; power = power - 1; } \
         return @from_bits(sign | select(rest, (rest & $FRACTIONS) | ($U(power) << $FRACTION), rest >= $HIDDEN));";
    "rem_euclid" FLOATS, TWO => "$T", "let rest = @rem(a, b); return select(rest, rest + @abs(b), rest < $T(0));";
    "div_euclid" FLOATS, TWO => "$T",
        "let whole = @trunc(a / b); return select(whole, select(whole + $T(1), whole - $T(1), b > $T(0)), @rem(a, b) < $T(0));";
    "recip" FLOATS, ONE => "$T", "return $T(1) / a;";
    "powi" FLOATS, &[("a", "$T"), ("n", "i32")] => "$T",
        "var power = a; var left = select(u32(n), 0u - u32(n), n < 0); var result = $T(1); \
         while (left != 0u) { if ((left & 1u) != 0u) { result = result * power; } power = power * power; left = left >> 1u; } \
         return select(result, $T(1) / result, n < 0);";

    // What devices compute in their own ways.
    "mul_add" &["f32"], THREE => "$T", "return fma(a, b, c);", cuda "return __fmaf_rn(a, b, c);";
    "mul_add" &["f64"], THREE => "$T", "return fma(a, b, c);", cuda "return __fma_rn(a, b, c);";
    "sqrt" FLOATS, ONE => "$T", "return sqrt(a);", cuda "return sqrt$f(a);";
    "exp" FLOATS, ONE => "$T", "return select(exp(a), a, @is_nan(a));", cuda "return exp$f(a);";
    "exp2" FLOATS, ONE => "$T", "return select(exp2(a), a, @is_nan(a));", cuda "return exp2$f(a);";
    "ln" FLOATS, ONE => "$T", "return @logarithm(a, log(a));", cuda "return log$f(a);";
    "log2" FLOATS, ONE => "$T", "return @logarithm(a, log2(a));", cuda "return log2$f(a);";
    // Where WGSL leaves a logarithm open.
    "logarithm" FLOATS, &[("a", "$T"), ("found", "$T")] => "$T",
        "if (a == $T(0)) { return @from_bits($SIGN | $INFINITY); } \
         if (a < $T(0)) { return @from_bits($NAN); } \
         return select(found, a, @is_nan(a) || @is_infinite(a));";
    "sin" FLOATS, ONE => "$T", "return sin(a);", cuda "return sin$f(a);";
    "cos" FLOATS, ONE => "$T", "return cos(a);", cuda "return cos$f(a);";
    "tan" FLOATS, ONE => "$T", "return tan(a);", cuda "return tan$f(a);";
    // WGSL's power is of a positive base.
    "powf" FLOATS, TWO => "$T",
        "if (b == $T(0) || a == $T(1)) { return $T(1); } \
         if (@is_nan(a) || @is_nan(b)) { return @from_bits($NAN); } \
         let size = @abs(a); let grows = (size > $T(1)) == (b > $T(0)); \
         let half = b * $T(0.5); let whole = @trunc(b) == b; let odd = whole && @trunc(half) != half; \
         let sign = select($U(0), $SIGN, odd && @is_sign_negative(a)); \
         if (size == $T(0) || @is_infinite(size) || @is_infinite(b)) { \
         if (size == $T(1)) { return $T(1); } \
         return @from_bits(select(sign, sign | $INFINITY, grows)); } \
         if (a < $T(0) && !whole) { return @from_bits($NAN); } \
         return @from_bits(@to_bits(pow(size, b)) | sign);",
        cuda "return pow$f(a, b);";
};

/// A helper for a type.
pub(super) fn find(name: &str, of: &str) -> Option<&'static Helper> {
    HELPERS.iter().find(|helper| helper.name == name && helper.of.contains(&of))
}
