//! Dimensions of the products, and from which size on they are worth threads.

use slvr_circuit::Conv;

/// Multiply-accumulates below which threads cost more than they bring.
pub(super) const SERIAL: usize = 1 << 19;

/// Dimensions of `[B, M, K] * [B, K, N] -> [B, M, N]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatMulDims {
    /// B, of the result.
    pub batch: usize,
    /// Whether a has the batch axis; otherwise its one matrix is used for every batch.
    pub a_batched: bool,
    /// Whether b has the batch axis.
    pub b_batched: bool,
    /// Rows of the result.
    pub m: usize,
    /// Length of the sums.
    pub k: usize,
    /// Columns of the result.
    pub n: usize,
    /// Whether b is given as `[B, N, K]`.
    pub trans_b: bool,
}

impl MatMulDims {
    /// For operands of shapes `[B, M, K]` and `[B, K, N]` (with `trans_b`: `[B, N, K]`), where a
    /// batch axis of size 1 is repeated. `None` if they do not fit.
    pub fn of(a: &[u64], b: &[u64], trans_b: bool) -> Option<Self> {
        let (&[ga, m, k], &[gb, p, q]) = (a, b) else { return None };
        let (kb, n) = if trans_b { (q, p) } else { (p, q) };
        if k != kb || !(ga == gb || ga == 1 || gb == 1) {
            return None;
        }
        let batch = if ga == 1 { gb } else { ga };
        let (m, k, n) = (m as usize, k as usize, n as usize);
        let batched = |g: u64| g == batch;
        let (a_batched, b_batched) = (batched(ga), batched(gb));
        Some(MatMulDims { batch: batch as usize, a_batched, b_batched, m, k, n, trans_b })
    }

    /// Elements of a, b and the result.
    pub fn lens(&self) -> [usize; 3] {
        let times = |batched: bool| if batched { self.batch } else { 1 };
        [
            times(self.a_batched) * self.m * self.k,
            times(self.b_batched) * self.k * self.n,
            self.batch * self.m * self.n,
        ]
    }
}

/// Dimensions of x `[G, N, C, H, W]`, w `[G, O, C / groups, kh, kw]` -> `[G, N, O, H', W']`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConvDims {
    /// G, of the result.
    pub g: usize,
    /// Whether x has the axis G; otherwise its images are used for every g.
    pub x_batched: bool,
    /// Whether w has the axis G.
    pub w_batched: bool,
    /// N, images.
    pub n: usize,
    /// C, input channels.
    pub c: usize,
    /// H, input rows.
    pub h: usize,
    /// W, input columns.
    pub w: usize,
    /// O, output channels.
    pub o: usize,
    /// Kernel rows.
    pub kh: usize,
    /// Kernel columns.
    pub kw: usize,
    /// Stride, padding, dilation and groups.
    pub conv: Conv,
}

impl ConvDims {
    /// For images `[G, N, C, H, W]` and kernels `[G, O, C / groups, kh, kw]`, where a G of size 1 is
    /// repeated. `None` if they do not fit, or the stride or the dilation is 0.
    pub fn of(x: &[u64], w: &[u64], conv: Conv) -> Option<Self> {
        let (&[gx, n, cx, h, width], &[gw, o, cw, kh, kw]) = (x, w) else { return None };
        let fits = conv.kernel_channels(cx, o) == Some(cw) && (gx == gw || gx == 1 || gw == 1);
        if !fits || conv.stride == 0 || conv.dilation == 0 {
            return None;
        }
        let g = if gx == 1 { gw } else { gx };
        let size = |x: u64| x as usize;
        Some(ConvDims {
            g: size(g),
            x_batched: gx == g,
            w_batched: gw == g,
            n: size(n),
            c: size(cx),
            h: size(h),
            w: size(width),
            o: size(o),
            kh: size(kh),
            kw: size(kw),
            conv,
        })
    }

    /// H', output rows; 0 if the kernel does not fit.
    pub fn out_h(&self) -> usize {
        self.conv.output(self.h as u64, self.kh as u64).unwrap_or(0) as usize
    }

    /// W', output columns; 0 if the kernel does not fit.
    pub fn out_w(&self) -> usize {
        self.conv.output(self.w as u64, self.kw as u64).unwrap_or(0) as usize
    }

    /// Groups of channels.
    pub(super) fn groups(&self) -> usize {
        self.conv.groups as usize
    }

    /// Those of one group of channels.
    pub(super) fn of_group(&self) -> Self {
        let conv = Conv { groups: 1, ..self.conv };
        ConvDims { c: self.c / self.groups(), o: self.o / self.groups(), conv, ..*self }
    }

    /// Distance of neighbouring entries of the kernel.
    pub(super) fn dilation(&self) -> usize {
        self.conv.dilation as usize
    }

    /// Step in both directions.
    pub(super) fn stride(&self) -> usize {
        self.conv.stride as usize
    }

    /// Zeros on each side.
    pub(super) fn pad(&self) -> usize {
        self.conv.pad as usize
    }

    /// Elements of x, w and the result.
    pub fn lens(&self) -> [usize; 3] {
        let times = |batched: bool| if batched { self.g } else { 1 };
        [
            times(self.x_batched) * self.n * self.c * self.h * self.w,
            times(self.w_batched) * self.o * (self.c / self.groups()) * self.kh * self.kw,
            self.g * self.n * self.o * self.out_h() * self.out_w(),
        ]
    }
}
