//! Noise that nobody knows: its type and its distribution.

use super::checker::Checker;
use super::value::{Env, R, first_word};
use crate::diagnostic::{Edit, codes};
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
                codes::NOISE
                    .error(format!("there is no distribution `{}`", law.name))
                    .label(law.span, "not a distribution of noise")
                    .hint(format!("write {}", names.join(" or "))),
            )
        });
        let (shape, value, law) = (written?, value?, known?);
        if shape.elem != Elem::Fix {
            return codes::NOISE
                .error(format!("noise `{}` is made of fractions", name.name))
                .label(ty.span, "not `fix`")
                .hint("write `fix`, `fix[n]` or `weights M`")
                .refuse(self);
        }
        if ty.secrecy == Some(Secrecy::Public) {
            return codes::NOISE
                .error(format!("noise `{}` is known to nobody", name.name))
                .label(ty.span, "cannot be public")
                .hint("leave out `public`: noise that is known hides nothing")
                .edit([Edit::replace(first_word(ty.span, "public "), "")])
                .refuse(self);
        }
        let noise = match Noise::new(law, value) {
            Ok(noise) => noise,
            Err(why) => {
                return codes::NOISE
                    .error(format!("there is no noise with {} {value}", law.scale_name()))
                    .label(scale.span, why.to_string())
                    .hint("scale the values that it is added to")
                    .refuse(self);
            }
        };
        let var = self.declare(env, name, Ty { secrecy: Secrecy::Secret, ..shape })?;
        let number = self.noises;
        self.noises += 1;
        Ok(Stmt::Noise { var, noise, number })
    }
}
