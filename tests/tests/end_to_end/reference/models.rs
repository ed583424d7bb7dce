//! The models whose layers are written in the language, against `outputs.txt`.

use super::{CHECK, Reference};

const OUTPUTS: &str = include_str!("../../../../predicates/models/reference/outputs.txt");

/// Inputs that three parties compute. The arithmetic of a circuit is the same for all, and floating point takes the others.
const AMONG_PARTIES: usize = 2;

/// The check, with a range of weights for which every value of the model has a word.
fn reference(model: &str) -> Reference {
    let range = if model.starts_with("VitTiny") { "-2..2" } else { "-8..8" };
    let rows = OUTPUTS.lines().filter(|l| !l.starts_with('#')).filter_map(|line| {
        let mut words = line.split(' ');
        (words.next() == Some(model)).then(|| {
            let mut numbers = words.map(|w| w.parse::<f64>().expect("a number"));
            (numbers.next().expect("a number") as u64, numbers.collect())
        })
    });
    let wanted: Vec<(u64, Vec<f64>)> = rows.collect();
    assert!(wanted.len() >= 2, "no outputs of {model}");
    Reference {
        name: model.to_owned(),
        text: CHECK.replace("RANGE", range).replace("INPUTS", "-1..1"),
        bindings: vec![("M", model.to_owned())],
        scale: 1.0,
        wanted,
    }
}

macro_rules! models {
    ($($name:ident: $model:expr;)*) => {
        $(
            mod $name {
                #[test]
                fn floating_point_is_the_reference() {
                    super::reference($model).floating();
                }

                #[test]
                fn three_parties_are_within_the_certificate() {
                    super::reference($model).parties(super::AMONG_PARTIES);
                }
            }
        )*
    };
}

models! {
    mlp_with_layer_norm: "NormMlp";
    lstm_of_two_layers: "LstmClassifier";
    cnn_of_sequences: "Cnn1d";
    vision_transformer: "VitTiny[8,4,16,2,2]";
    mobilenet_v2: "MobileNetV2[4,8]";
    resnet20: "ResNet20[4,8]";
}

#[test]
fn resnet20_of_its_published_size() {
    reference("ResNet20").floating();
}

#[test]
#[ignore = "a long run: millions of activations, one by one"]
fn others_of_their_published_size() {
    reference("MobileNetV2").floating();
    reference("VitTiny").floating();
}

/// Numbers of weights as PyTorch counts the parameters of the same networks, and running statistics.
#[test]
fn published_sizes() {
    let count = |model: &str| {
        let program = reference(model).program();
        let of = |running: bool| {
            let params = program.models[0].params.iter();
            let of_kind = params.filter(|p| p.name.contains("running_") == running);
            of_kind.map(|p| p.shape.iter().product::<u64>()).sum::<u64>()
        };
        (of(false), of(true))
    };
    assert_eq!(count("ResNet20"), (269_722, 1_376));
    assert_eq!(count("MobileNetV2"), (2_236_682, 34_112));
}
