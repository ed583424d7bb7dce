//! Bounds as people read them: rounded up, so that what is printed holds, too.

/// A bound with two digits.
pub fn upward(x: f64) -> String {
    let near = format!("{x:.1e}");
    let low = near.parse::<f64>().is_ok_and(|near| near < x);
    let Some((digits, power)) = near.split_once('e').filter(|_| low) else { return near };
    match (digits.parse::<f64>(), power.parse::<i32>()) {
        // One more of the last digit.
        (Ok(digits), Ok(power)) => {
            let tenths = (digits * 10.0).round() + 1.0;
            let (tenths, power) = if tenths >= 100.0 { (10.0, power + 1) } else { (tenths, power) };
            format!("{:.1}e{power}", tenths / 10.0)
        }
        _ => near,
    }
}

/// A bound with so many decimals.
pub fn at_most(x: f64, decimals: usize) -> String {
    let near = format!("{x:.decimals$}");
    match near.parse::<f64>() {
        Ok(rounded) if rounded < x => {
            let unit = 0.1f64.powi(decimals as i32);
            format!("{:.decimals$}", rounded + unit)
        }
        _ => near,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_printed_bound_is_below_the_bound() {
        let known = [(0.0, "0.0e0"), (1.2e-5, "1.2e-5"), (1.2001e-5, "1.3e-5"), (9.91e3, "1.0e4")];
        for (x, text) in known {
            assert_eq!(upward(x), text);
        }
        assert_eq!(upward(f64::INFINITY), "inf");
        let mut x = 1e-320f64;
        while x < 1e300 {
            let printed: f64 = upward(x).parse().expect("a number");
            assert!(x <= printed && (printed <= 1.11 * x || x < 1e-300), "{x}: {printed}");
            x *= 1.0371;
        }
    }
}
