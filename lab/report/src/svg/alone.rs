//! Charts as files that stand alone: they carry the page's shapes and the colours of a white ground.

use crate::palette;
use loadline_draw::with_style;

/// Rules shared by the page and by files that stand alone; colours of text and lines are not here.
pub(crate) const SHAPES: &str = include_str!("../../templates/chart.css");

/// Colours of everything that is not data, in a file that stands alone.
pub(crate) const GROUND: &str = "svg{background:#fff}.t{fill:#1d2430}.q{fill:#5a6472}.grid{stroke:#e3e6ea}\
                      .axis{stroke:#8b94a1}.pub{fill:#fff;stroke:#1d2430}.whisker{stroke:#1d2430}\
                      .halo{stroke:#fff}";

/// `svg` with its own style sheet, ready to be a file.
pub(crate) fn standalone(svg: &str) -> String {
    with_style(svg, &format!("{GROUND}{SHAPES}{}", palette::literal_rules()))
}
