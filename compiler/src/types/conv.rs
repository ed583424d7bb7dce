//! What a convolution is beside its operands: the one place that names its attributes and says which
//! shape its result has.

/// Attributes of a two-dimensional convolution (cross-correlation).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Conv {
    /// Step in both directions, at least 1.
    pub stride: u64,
    /// Zeros on each side.
    pub pad: u64,
}

impl Conv {
    /// A convolution that moves by one and pads nothing.
    pub const PLAIN: Conv = Conv { stride: 1, pad: 0 };

    /// What is wrong with the attributes, if anything is.
    pub fn wrong(&self) -> Option<&'static str> {
        (self.stride == 0).then_some("a stride of 0")
    }

    /// Length of the result along an axis of the image, given the length of the kernel.
    pub fn side(&self, image: u64, kernel: u64) -> Result<u64, String> {
        let places = (image + 2 * self.pad).checked_sub(kernel).ok_or("kernel too large")?;
        Ok(places / self.stride.max(1) + 1)
    }

    /// Shape of the result for images `[N, C, H, W]` and kernels `[O, C, h, w]`.
    pub fn shape(&self, image: [u64; 4], kernel: [u64; 4]) -> Result<[u64; 4], String> {
        let ([n, channels, h, w], [outputs, of, kh, kw]) = (image, kernel);
        if channels != of {
            return Err(format!("channels {channels} and {of} differ"));
        }
        Ok([n, outputs, self.side(h, kh)?, self.side(w, kw)?])
    }
}
