//! What a program computes where numbers end: large integers ([`integers`]).

mod integers;
