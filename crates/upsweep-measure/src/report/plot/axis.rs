//! Axes: where a value lies, and which values have a name.

/// How values are spread over an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    Linear,
    /// Equal steps for powers of two.
    Twos,
    /// Equal steps for powers of ten.
    Tens,
}

/// An axis.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    pub(crate) label: String,
    scale: Scale,
    low: f64,
    high: f64,
    /// What a value is called; its own number unless said.
    name: fn(f64) -> String,
}

impl Axis {
    /// From zero to a little more than the largest value.
    pub(crate) fn from_zero(label: &str, values: impl Iterator<Item = f64>) -> Self {
        let high = values.filter(|value| value.is_finite()).fold(0.0, f64::max);
        let high = if high > 0.0 { high * 1.05 } else { 1.0 };
        Self { label: label.to_owned(), scale: Scale::Linear, low: 0.0, high, name: number }
    }

    /// From a round number below the least value to a little more than the largest: from zero if that is near.
    pub(crate) fn around(label: &str, values: impl Iterator<Item = f64> + Clone) -> Self {
        let least = values.clone().filter(|value| value.is_finite()).fold(f64::INFINITY, f64::min);
        let mut axis = Self::from_zero(label, values);
        let step = round_step((axis.high - least).max(axis.high / 10.0) / 4.0);
        if least > 0.25 * axis.high && least.is_finite() {
            axis.low = (least / step).floor() * step;
        }
        axis
    }

    /// Over powers of two, named as such.
    pub(crate) fn of_powers(label: &str, values: impl Iterator<Item = f64>) -> Self {
        Self::logarithmic(label, Scale::Twos, power_of_two, values)
    }

    /// Over powers of two, each named by its number.
    pub(crate) fn of_doublings(label: &str, values: impl Iterator<Item = f64>) -> Self {
        Self::logarithmic(label, Scale::Twos, fraction, values)
    }

    /// Over powers of ten.
    pub(crate) fn of_tens(
        label: &str,
        name: fn(f64) -> String,
        values: impl Iterator<Item = f64>,
    ) -> Self {
        Self::logarithmic(label, Scale::Tens, name, values)
    }

    fn logarithmic(
        label: &str,
        scale: Scale,
        name: fn(f64) -> String,
        values: impl Iterator<Item = f64>,
    ) -> Self {
        let (mut low, mut high) = (f64::INFINITY, 0.0f64);
        for value in values.filter(|value| value.is_finite() && *value > 0.0) {
            (low, high) = (low.min(value), high.max(value));
        }
        if high == 0.0 {
            (low, high) = (1.0, 2.0);
        }
        // Half a step on both sides, so that no point lies on the frame; tens end where the next ten begins if that is near.
        let side: f64 = if scale == Scale::Twos { 0.5f64.exp2() } else { 1.6 };
        Self { label: label.to_owned(), scale, low: low / side, high: high * side, name }
    }

    /// Where a value lies, from 0 to 1; of no value that the axis does not have.
    pub(crate) fn place(&self, value: f64) -> f64 {
        let place = match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            _ => (value / self.low).ln() / (self.high / self.low).ln(),
        };
        place.clamp(0.0, 1.0)
    }

    /// The least and the largest value.
    pub(crate) fn ends(&self) -> (f64, f64) {
        (self.low, self.high)
    }

    /// 1, 2 and 5 times powers of ten, where the powers alone are too few.
    fn parts_of_tens(&self) -> Vec<f64> {
        let (low, high) = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
        let all =
            (low..=high).flat_map(|power| [1.0, 2.0, 5.0].map(|part| part * 10f64.powi(power)));
        all.filter(|value| (self.low..=self.high).contains(value)).collect()
    }

    /// About so many values, at most, and their names.
    pub(crate) fn ticks(&self, most: usize) -> Vec<(f64, String)> {
        let values: Vec<f64> = match self.scale {
            Scale::Linear => {
                let step = round_step((self.high - self.low) / most.max(1) as f64);
                let first = (self.low / step - 1e-9).ceil();
                let values = (0..).map(|k| (first + f64::from(k)) * step);
                values.take_while(|value| *value <= self.high).collect()
            }
            Scale::Twos => powers(self.low.log2(), self.high.log2(), most, 2.0),
            Scale::Tens => {
                let tens = powers(self.low.log10(), self.high.log10(), most, 10.0);
                if tens.len() > 2 { tens } else { self.parts_of_tens() }
            }
        };
        values.into_iter().map(|value| (value, (self.name)(value))).collect()
    }
}

