//! What the processor can do. A value of one of these types is the permission to use its instructions, and
//! only detection makes one.

#[cfg(all(target_arch = "x86_64", feature = "avx512"))]
use std::sync::LazyLock;

/// The processor has AVX-512 F, BW, DQ, VL, IFMA, VBMI, VBMI2 and GFNI.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx512(());

/// The processor has AVX2.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx2(());

#[derive(Clone, Copy, Debug)]
pub(crate) struct Portable;

impl Avx512 {
    #[inline(always)]
    pub(crate) fn detect() -> Option<Self> {
        #[cfg(all(target_arch = "x86_64", feature = "avx512"))]
        {
            /// Innermost loops ask, so that it is one question.
            static FOUND: LazyLock<bool> = LazyLock::new(|| {
                is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512ifma")
                    && is_x86_feature_detected!("avx512vbmi")
                    && is_x86_feature_detected!("avx512vbmi2")
                    && is_x86_feature_detected!("gfni")
            });
            FOUND.then_some(Avx512(()))
        }
        #[cfg(not(all(target_arch = "x86_64", feature = "avx512")))]
        None
    }
}

impl Avx2 {
    #[inline(always)]
    pub(crate) fn detect() -> Option<Self> {
        #[cfg(all(target_arch = "x86_64", feature = "avx2"))]
        if is_x86_feature_detected!("avx2") {
            return Some(Avx2(()));
        }
        None
    }
}

impl From<Avx512> for Portable {
    fn from(_: Avx512) -> Self {
        Portable
    }
}

impl From<Avx2> for Portable {
    fn from(_: Avx2) -> Self {
        Portable
    }
}

/// An instruction set that this machine has.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Isa {
    Avx512(Avx512),
    Avx2(Avx2),
    Portable(Portable),
}

impl Isa {
    #[inline(always)]
    pub(crate) fn best() -> Self {
        if let Some(x) = Avx512::detect() {
            Isa::Avx512(x)
        } else if let Some(x) = Avx2::detect() {
            Isa::Avx2(x)
        } else {
            Isa::Portable(Portable)
        }
    }
}

#[cfg(test)]
impl Isa {
    /// All that this machine has.
    pub(crate) fn all() -> Vec<Self> {
        let avx512 = Avx512::detect().map(Isa::Avx512);
        let avx2 = Avx2::detect().map(Isa::Avx2);
        avx512.into_iter().chain(avx2).chain([Isa::Portable(Portable)]).collect()
    }
}
