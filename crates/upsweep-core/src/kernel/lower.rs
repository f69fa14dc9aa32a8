//! From a function's tree to its text.
//!
//! Types are found on the way: an expression says its own, and what is left open, such as the literal in `x + 1`, gets that of
//! what stands beside it. Whatever is more than an expression in a device's language becomes statements in front of the text in
//! which its value is used; what was evaluated before it is then named first, so that the order of evaluation stays Rust's.

use std::collections::HashMap;

use super::module::{field, place};
use super::operations::{Operand, ValueLifetime};
use super::{
    Arm, Binary, Block, Expression, Function, Module, Pattern, Refused, Statement, Type, Unary,
    Value,
};
use crate::Dtype;

/// Why an expression has no value.
enum Stop {
    /// What comes behind is never reached: `return`, `break`, `continue`.
    Never,
    Refused(Refused),
}

impl From<Refused> for Stop {
    fn from(refused: Refused) -> Self {
        Stop::Refused(refused)
    }
}

fn refused<T>(why: impl Into<String>) -> Result<T, Stop> {
    Err(Stop::Refused(Refused(why.into())))
}

/// What became of a block: a value, none, or nothing goes on behind it.
type Outcome = Result<Option<Operand>, Stop>;

/// The text of a function.
pub(super) fn lower(
    module: &mut Module,
    function: &'static Function,
    name: &str,
) -> Result<String, Refused> {
    let result = module.type_name(function.result)?;
    let mut body =
        Body { module, result: function.result, lines: Vec::new(), locals: HashMap::new() };
    let mut parameters = Vec::new();
    for (pattern, of) in function.parameters {
        let named = match pattern {
            Pattern::Name { name, .. } => name,
            _ => "any",
        };
        let name = body.module.name(named);
        parameters.push((name.clone(), body.module.type_name(*of)?));
        let operand = Operand { text: name, of: *of, stays: ValueLifetime::InScope };
        body.bind_parameter(pattern, operand)?;
    }
    match body.block(&function.body, Some(function.result)) {
        Ok(Some(value)) => body.lines.push(format!("return {};", value.text)),
        Ok(None) => return Err(Refused(format!("`{}` ends without a value", function.name))),
        // naga wants to see that a function ends with a `return`.
        Err(Stop::Never) => {
            let returns = body.lines.last().is_some_and(|line| line.starts_with("return "));
            if !returns {
                let end = body.module.spelling.either(format!("return {result}();"), String::new());
                body.lines.push(end);
            }
        }
        Err(Stop::Refused(refused)) => return Err(refused),
    }
    let lines = indented(&body.lines);
    let head = module.spelling.head(name, &parameters, &result);
    Ok(format!("{head} {{\n{lines}}}\n"))
}

/// Lines one step to the right.
fn indented(lines: &[String]) -> String {
    let lines = lines.iter().filter(|line| !line.is_empty()).flat_map(|line| line.lines());
    lines.map(|line| format!("    {line}\n")).collect()
}

/// Whether an expression leaves its type to what stands around it.
fn is_open(expression: &Expression) -> bool {
    // A block without a value ends what comes behind it.
    let block = |block: &Block| block.value.is_none_or(is_open);
    match expression {
        Expression::Integer(_) | Expression::Float(_) => true,
        Expression::Return(_) | Expression::Break | Expression::Continue => true,
        Expression::Unary(_, value) => is_open(value),
        Expression::Binary(operator, left, right) => {
            !operator.compares() && is_open(left) && (operator.shifts() || is_open(right))
        }
        Expression::Tuple(values) => values.iter().any(is_open),
        Expression::If(_, yes, Some(no)) => block(yes) && block(no),
        Expression::Match(_, arms) => arms.iter().all(|arm| block(&arm.value)),
        Expression::Block(inner) => block(inner),
        _ => false,
    }
}

/// A function on its way to text.
struct Body<'m> {
    module: &'m mut Module,
    result: Type,
    /// Statements so far.
    lines: Vec<String>,
    locals: HashMap<u32, Operand>,
}

