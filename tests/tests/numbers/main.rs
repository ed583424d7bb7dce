//! What a program computes where numbers end: large integers ([`integers`]), and functions and quotients where they
//! saturate ([`saturation`]), and constants that no run holds ([`constants`]). Each generator knows what the program means and holds floating point, the graph after every
//! pass and circuits of both families to it.

mod constants;
mod integers;
mod rounding;
mod saturation;
