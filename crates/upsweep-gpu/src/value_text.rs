//! Values in combination as text in the language of kernels: the words that they consist of, and the total that atomics combine.

use upsweep_core::Dtype;

use crate::layout::field_names;
use crate::syntax::{returning, returning_after};
use crate::{Held, Scalar, Syntax, Types};

impl Scalar {
    /// Expressions for the words of `value`, low word first.
    pub fn words_of<S: Syntax>(self, value: &str) -> Vec<String> {
        let bits = S::bits(self, value);
        if self.is_wide() { S::split_words(&bits).to_vec() } else { vec![bits] }
    }

    /// An expression for the value with these words.
    pub fn of_words<S: Syntax>(self, words: &[String]) -> String {
        match words {
            [low, high] => {
                let high = S::shifted(&format!("u64({high})"), 32);
                S::of_bits(self, &format!("(u64({low}) | {high})"))
            }
            _ => S::of_bits(self, &words[0]),
        }
    }
}

impl Held {
    /// Expressions for the words of `value`.
    pub fn words_of<S: Syntax>(self, value: &str) -> Vec<String> {
        match self {
            Held::Position(_) => {
                let mut words = self.key().words_of::<S>(&format!("{value}.key"));
                words.extend(S::position_words(value));
                words
            }
            Held::Structure(kind) => {
                let words = |(field, (_, dtype)): (String, (usize, Dtype))| {
                    Scalar::of(dtype).words_of::<S>(&format!("{value}.{field}"))
                };
                field_names(kind).zip(kind.numbers()).flat_map(words).collect()
            }
            _ => self.key().words_of::<S>(value),
        }
    }

    /// An expression for what is held, with these words.
    pub fn of_words<S: Syntax>(self, words: &[String]) -> String {
        match self {
            Held::Position(_) => {
                let (key, position) = words.split_at(self.key().words() as usize);
                let mut fields = vec![self.key().of_words::<S>(key)];
                fields.extend(S::position_fields(position));
                S::structure("Acc", &fields)
            }
            Held::Structure(_) => self.value_of_words::<S>(words),
            _ => self.key().of_words::<S>(words),
        }
    }

    /// An expression for the value whose words these begin with.
    pub fn value_of_words<S: Syntax>(self, mut words: &[String]) -> String {
        let mut number = |scalar: Scalar| {
            let (own, rest) = words.split_at(scalar.words() as usize);
            words = rest;
            scalar.of_words::<S>(own)
        };
        let Held::Structure(kind) = self else {
            return number(self.scalar().unwrap_or(Scalar::U32));
        };
        let fields = kind.numbers().map(|(_, dtype)| number(Scalar::of(dtype)));
        S::structure("Value", &fields.collect::<Vec<_>>())
    }

    /// The least key.
    pub fn least<S: Syntax>(self) -> String {
        match self.key() {
            key @ (Scalar::U32 | Scalar::U64) => S::literal(key, "0"),
            Scalar::I64 => S::of_bits(Scalar::I64, &S::literal(Scalar::U64, "0x8000000000000000")),
            _ => S::of_bits(Scalar::I32, &S::literal(Scalar::U32, "0x80000000")),
        }
    }

    /// The largest key.
    pub fn most<S: Syntax>(self) -> String {
        match self.key() {
            Scalar::U32 => S::literal(Scalar::U32, "0xffffffff"),
            Scalar::U64 => S::literal(Scalar::U64, "0xffffffffffffffff"),
            Scalar::I64 => S::literal(Scalar::I64, "0x7fffffffffffffff"),
            _ => S::literal(Scalar::I32, "0x7fffffff"),
        }
    }
}

/// The words of the variable `words`.
fn words<S: Syntax>(count: u32) -> Vec<String> {
    (0..count).map(|k| S::element("words", &k.to_string())).collect()
}

impl<S: Syntax> Types<S> {
    /// The type `Words`, and the functions between it and a value in combination.
    pub fn words_text(&self) -> String {
        let (held, words) = (self.held(), words::<S>(self.words()));
        let (own, beside) = words.split_at(held.words() as usize);
        let value = held.of_words::<S>(own);
        let (words, acc) = match beside {
            [] => (held.words_of::<S>("acc"), value),
            _ => {
                let mut words = held.words_of::<S>("acc.value");
                let begins = match beside {
                    [begins] => {
                        words.push("acc.begins".to_owned());
                        begins.clone()
                    }
                    begins => {
                        words.extend(Scalar::U64.words_of::<S>("acc.begins"));
                        Scalar::U64.of_words::<S>(begins)
                    }
                };
                (words, S::structure("Acc", &[value, begins]))
            }
        };
        let to_words = returning(&S::words(&words));
        S::constant("WORDS", self.words())
            + &S::words_type()
            + &S::function("Words", "words_of", &[("acc", "Acc")], &to_words)
            + &S::function("Acc", "acc_of", &[("words", "Words")], &returning(&acc))
    }

    /// A function that moves a value from thread to thread, where `moved` says how a word is moved.
    pub fn shuffle(&self, name: &str, moved: impl Fn(&str) -> String) -> String {
        let moved: Vec<String> = words::<S>(self.words()).iter().map(|word| moved(word)).collect();
        let own = S::let_statement("words", "Words", "words_of(acc)");
        let body = returning_after(&own, &format!("acc_of({})", S::words(&moved)));
        S::function("Acc", name, &[("acc", "Acc"), ("lane", "u32")], &body)
    }

    /// The type `Total` and its functions, for this function of atomics: they order it as an unsigned integer.
    pub fn total_text(&self, function: &str) -> String {
        let scalar = if self.held().words() == 2 { Scalar::U64 } else { Scalar::U32 };
        let flip = match self.sign_of_total() {
            0 => String::new(),
            sign => format!("{} ^= {sign:#x}u; ", S::element("words", "WORDS - 1u")),
        };
        let ordered = format!(
            " {} {flip}return {}; ",
            S::var_statement("words", "Words", "words_of(acc)"),
            scalar.of_words::<S>(&words::<S>(scalar.words())),
        );
        let unordered = format!(
            "\n    {}\n    {flip}return acc_of(words);\n",
            S::var_statement("words", "Words", &S::words(&scalar.words_of::<S>("total"))),
        );
        S::alias("Total", scalar.name())
            + &S::function("Total", "ordered", &[("acc", "Acc")], &ordered)
            + &S::function("Acc", "unordered", &[("total", "Total")], &unordered)
            + &S::add_to_total(function)
    }
}
