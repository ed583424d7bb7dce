//! Noise that nobody knows: its type and its distribution.

use super::checker::Checker;
use super::value::{Env, R, first_word};
use crate::diagnostic::{Diagnostic, Edit, codes};
use crate::noise::{Law, Noise};
use crate::syntax::ast::{self, Ident, Secrecy};
use crate::types::{Elem, Stmt, Ty};

impl Checker<'_> {
    pub(super) fn noise(
        &mut self,
        env: &mut Env,
        name: &Ident,
        ty: &ast::Type,
        law: &Ident,
        scale: &ast::Expr,
    ) -> R<Stmt> {
        // Every part is checked before giving up, so that one run reports all.
        let (written, value) = (self.written_ty(env, ty), self.real(env, scale));
        let known = Law::of(&law.name).ok_or_else(|| {
            let names = Law::ALL.map(|l| format!("`{}({})`", l.name(), l.scale_name()));
            self.fail(
                Diagnostic::error(
                    codes::NOISE,
                    format!("there is no distribution `{}`", law.name),
                    law.span,
                    "not a distribution of noise",
                )
                .hint(format!("write {}", names.join(" or "))),
            )
        });
        let (shape, value, law) = (written?, value?, known?);
        if shape.elem != Elem::Fix {
            return Err(self.fail(
                Diagnostic::error(
                    codes::NOISE,
                    format!("noise `{}` is made of fractions", name.name),
                    ty.span,
                    "not `fix`",
                )
                .hint("write `fix`, `fix[n]` or `weights M`"),
            ));
        }
        if ty.secrecy == Some(Secrecy::Public) {
            return Err(self.fail(
                Diagnostic::error(
                    codes::NOISE,
                    format!("noise `{}` is known to nobody", name.name),
                    ty.span,
                    "cannot be public",
                )
                .hint("leave out `public`: noise that is known hides nothing")
                .edit([Edit::replace(first_word(ty.span, "public "), "")]),
            ));
        }
        let noise = match Noise::new(law, value) {
            Ok(noise) => noise,
            Err(why) => {
                return Err(self.fail(
                    Diagnostic::error(
                        codes::NOISE,
                        format!("there is no noise with {} {value}", law.scale_name()),
                        scale.span,
                        why.to_string(),
                    )
                    .hint("scale the values that it is added to"),
                ));
            }
        };
        let var = self.declare(env, name, Ty { secrecy: Secrecy::Secret, ..shape })?;
        let number = self.noises;
        self.noises += 1;
        Ok(Stmt::Noise { var, noise, number })
    }
}
