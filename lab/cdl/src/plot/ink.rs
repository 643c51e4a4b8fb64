//! What each curve is drawn with: colours by role, dashes and markers so that print without colours still tells.

/// The role of a curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ink {
    /// No read carries anything.
    Baseline,
    /// All reads of a workload.
    Total,
    /// The reads of a workload that carry nothing.
    Plain,
    /// The n-th kind of reads that carry something.
    Marked(usize),
    /// The n-th of several queue depths.
    Depth(usize, usize),
}

/// Colours of roles on a light ground and on a dark one: blue, violet, the plain reads' red, then a red, green, magenta and
/// cyan for what is marked, in the order of the scripts' plots.
const ROLES: [(&str, &str); 7] = [
    ("#1f5fa8", "#6fb1f2"),
    ("#7a43b6", "#bd94ea"),
    ("#b4552d", "#f0996f"),
    ("#c8102e", "#ff6b7d"),
    ("#1a7f4b", "#54cd8c"),
    ("#b8318f", "#f084cf"),
    ("#0a8496", "#4fcadb"),
];

/// Queue depths from the least to the greatest: one ramp of hue and lightness, from which depths take even steps.
const RAMP: [(&str, &str); 9] = [
    ("#dba000", "#f7c948"),
    ("#e07b16", "#f8a04a"),
    ("#d2452e", "#ff8066"),
    ("#b3246a", "#ee6fae"),
    ("#8a3aa8", "#cf86ee"),
    ("#5347bf", "#9d92ff"),
    ("#2468c4", "#6faaff"),
    ("#0d8299", "#45c3da"),
    ("#0f8a5f", "#43cc98"),
];

impl Ink {
    /// Classes of the elements that show the curve.
    pub(super) fn classes(self) -> String {
        match self {
            Ink::Baseline => "i0 m0".to_owned(),
            Ink::Total => "i1 m1".to_owned(),
            Ink::Plain => "i2 m2 dashed".to_owned(),
            Ink::Marked(n) => format!("i{} m{}", 3 + n % 4, 3 + n % 2),
            Ink::Depth(n, of) => {
                format!("r{}", n * (RAMP.len() - 1) / of.saturating_sub(1).max(1))
            }
        }
    }

    /// The shape of its markers; curves of distributions have none.
    pub(super) fn marker(self) -> Option<Marker> {
        match self {
            Ink::Baseline => Some(Marker::Circle),
            Ink::Total => Some(Marker::Square),
            Ink::Plain => Some(Marker::Ring),
            Ink::Marked(n) => Some(if n % 2 == 0 { Marker::Diamond } else { Marker::Triangle }),
            Ink::Depth(..) => None,
        }
    }
}

/// The shape of a marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Marker {
    Circle,
    Ring,
    Square,
    Diamond,
    Triangle,
}

impl Marker {
    /// Half its width in pixels.
    const HALF: f64 = 4.0;

    /// Path commands of the shape around a point.
    pub(super) fn path(self, x: f64, y: f64) -> String {
        let r = Marker::HALF;
        match self {
            Marker::Circle | Marker::Ring => {
                let r = r * 0.95;
                format!(
                    "M{:.1} {y:.1}a{r} {r} 0 1 0 {} 0a{r} {r} 0 1 0 -{} 0Z",
                    x - r,
                    2.0 * r,
                    2.0 * r
                )
            }
            Marker::Square => {
                let r = r * 0.85;
                format!("M{:.1} {:.1}h{}v{}h-{}Z", x - r, y - r, 2.0 * r, 2.0 * r, 2.0 * r)
            }
            Marker::Diamond => {
                let r = r * 1.2;
                format!("M{:.1} {y:.1}l{r} -{r}l{r} {r}l-{r} {r}Z", x - r)
            }
            Marker::Triangle => {
                format!("M{:.1} {:.1}h{}l-{r} -{}Z", x - r, y + 0.7 * r, 2.0 * r, 1.75 * r)
            }
        }
    }

    /// The class of the shape.
    pub(super) fn class(self) -> &'static str {
        if self == Marker::Ring { "ring" } else { "marker" }
    }
}

/// Rules that give the classes their colours, as they are, for a file that stands alone.
pub(super) fn literal_rules() -> String {
    rules(|class, light| format!(".{class}{{color:{light}}}"))
}

/// The same by variable, for a page with a light and a dark ground.
pub(super) fn variable_rules() -> String {
    rules(|class, _| format!(".{class}{{color:var(--{class})}}"))
}

/// The variables on a light ground.
pub(super) fn light_variables() -> String {
    rules(|class, light| format!("--{class}:{light};"))
}

/// The variables on a dark ground.
pub(super) fn dark_variables() -> String {
    named().map(|(class, (_, dark))| format!("--{class}:{dark};")).collect()
}

fn rules(rule: impl Fn(&str, &str) -> String) -> String {
    named().map(|(class, (light, _))| rule(&class, light)).collect()
}

fn named() -> impl Iterator<Item = (String, (&'static str, &'static str))> {
    let roles = ROLES.into_iter().enumerate().map(|(n, pair)| (format!("i{n}"), pair));
    roles.chain(RAMP.into_iter().enumerate().map(|(n, pair)| (format!("r{n}"), pair)))
}
