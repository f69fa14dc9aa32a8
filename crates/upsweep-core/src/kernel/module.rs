//! The text of one kernel's functions: each function, structure and helper once, names before their use.

use core::fmt::Write;

use super::helpers::{self, Helper, NOT_A_NUMBER};
use super::lower::lower;
use super::spelling::{Scalar, Spelling, mangled};
use super::{Function, Type};
use crate::{Dtype, Language};

/// Functions on their way into a kernel.
///
/// ```
/// use upsweep_core::Language;
/// use upsweep_core::kernel::{Block, Expression, Function, Module, Pattern, Type};
/// use upsweep_core::Dtype;
///
/// // What `#[upsweep::function] fn seven(_: u32) -> u32 { 7 }` writes.
/// static SEVEN: Function = Function {
///     name: "seven",
///     parameters: &[(Pattern::Any, Type::Number(Dtype::U32))],
///     result: Type::Number(Dtype::U32),
///     body: Block { statements: &[], value: Some(&Expression::Integer(7)) },
/// };
/// let mut module = Module::new(Language::Wgsl);
/// let name = module.function(&SEVEN)?;
/// assert_eq!(module.text(), format!("fn {name}(any_2: u32) -> u32 {{\n    return 7u;\n}}\n"));
/// # Ok::<(), upsweep_core::kernel::Refused>(())
/// ```
#[derive(Debug)]
pub struct Module {
    pub(super) spelling: Spelling,
    functions: Vec<(&'static Function, String)>,
    structures: Vec<(Type, String)>,
    helpers: Vec<String>,
    numbers: Vec<Dtype>,
    text: String,
    /// The number behind the last name that was made.
    last: u32,
}

/// Why a function has no text in a language.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refused(pub String);

impl Module {
    /// A module without functions.
    pub fn new(language: Language) -> Self {
        Self {
            spelling: Spelling(language),
            functions: Vec::new(),
            structures: Vec::new(),
            helpers: Vec::new(),
            numbers: Vec::new(),
            text: String::new(),
            last: 0,
        }
    }

    /// Adds a function with everything that it calls, unless it is there, and returns its name in the text.
    ///
    /// Short integers go in and come out in 32 bits.
    ///
    /// # Errors
    /// [`Refused`], where the language cannot say it.
    pub fn function(&mut self, function: &'static Function) -> Result<String, Refused> {
        if let Some((_, name)) = self.functions.iter().find(|(f, _)| core::ptr::eq(*f, function)) {
            return Ok(name.clone());
        }
        let name = self.name(function.name);
        let text = lower(self, function, &name)?;
        self.text += &text;
        self.functions.push((function, name.clone()));
        Ok(name)
    }

    /// The name of a type in the text; a tuple or a structure is declared if it is not yet.
    ///
    /// # Errors
    /// [`Refused`], for a type that kernels do not compute in.
    pub fn type_name(&mut self, of: Type) -> Result<String, Refused> {
        let fields = match of {
            Type::Bool => return Ok("bool".to_owned()),
            Type::Number(Dtype::F16 | Dtype::Bf16) => {
                return Err(Refused("short floats have no arithmetic".to_owned()));
            }
            Type::Number(dtype) => {
                if !self.numbers.contains(&dtype) {
                    self.numbers.push(dtype);
                }
                return Ok(Scalar::of(dtype).name().to_owned());
            }
            Type::Tuple(types) => (0..).map(place).zip(types.iter().copied()).collect(),
            Type::Struct(of) => {
                of.fields.iter().map(|(name, of)| (field(name), *of)).collect::<Vec<_>>()
            }
        };
        if let Some((_, name)) = self.structures.iter().find(|(known, _)| *known == of) {
            return Ok(name.clone());
        }
        let mut named = Vec::with_capacity(fields.len());
        for (field, of) in fields {
            named.push((field, self.type_name(of)?));
        }
        let name = self.name(match of {
            Type::Struct(of) => of.name,
            _ => "Tuple",
        });
        self.text += &self.spelling.structure(&name, &named);
        self.structures.push((of, name.clone()));
        Ok(name)
    }

    /// What was added: declarations that may stand in front of whatever calls the functions.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The types of the numbers that the text computes with: a device without one of them cannot run it. `u64` stands for
    /// itself and `i64`.
    pub fn numbers(&self) -> &[Dtype] {
        &self.numbers
    }

