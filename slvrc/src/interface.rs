//! The inputs and outputs of a program, without its computation.

use slvr_circuit::{
    Circuit, Dom, Encoding, Field, From, Hold, Input, Instr, Layer, Op, Output, PartySet, Type,
    ValueId,
};
use slvr_compiler::syntax::ast::Secrecy;
use slvr_compiler::types::{Elem, Program, Stmt, Ty};

/// Fraction bits, as circuits have them; in an [`interface`] only what fits a word depends on it.
const FRACTION: u32 = 16;

/// What a program reads, draws and reveals, as a circuit that computes nothing: enough to read input
/// files and to write outputs by.
pub fn interface(program: &Program) -> Circuit {
    let fields = |ty: &Ty| -> Vec<Field> {
        let model = ty.record.and_then(|m| program.models.get(m.0 as usize));
        let params = model.map_or(&[][..], |m| &m.params);
        params.iter().map(|p| Field { name: p.name.clone(), shape: p.shape.clone() }).collect()
    };
    let parties = program.parties.iter();
    let parties = parties.map(|p| PartySet { name: p.name.clone(), size: p.size }).collect();
    let mut out = Circuit {
        name: program.name.clone(),
        sizes: program.sizes.clone(),
        parties,
        inputs: Vec::new(),
        consts: Vec::new(),
        types: Vec::new(),
        sites: Vec::new(),
        layers: vec![Layer::default()],
        outputs: Vec::new(),
        checks: Vec::new(),
        security: Default::default(),
    };
    for stmt in &program.body {
        let value = ValueId(out.types.len() as u32);
        match stmt {
            Stmt::Input { var, range: (lo, hi), from } => {
                let Some(v) = program.vars.get(var.0 as usize) else { continue };
                let shape = v.ty.shape();
                // Of what each member gives, the shape of one.
                let secret = v.ty.secrecy == Secrecy::Secret;
                let own = usize::from(from.is_some() && secret);
                out.types.push(Type::new(Hold::Public, Dom::Ring(64), shape.clone()));
                out.inputs.push(Input {
                    name: v.name.clone(),
                    from: match (from, v.ty.secrecy) {
                        (None, _) => From::Public,
                        (Some(set), Secrecy::Public) => From::Present(set.0),
                        (Some(set), Secrecy::Secret) => From::Each(set.0),
                    },
                    encoding: match v.ty.elem {
                        Elem::Fix => Encoding::Fixed {
                            frac: FRACTION,
                            lo: *lo,
                            hi: *hi,
                            shift: 0,
                            norm: f64::INFINITY,
                        },
                        _ => Encoding::Int { lo: *lo as i64, hi: (*hi as i64).saturating_add(1) },
                    },
                    shape: shape.get(own..).unwrap_or(&[]).to_vec(),
                    fields: fields(&v.ty),
                    value,
                });
            }
            Stmt::State { var, range: (lo, hi), start } => {
                let Some(v) = program.vars.get(var.0 as usize) else { continue };
                let shape = v.ty.shape();
                let dom = if v.ty.elem == Elem::Bit { Dom::Bits(1) } else { Dom::Ring(64) };
                out.types.push(Type::new(Hold::Rep, dom, shape.clone()));
                let fix = v.ty.elem == Elem::Fix;
                let unit = if fix { f64::from(FRACTION).exp2() } else { 1.0 };
                let op = Op::Keep { x: value, input: out.inputs.len() as u32 };
                out.layers[0].local.push(Instr { out: None, op, site: 0 });
                out.inputs.push(Input {
                    name: v.name.clone(),
                    from: From::State((start * unit) as i64),
                    encoding: match fix {
                        true => Encoding::Fixed {
                            frac: FRACTION,
                            lo: *lo,
                            hi: *hi,
                            shift: 0,
                            norm: f64::INFINITY,
                        },
                        false => {
                            Encoding::Int { lo: *lo as i64, hi: (*hi as i64).saturating_add(1) }
                        }
                    },
                    shape,
                    fields: Vec::new(),
                    value,
                });
            }
            Stmt::Sample { .. } => {
                out.types.push(Type::new(Hold::Public, Dom::Ring(128), []));
                let coin = Instr { out: Some(value), op: Op::Coin, site: 0 };
                out.layers[0].exchange.push(coin);
            }
            // Nobody gives it, and nothing is drawn in public.
            Stmt::Noise { .. } => {}
            Stmt::Reveal { value, to, name, .. } => out.outputs.push(Output {
                name: name.clone(),
                to: to.0,
                shape: value.ty.shape(),
                ring: 64,
                frac: FRACTION,
                factor: 1.0,
                divisor: 1.0,
                // Of a list of weights the fields are in each of its entries.
                fields: if value.ty.dims.len() == 1 { fields(&value.ty) } else { Vec::new() },
            }),
            Stmt::Let { .. } | Stmt::Tuple { .. } | Stmt::Store { .. } => {}
        }
    }
    out
}
