//! A distribution on its grid.

use std::fmt;

/// Fraction bits of a grid, unless the noise is so small that it takes more.
const COARSE: u32 = 16;
/// Most fraction bits of a grid.
const FINE: u32 = 24;
/// log2 of the units of a grid that a scale has at least, as long as the grid can be made finer.
const UNITS: i32 = 8;
/// Smallest and largest scale, as powers of two.
const SCALES: (i32, i32) = (-20, 20);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Law {
    /// P(x) in proportion to e^(-x^2 / (2 scale^2)).
    Gaussian,
    /// P(x) in proportion to e^(-abs x / scale).
    Laplace,
}

impl Law {
    pub const ALL: [Law; 2] = [Law::Gaussian, Law::Laplace];

    /// Its name in programs.
    pub fn name(self) -> &'static str {
        match self {
            Law::Gaussian => "gaussian",
            Law::Laplace => "laplace",
        }
    }

    /// The law of a name.
    pub fn of(name: &str) -> Option<Law> {
        Law::ALL.into_iter().find(|l| l.name() == name)
    }

    /// What its scale is called.
    pub fn scale_name(self) -> &'static str {
        match self {
            Law::Gaussian => "sigma",
            Law::Laplace => "b",
        }
    }
}

/// Why there is no such noise.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum LawError {
    /// The scale is none, or one that no grid goes with.
    #[error("a scale of noise is at least 2^{} and at most 2^{}", SCALES.0, SCALES.1)]
    Scale(f64),
}

/// A distribution on the multiples of 2^-frac, known to nobody where it is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    pub law: Law,
    /// Its scale: sigma or b.
    pub scale: f64,
    /// Fraction bits of its grid.
    pub frac: u32,
}

impl Noise {
    /// The noise of a law and a scale. Its grid follows from the scale: 2^-16, and finer where the scale has fewer than
    /// 2^8 units of it.
    ///
    /// # Errors
    ///
    /// [`LawError`].
    pub fn new(law: Law, scale: f64) -> Result<Noise, LawError> {
        let (least, most) = (f64::from(SCALES.0).exp2(), f64::from(SCALES.1).exp2());
        if !(least..=most).contains(&scale) {
            return Err(LawError::Scale(scale));
        }
        let wanted = UNITS - scale.log2().floor() as i32;
        let frac = u32::try_from(wanted).unwrap_or(0).clamp(COARSE, FINE);
        Ok(Noise { law, scale, frac })
    }

    /// The scale in units of the grid.
    pub fn units(&self) -> f64 {
        self.scale * f64::from(self.frac).exp2()
    }
}

impl fmt::Display for Noise {
    /// `discrete gaussian with sigma 0.5 on multiples of 2^-16`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (law, scale) = (self.law.name(), self.law.scale_name());
        write!(f, "discrete {law} with {scale} {} on multiples of 2^-{}", self.scale, self.frac)
    }
}
