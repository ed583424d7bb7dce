//! What a convolution is besides its operands: its attributes, their text, and the shape of the result.
//!
//! The graph, the circuit and the kernel all hold a [`Conv`], so an attribute is added here, to the kernel
//! and to the language, and nowhere in between.

use crate::text::param::Param;
use crate::text::tokens::{Parsed, Tokens};
use serde::{Deserialize, Serialize};

/// The attributes of a convolution, of which both axes of an image have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Conv {
    /// Step in both directions, at least 1.
    pub stride: u64,
    /// Zeros added on each side.
    pub pad: u64,
}

impl Conv {
    /// A convolution that moves by one and pads nothing.
    pub const PLAIN: Conv = Conv::new(1, 0);

    /// What [`Conv::shape`] wants of its operands.
    pub const OPERANDS: &str = "they are [G, N, C, H, W] and [G, O, C, kh, kw], a G of 1 repeated, and the \
                                kernel is not empty and fits the padded image";

    /// A convolution with this step and padding.
    pub const fn new(stride: u64, pad: u64) -> Conv {
        Conv { stride, pad }
    }

    /// What is wrong with the attributes themselves, whatever the operands are. `most` bounds the padding,
    /// so that no size overflows.
    pub fn problem(&self, most: u64) -> Option<&'static str> {
        match self {
            Conv { stride: 0, .. } => Some("the stride is at least 1"),
            Conv { pad, .. } if *pad > most => Some("the padding is too large"),
            _ => None,
        }
    }

    /// Size of the result along an axis, from the sizes of image and kernel. `None` if the kernel is empty
    /// or does not fit the padded image, or the stride is 0.
    pub fn output(&self, image: u64, kernel: u64) -> Option<u64> {
        let padded = self.pad.checked_mul(2)?.checked_add(image)?;
        let steps = padded.checked_sub(kernel).filter(|_| kernel >= 1)?.checked_div(self.stride)?;
        steps.checked_add(1)
    }

    /// Shape of the result, `[G, N, O, H', W']`, from those of images `[G, N, C, H, W]` and kernels
    /// `[G, O, C, kh, kw]`, where a G of 1 is repeated. `None` if they do not fit.
    pub fn shape(&self, x: &[u64], w: &[u64]) -> Option<[u64; 5]> {
        let (&[gx, n, cx, h, width], &[gw, o, cw, kh, kw]) = (x, w) else { return None };
        let fits = cx == cw && (gx == gw || gx == 1 || gw == 1);
        let g = if gx == 1 { gw } else { gx };
        let (oh, ow) = (self.output(h, kh)?, self.output(width, kw)?);
        fits.then_some([g, n, o, oh, ow])
    }

    /// Products in each element of the result.
    pub fn terms(&self, w: &[u64]) -> u64 {
        w.iter().skip(2).fold(1, |n, &d| n.saturating_mul(d))
    }
}

impl Param for Conv {
    fn print(&self, _: &str, out: &mut String) {
        let Conv { stride, pad } = self;
        stride.print("stride", out);
        pad.print("pad", out);
    }

    fn parse(_: &str, t: &mut Tokens<'_>) -> Parsed<Self> {
        Ok(Conv { stride: t.named("stride")?, pad: t.named("pad")? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_by_hand() {
        let same = Conv::new(1, 1);
        assert_eq!(same.shape(&[1, 2, 3, 8, 9], &[5, 4, 3, 3, 3]), Some([5, 2, 4, 8, 9]));
        assert_eq!(same.terms(&[5, 4, 3, 3, 3]), 27);
        assert_eq!(Conv::new(2, 0).output(7, 2), Some(3));
        for (image, kernel, stride, pad) in
            [(2, 3, 1, 0), (2, 0, 1, 0), (2, 1, 0, 0), (2, 1, 1, u64::MAX)]
        {
            assert_eq!(Conv::new(stride, pad).output(image, kernel), None);
        }
        assert_eq!(same.shape(&[2, 1, 1, 2, 2], &[3, 1, 1, 1, 1]), None, "groups do not fit");
        assert_eq!(same.shape(&[1, 1, 2, 2, 2], &[1, 1, 1, 1, 1]), None, "channels do not fit");
        assert_eq!(same.shape(&[1, 1, 2, 2], &[1, 1, 1, 1, 1]), None);
    }
}