impl Body<'_> {
    fn block(&mut self, block: &Block, expected: Option<Type>) -> Outcome {
        for statement in block.statements {
            self.statement(statement)?;
        }
        block.value.map_or(Ok(None), |value| self.evaluate(value, expected))
    }

    /// Statements on their own, and what they gave.
    fn apart(
        &mut self,
        work: impl FnOnce(&mut Self) -> Outcome,
    ) -> Result<(Vec<String>, Outcome), Stop> {
        let around = core::mem::take(&mut self.lines);
        let outcome = work(self);
        let lines = core::mem::replace(&mut self.lines, around);
        match outcome {
            Err(Stop::Refused(why)) => Err(Stop::Refused(why)),
            outcome => Ok((lines, outcome)),
        }
    }

    /// A new name for a value, declared in front.
    fn named(&mut self, name: &str, mutable: bool, value: &Operand) -> Result<Operand, Stop> {
        let name = self.module.name(name);
        let of = self.module.type_name(value.of)?;
        self.lines.push(self.module.spelling.declare(mutable, &name, &of, Some(&value.text)));
        let stays = if mutable { ValueLifetime::AWhile } else { ValueLifetime::InScope };
        Ok(Operand { text: name, of: value.of, stays })
    }

    /// The value by a name, unless its text is one that stays.
    fn kept(&mut self, value: Operand) -> Result<Operand, Stop> {
        if value.stays == ValueLifetime::InScope {
            Ok(value)
        } else {
            self.named("kept", false, &value)
        }
    }

    fn statement(&mut self, statement: &Statement) -> Result<(), Stop> {
        match statement {
            Statement::Let(pattern, of, value) => {
                let value = self.expression(value, *of)?;
                self.bind(pattern, value)
            }
            Statement::Assign(left, operator, right) => {
                let left = self.place(left)?;
                let shifts = operator.is_some_and(Binary::shifts);
                let expected = if shifts { Type::Number(Dtype::I32) } else { left.of };
                let mut right = self.expression(right, Some(expected))?;
                if let Some(operator) = operator {
                    right = self.module.binary(*operator, &left, &right)?;
                }
                self.lines.push(format!("{} = {};", left.text, right.text));
                Ok(())
            }
            Statement::Evaluate(expression) => self.evaluate(expression, None).map(drop),
            Statement::For { variable, first, end, inclusive, body } => {
                self.count(variable, [first, end], *inclusive, body)
            }
            Statement::While(condition, block) => {
                let (mut lines, asked) =
                    self.apart(|body| body.evaluate(condition, Some(Type::Bool)))?;
                let Ok(Some(asked)) = asked else {
                    return refused("the condition of a loop has no value");
                };
                let (inner, _) = self.apart(|body| body.block(block, None))?;
                let head = if lines.is_empty() {
                    format!("while ({}) {{", asked.text)
                } else {
                    lines.push(format!("if (!{}) {{ break; }}", asked.text));
                    "while (true) {".to_owned()
                };
                lines.extend(inner);
                self.lines.push(format!("{head}\n{}}}", indented(&lines)));
                Ok(())
            }
        }
    }

    /// A loop over a range. The number for the next round is found at the start of this one, so that `continue` needs nothing;
    /// an inclusive range may end at the largest value of its type.
    fn count(
        &mut self,
        variable: &Pattern,
        [first, end]: [&Expression; 2],
        inclusive: bool,
        block: &Block,
    ) -> Result<(), Stop> {
        let (first, end) = self.pair(first, end, None)?;
        let end = self.named("end", false, &end)?;
        let next = self.named("next", true, &first)?;
        let until = if inclusive { Binary::LessOrEqual } else { Binary::Less };
        let mut more = self.module.binary(until, &next, &end)?;
        if inclusive {
            more = self.named("more", true, &more)?;
        }
        let (lines, _) = self.apart(|body| {
            let number = body.named("number", false, &next)?;
            if inclusive {
                let other = body.module.binary(Binary::Unequal, &next, &end)?;
                body.lines.push(format!("{} = {};", more.text, other.text));
            }
            let Type::Number(dtype) = next.of else { return refused("a range is of integers") };
            let one = body.module.constant(&Value::Number(dtype, 1))?;
            let after = body.module.binary(Binary::Add, &next, &one)?;
            body.lines.push(format!("{} = {};", next.text, after.text));
            body.bind(variable, number)?;
            body.block(block, None)
        })?;
        self.lines.push(format!("while ({}) {{\n{}}}", more.text, indented(&lines)));
        Ok(())
    }

    /// Gives the names in a pattern to a value that is named already.
    fn bind_parameter(&mut self, pattern: &Pattern, value: Operand) -> Result<(), Refused> {
        if let Pattern::Name { local, mutable: false, .. } = pattern {
            self.locals.insert(*local, value);
            return Ok(());
        }
        match self.bind(pattern, value) {
            Err(Stop::Refused(why)) => Err(why),
            _ => Ok(()),
        }
    }

    /// Gives the names in a pattern their values.
    fn bind(&mut self, pattern: &Pattern, value: Operand) -> Result<(), Stop> {
        match pattern {
            Pattern::Name { local, name, mutable } => {
                let value = self.named(name, *mutable, &value)?;
                self.locals.insert(*local, value);
            }
            Pattern::Tuple(patterns) => {
                let value = self.kept(value)?;
                for (number, pattern) in patterns.iter().enumerate() {
                    let part = self.field(&value, &number.to_string())?;
                    self.bind(pattern, part)?;
                }
            }
            Pattern::Struct(fields) => {
                let value = self.kept(value)?;
                for (name, pattern) in *fields {
                    let part = self.field(&value, name)?;
                    self.bind(pattern, part)?;
                }
            }
            Pattern::Any | Pattern::Value(_) | Pattern::Range(..) | Pattern::Or(_) => {}
        }
        Ok(())
    }

    /// Whether a value, which has a name, is what a pattern says; `None` if it always is.
    fn test(&mut self, pattern: &Pattern, value: &Operand) -> Result<Option<Operand>, Stop> {
        let mut tests = Vec::new();
        let mut sign = "&&";
        match pattern {
            Pattern::Any | Pattern::Name { .. } => {}
            Pattern::Tuple(patterns) => {
                for (number, pattern) in patterns.iter().enumerate() {
                    let part = self.field(value, &number.to_string())?;
                    tests.extend(self.test(pattern, &part)?);
                }
            }
            Pattern::Struct(fields) => {
                for (name, pattern) in *fields {
                    let part = self.field(value, name)?;
                    tests.extend(self.test(pattern, &part)?);
                }
            }
            Pattern::Value(constant) => {
                let constant = self.expression(constant, Some(value.of))?;
                tests.push(self.module.binary(Binary::Equal, value, &constant)?);
            }
            Pattern::Range(first, last) => {
                let first = self.expression(first, Some(value.of))?;
                tests.push(self.module.binary(Binary::GreaterOrEqual, value, &first)?);
                if let Some(last) = last {
                    let last = self.expression(last, Some(value.of))?;
                    tests.push(self.module.binary(Binary::LessOrEqual, value, &last)?);
                }
            }
            Pattern::Or(patterns) => {
                sign = "||";
                for pattern in *patterns {
                    match self.test(pattern, value)? {
                        Some(test) => tests.push(test),
                        None => return Ok(None),
                    }
                }
            }
        }
        let texts: Vec<&str> = tests.iter().map(|test| test.text.as_str()).collect();
        Ok(match texts[..] {
            [] => None,
            [one] => Some(Operand::new(one.to_owned(), Type::Bool)),
            _ => Some(Operand::new(format!("({})", texts.join(&format!(" {sign} "))), Type::Bool)),
        })
    }

    fn field(&mut self, value: &Operand, name: &str) -> Result<Operand, Stop> {
        let (text, of) = match value.of {
            Type::Tuple(types) => {
                let number = name.parse::<usize>().ok();
                let found = number.and_then(|number| Some((place(number), *types.get(number)?)));
                match found {
                    Some(found) => found,
                    None => return refused(format!("a tuple has no field `{name}`")),
                }
            }
            Type::Struct(of) => match of.fields.iter().find(|(field, _)| *field == name) {
                Some((_, of)) => (field(name), *of),
                None => return refused(format!("`{}` has no field `{name}`", of.name)),
            },
            other => return refused(format!("{other:?} has no fields")),
        };
        // What is taken from a text without a name is computed again whenever it is written.
        let stays = value.stays.min(ValueLifetime::InScope);
        Ok(Operand { text: format!("{}.{text}", value.text), of, stays })
    }

    /// What may be assigned to.
    fn place(&mut self, expression: &Expression) -> Result<Operand, Stop> {
        match expression {
            Expression::Local(local) => self.local(*local),
            Expression::Field(of, name) => {
                let of = self.place(of)?;
                self.field(&of, name)
            }
            _ => refused("only variables and their fields are assigned to"),
        }
    }

    fn local(&mut self, local: u32) -> Result<Operand, Stop> {
        match self.locals.get(&local) {
            Some(operand) => Ok(operand.clone()),
            None => refused(format!("local {local} has no value yet")),
        }
    }

    /// An expression that must have a value.
    fn expression(
        &mut self,
        expression: &Expression,
        expected: Option<Type>,
    ) -> Result<Operand, Stop> {
        match self.evaluate(expression, expected)? {
            Some(value) => Ok(value),
            None => refused("something without a value is used as one"),
        }
    }

    /// Values in their order. What comes before statements of a later one, and could be changed by them, is named.
    fn several<'a>(
        &mut self,
        expressions: impl IntoIterator<Item = (&'a Expression, Option<Type>)>,
    ) -> Result<Vec<Operand>, Stop> {
        let mut values: Vec<Operand> = Vec::new();
        for (expression, expected) in expressions {
            let before = self.lines.len();
            let value = self.expression(expression, expected)?;
            if self.lines.len() > before {
                let own = self.lines.split_off(before);
                for value in values.iter_mut().filter(|value| value.stays == ValueLifetime::AWhile)
                {
                    *value = self.named("kept", false, value)?;
                }
                self.lines.extend(own);
            }
            values.push(value);
        }
        Ok(values)
    }

    /// Two values of one type, either of which may say it. What leaves its type open has no effects, so it may be looked at
    /// last.
    fn pair(
        &mut self,
        left: &Expression,
        right: &Expression,
        expected: Option<Type>,
    ) -> Result<(Operand, Operand), Stop> {
        if is_open(left) && expected.is_none() {
            let right = self.expression(right, None)?;
            let left = self.expression(left, Some(right.of))?;
            return Ok((left, right));
        }
        let left = self.expression(left, expected)?;
        // Statements of the right one come behind the left one's, in `several`'s way.
        let before = self.lines.len();
        let right = self.expression(right, Some(left.of))?;
        let mut left = left;
        if self.lines.len() > before && left.stays == ValueLifetime::AWhile {
            let own = self.lines.split_off(before);
            left = self.named("kept", false, &left)?;
            self.lines.extend(own);
        }
        Ok((left, right))
    }

    /// What a device's compiler may not compute by itself: it refuses what overflows.
    fn unfolded(&mut self, values: &mut [Operand]) -> Result<(), Stop> {
        if let [first, ..] = values
            && first.stays == ValueLifetime::Constant
        {
            *first = self.named("constant", false, first)?;
        }
        Ok(())
    }

    fn evaluate(&mut self, expression: &Expression, expected: Option<Type>) -> Outcome {
        let value = match expression {
            Expression::Bool(value) => self.module.constant(&Value::Bool(*value))?,
            Expression::Integer(value) => self.module.constant(&literal(*value, expected)?)?,
            Expression::Float(text) => self.module.constant(&float(text, expected)?)?,
            Expression::Constant(value) => self.module.constant(&value())?,
            Expression::Local(local) => self.local(*local)?,
            Expression::Unary(Unary::Negate, Expression::Integer(value)) => {
                self.module.constant(&literal(value.wrapping_neg(), expected)?)?
            }
            Expression::Unary(Unary::Negate, Expression::Float(text)) => {
                self.module.constant(&float(&format!("-{text}"), expected)?)?
            }
            Expression::Unary(operator, value) => {
                let mut value = [self.expression(value, expected)?];
                self.unfolded(&mut value)?;
                let [value] = value;
                self.module.unary(*operator, value)?
            }
            Expression::Binary(operator, left, right) => {
                let (left, right) = if operator.shifts() {
                    let amount = is_open(right).then_some(Type::Number(Dtype::I32));
                    let values = self.several([(*left, expected), (*right, amount)])?;
                    (values[0].clone(), values[1].clone())
                } else {
                    let expected = if operator.compares() { None } else { expected };
                    self.pair(left, right, expected)?
                };
                let mut values = [left, right];
                if values[1].stays == ValueLifetime::Constant {
                    self.unfolded(&mut values)?;
                }
                self.module.binary(*operator, &values[0], &values[1])?
            }
            Expression::Lazy { until, left, right } => return self.lazy(*until, left, right),
            Expression::Cast(value, to) => {
                let mut value = [self.expression(value, None)?];
                self.unfolded(&mut value)?;
                self.module.type_name(*to)?;
                self.module.cast(&value[0], *to)?
            }
            Expression::FromBits(bits, to) => {
                let bits_of = match to {
                    Type::Number(Dtype::F64) => Dtype::U64,
                    _ => Dtype::U32,
                };
                let bits = self.expression(bits, Some(Type::Number(bits_of)))?;
                self.module.value_of_bits(&bits, *to)?
            }
            Expression::Call(function, arguments) => {
                let name = self.module.function(function)?;
                let of = function.parameters.iter().map(|(_, of)| Some(*of));
                let values = self.several(arguments.iter().zip(of))?;
                Operand::new(format!("{name}({})", texts(&values)), function.result)
            }
            Expression::Method(method, operands) => {
                let [receiver, arguments @ ..] = *operands else {
                    return refused("a method has no value");
                };
                let mut receiver = self.expression(receiver, None)?;
                let of = Module::argument(*method, receiver.of);
                if arguments.iter().any(has_statements) {
                    receiver = self.kept(receiver)?;
                }
                let mut values = vec![receiver];
                values.extend(self.several(arguments.iter().map(|value| (value, Some(of))))?);
                self.unfolded(&mut values)?;
                self.module.method(*method, &values)?
            }
            Expression::Tuple(values) => {
                let types: Vec<Option<Type>> = match expected {
                    Some(Type::Tuple(types)) => types.iter().copied().map(Some).collect(),
                    _ => vec![None; values.len()],
                };
                let found = self.several(values.iter().zip(types))?;
                let of = match expected {
                    Some(of @ Type::Tuple(_)) => of,
                    _ => Type::tuple(found.iter().map(|value| value.of).collect()),
                };
                self.constructed(of, &found)?
            }
            Expression::Struct(of, fields) => self.structure(*of, fields)?,
            Expression::Field(value, name) => {
                let value = self.expression(value, None)?;
                let value = match value.stays {
                    ValueLifetime::Constant => self.kept(value)?,
                    _ => value,
                };
                self.field(&value, name)?
            }
            Expression::If(condition, yes, no) => {
                let condition = self.expression(condition, Some(Type::Bool))?;
                let open = |block: &Block| block.value.is_none_or(is_open);
                let last = no.as_ref().is_some_and(|no| open(yes) && !open(no));
                return self.choose(
                    &condition,
                    expected,
                    last,
                    |body, of| body.block(yes, of),
                    |body, of| no.as_ref().map_or(Ok(None), |no| body.block(no, of)),
                );
            }
            Expression::Match(value, arms) => {
                let value = self.expression(value, None)?;
                let value = self.kept(value)?;
                return self.arms(&value, arms, expected);
            }
            Expression::Block(block) => return self.block(block, expected),
            Expression::Return(value) => {
                let value = self.expression(value, Some(self.result))?;
                self.lines.push(format!("return {};", value.text));
                return Err(Stop::Never);
            }
            Expression::Break | Expression::Continue => {
                let word =
                    if matches!(expression, Expression::Break) { "break" } else { "continue" };
                self.lines.push(format!("{word};"));
                return Err(Stop::Never);
            }
        };
        Ok(Some(value))
    }

    /// The fields in their declared order, evaluated in that in which they are written.
    fn structure(&mut self, of: Type, fields: &[(&str, Expression)]) -> Result<Operand, Stop> {
        let Type::Struct(declared) = of else { return refused("a tuple has no names") };
        let type_of = |name: &str| declared.fields.iter().find(|(field, _)| *field == name);
        let written = fields.iter().map(|(name, value)| (value, type_of(name).map(|(_, of)| *of)));
        let values = self.several(written)?;
        let mut ordered = Vec::with_capacity(values.len());
        for (name, _) in declared.fields {
            match fields.iter().position(|(written, _)| written == name) {
                Some(at) => ordered.push(values[at].clone()),
                None => return refused(format!("field `{name}` is not given")),
            }
        }
        self.constructed(of, &ordered)
    }

    fn constructed(&mut self, of: Type, values: &[Operand]) -> Result<Operand, Stop> {
        let name = self.module.type_name(of)?;
        let values: Vec<String> = values.iter().map(|value| value.text.clone()).collect();
        Ok(Operand::new(self.module.spelling.construct(&name, &values), of))
    }

    fn lazy(&mut self, until: bool, left: &Expression, right: &Expression) -> Outcome {
        let left = self.expression(left, Some(Type::Bool))?;
        let (lines, outcome) = self.apart(|body| body.evaluate(right, Some(Type::Bool)))?;
        if let (true, Ok(Some(right))) = (lines.is_empty(), &outcome) {
            let sign = if until { "||" } else { "&&" };
            let text = format!("({} {sign} {})", left.text, right.text);
            return Ok(Some(Operand::new(text, Type::Bool)));
        }
        let settled = self.named("settled", true, &left)?;
        let not = if until { "!" } else { "" };
        let mut lines = lines;
        if let Ok(Some(right)) = outcome {
            lines.push(format!("{} = {};", settled.text, right.text));
        }
        self.lines.push(format!("if ({not}{}) {{\n{}}}", settled.text, indented(&lines)));
        Ok(Some(settled))
    }

    /// The lines of a `match` as one `if` behind another; the last needs no test, for Rust has seen that nothing is left.
    fn arms(&mut self, value: &Operand, arms: &[Arm], expected: Option<Type>) -> Outcome {
        let [arm, rest @ ..] = arms else { return refused("a `match` is empty") };
        let mut test = if rest.is_empty() { None } else { self.test(&arm.pattern, value)? };
        if let Some(guard) = &arm.guard {
            // Its names are those of the arm.
            self.alias(&arm.pattern, value)?;
            let (lines, outcome) = self.apart(|body| body.evaluate(guard, Some(Type::Bool)))?;
            let Ok(Some(guard)) = outcome else { return refused("a guard has no value") };
            test = Some(match test {
                None => {
                    self.lines.extend(lines);
                    guard
                }
                Some(test) if lines.is_empty() => {
                    Operand::new(format!("({} && {})", test.text, guard.text), Type::Bool)
                }
                Some(test) => {
                    let settled = self.named("settled", true, &test)?;
                    let mut lines = lines;
                    lines.push(format!("{} = {};", settled.text, guard.text));
                    self.lines.push(format!("if ({}) {{\n{}}}", settled.text, indented(&lines)));
                    settled
                }
            });
        }
        let Some(test) = test else {
            self.alias(&arm.pattern, value)?;
            return self.block(&arm.value, expected);
        };
        let open = |arm: &Arm| arm.value.value.is_none_or(is_open);
        let last = open(arm) && rest.iter().any(|arm| !open(arm));
        self.choose(
            &test,
            expected,
            last,
            |body, of| {
                body.alias(&arm.pattern, value)?;
                body.block(&arm.value, of)
            },
            |body, of| body.arms(value, rest, of),
        )
    }

    /// Lets the names in a pattern stand for parts of a value that stays; those that are assigned to get variables.
    fn alias(&mut self, pattern: &Pattern, value: &Operand) -> Result<(), Stop> {
        match pattern {
            Pattern::Name { local, mutable: false, .. } => {
                self.locals.insert(*local, value.clone());
            }
            Pattern::Name { .. } => self.bind(pattern, value.clone())?,
            Pattern::Tuple(patterns) => {
                for (number, pattern) in patterns.iter().enumerate() {
                    let part = self.field(value, &number.to_string())?;
                    self.alias(pattern, &part)?;
                }
            }
            Pattern::Struct(fields) => {
                for (name, pattern) in *fields {
                    let part = self.field(value, name)?;
                    self.alias(pattern, &part)?;
                }
            }
            Pattern::Any | Pattern::Value(_) | Pattern::Range(..) | Pattern::Or(_) => {}
        }
        Ok(())
    }

    /// One of two, and the value that it gives. If `no_first`, the second says the type.
    fn choose(
        &mut self,
        condition: &Operand,
        expected: Option<Type>,
        no_first: bool,
        yes: impl FnOnce(&mut Self, Option<Type>) -> Outcome,
        no: impl FnOnce(&mut Self, Option<Type>) -> Outcome,
    ) -> Outcome {
        let type_of = |outcome: &Outcome| match outcome {
            Ok(Some(value)) => Some(value.of),
            _ => expected,
        };
        let ((yes_lines, yes), (no_lines, no)) = if no_first {
            let second = self.apart(|body| no(body, expected))?;
            let of = type_of(&second.1);
            (self.apart(|body| yes(body, of))?, second)
        } else {
            let first = self.apart(|body| yes(body, expected))?;
            let of = type_of(&first.1);
            (first, self.apart(|body| no(body, of))?)
        };
        let (mut yes_lines, mut no_lines) = (yes_lines, no_lines);
        let mut value = None;
        match (&yes, &no) {
            (Ok(Some(a)), Ok(Some(b)))
                if yes_lines.is_empty() && no_lines.is_empty() && is_cheap(a) && is_cheap(b) =>
            {
                let text = self.module.spelling.select(&b.text, &a.text, &condition.text);
                return Ok(Some(Operand::new(text, a.of)));
            }
            (Ok(Some(of)), _) | (_, Ok(Some(of))) => {
                let (name, type_name) = (self.module.name("chosen"), self.module.type_name(of.of)?);
                self.lines.push(self.module.spelling.declare(true, &name, &type_name, None));
                for (lines, outcome) in [(&mut yes_lines, &yes), (&mut no_lines, &no)] {
                    if let Ok(Some(value)) = outcome {
                        lines.push(format!("{name} = {};", value.text));
                    }
                }
                // Nothing assigns to it behind this.
                value = Some(Operand { text: name, of: of.of, stays: ValueLifetime::InScope });
            }
            _ => {}
        }
        let (yes_text, no_text) = (indented(&yes_lines), indented(&no_lines));
        let otherwise = match &no_lines[..] {
            [] => String::new(),
            [one] if one.starts_with("if (") => format!(" else {one}"),
            _ => format!(" else {{\n{no_text}}}"),
        };
        self.lines.push(format!("if ({}) {{\n{yes_text}}}{otherwise}", condition.text));
        match (yes, no) {
            (Err(Stop::Never), Err(Stop::Never)) => Err(Stop::Never),
            _ => Ok(value),
        }
    }
}

