//! What a convolution is besides its operands: its attributes, their text, and the shape of the result.
//!
//! The graph, the circuit and the kernel all hold a [`Conv`], so an attribute is added here, to the kernel
//! and to the language, and nowhere in between.
//!
//! # Bytes
//!
//! A convolution of one group without dilation is written as its stride and its padding. Any other one is
//! written as a 0, which is no stride, and all its attributes: stride, padding, dilation, groups. Each is
//! written in one way only, and reading refuses the longer form of what has the shorter one.

use crate::text::param::Param;
use crate::text::tokens::{Parsed, Tokens};
use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// The attributes of a convolution, of which both axes of an image have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Conv {
    /// Step in both directions, at least 1.
    pub stride: u64,
    /// Zeros added on each side.
    pub pad: u64,
    /// Distance of neighbouring entries of the kernel in the image, at least 1.
    pub dilation: u64,
    /// Parts of the channels: each part of the result is made of the same part of the image. At least 1.
    pub groups: u64,
}

impl Conv {
    /// A convolution that moves by one and pads nothing.
    pub const PLAIN: Conv = Conv::new(1, 0);

    /// What [`Conv::shape`] wants of its operands.
    pub const OPERANDS: &str = "they are [G, N, C, H, W] and [G, O, C / groups, kh, kw], a G of 1 \
                                repeated, groups divide C and O, and the kernel is not empty and fits \
                                the padded image";

    /// A convolution of one group with this step and padding, and without dilation.
    pub const fn new(stride: u64, pad: u64) -> Conv {
        Conv { stride, pad, dilation: 1, groups: 1 }
    }

    /// What is wrong with the attributes themselves, whatever the operands are. `most` bounds the padding,
    /// so that no size overflows.
    pub fn problem(&self, most: u64) -> Option<&'static str> {
        match self {
            Conv { stride: 0, .. } => Some("the stride is at least 1"),
            Conv { dilation: 0, .. } => Some("the dilation is at least 1"),
            Conv { groups: 0, .. } => Some("there is at least one group of channels"),
            Conv { pad, .. } if *pad > most => Some("the padding is too large"),
            _ => None,
        }
    }

    /// Entries of the padded image from the first that the kernel reads along an axis to the last. `None`
    /// if the kernel is empty, or the dilation is 0.
    pub fn reach(&self, kernel: u64) -> Option<u64> {
        let gaps = kernel.checked_sub(1).filter(|_| self.dilation >= 1)?;
        gaps.checked_mul(self.dilation)?.checked_add(1)
    }

    /// Size of the result along an axis, from the sizes of image and kernel. `None` if the kernel is empty
    /// or does not fit the padded image, or the stride or the dilation is 0.
    pub fn output(&self, image: u64, kernel: u64) -> Option<u64> {
        let padded = self.pad.checked_mul(2)?.checked_add(image)?;
        let steps = padded.checked_sub(self.reach(kernel)?)?.checked_div(self.stride)?;
        steps.checked_add(1)
    }

    /// Which entry along an axis of the image, of so many, an entry of the kernel meets for an entry of the
    /// result. `None` if it is one of the padding.
    pub fn read(&self, result: u64, kernel: u64, image: u64) -> Option<u64> {
        (result * self.stride + kernel * self.dilation).checked_sub(self.pad).filter(|p| *p < image)
    }

    /// Channels of a kernel for an image of `channels` and a result of `outputs`. `None` unless groups
    /// divide both.
    pub fn kernel_channels(&self, channels: u64, outputs: u64) -> Option<u64> {
        let divides = |n: u64| n.checked_rem(self.groups) == Some(0);
        (divides(channels) && divides(outputs)).then(|| channels / self.groups)
    }

    /// Shape of the result, `[G, N, O, H', W']`, from those of images `[G, N, C, H, W]` and kernels
    /// `[G, O, C / groups, kh, kw]`, where a G of 1 is repeated. `None` if they do not fit.
    pub fn shape(&self, x: &[u64], w: &[u64]) -> Option<[u64; 5]> {
        let (&[gx, n, cx, h, width], &[gw, o, cw, kh, kw]) = (x, w) else { return None };
        let fits = self.kernel_channels(cx, o) == Some(cw) && (gx == gw || gx == 1 || gw == 1);
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
        let Conv { stride, pad, dilation, groups } = self;
        stride.print("stride", out);
        pad.print("pad", out);
        for (name, n) in [("dilation", dilation), ("groups", groups)] {
            if *n != 1 {
                n.print(name, out);
            }
        }
    }

    fn parse(_: &str, t: &mut Tokens<'_>) -> Parsed<Self> {
        let mut conv = Conv::new(t.named("stride")?, t.named("pad")?);
        for (name, n) in [("dilation", &mut conv.dilation), ("groups", &mut conv.groups)] {
            if t.keyword(name).is_ok() {
                *n = t.number()?;
            }
        }
        Ok(conv)
    }
}

