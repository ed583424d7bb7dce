//! Evaluation: of each number its value, and how it depends on unknowns.

use super::arith::{disjoint, hull, largest, slope, sum};
use super::data::{Branch, Extremum, Scalar, Scalars, World};
use super::form::{Column, Form, Owner};
use super::point::{Point, UNIT, unit_of};
use crate::graph::{Graph, Op, Table, domain};
use crate::types::Elem;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// How results that are not linear are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Mode {
    /// Each is an unknown; equal ones of equal operands are the same. Constants of forms are exact, values
    /// mean nothing.
    Symbolic,
    /// By derivatives at the point. Comparisons are constants.
    Local,
}

/// Terms of all forms together.
const TERMS: usize = 1 << 22;

/// What is cut of one client's value moves at least by this, beside what it is computed from (`Run::flat`).
const FLAT: f64 = 1.0 / 1024.0;

/// Numbers up to which this is so: in a large model each unit that is cut would be followed further.
const BENT: usize = 1 << 14;

/// Values that one entry may be.
const CHOICES: usize = 8;
/// Terms of what is told from an unknown.
const LONGEST: usize = 4096;

/// What became of all numbers.
pub(in super::super) struct Evaluated {
    pub(in super::super) columns: Vec<Column>,
    pub(in super::super) forms: Vec<Form>,
    /// Of unknowns that are computed: what can be told from them, for some values at least.
    pub(in super::super) inside: BTreeMap<u32, Vec<Inside>>,
    /// At this point all choices fall as they are made.
    pub(in super::super) agrees: bool,
}

impl Evaluated {
    pub(super) fn range(&self, form: &Form) -> (f64, f64) {
        reach(&self.columns, form)
    }
}

/// The interval that a form is in.
fn reach(columns: &[Column], form: &Form) -> (f64, f64) {
    form.terms.iter().fold((form.value, form.value), |(lo, hi), &(c, x)| {
        let (a, b) = columns[c as usize].range;
        let (a, b) = if x < 0.0 { (b * x, a * x) } else { (a * x, b * x) };
        (lo + a, hi + b)
    })
}

/// What can be told from an unknown that is computed from it.
#[derive(Clone, Debug)]
pub(in super::super) struct Inside {
    pub(in super::super) form: Form,
    /// On which side of a threshold it is, and not more.
    pub(in super::super) side: bool,
    /// What somebody has to know to tell it: the other factor of a product, say.
    pub(in super::super) given: Option<Form>,
}

/// The forms of all numbers, with the inputs of some party sets known; `None` if they are too long.
pub(in super::super) fn evaluate(
    graph: &Graph,
    scalars: &Scalars,
    known: &BTreeSet<u32>,
    point: &Point,
    (mode, world): (Mode, &World),
) -> Option<Evaluated> {
    let mut run = Run::new(graph, known, point, (mode, world));
    run.bent = mode == Mode::Local && scalars.all.len() <= BENT;
    let mut forms: Vec<Form> = Vec::with_capacity(scalars.all.len());
    let mut terms = 0;
    for scalar in &scalars.all {
        let of: Vec<Vec<&Form>> = scalar
            .operands
            .iter()
            .map(|l| l.iter().map(|&s| &forms[s as usize]).collect())
            .collect();
        let before = forms.get(scalar.same as usize);
        let form = before.map_or_else(|| run.scalar(scalar, &of), Form::clone);
        terms += form.terms.len();
        if terms > TERMS || !form.value.is_finite() || form.terms.iter().any(|t| !t.1.is_finite()) {
            return None;
        }
        forms.push(form);
    }
    Some(Evaluated { columns: run.columns, forms, inside: run.inside, agrees: run.agrees })
}

/// A form as a key: terms and constant by their bits.
type Key = Vec<(u32, u64)>;

pub(super) struct Run<'a> {
    graph: &'a Graph,
    known: &'a BTreeSet<u32>,
    point: &'a Point,
    pub(super) mode: Mode,
    world: &'a World,
    /// What is cut of one client's value has a small slope.
    bent: bool,
    columns: Vec<Column>,
    inputs: BTreeMap<(u32, usize), u32>,
    /// Unknowns by what computes them.
    made: HashMap<(u32, Vec<u32>), u32>,
    names: HashMap<String, u32>,
    ids: HashMap<Key, u32>,
    inside: BTreeMap<u32, Vec<Inside>>,
    /// Of unknowns that are clips: of what, and from where to where.
    pub(super) clips: HashMap<u32, (Form, f64, f64)>,
    agrees: bool,
}

