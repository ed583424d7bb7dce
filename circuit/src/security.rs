//! The adversary that a circuit is made for.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What one of the three parties may do. Part of what the parties agree on before they start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Security {
    /// It follows the protocol, and looks at all that it receives.
    #[default]
    SemiHonest,
    /// It does whatever it likes. The others notice, and stop before anything that it could have changed is opened
    /// ([`crate::proof`]).
    Malicious,
}

impl Security {
    pub const ALL: [Security; 2] = [Security::SemiHonest, Security::Malicious];

    /// Whether a party may deviate.
    pub fn is_malicious(self) -> bool {
        self == Security::Malicious
    }

    /// Its word in the text of a circuit.
    pub fn token(self) -> &'static str {
        match self {
            Security::SemiHonest => "semi_honest",
            Security::Malicious => "malicious",
        }
    }

    /// Its name in sentences and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Security::SemiHonest => "semi-honest",
            Security::Malicious => "malicious",
        }
    }
}

impl fmt::Display for Security {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