impl Serialize for Conv {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Conv { stride, pad, dilation, groups } = *self;
        match (stride, dilation, groups) {
            (1.., 1, 1) => (stride, pad).serialize(to),
            _ => (0u64, stride, pad, dilation, groups).serialize(to),
        }
    }
}

impl<'de> Deserialize<'de> for Conv {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_tuple(5, Numbers)
    }
}

/// Reads the two or five numbers of a convolution.
struct Numbers;

impl<'de> Visitor<'de> for Numbers {
    type Value = Conv;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a convolution: stride and padding, or 0, stride, padding, dilation and groups")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Conv, A::Error> {
        let mut at = 0;
        let mut next = || {
            at += 1;
            seq.next_element::<u64>()?.ok_or_else(|| de::Error::invalid_length(at - 1, &self))
        };
        let (first, second) = (next()?, next()?);
        if first != 0 {
            return Ok(Conv::new(first, second));
        }
        let conv = Conv { stride: second, pad: next()?, dilation: next()?, groups: next()? };
        match conv {
            Conv { stride: 1.., dilation: 1, groups: 1, .. } => Err(de::Error::custom(
                "a convolution of stride and padding alone in the longer form",
            )),
            _ => Ok(conv),
        }
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

    #[test]
    fn groups_and_dilation_by_hand() {
        let wide = Conv { dilation: 2, ..Conv::new(1, 0) };
        assert_eq!(wide.reach(3), Some(5));
        assert_eq!((wide.output(5, 3), wide.output(4, 3)), (Some(1), None));
        assert_eq!(Conv { dilation: 2, ..Conv::new(2, 2) }.output(8, 3), Some(4));
        assert_eq!(Conv { dilation: u64::MAX, ..Conv::PLAIN }.output(2, 1), Some(2));
        assert_eq!(Conv { dilation: u64::MAX, ..Conv::PLAIN }.output(2, 3), None);
        assert_eq!(Conv { dilation: 0, ..Conv::PLAIN }.output(2, 1), None);
        let two = Conv { groups: 2, ..Conv::PLAIN };
        assert_eq!(two.shape(&[1, 1, 4, 3, 3], &[1, 6, 2, 3, 3]), Some([1, 1, 6, 1, 1]));
        assert_eq!(two.terms(&[1, 6, 2, 3, 3]), 18);
        for (channels, kernel) in [(4, [6, 4]), (4, [5, 2]), (3, [6, 1]), (2, [6, 2])] {
            let w = [1, kernel[0], kernel[1], 3, 3];
            assert_eq!(two.shape(&[1, 1, channels, 3, 3], &w), None);
        }
        let none = Conv { groups: 0, ..Conv::PLAIN };
        assert_eq!(none.shape(&[1, 1, 0, 3, 3], &[1, 0, 0, 3, 3]), None);
        assert!(none.problem(1).is_some() && Conv { dilation: 0, ..two }.problem(1).is_some());
        assert_eq!(two.problem(1), None);
    }

    #[test]
    fn bytes_are_read_back_and_are_the_only_ones() {
        let some = [0, 1, 2, 300, u64::MAX];
        for (stride, pad) in some.iter().flat_map(|&a| some.map(|b| (a, b))) {
            for (dilation, groups) in some.iter().flat_map(|&a| some.map(|b| (a, b))) {
                let conv = Conv { stride, pad, dilation, groups };
                let bytes = bincode::serialize(&conv).unwrap();
                assert_eq!(bincode::deserialize::<Conv>(&bytes).unwrap(), conv);
                let short = stride >= 1 && (dilation, groups) == (1, 1);
                assert_eq!(bytes.len(), 8 * if short { 2 } else { 5 });
                let long = bincode::serialize(&[0, stride, pad, dilation, groups]).unwrap();
                match bincode::deserialize::<Conv>(&long) {
                    Ok(read) => assert!(!short && read == conv && long == bytes),
                    Err(_) => assert!(short),
                }
            }
        }
        let pair = bincode::serialize(&(2u64, 1u64)).unwrap();
        assert_eq!(bincode::serialize(&Conv::new(2, 1)).unwrap(), pair);
        let cut = bincode::serialize(&[0u64, 1, 2, 3]).unwrap();
        assert!(bincode::deserialize::<Conv>(&cut).is_err());
    }
}