/// Every power whose exponent lies between, or every second, third …
fn powers(low: f64, high: f64, most: usize, base: f64) -> Vec<f64> {
    let (low, high) = ((low - 1e-9).ceil() as i32, (high + 1e-9).floor() as i32);
    let count = (high - low + 1).max(0);
    let step = [1, 2, 4, 5, 10].into_iter().find(|step| count / step <= most as i32).unwrap_or(20);
    (low..=high)
        .filter(|exponent| exponent % step == 0)
        .map(|exponent| base.powi(exponent))
        .collect()
}

/// 1, 2 or 5 times a power of ten that is no less.
fn round_step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0]
        .into_iter()
        .map(|step| step * power)
        .find(|step| *step >= least * 0.999)
        .unwrap_or(10.0 * power)
}

/// A number with commas between thousands.
pub(crate) fn number(value: f64) -> String {
    if value.fract() != 0.0 {
        return format!("{}", (value * 1e6).round() / 1e6);
    }
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// 2 with its exponent above it.
pub(crate) fn power_of_two(value: f64) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let exponent = value.log2();
    if exponent.fract() != 0.0 || exponent < 0.0 {
        return number(value);
    }
    let digits = format!("{exponent:.0}");
    let raised = digits.bytes().map(|digit| DIGITS[usize::from(digit - b'0')]);
    std::iter::once('2').chain(raised).collect()
}

/// A power of two, as a fraction if it is less than one.
fn fraction(value: f64) -> String {
    if value < 1.0 { format!("1/{}", number(1.0 / value)) } else { number(value) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_lie_between_the_ends() {
        let axis = Axis::from_zero("", [4521.0].into_iter());
        let names: Vec<String> = axis.ticks(5).into_iter().map(|(_, name)| name).collect();
        assert_eq!(names, ["0", "1,000", "2,000", "3,000", "4,000"]);
        let axis = Axis::of_powers("", [1024.0, f64::from(1 << 26)].into_iter());
        let names: Vec<String> = axis.ticks(9).into_iter().map(|(_, name)| name).collect();
        assert_eq!(names[..2], ["2¹⁰", "2¹²"]);
        assert!(axis.place(1024.0) > 0.0 && axis.place(f64::from(1 << 26)) < 1.0);
        let axis = Axis::of_doublings("", [0.125, 1.0].into_iter());
        let names: Vec<String> = axis.ticks(9).into_iter().map(|(_, name)| name).collect();
        assert_eq!(names, ["1/8", "1/4", "1/2", "1"]);
        let axis = Axis::around("", [2200.0, 4300.0].into_iter());
        let names: Vec<String> = axis.ticks(6).into_iter().map(|(_, name)| name).collect();
        assert_eq!(names, ["2,000", "2,500", "3,000", "3,500", "4,000", "4,500"]);
        let axis = Axis::of_tens("", number, [300.0, 900.0].into_iter());
        let names: Vec<String> = axis.ticks(6).into_iter().map(|(_, name)| name).collect();
        assert_eq!(names, ["200", "500", "1,000"]);
        for empty in
            [Axis::from_zero("", [].into_iter()), Axis::of_tens("", number, [0.0].into_iter())]
        {
            assert!(empty.place(1.0).is_finite() && empty.ticks(5).len() < 12);
        }
    }

    #[test]
    fn numbers_have_names() {
        assert_eq!(number(1234567.0), "1,234,567");
        assert_eq!(number(0.25), "0.25");
        assert_eq!(power_of_two(1024.0), "2¹⁰");
        assert_eq!(power_of_two(1000.0), "1,000");
    }
}
