//! Random inputs that look like those of a round: no file is needed, the same seed gives the same.

use slvr_circuit::{Circuit, Encoding, From, Input};
use slvr_runtime::share::encode::{Inputs, RawData, RawTensor};
use slvr_simulation::random::{Purpose, Random};

/// How long an update is beside the global model.
const STEP: f64 = 0.05;

/// Inputs of a circuit. What has fields are weights: `update` is a client's change, anything else a
/// whole model. Other real numbers and integers are uniform in their declared range.
pub fn generate(circuit: &Circuit, seed: u64) -> Inputs {
    let one = |at: usize, input: &Input, member: usize| {
        let mut random = Random::new(seed, Purpose::Init, [at as u64, member as u64]);
        (input.name.clone(), tensor(input, member, &mut random))
    };
    let given = |from: From, member: usize| {
        let inputs = circuit.inputs.iter().enumerate().filter(move |(_, i)| i.from == from);
        inputs.map(|(at, i)| one(at, i, member)).collect()
    };
    let sets = circuit.parties.iter().enumerate().map(|(s, set)| {
        let from = From::Each(s as u32);
        let gives = circuit.inputs.iter().any(|i| i.from == from);
        let members = if gives { set.size as usize } else { 0 };
        (0..members).map(|member| given(from, member)).collect()
    });
    Inputs { public: given(From::Public, 0), sets: sets.collect() }
}

fn tensor(input: &Input, member: usize, random: &mut Random) -> RawTensor {
    let n = input.shape.iter().product::<u64>() as usize;
    let mut between = |lo: f64, hi: f64| lo + (hi - lo) * random.uniform();
    let data = match input.encoding {
        Encoding::Fixed { lo, hi, norm, .. } => {
            let mut v: Vec<f64> = if input.fields.is_empty() {
                (0..n).map(|_| between(lo, hi)).collect()
            } else {
                let update = input.name == "update";
                // Members' updates differ in length, so that norms and medians do.
                let step = if update { STEP * (1.0 + member as f64 / 8.0) } else { 1.0 };
                weights(input, update, |a, b| step * between(a, b))
            };
            let length = v.iter().map(|x| x * x).sum::<f64>().sqrt();
            if length > norm {
                v.iter_mut().for_each(|x| *x *= norm / length * (1.0 - 1e-9));
            }
            RawData::F64(v)
        }
        Encoding::Int { lo, hi } => {
            RawData::I64((0..n).map(|_| between(lo as f64, hi as f64).floor() as i64).collect())
        }
        Encoding::OneHot { classes } => {
            RawData::I64((0..n).map(|_| between(0.0, classes as f64).floor() as i64).collect())
        }
    };
    RawTensor { shape: input.shape.clone(), data }
}

/// Weights as networks have them: those of a layer with n inputs have variance 2 / n (He et al., 2015),
/// statistics of a batch norm are about those of normalised activations, and its scale keeps residual
/// sums from growing with depth. Changes are centred on 0, but for variances, which stay positive.
fn weights(input: &Input, update: bool, mut between: impl FnMut(f64, f64) -> f64) -> Vec<f64> {
    let mut all = Vec::new();
    for field in &input.fields {
        let n: u64 = field.shape.iter().product();
        let last = field.name.rsplit('.').next().unwrap_or("");
        let (lo, hi) = match (last, field.shape.as_slice()) {
            ("running_var", _) if update => (0.0, 1.0),
            ("running_var", _) => (0.5, 2.0),
            ("running_mean", _) => (-0.3, 0.3),
            ("weight", [_]) if update => (-0.3, 0.3),
            ("weight", [_]) => (0.2, 0.7),
            ("weight", shape) => {
                let inputs: u64 = shape.iter().skip(1).product();
                let a = (6.0 / inputs.max(1) as f64).sqrt();
                (-a, a)
            }
            _ => (-0.2, 0.2),
        };
        all.extend((0..n).map(|_| between(lo, hi)));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verbs::bench::job::Job;
    use crate::verbs::bench::rows::{How, Row};
    use slvr_runtime::party::session::encode;

    #[test]
    fn inputs_fit_and_follow_from_the_seed() {
        for job in [Job::Norm, Job::Accuracy, Job::AccuracySecret, Job::Confidence, Job::TopK] {
            let model = (job != Job::TopK).then(|| "DigitsNet".to_string());
            let circuit = Row { job, model, m: 5 }
                .compile(
                    How::new(slvr_circuit::Security::SemiHonest),
                    &slvr_compiler::cost::NetProfile::lan(),
                )
                .expect("a circuit");
            let one = generate(&circuit, 1);
            assert!(one.sets == generate(&circuit, 1).sets, "{job:?}");
            assert!(one.sets != generate(&circuit, 2).sets, "{job:?}");
            assert!(encode(&circuit, &one).is_ok(), "{job:?}");
            // No two members give the same.
            for members in &one.sets {
                let differ = |w: &[_]| w.first() != w.get(1);
                assert!(members.windows(2).all(differ), "{job:?}");
            }
        }
    }
}