impl<'a> Run<'a> {
    pub(super) fn new(
        graph: &'a Graph,
        known: &'a BTreeSet<u32>,
        point: &'a Point,
        (mode, world): (Mode, &'a World),
    ) -> Run<'a> {
        Run {
            graph,
            known,
            point,
            mode,
            world,
            bent: false,
            columns: Vec::new(),
            inputs: BTreeMap::new(),
            made: HashMap::new(),
            names: HashMap::new(),
            ids: HashMap::new(),
            inside: BTreeMap::new(),
            clips: HashMap::new(),
            agrees: true,
        }
    }
}

impl Run<'_> {
    pub(super) fn scalar(&mut self, scalar: &Scalar, of: &[Vec<&Form>]) -> Form {
        let made = self.value(scalar, of);
        if self.bent && matches!(scalar.owner, Owner::One(..)) {
            self.flat(scalar, of, made)
        } else {
            made
        }
    }

    /// What is cut of one client's own value, or hardly moves at the point, moves elsewhere. Where it is added up with
    /// those of other clients, the point would otherwise tell of the few that are not cut there, by chance the same ones
    /// at all points. So it is given a small slope: a sum of what is cut of each stays a sum over all of them.
    fn flat(&self, scalar: &Scalar, of: &[Vec<&Form>], made: Form) -> Form {
        let cuts = match self.graph.op(scalar.node) {
            Op::Relu | Op::Function(_) => true,
            // A function that is written as a quotient, such as a sigmoid.
            Op::Div => !of[1][0].is_constant(),
            _ => scalar.clip,
        };
        let most = |f: &Form| f.terms.iter().fold(0.0f64, |m, t| m.max(t.1.abs()));
        if !cuts || most(&made) >= FLAT {
            return made;
        }
        let from =
            if made.is_constant() { of.iter().flatten().find(|f| !f.is_constant()) } else { None };
        let from = from.map_or(&made, |f| *f);
        let by = FLAT / most(from);
        if by.is_finite() { Form { value: made.value, ..from.scaled(by) } } else { made }
    }

    /// What it is, by the choice that is made of it or by its operands.
    fn value(&mut self, scalar: &Scalar, of: &[Vec<&Form>]) -> Form {
        let branch = match self.world.get(&scalar.node) {
            Some(Branch::Each(each)) => each.get(&scalar.entry),
            other => other,
        };
        let made = match branch {
            Some(Branch::Value(x)) => Form::constant(*x),
            // Of a gate, the first is what it lets pass.
            Some(Branch::Operand(k)) => {
                let of = of.first().and_then(|all| all.get(*k));
                of.map_or_else(Form::default, |f| (*f).clone())
            }
            Some(Branch::Negated) => of[0][0].scaled(-1.0),
            Some(Branch::Each(_)) | None => return self.computed(scalar, of),
        };
        if self.mode == Mode::Local && self.agrees {
            let here = self.computed(scalar, of).value;
            self.agrees = (here - made.value).abs() <= UNIT * here.abs().max(1.0);
        }
        made
    }

    fn computed(&mut self, scalar: &Scalar, of: &[Vec<&Form>]) -> Form {
        let g = self.graph;
        let id = scalar.node;
        if scalar.opaque {
            return self.opaque(scalar);
        }
        let first = || of[0][0].clone();
        let one = |i: usize| of[i][0];
        match g.op(id) {
            Op::Input(i) => self.input(*i, scalar.entry),
            Op::Const(table, ..) => Form::constant(Table::at(table, scalar.entry)),
            Op::Pairs { table, n } => Form::constant(table.entry(*n, scalar.entry as u64) as f64),
            Op::Places(n) => {
                let number = (scalar.entry as u64 % n.max(&1)) as f64;
                let place = of[0].iter().rposition(|f| f.value == number);
                Form::constant(place.unwrap_or(of[0].len()) as f64)
            }
            Op::Draw(lots) => Form::constant(self.point.drawn(lots, scalar.entry)),
            // As if it were known.
            Op::Noise { .. } => Form::constant(0.0),
            Op::Add => sum([(one(0), 1.0), (one(1), 1.0)]),
            Op::Sub => sum([(one(0), 1.0), (one(1), -1.0)]),
            Op::Neg => first().scaled(-1.0),
            Op::Scale(c) => first().scaled(*c),
            Op::DivPow2(by) => first().scaled(f64::from(*by).exp2().recip()),
            Op::MulPow2(by) => first().scaled(f64::from(*by).exp2()),
            Op::Not => sum([(&Form::constant(1.0), 1.0), (one(0), -1.0)]),
            Op::Mul | Op::And => self.product(one(0), one(1)),
            Op::Xor => {
                let both = self.product(one(0), one(1));
                sum([(one(0), 1.0), (one(1), 1.0), (&both, -2.0)])
            }
            Op::Div => self.quotient(one(0), one(1)),
            Op::Sum(_) => Form::combined(of[0].iter().map(|f| (*f, 1.0))),
            Op::MatMul { .. } | Op::Conv2d(_) => {
                let each: Vec<Form> =
                    of[0].iter().zip(&of[1]).map(|(a, b)| self.product(a, b)).collect();
                Form::combined(each.iter().map(|f| (f, 1.0)))
            }
            Op::Lt => match disjoint(self.range(one(0)), self.range(one(1))) {
                Some(less) if self.mode == Mode::Symbolic => {
                    Form::constant(f64::from(u8::from(less)))
                }
                _ => {
                    let less = one(0).value < one(1).value;
                    let made = self.compared(scalar, (one(0), one(1)), less);
                    self.cut(made, one(0), one(1))
                }
            },
            Op::Eq => {
                let made = self.compared(scalar, (one(0), one(1)), one(0).value == one(1).value);
                self.cut(made, one(0), one(1))
            }
            Op::OneHot(classes) => {
                let class = scalar.entry as u64 % classes;
                self.discrete(scalar, of, one(0).value == class as f64)
            }
            Op::ArgMaxIs => {
                let hit = of[1].get(largest(&of[0])).is_some_and(|f| f.value != 0.0);
                self.discrete(scalar, of, hit)
            }
            Op::ArgMax => {
                let value = largest(&of[0]) as f64;
                let last = (of[0].len() - 1) as f64;
                if self.follows(of) {
                    self.unknown(scalar, of, (0.0, last), true, false)
                } else {
                    Form::constant(value)
                }
            }
            Op::Select => {
                let (c, a, b) = (one(0), one(1), one(2));
                let chosen = if c.value != 0.0 { a } else { b };
                if c.is_constant() || self.mode == Mode::Local {
                    return chosen.clone();
                }
                match scalar.extremum {
                    Some(Extremum::Largest) => return self.ordered(&[a, b], 1, 2),
                    Some(Extremum::Smallest) => return self.ordered(&[a, b], 0, 1),
                    None => {}
                }
                let between = sum([(a, 1.0), (b, -1.0)]);
                if between.is_constant() {
                    return sum([(b, 1.0), (c, between.value)]);
                }
                let range = hull([a, b].map(|f| self.range(f)));
                let whole = self.whole(a) && self.whole(b);
                let made = self.unknown(scalar, of, range, whole, false);
                self.within(made, &[a, b])
            }
            Op::Relu => {
                if self.follows(of) {
                    return self.clipped(one(0), (0.0, f64::INFINITY));
                }
                if one(0).value < 0.0 { Form::constant(0.0) } else { first() }
            }
            Op::Gate if self.follows(of) && scalar.operands[0] == scalar.operands[1] => {
                self.clipped(one(0), (0.0, f64::INFINITY))
            }
            Op::Gate => {
                let value = if one(1).value < 0.0 { Form::constant(0.0) } else { first() };
                let (lo, hi) = self.range(one(0));
                self.routed(scalar, of, value, (lo.min(0.0), hi.max(0.0)))
            }
            Op::Abs => {
                let (lo, hi) = self.range(one(0));
                let value = if one(0).value < 0.0 { first().scaled(-1.0) } else { first() };
                let least = if lo <= 0.0 && hi >= 0.0 { 0.0 } else { lo.abs().min(hi.abs()) };
                self.routed(scalar, of, value, (least, lo.abs().max(hi.abs())))
            }
            Op::Max(_) | Op::MaxPool { .. } => self.ordered(&of[0], of[0].len() - 1, of[0].len()),
            Op::Min(_) => self.ordered(&of[0], 0, 1),
            Op::Sort => {
                let at = scalar.entry % of[0].len();
                self.ordered(&of[0], at, at + 1)
            }
            Op::SortSum { lo, hi } => self.ordered(&of[0], *lo as usize, *hi as usize),
            Op::Function(f) => self.function(scalar, of, f.facts().saturated),
            Op::Saturate(_)
            | Op::ToInt
            | Op::Trunc(_)
            | Op::Shift(_)
            | Op::Reshape(_)
            | Op::Transpose(_)
            | Op::Slice { .. }
            | Op::Broadcast(_) => first(),
            Op::Concat(_) => {
                of.iter().flatten().next().map_or_else(Form::default, |f| (*f).clone())
            }
            Op::Gather { .. } => {
                let at = one(1).value.max(0.0) as usize;
                of[0].get(at).map_or_else(Form::default, |f| (*f).clone())
            }
        }
    }

    fn input(&mut self, index: u32, entry: usize) -> Form {
        let input = &self.graph.inputs[index as usize];
        // A label that is dealt as bits is one bit for each class.
        let classes = input.one_hot.unwrap_or(1) as usize;
        let mut value = self.point.input(index as usize, input, entry / classes);
        let mut range = input.range;
        if input.one_hot.is_some() {
            value = f64::from(u8::from(value == (entry % classes) as f64));
            range = (0.0, 1.0);
        }
        let Some(set) = input.from.set().filter(|s| !self.known.contains(s)) else {
            return Form::constant(value);
        };
        let len = input.shape.iter().product::<u64>().max(1) as usize * classes;
        let column = *self.inputs.entry((index, entry)).or_insert_with(|| {
            self.columns.push(Column {
                owner: Owner::One(set, (entry / len) as u64),
                range,
                whole: input.elem != Elem::Fix,
                unit: unit_of(input),
                input: Some(index),
            });
            self.columns.len() as u32 - 1
        });
        let value = if self.mode == Mode::Symbolic { 0.0 } else { value };
        Form { value, terms: vec![(column, 1.0)] }
    }

    fn opaque(&mut self, scalar: &Scalar) -> Form {
        let elem = self.graph.ty(scalar.node).elem;
        let value = self.point.opaque(scalar.node.index(), scalar.entry, elem);
        let followed = self.mode == Mode::Symbolic || elem == Elem::Fix;
        if scalar.owner == Owner::Nobody || !followed {
            return Form::constant(value);
        }
        let range = if elem == Elem::Bit { (0.0, 1.0) } else { (f64::NEG_INFINITY, f64::INFINITY) };
        let whole = elem != Elem::Fix;
        let unit = if whole { 1.0 } else { UNIT };
        let column = self.column(Column { owner: scalar.owner, range, whole, unit, input: None });
        let value = if self.mode == Mode::Symbolic { 0.0 } else { value };
        Form { value, terms: vec![(column, 1.0)] }
    }

    fn column(&mut self, column: Column) -> u32 {
        self.columns.push(column);
        self.columns.len() as u32 - 1
    }

    /// Whether some operand is not known, in a symbolic evaluation.
    fn follows(&self, of: &[Vec<&Form>]) -> bool {
        self.mode == Mode::Symbolic && of.iter().flatten().any(|f| !f.is_constant())
    }

    /// A bit.
    fn discrete(&mut self, scalar: &Scalar, of: &[Vec<&Form>], bit: bool) -> Form {
        if self.follows(of) {
            self.unknown(scalar, of, (0.0, 1.0), true, false)
        } else {
            Form::constant(f64::from(u8::from(bit)))
        }
    }

    /// A comparison, of the difference: `x > y + 4` is `x - y > 4`, and what both sides have is in neither.
    fn compared(&mut self, scalar: &Scalar, (a, b): (&Form, &Form), bit: bool) -> Form {
        if a.is_constant() && b.is_constant() || self.mode == Mode::Local {
            return Form::constant(f64::from(u8::from(bit)));
        }
        let difference = sum([(a, 1.0), (b, -1.0)]);
        let Some(&(_, first)) = difference.terms.first() else {
            return Form::constant(f64::from(u8::from(match self.graph.op(scalar.node) {
                Op::Lt => difference.value < 0.0,
                _ => difference.value == 0.0,
            })));
        };
        let equal = *self.graph.op(scalar.node) == Op::Eq;
        let by = if equal { first.recip() } else { first.abs().recip() };
        self.unknown(scalar, &[vec![&difference.scaled(by)]], (0.0, 1.0), true, false)
    }

    /// What is linear between places where it changes over.
    fn routed(
        &mut self,
        scalar: &Scalar,
        of: &[Vec<&Form>],
        value: Form,
        range: (f64, f64),
    ) -> Form {
        if !self.follows(of) {
            return value;
        }
        let whole = self.whole(of[0][0]);
        let made = self.unknown(scalar, of, range, whole, false);
        self.within(made, &of[0])
    }

    /// An unknown from which these can be told: where it is invertible, or where it takes one of them.
    pub(super) fn within(&mut self, made: Form, of: &[&Form]) -> Form {
        self.told(made, of, false)
    }

    /// A comparison of two forms, of which one is known.
    fn cut(&mut self, made: Form, a: &Form, b: &Form) -> Form {
        let known = a.is_constant() || b.is_constant();
        if known { self.told(made, &[a, b], true) } else { made }
    }

    /// An unknown made of two operands: each can be told from it by whoever knows the other one.
    fn beside(&mut self, made: Form, [a, b]: [Option<&Form>; 2]) -> Form {
        if let (Mode::Symbolic, &[(column, _)]) = (self.mode, &made.terms[..]) {
            let short = |f: &Form| f.terms.len() <= LONGEST && f.terms.iter().all(|t| t.0 < column);
            let one = |f: Option<&Form>, given: Option<&Form>| {
                let (form, given) = (f?.clone(), given?.clone());
                let both = short(&form) && short(&given);
                both.then_some(Inside { form, side: false, given: Some(given) })
            };
            let list: Vec<Inside> = [one(a, b), one(b, a)].into_iter().flatten().collect();
            self.inside.entry(column).or_insert(list);
        }
        made
    }

    fn told(&mut self, made: Form, of: &[&Form], side: bool) -> Form {
        if let (Mode::Symbolic, &[(column, _)]) = (self.mode, &made.terms[..])
            && of.len() <= CHOICES
        {
            // What is computed in the same way is the same unknown, which is entered once.
            let before = |f: &&&Form| {
                (1..=LONGEST).contains(&f.terms.len()) && f.terms.iter().all(|t| t.0 < column)
            };
            let of = of.iter().filter(before);
            let list = of.map(|f| Inside { form: (*f).clone(), side, given: None }).collect();
            self.inside.entry(column).or_insert(list);
        }
        made
    }

    fn product(&mut self, a: &Form, b: &Form) -> Form {
        if a.is_constant() {
            return b.scaled(a.value);
        }
        if b.is_constant() {
            return a.scaled(b.value);
        }
        if self.mode == Mode::Local {
            let mut out = sum([(a, b.value), (b, a.value)]);
            out.value = a.value * b.value;
            return out;
        }
        let (x, y) = (self.range(a), self.range(b));
        let (ia, ib) = (self.id(a), self.id(b));
        let ends = [x.0 * y.0, x.0 * y.1, x.1 * y.0, x.1 * y.1];
        let (mut lo, hi) = hull(
            ends.map(|e| if e.is_nan() { (f64::NEG_INFINITY, f64::INFINITY) } else { (e, e) }),
        );
        if ia == ib {
            lo = lo.max(0.0);
        }
        let whole = self.whole(a) && self.whole(b);
        let made = self.made(0, "product", &[vec![a, b]], (lo, hi), whole, true);
        // A square tells its root, and a bit times something tells this where the bit is 1.
        let bit = |range: (f64, f64), whole: bool| whole && range == (0.0, 1.0);
        if ia == ib || bit(y, self.whole(b)) {
            return self.within(made, &[a]);
        }
        if bit(x, self.whole(a)) {
            return self.within(made, &[b]);
        }
        self.beside(made, [Some(a), Some(b)])
    }

    fn quotient(&mut self, a: &Form, b: &Form) -> Form {
        if b.is_constant() && b.value != 0.0 {
            return a.scaled(b.value.recip());
        }
        if self.mode == Mode::Symbolic {
            let all = (f64::NEG_INFINITY, f64::INFINITY);
            let made = self.made(0, "quotient", &[vec![a], vec![b]], all, false, false);
            if a.is_constant() {
                return self.within(made, &[b]);
            }
            // A quotient is rounded: times a large divisor it says nothing of what is small.
            let step = |&(c, x): &(u32, f64)| (x * self.columns[c as usize].unit).abs();
            let coarsest = a.terms.iter().map(step).fold(0.0, f64::max);
            let (lo, hi) = self.range(b);
            let clear = coarsest > lo.abs().max(hi.abs()) * UNIT;
            return self.beside(made, [clear.then_some(a), Some(b)]);
        }
        // By 0 it is the sign of the dividend, and near to 0 it is cut.
        let value = domain::div(a.value, b.value);
        if b.value == 0.0 || value.abs() >= f64::from(domain::QUOTIENT_TOP).exp2() {
            return Form::constant(value);
        }
        let by = b.value.recip();
        let mut out = sum([(a, by), (b, -a.value * by * by)]);
        out.value = value;
        out
    }

    fn function(&mut self, scalar: &Scalar, of: &[Vec<&Form>], f: fn(f64) -> f64) -> Form {
        let x = of[0][0];
        if self.follows(of) {
            let (lo, hi) = self.range(x);
            let (a, b) = (f(lo), f(hi));
            let known = lo >= 0.0 && a.is_finite() && b.is_finite();
            let range =
                if known { (a.min(b), a.max(b)) } else { (f64::NEG_INFINITY, f64::INFINITY) };
            let made = self.unknown(scalar, of, range, false, false);
            return self.within(made, &[x]);
        }
        let value = f(x.value);
        if x.is_constant() {
            return Form::constant(value);
        }
        let slope = slope(f, x.value);
        let mut out = x.scaled(if slope.is_finite() { slope } else { 0.0 });
        out.value = value;
        out
    }

    fn unknown(
        &mut self,
        scalar: &Scalar,
        of: &[Vec<&Form>],
        range: (f64, f64),
        whole: bool,
        sorted: bool,
    ) -> Form {
        let op = self.graph.op(scalar.node);
        let class = if let Op::OneHot(n) = op { scalar.entry as u64 % n } else { 0 };
        let at = self.name(format!("{op:?} {class}"));
        self.made(at, "", of, range, whole, sorted)
    }

    /// The unknown that is computed in this way from these operands; in any order if `sorted`.
    pub(super) fn made(
        &mut self,
        at: u32,
        what: &str,
        of: &[Vec<&Form>],
        range: (f64, f64),
        whole: bool,
        sorted: bool,
    ) -> Form {
        let name = self.name(format!("{what}{at}"));
        let mut key = Vec::new();
        for list in of {
            key.extend(list.iter().map(|f| self.id(f)));
            key.push(u32::MAX);
        }
        if sorted {
            key.sort_unstable();
        }
        let mut owner = Owner::Nobody;
        for (column, _) in of.iter().flatten().flat_map(|f| &f.terms) {
            owner = owner.and(self.columns[*column as usize].owner);
        }
        let column = match self.made.get(&(name, key.clone())) {
            Some(&column) => column,
            None => {
                let unit = if whole { 1.0 } else { UNIT };
                let column = self.column(Column { owner, range, whole, unit, input: None });
                self.made.insert((name, key), column);
                column
            }
        };
        Form { value: 0.0, terms: vec![(column, 1.0)] }
    }

    pub(super) fn name(&mut self, text: String) -> u32 {
        let next = self.names.len() as u32 + 1;
        *self.names.entry(text).or_insert(next)
    }

    fn id(&mut self, form: &Form) -> u32 {
        let bits = |x: f64| (x + 0.0).to_bits();
        let mut key: Key = form.terms.iter().map(|&(c, x)| (c, bits(x))).collect();
        key.push((u32::MAX, bits(form.value)));
        let next = self.ids.len() as u32;
        *self.ids.entry(key).or_insert(next)
    }

    pub(super) fn range(&self, form: &Form) -> (f64, f64) {
        reach(&self.columns, form)
    }

    pub(super) fn whole(&self, form: &Form) -> bool {
        let terms = || form.terms.iter();
        form.value.fract() == 0.0
            && terms().all(|&(c, x)| x.fract() == 0.0 && self.columns[c as usize].whole)
    }
}
