//! An attack as it is asked for: its name, what its parameters are, and the round in which it begins.

use super::super::knowledge::Knowledge;
use super::Attack;
use std::fmt;
use std::sync::Arc;
use thiserror::Error;

/// `NAME`, or `NAME@PARAMETER=VALUE`, with as many as one likes.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// As it was asked for: a column of the lab's tables.
    pub name: String,
    pub attack: Attack,
    pub values: Vec<(&'static str, f64)>,
    /// The round in which it begins, from 0.
    pub from: usize,
    /// What a caller's own attack sends, instead of what `attack` says.
    pub own: Option<Own>,
}

/// An attack of a caller's own.
#[derive(Clone)]
pub struct Own(pub Arc<Program>);

/// Of what is known to the malicious what each of them sends.
pub type Program = dyn Fn(&Knowledge<'_>) -> Result<Vec<Vec<f32>>, String> + Send + Sync;

impl fmt::Debug for Own {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an attack of one's own")
    }
}

/// Why an attack cannot be had.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ChosenError {
    #[error("there is no attack `{0}`")]
    Unknown(String),
    #[error("`{name}` has no parameter `{param}`; it has {known}")]
    Parameter { name: String, param: String, known: String },
    #[error("`{0}` is not PARAMETER=NUMBER")]
    Value(String),
    #[error("`{0}` is no round: they are counted from 1")]
    From(String),
}

/// The parameter that all have: the round in which the attack begins, from 1 as the lab counts them.
const FROM: &str = "from";

/// The name of an attack without its parameters.
pub fn name_of(text: &str) -> &str {
    text.split('@').next().unwrap_or(text)
}

impl Chosen {
    /// With the parameters that it has by itself, from the first round on.
    pub fn of(attack: &Attack) -> Chosen {
        let (name, values) = (attack.name.to_string(), attack.params.to_vec());
        Chosen { name, attack: *attack, values, from: 0, own: None }
    }

    pub fn parse(text: &str) -> Result<Chosen, ChosenError> {
        let (name, rest) = text.split_once('@').map_or((text, None), |(n, r)| (n, Some(r)));
        let attack = Attack::named(name).ok_or_else(|| ChosenError::Unknown(name.into()))?;
        Chosen { name: text.to_string(), ..Chosen::of(attack) }.with(rest)
    }

    /// With parameters in the form `NAME=VALUE@NAME=VALUE`.
    pub fn with(mut self, params: Option<&str>) -> Result<Chosen, ChosenError> {
        for param in params.into_iter().flat_map(|all| all.split('@')) {
            let wrong = || ChosenError::Value(param.to_string());
            let (key, value) = param.split_once('=').ok_or_else(wrong)?;
            let number = value.parse::<f64>().ok().filter(|x| x.is_finite()).ok_or_else(wrong)?;
            if key == FROM {
                let round = Some(number).filter(|x| *x >= 1.0 && x.fract() == 0.0);
                let round = round.ok_or_else(|| ChosenError::From(param.to_string()))?;
                self.from = round as usize - 1;
                continue;
            }
            let known = || {
                let own = self.attack.params.iter().map(|(n, v)| format!("{n}={v}"));
                own.chain([format!("{FROM}=1")]).collect::<Vec<_>>().join(", ")
            };
            let none = ChosenError::Parameter {
                name: name_of(&self.name).to_string(),
                param: key.to_string(),
                known: known(),
            };
            let found = self.values.iter_mut().find(|(n, _)| *n == key).ok_or(none)?;
            found.1 = number;
        }
        Ok(self)
    }

    /// Whether the malicious send something of their own, or give it for validation.
    pub fn acts(&self) -> bool {
        self.own.is_some() || self.attack.updates.is_some() || self.attack.validation.is_some()
    }

    pub fn sent(&self, k: &Knowledge<'_>) -> Result<Vec<Vec<f32>>, String> {
        let k = Knowledge { values: &self.values, ..*k };
        match (&self.own, self.attack.updates) {
            (Some(own), _) => (own.0)(&k),
            (None, Some(updates)) => Ok(updates(&k)),
            (None, None) => Ok(k.own.to_vec()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_and_the_first_round_are_read_and_unknown_ones_named() {
        let noise = Chosen::parse("noise@sigma=0.01@from=4").expect("an attack");
        assert_eq!((noise.values, noise.from), (vec![("sigma", 0.01)], 3));
        assert_eq!(Chosen::parse("noise").expect("it").values, [("sigma", 0.1)]);
        let refused = |text| Chosen::parse(text).expect_err("refused").to_string();
        assert_eq!(refused("krumm"), "there is no attack `krumm`");
        assert!(refused("noise@sigm=1").ends_with("it has sigma=0.1, from=1"));
        for wrong in ["noise@sigma", "noise@sigma=x", "noise@sigma=inf"] {
            assert!(refused(wrong).ends_with("is not PARAMETER=NUMBER"), "{wrong}");
        }
        for wrong in ["none@from=0", "none@from=1.5"] {
            assert!(refused(wrong).ends_with("is no round: they are counted from 1"), "{wrong}");
        }
    }
}