/// Whether it is cheaper to look at both than to jump.
fn is_cheap(value: &Operand) -> bool {
    value.scalar().is_some()
        && value.text.chars().all(|letter| letter.is_ascii_alphanumeric() || "_.".contains(letter))
}

/// Whether an expression may need statements.
fn has_statements(expression: &Expression) -> bool {
    match expression {
        Expression::Bool(_)
        | Expression::Integer(_)
        | Expression::Float(_)
        | Expression::Constant(_)
        | Expression::Local(_) => false,
        Expression::Unary(_, value) | Expression::Cast(value, _) | Expression::Field(value, _) => {
            has_statements(value)
        }
        Expression::Binary(_, left, right) => has_statements(left) || has_statements(right),
        _ => true,
    }
}

fn texts(values: &[Operand]) -> String {
    values.iter().map(|value| value.text.as_str()).collect::<Vec<_>>().join(", ")
}

/// An integer literal of the type that is expected.
fn literal(value: u64, expected: Option<Type>) -> Result<Value, Stop> {
    match expected {
        Some(Type::Number(dtype)) if !dtype.is_float() => {
            let size = 8 * dtype.size() as u32;
            Ok(Value::Number(dtype, value & (u64::MAX >> (64 - size))))
        }
        _ => refused(format!("the type of the literal {value} is not known")),
    }
}

fn float(text: &str, expected: Option<Type>) -> Result<Value, Stop> {
    let bits = match expected {
        Some(Type::Number(Dtype::F32)) => {
            text.parse::<f32>().map(|value| u64::from(value.to_bits()))
        }
        Some(Type::Number(Dtype::F64)) => text.parse::<f64>().map(f64::to_bits),
        _ => return refused(format!("the type of the literal {text} is not known")),
    };
    match (bits, expected) {
        (Ok(bits), Some(Type::Number(dtype))) => Ok(Value::Number(dtype, bits)),
        _ => refused(format!("{text} is no number")),
    }
}
