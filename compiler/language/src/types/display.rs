//! A program as its list of variables and reveals, for people and tests.

use super::check::ty_text;
use super::expr::{ModelId, Ty, VarId};
use super::program::{Bounded, Program, Stmt};
use std::fmt;

impl Program {
    /// A type as the language writes it: `secret fix[Client, 10]`, `public weights LeNet5`.
    pub fn ty_text(&self, ty: &Ty) -> String {
        let name = |m: ModelId| {
            self.models.get(m.0 as usize).map_or_else(|| "?".to_owned(), |m| m.name.clone())
        };
        format!("{} {}", ty.secrecy.word(), ty_text(&self.parties, &name, ty))
    }
}

impl fmt::Display for Program {
    /// One line per statement: what it defines and its type.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes: Vec<String> = self.sizes.iter().map(|(n, v)| format!("{n}={v}")).collect();
        writeln!(f, "predicate {} {}", self.name, sizes.join(" "))?;
        for p in &self.parties {
            writeln!(f, "parties {}[{}]", p.name, p.size)?;
        }
        for m in &self.models {
            writeln!(f, "model {}: {:?} -> {:?}, {} weights", m.name, m.input, m.output, m.len)?;
        }
        let var = |v: &VarId| self.vars.get(v.0 as usize);
        let line = |f: &mut fmt::Formatter<'_>, what: &str, v: &VarId| match var(v) {
            Some(v) => write!(f, "{what} {}: {}", v.name, self.ty_text(&v.ty)),
            None => write!(f, "{what} ?"),
        };
        for s in &self.body {
            match s {
                Stmt::Input { var, range, .. } => {
                    line(f, "input", var)?;
                    if range.0.is_finite() {
                        write!(f, " in {}..={}", range.0, range.1)?;
                    }
                    writeln!(f)?;
                }
                Stmt::State { var, range, start } => {
                    line(f, "state", var)?;
                    writeln!(f, " in {}..={} = {start}", range.0, range.1)?;
                }
                Stmt::Store { state, value, .. } => {
                    line(f, "store", state)?;
                    writeln!(f, " of {}", self.ty_text(&value.ty))?;
                }
                Stmt::Let { var, .. } => {
                    line(f, "let", var)?;
                    writeln!(f)?;
                }
                Stmt::Tuple { vars, .. } => {
                    for var in vars {
                        line(f, "let", var)?;
                        writeln!(f)?;
                    }
                }
                Stmt::Sample { var, .. } => {
                    line(f, "sample", var)?;
                    writeln!(f)?;
                }
                Stmt::Noise { var, noise, .. } => {
                    line(f, "sample", var)?;
                    writeln!(f, " from {noise}")?;
                }
                Stmt::Reveal { value, to, name, .. } => {
                    let to = self.parties.get(to.0 as usize).map_or("?", |p| p.name.as_str());
                    writeln!(f, "reveal {name}: {} to {to}", self.ty_text(&value.ty))?;
                }
            }
        }
        for d in &self.demands {
            match &d.what {
                Bounded::Epsilon { delta, rounds } => {
                    writeln!(f, "require epsilon({delta:e}, {rounds}) <= {}", d.bound)?;
                }
                Bounded::Cut => writeln!(f, "require cut >= {}", d.bound)?,
                Bounded::Failure => writeln!(f, "require failure <= {:e}", d.bound)?,
                Bounded::Error(v) => {
                    let name = var(v).map_or("?", |v| v.name.as_str());
                    writeln!(f, "require error({name}) <= {}", d.bound)?;
                }
            }
        }
        for g in &self.functions {
            let types: Vec<String> = g.body.values.iter().map(|e| self.ty_text(&e.ty)).collect();
            match types.as_slice() {
                [one] => writeln!(f, "fn {} -> {one}", g.name)?,
                all => writeln!(f, "fn {} -> ({})", g.name, all.join(", "))?,
            }
        }
        Ok(())
    }
}
