//! The text of an operator, made when it is first asked for.

use std::sync::OnceLock;

use super::{Function, Module, Refused, Type};
use crate::{Language, Source};

/// What an operator answers when it is asked for its text.
#[derive(Debug, Default)]
pub struct Texts {
    wgsl: OnceLock<Result<Source, Refused>>,
    cuda: OnceLock<Result<Source, Refused>>,
}

impl Texts {
    /// Nothing has been asked for.
    pub const fn new() -> Self {
        Self { wgsl: OnceLock::new(), cuda: OnceLock::new() }
    }

    /// The text of an operator that combines by this function.
    ///
    /// # Errors
    /// [`Refused`], where the language cannot say it.
    pub fn source(
        &'static self,
        function: &'static Function,
        language: Language,
    ) -> Result<Source, Refused> {
        let text = match language {
            Language::Wgsl => &self.wgsl,
            Language::Cuda => &self.cuda,
        };
        let made = text.get_or_init(|| {
            let mut module = Module::new(language);
            let name = module.function(function)?;
            let structure = match function.result {
                Type::Struct(_) => module.type_name(function.result)?,
                _ => String::new(),
            };
            let fields = match function.parameters {
                [(_, fields), _, _] => module.type_name(*fields)?,
                _ => String::new(),
            };
            let own = if fields.is_empty() { "" } else { "fields, " };
            Ok(Source {
                declarations: module.text().to_owned().into(),
                structure: structure.into(),
                combine: format!("return {name}({own}left, right);").into(),
                fields: fields.into(),
                numbers: module.numbers().to_vec().into(),
            })
        });
        match made {
            // What is kept for ever is lent for ever.
            Ok(made) => Ok(Source {
                declarations: (&*made.declarations).into(),
                structure: (&*made.structure).into(),
                combine: (&*made.combine).into(),
                fields: (&*made.fields).into(),
                numbers: (&*made.numbers).into(),
            }),
            Err(refused) => Err(refused.clone()),
        }
    }
}