    /// A name that nothing else has.
    pub(super) fn name(&mut self, name: &str) -> String {
        self.last += 1;
        mangled(name, self.last)
    }

    /// A call of a helper.
    pub(super) fn help(&mut self, name: &str, of: Scalar, arguments: &[&str]) -> String {
        self.declare_helper(name, of.name());
        format!("rust_{name}_{}({})", of.name(), arguments.join(", "))
    }

    fn declare_helper(&mut self, name: &str, of: &str) {
        let full = format!("rust_{name}_{of}");
        let Some(helper) = helpers::find(name, of) else {
            debug_assert!(false, "there is no helper {full}");
            return;
        };
        if self.helpers.contains(&full) {
            return;
        }
        self.helpers.push(full.clone());
        let text = self.helper_text(helper, &full, of);
        self.text += &text;
    }

    /// Declares what `text` says, unless something of this name was declared.
    pub(super) fn declare(&mut self, name: &str, text: &str) {
        if !self.helpers.iter().any(|known| known == name) {
            self.helpers.push(name.to_owned());
            self.text += text;
        }
    }

    fn helper_text(&mut self, helper: &Helper, full: &str, of: &str) -> String {
        let wide = of.ends_with("64");
        let float = of.starts_with('f');
        let unsigned = if wide { Scalar::U64 } else { Scalar::U32 };
        let (size, fraction) = if wide { (64, 52) } else { (32, 23) };
        let hex = |bits: u64| format!("{bits:#x}{}", self.spelling.suffix(unsigned));
        let rest = u64::MAX >> (65 - size);
        let infinity = rest & (u64::MAX << fraction);
        let low = format!("u32(a & {:#x}{})", u32::MAX, self.spelling.suffix(unsigned));
        let replacements = [
            ("$LOW", low),
            ("$HIGH", "u32(a >> 32u)".to_owned()),
            ("$SIGN", hex(1 << (size - 1))),
            ("$REST", hex(rest)),
            ("$INFINITY", hex(infinity)),
            ("$NAN", hex(NOT_A_NUMBER[usize::from(wide)])),
            ("$FRACTIONS", hex((1 << fraction) - 1)),
            ("$FRACTION", format!("{fraction}u")),
            ("$HIDDEN", hex(1 << fraction)),
            ("$T", of.to_owned()),
            ("$U", unsigned.name().to_owned()),
            ("$f", if float && !wide { "f" } else { "" }.to_owned()),
        ];
        let filled = |text: &str| {
            replacements.iter().fold(text.to_owned(), |text, (name, by)| text.replace(name, by))
        };
        let body = match self.spelling.either(None, helper.cuda.first()) {
            Some(body) => (*body).to_owned(),
            None => self.spelling.body(helper.body),
        };
        if body.contains("rust_select(") && !self.helpers.iter().any(|name| name == "select") {
            self.helpers.push("select".to_owned());
            self.text += SELECT;
        }
        let body = self.with_calls(&filled(&body), of);
        let parameters: Vec<(String, String)> =
            helper.parameters.iter().map(|(name, of)| ((*name).to_owned(), filled(of))).collect();
        let head = self.spelling.head(full, &parameters, &filled(helper.result));
        format!("{head} {{ {body} }}\n")
    }

    /// Puts the names of other helpers where they are called, and declares them.
    fn with_calls(&mut self, body: &str, of: &str) -> String {
        let mut parts = body.split('@');
        let mut text = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (called, rest) = part.split_once('(').unwrap_or((part, ""));
            let (of, name) = called.split_once('.').unwrap_or((of, called));
            self.declare_helper(name, of);
            let _ = write!(text, "rust_{name}_{of}({rest}");
        }
        text
    }
}

/// WGSL's `select`, in CUDA C++.
const SELECT: &str = "template <typename T>\n\
                      inline T rust_select(T no, T yes, bool condition) { return condition ? yes : no; }\n";

/// The field of a tuple, by its place.
pub(super) fn place(number: usize) -> String {
    format!("at_{number}")
}

/// The name in a kernel of a structure's field.
pub fn field(name: &str) -> String {
    match name.parse() {
        Ok(number) => place(number),
        Err(_) => mangled(name, 0),
    }
}
