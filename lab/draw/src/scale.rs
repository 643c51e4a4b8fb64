//! Scales and their ticks.

use crate::number;

/// Maps values to pixels between two ends.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    low: f64,
    high: f64,
    start: f64,
    end: f64,
    log: bool,
}

impl Scale {
    /// A linear scale from zero to the first tick at or above `max`.
    pub fn linear(max: f64, ticks: usize) -> Scale {
        let step = nice_step(max, ticks);
        let high = (max / step - 1e-9).ceil().max(1.0) * step;
        Scale { low: 0.0, high, start: 0.0, end: 1.0, log: false }
    }

    /// A linear scale from zero to exactly `max`: for time, where the run ends where it ends.
    pub fn exact(max: f64) -> Scale {
        Scale { low: 0.0, high: max.max(1.0), start: 0.0, end: 1.0, log: false }
    }

    /// A logarithmic scale that holds `min..=max`, widened to the next 1, 2 or 5 times a power
    /// of ten.
    pub fn log(min: f64, max: f64) -> Scale {
        assert!(0.0 < min && min <= max, "a logarithmic axis holds positive values");
        let low = log_steps(min / 10.0, min).last().copied().unwrap_or(min);
        let high = log_steps(max, max * 10.0).first().copied().unwrap_or(max);
        let high = if high > low { high } else { low * 10.0 };
        Scale { low, high, start: 0.0, end: 1.0, log: true }
    }

    /// The same values between the pixels `start` and `end`; `end` may be the smaller one.
    pub fn between(self, start: f64, end: f64) -> Scale {
        Scale { start, end, ..self }
    }

    /// The pixel of `value`. A value that a logarithmic axis cannot show sits at its low end.
    pub fn at(&self, value: f64) -> f64 {
        let share = if self.log {
            (value.max(self.low) / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        self.start + (self.end - self.start) * share
    }

    /// First and last pixel, first and last value.
    pub fn ends(&self) -> [f64; 4] {
        [self.start, self.end, self.low, self.high]
    }

    /// About `count` ticks with their labels.
    pub fn ticks(&self, count: usize) -> Vec<(f64, String)> {
        let values = if self.log { self.log_ticks(count) } else { self.linear_ticks(count) };
        values.into_iter().map(|value| (value, number::tick(value))).collect()
    }

    fn linear_ticks(&self, count: usize) -> Vec<f64> {
        let step = nice_step(self.high, count);
        let steps = (self.high / step + 1e-9) as usize;
        (0..=steps).map(|n| n as f64 * step).collect()
    }

    /// Powers of ten, with twice and five times them between where there is room.
    fn log_ticks(&self, count: usize) -> Vec<f64> {
        let all = log_steps(self.low, self.high);
        if all.len() <= count + 3 {
            return all;
        }
        let powers: Vec<f64> =
            all.iter().copied().filter(|v| (v.log10() - v.log10().round()).abs() < 1e-9).collect();
        if powers.len() >= 2 { powers } else { all }
    }
}

/// 1, 2 and 5 times powers of ten within `low..=high`.
fn log_steps(low: f64, high: f64) -> Vec<f64> {
    let (first, last) = (low.log10().floor() as i32 - 1, high.log10().ceil() as i32 + 1);
    let steps = (first..=last).flat_map(|power| {
        let ten = 10f64.powi(power);
        [ten, 2.0 * ten, 5.0 * ten]
    });
    steps.filter(|step| *step >= low * (1.0 - 1e-9) && *step <= high * (1.0 + 1e-9)).collect()
}

/// The 1, 2, 2.5 or 5 times a power of ten that cuts `0..=max` into about `count` parts.
fn nice_step(max: f64, count: usize) -> f64 {
    let rough = if max > 0.0 { max / count.max(1) as f64 } else { 1.0 };
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().find(|nice| nice * power >= rough * 0.999);
    step.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_few() {
        let check = |scale: Scale, count: usize, wanted: &[&str]| {
            let labels: Vec<_> = scale.ticks(count).into_iter().map(|(_, label)| label).collect();
            assert_eq!(labels, wanted);
        };
        check(
            Scale::linear(21_500.0, 5),
            5,
            &["0", "5,000", "10,000", "15,000", "20,000", "25,000"],
        );
        check(Scale::linear(0.83, 4), 4, &["0", "0.25", "0.5", "0.75", "1"]);
        check(Scale::exact(966.0), 5, &["0", "200", "400", "600", "800"]);
        check(Scale::log(2.5, 24.0), 4, &["2", "5", "10", "20", "50"]);
        check(Scale::log(0.4, 900.0), 4, &["1", "10", "100", "1,000"]);
        // The last tick is there although 1.2 / 0.2 is a little less than 6.
        check(Scale::exact(1.2), 6, &["0", "0.2", "0.4", "0.6", "0.8", "1", "1.2"]);
        // Too many for powers of ten alone, of which there is one.
        check(Scale::log(2.0, 50.0), 1, &["2", "5", "10", "20", "50"]);
        check(Scale::log(1.0, 100.0), 4, &["1", "2", "5", "10", "20", "50", "100"]);
        // One value alone still has an axis with two ends.
        check(Scale::log(10.0, 10.0), 4, &["10", "20", "50", "100"]);
        // Nothing to show still has an axis.
        check(Scale::linear(0.0, 4), 4, &["0", "0.25", "0.5", "0.75", "1"]);
    }

    #[test]
    fn values_lie_where_the_scale_says() {
        let linear = Scale::linear(100.0, 4).between(50.0, 250.0);
        assert_eq!((linear.at(0.0), linear.at(50.0), linear.at(100.0)), (50.0, 150.0, 250.0));
        let log = Scale::log(1.0, 100.0).between(200.0, 0.0);
        assert!((log.at(10.0) - 100.0).abs() < 1e-9);
        assert_eq!(log.at(0.0), 200.0);
    }
}
