//! What an image is promised and allowed.

use loadline_base::Span;
use loadline_osd::TenantTerms;

/// What an image is promised and allowed, over all OSDs together, in ops of 4 KiB per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageQos {
    /// It has at least so many; 0 for none.
    pub reservation: u32,
    /// It has at most so many; 0 for no limit.
    pub limit: u32,
    /// After less than its limit it may have at once what the limit gives in this time.
    pub burst: Span,
    /// Its share of what is left, in hundredths of that of an image for which nothing was said.
    pub weight_percent: u32,
}

impl Default for ImageQos {
    fn default() -> ImageQos {
        ImageQos { reservation: 0, limit: 0, burst: Span::ZERO, weight_percent: 100 }
    }
}

impl ImageQos {
    /// Longest burst: an hour.
    pub const BURST_MAX: Span = Span::from_secs(3_600);
    /// Largest weight: a thousand times that of others.
    pub const WEIGHT_PERCENT_MAX: u32 = 100_000;

    /// What is wrong with it, and what would be right.
    ///
    /// # Errors
    /// The first fault, as a sentence.
    pub fn check(&self) -> Result<(), String> {
        let bad = |what: String| Err(what);
        if self.limit > 0 && self.limit < self.reservation {
            return bad(format!(
                "a limit of {} IOPS is below the reservation of {}; it must be at least that, or none",
                self.limit, self.reservation
            ));
        }
        if self.burst > ImageQos::BURST_MAX {
            return bad("a burst lasts an hour at most".to_owned());
        }
        if self.burst > Span::ZERO && self.limit == 0 {
            return bad("a burst is of a limit, and there is none".to_owned());
        }
        if !(1..=ImageQos::WEIGHT_PERCENT_MAX).contains(&self.weight_percent) {
            return bad("a weight must be 0.01 to 1000".to_owned());
        }
        Ok(())
    }

    /// Its share of what is left, beside 1 of an image for which nothing was said.
    pub fn weight(&self) -> f64 {
        f64::from(self.weight_percent) / 100.0
    }

    /// The same as OSDs are told it, where objects have so many copies.
    pub fn terms(&self, copies: u32) -> TenantTerms {
        TenantTerms {
            reservation: f64::from(self.reservation),
            weight: self.weight(),
            limit: f64::from(self.limit),
            burst: self.burst,
            copies,
        }
    }
}
